import { zxyToTileId } from 'pmtiles';
import { describe, expect, it } from 'vitest';
import type { Box } from '../../../src/core/geometry/box.js';
import {
  BUILT_IN_SETS,
  firstColumn,
  tileBox,
  WEB_MERCATOR_QUAD,
  WORLD_CRS84_QUAD,
} from '../../../src/core/tiles/tile-matrix.js';
import { hilbertIndex } from '../../../src/core/values/hilbert.js';
import {
  computeTileRanges,
  countRangeTiles,
  intersection,
  union,
} from '../../../src/services/tiles/jobs/area.js';
import { mapInOrder } from '../../../src/services/tiles/jobs/in-order.js';
import { type OccupancyCheck, type WalkOptions, walk } from '../../../src/services/tiles/jobs/walk.js';

const WORLD: Box = [-180, -85, 180, 85];
const base = (zoom: number) => zxyToTileId(zoom, 0, 0);

async function visited(options: Partial<WalkOptions> & { zoom: number; area?: Box }) {
  const set = options.set ?? WEB_MERCATOR_QUAD;
  const ranges = computeTileRanges(set, options.zoom, options.area ?? WORLD);
  const tiles: { row: number; column: number; next: number }[] = [];
  let skipped = 0;
  let last = 0;
  for await (const step of walk({ from: 0, occupied: undefined, set, ranges, ...options })) {
    expect(step.next).toBeGreaterThan(last);
    last = step.next;
    if ('skipped' in step) skipped += step.skipped;
    else tiles.push(step);
  }
  return { tiles, skipped, total: countRangeTiles(ranges) };
}

describe('Hilbert curve', () => {
  it('is that of PMTiles ids', () => {
    for (const [zoom, x, y] of [
      [1, 1, 1],
      [3, 5, 2],
      [7, 100, 33],
      [14, 9000, 5000],
      [22, 4_000_000, 77],
    ] as const)
      expect(hilbertIndex(zoom, x, y)).toBe(zxyToTileId(zoom, x, y) - base(zoom));
  });

  it('keeps the cells of a block together', () => {
    for (let i = 0; i < 200; i++) {
      const [x, y] = [(i * 7919) % 1024, (i * 104_729) % 1024];
      const inner = hilbertIndex(10, x, y);
      for (let level = 1; level < 10; level++)
        expect(hilbertIndex(10 - level, x >> level, y >> level)).toBe(Math.floor(inner / 4 ** level));
    }
  });
});

