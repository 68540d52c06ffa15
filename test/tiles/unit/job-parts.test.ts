import { describe, expect, it } from 'vitest';
import type { Box } from '../../../src/core/geometry/box.js';
import {
  BUILT_IN_SETS,
  type TileMatrixSet,
  WEB_MERCATOR_QUAD,
  WORLD_CRS84_QUAD,
} from '../../../src/core/tiles/tile-matrix.js';
import { computeTileRanges, countRangeTiles } from '../../../src/services/tiles/jobs/area.js';
import { cutWork, mergePartTallies } from '../../../src/services/tiles/jobs/parts.js';
import { walk } from '../../../src/services/tiles/jobs/walk.js';
import type { TileWork } from '../../../src/services/tiles/jobs/work.js';

const WORLD: Box = [-180, -85, 180, 85];

function workOf(set: TileMatrixSet, minZoom: number, maxZoom: number, area: Box = WORLD): TileWork {
  const zooms = Array.from({ length: maxZoom - minZoom + 1 }, (_, i) => minZoom + i);
  const ranges = new Map(zooms.map((zoom) => [zoom, computeTileRanges(set, zoom, area)]));
  const total = [...ranges.values()].reduce((sum, part) => sum + countRangeTiles(part), 0);
  return { selection: { minZoom, maxZoom }, set, ranges, total } as unknown as TileWork;
}

/** Tiles that the parts visit, and the most addresses of a part. */
async function visited(work: TileWork, tiles: number): Promise<{ tiles: string[]; parts: number[] }> {
  const names: string[] = [];
  const parts: number[] = [];
  for (const { from, to } of cutWork(work, tiles)) {
    let addresses = 0;
    for (let { zoom } = from; zoom <= to.zoom; zoom++) {
      const steps = walk({
        set: work.set,
        zoom,
        ranges: work.ranges.get(zoom)!,
        from: zoom === from.zoom ? from.next : 0,
        to: zoom === to.zoom ? to.next : undefined,
        occupied: undefined,
      });
      for await (const step of steps) {
        addresses += 'skipped' in step ? step.skipped : 1;
        if (!('skipped' in step)) names.push(`${zoom}/${step.row}/${step.column}`);
      }
    }
    parts.push(addresses);
  }
  return { tiles: names, parts };
}

const cases: [string, TileWork][] = [
  ['the world, zooms 0 to 6', workOf(WEB_MERCATOR_QUAD, 0, 6)],
  ['one zoom', workOf(WEB_MERCATOR_QUAD, 6, 6)],
  ['a set of two tiles at the top', workOf(WORLD_CRS84_QUAD, 0, 5)],
  ['a box that is no block', workOf(WEB_MERCATOR_QUAD, 3, 9, [5.3, 44.1, 16.9, 55.7])],
  ['a box across the antimeridian', workOf(WEB_MERCATOR_QUAD, 2, 8, [170, -20, -170, 20])],
];

describe('parts of a tile job', () => {
  it.each(cases)('of %s hold each tile once', async (_name, work) => {
    const whole = await visited(work, Number.POSITIVE_INFINITY);
    expect(whole.parts).toEqual([work.total]);
    for (const tiles of [3, 100]) {
      const cut = await visited(work, tiles);
      // In the same order, too.
      expect(cut.tiles).toEqual(whole.tiles);
      expect(cut.parts.reduce((sum, one) => sum + one, 0)).toBe(work.total);
      expect(Math.max(...cut.parts)).toBeLessThan(2 * tiles);
    }
  });

  it('of sets whose columns are merged near the poles make each merged tile once', async () => {
    const merging = BUILT_IN_SETS.all.filter(({ matrices }) =>
      matrices.some(({ variableWidths }) => variableWidths.length > 0),
    );
    expect(merging.length).toBeGreaterThan(0);
    for (const set of merging) {
      const { tiles } = await visited(workOf(set, 0, 3), 5);
      expect(new Set(tiles).size).toBe(tiles.length);
      expect(tiles).toEqual((await visited(workOf(set, 0, 3), Number.POSITIVE_INFINITY)).tiles);
    }
  });

  it('are some thousands at most, and one where there is little to do', () => {
    expect(cutWork(workOf(WEB_MERCATOR_QUAD, 0, 4))).toHaveLength(1);
    const many = cutWork(workOf(WEB_MERCATOR_QUAD, 0, 14)).length;
    expect(many).toBeGreaterThan(1000);
    expect(many).toBeLessThanOrEqual(2000);
    expect(cutWork(workOf(WEB_MERCATOR_QUAD, 5, 4))).toEqual([]);
  });

  it('are summed as far as they have told', () => {
    const tally = (n: number) => ({ total: 9, processed: n, tiles: n, bytes: 10 * n, failed: 0, lossy: 0 });
    const states = [
      { isDone: true, progress: tally(1), result: { tally: tally(3), failures: [] } },
      { isDone: false, progress: tally(2), result: undefined },
      { isDone: false, progress: undefined, result: undefined },
    ];
    expect(mergePartTallies(states, 50)).toEqual({
      total: 50,
      processed: 5,
      tiles: 5,
      bytes: 50,
      failed: 0,
      lossy: 0,
    });
  });
});