describe('a walk', () => {
  it.each([0, 1, 2, 5])('visits every tile of zoom %i once, in the order of the ids', async (zoom) => {
    const { tiles, total } = await visited({ zoom });
    expect(tiles).toHaveLength(total);
    expect(tiles.map(({ row, column }) => zxyToTileId(zoom, column, row) - base(zoom))).toEqual(
      Array.from({ length: 4 ** zoom }, (_, i) => i),
    );
  });

  it('visits two squares side by side, and areas across the antimeridian', async () => {
    const two = await visited({ zoom: 3, set: WORLD_CRS84_QUAD, area: [-180, -90, 180, 90] });
    expect(new Set(two.tiles.map(({ row, column }) => `${row}/${column}`)).size).toBe(8 * 16);
    const fiji = await visited({ zoom: 6, area: [177, -20, -178, -15] });
    const columns = new Set(fiji.tiles.map(({ column }) => column));
    expect([...columns].sort((a, b) => a - b)).toEqual([0, 63]);
    expect(fiji.tiles).toHaveLength(fiji.total);
    // At zoom 0 both parts are in the one tile.
    expect((await visited({ zoom: 0, area: [177, -20, -178, -15] })).tiles).toHaveLength(1);
  });

  it('visits tiles that a set merges near the poles once, as their first column', async () => {
    const set = BUILT_IN_SETS.byId('GNOSISGlobalGrid')!;
    for (const zoom of [0, 1, 2, 3]) {
      const { tiles, skipped, total } = await visited({ zoom, set, area: [-180, -90, 180, 90] });
      const boxes = tiles.map(({ row, column }) => tileBox(set, zoom, row, column).join());
      expect(new Set(boxes).size).toBe(boxes.length);
      expect(tiles.length + skipped).toBe(total);
      const area = tiles.reduce((sum, { row, column }) => {
        const [minx, miny, maxx, maxy] = tileBox(set, zoom, row, column);
        return sum + (maxx - minx) * (maxy - miny);
      }, 0);
      expect(area).toBeCloseTo(360 * 180, 6);
      // Also where the area begins inside of a merged tile.
      const part = await visited({ zoom, set, area: [100, 80, 120, 89] });
      expect(
        part.tiles.every(({ row, column }) => firstColumn(set.matrices[zoom]!, row, column) === column),
      ).toBe(true);
      expect(part.tiles.length).toBeGreaterThan(0);
    }
  });

  it('goes on at any place without leaving a tile out or visiting one again', async () => {
    const area: Box = [-3, 40, 20, 55];
    const { tiles } = await visited({ zoom: 7, area });
    for (let i = 0; i < tiles.length; i += 13) {
      const rest = await visited({ zoom: 7, area, from: tiles[i]!.next });
      expect(rest.tiles).toEqual(tiles.slice(i + 1));
    }
  });

  it('has nothing left behind the only tile of a zoom', async () => {
    const { tiles } = await visited({ zoom: 0 });
    expect(tiles).toHaveLength(1);
    expect((await visited({ zoom: 0, from: tiles[0]!.next })).tiles).toEqual([]);
  });

  it('passes over what is empty without looking at each tile, and counts it', async () => {
    // One point in the world.
    const point = [1_234_567, 6_543_210];
    let asked = 0;
    const occupied: OccupancyCheck = async (boxes) => {
      asked += boxes.length;
      return boxes.map(
        (b) => b[0] <= point[0]! && b[2] >= point[0]! && b[1] <= point[1]! && b[3] >= point[1]!,
      );
    };
    const zoom = 14;
    const { tiles, skipped, total } = await visited({ zoom, occupied });
    expect(tiles).toHaveLength(1);
    const [minx, miny, maxx, maxy] = tileBox(WEB_MERCATOR_QUAD, zoom, tiles[0]!.row, tiles[0]!.column);
    expect(minx <= point[0]! && point[0]! <= maxx && miny <= point[1]! && point[1]! <= maxy).toBe(true);
    expect(skipped + 1).toBe(total);
    expect(asked).toBeLessThan(64 * 5);
  });
});

describe('areas', () => {
  it('meet and join, also across the antimeridian', () => {
    expect(intersection([0, 0, 10, 10], [5, 5, 20, 20])).toEqual([5, 5, 10, 10]);
    expect(intersection([0, 0, 10, 10], [11, 0, 20, 20])).toBeUndefined();
    expect(intersection([170, -20, -170, 20], [-180, -10, 180, 10])).toEqual([170, -10, -170, 10]);
    expect(union([0, 0, 1, 1], [5, 5, 6, 6])).toEqual([0, 0, 6, 6]);
    expect(union([170, 0, -170, 1], [5, 5, 6, 6])).toEqual([-180, 0, 180, 6]);
  });
});

describe('work in order', () => {
  async function* numbers(count: number, begun: number[]) {
    for (let i = 0; i < count; i++) {
      begun.push(i);
      yield i;
    }
  }

  it('runs a few at a time, bounded ahead of the slowest, and keeps the order', async () => {
    let running = 0;
    let most = 0;
    const begun: number[] = [];
    const gates = new Map<number, () => void>();
    const work = async (i: number) => {
      most = Math.max(most, ++running);
      if (i === 3) await new Promise<void>((resolve) => gates.set(i, resolve));
      else await new Promise((resolve) => setImmediate(resolve));
      running--;
      return i;
    };
    const results: number[] = [];
    const all = (async () => {
      for await (const i of mapInOrder(numbers(200, begun), 4, work)) results.push(i);
    })();
    for (let i = 0; i < 300; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(results).toEqual([0, 1, 2]);
    expect(begun.length).toBeLessThanOrEqual(3 + 4 * 8 + 1);
    gates.get(3)!();
    await all;
    expect(results).toEqual(Array.from({ length: 200 }, (_, i) => i));
    expect(most).toBe(4);
  });

  it('rejects in its turn, after all that had begun', async () => {
    let running = 0;
    const work = async (i: number) => {
      running++;
      await new Promise((resolve) => setTimeout(resolve, i === 5 ? 1 : 20));
      running--;
      if (i === 5) throw new Error('five');
      return i;
    };
    const results: number[] = [];
    const all = (async () => {
      for await (const i of mapInOrder(numbers(50, []), 3, work)) results.push(i);
    })();
    await expect(all).rejects.toThrow('five');
    expect(results).toEqual([0, 1, 2, 3, 4]);
    expect(running).toBe(0);
  });
});
