import { describe, expect, test } from 'vitest';
import { PNG_FORMAT } from '../../../src/core/http/media.js';
import { WORLD_CRS84_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import { type TileLevel, TileLevels } from '../../../src/services/tiles/cache/levels.js';
import { type TileBlock, TileCache } from '../../../src/services/tiles/cache/tile-cache.js';
import type { Tile } from '../../../src/services/tiles/tile.js';
import { type Place, tileOf, wanted } from '../cache/support.js';

/** A tile of any name: where it lies does not matter. */
const named = (key: string) => ({ ...wanted({ zoom: 0, row: 0, column: 0 }), key });
const tile = tileOf;
const fill = (cache: TileCache, key: string, bytes: number) =>
  cache.load(named(key), async () => tile(bytes));

describe('the tile cache', () => {
  test('holds no more bytes than it may, and counts what it drops', async () => {
    const cache = new TileCache(100_000);
    for (let i = 0; i < 50; i++) await fill(cache, `k${i}`, 9_616);
    const { entries, bytes, evictions } = cache.statistics();
    expect(bytes).toBeLessThanOrEqual(100_000);
    expect(entries).toBe(10);
    expect(evictions).toBeGreaterThanOrEqual(40);
  });

  test('keeps what is used and drops what is not', async () => {
    const cache = new TileCache(100_000);
    await fill(cache, 'hot', 9_616);
    for (let i = 0; i < 100; i++) {
      expect(cache.find('hot')).toBeDefined();
      await fill(cache, `cold${i}`, 9_616);
    }
    expect(cache.find('cold0')).toBeUndefined();
  });

  test('knows which tiles are used much, which little, and which are large', async () => {
    const cache = new TileCache(10_000_000);
    for (let i = 0; i < 30; i++) await fill(cache, `k${i}`, 1000 + i);
    for (let i = 0; i < 30; i++) for (let n = 0; n < i; n++) cache.find(`k${i}`);
    const { mostUsed, leastUseful, largest } = await cache.uses();
    const highest = Array.from({ length: 10 }, (_, i) => `k${29 - i}`);
    expect(mostUsed.map(({ key }) => key)).toEqual(highest);
    expect(largest.map(({ key }) => key)).toEqual(highest);
    expect(leastUseful.map(({ key }) => key)).toEqual(Array.from({ length: 10 }, (_, i) => `k${i}`));
    expect(mostUsed[0]).toMatchObject({ accessCount: 29, hitRatio: 29 / 30, memoryBytes: 1029 });
    expect(mostUsed[0]!.lastAccessed).toBeGreaterThan(Date.now() - 60_000);
  });

  test('renders a tile once for all who wait for it', async () => {
    const cache = new TileCache(100_000);
    let renderings = 0;
    const render = async () => {
      renderings++;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return tile(10);
    };
    const answers = await Promise.all([
      cache.load(named('a'), render),
      cache.load(named('a'), render),
      cache.load(named('a'), render),
    ]);
    expect(renderings).toBe(1);
    expect(new Set(answers).size).toBe(1);
  });

  test('a failed rendering is not remembered', async () => {
    const cache = new TileCache(100_000);
    await expect(cache.load(named('a'), () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect((await fill(cache, 'a', 10)).bytes).toBe(10);
  });

  test('what was rendered before an invalidation is not stored after it', async () => {
    const cache = new TileCache(100_000);
    let finish = () => {};
    const slow = cache.load(named('a'), () => new Promise((resolve) => (finish = () => resolve(tile(10)))));
    cache.invalidate(() => true);
    finish();
    await slow;
    expect(cache.find('a')).toBeUndefined();
  });

  test('a slot that was kept is not used once its tile has left', async () => {
    const cache = new TileCache(100_000);
    await fill(cache, 'a', 10);
    const slot = cache.find('a');
    expect(cache.find('a', slot)).toBe(slot);
    cache.invalidate(() => true);
    expect(cache.find('a', slot)).toBeUndefined();
    await fill(cache, 'a', 20);
    expect(cache.find('a', slot)?.tile.bytes).toBe(20);
  });

  test('invalidation drops only what fits', async () => {
    const cache = new TileCache(100_000);
    await fill(cache, 'mvt/1', 10);
    await fill(cache, 'mvt/2', 10);
    expect(cache.invalidate((key) => key.endsWith('1'))).toBe(1);
    expect(cache.find('mvt/1')).toBeUndefined();
    expect(cache.find('mvt/2')).toBeDefined();
  });
});

describe('an edit of an area', () => {
  /** Tiles of several zooms, sets and formats around 7 east, 46 north. */
  const PLACES = {
    near: { zoom: 8, row: 91, column: 132 },
    nearLow: { zoom: 3, row: 2, column: 4 },
    nearTogether: { zoom: 8, row: 91, column: 132, layers: [2, 1] },
    nearDegrees: { set: WORLD_CRS84_QUAD, zoom: 7, row: 31, column: 132 },
    nearImage: { zoom: 8, row: 91, column: 132, format: PNG_FORMAT },
    far: { zoom: 8, row: 91, column: 140 },
    farDegrees: { set: WORLD_CRS84_QUAD, zoom: 7, row: 31, column: 140 },
    farLow: { zoom: 3, row: 5, column: 1 },
    other: { zoom: 8, row: 91, column: 132, layers: [2] },
  } satisfies Record<string, Place>;
  const AREA = [7, 46, 7.001, 46.001] as const;

  const filled = async () => {
    const cache = new TileCache(1_000_000);
    for (const place of Object.values(PLACES)) await cache.load(wanted(place), async () => tileOf(100));
    return cache;
  };
  const there = (cache: TileCache) =>
    Object.entries(PLACES).flatMap(([name, place]) => (cache.find(wanted(place).key) ? [name] : []));

  test('drops the tiles that it touches in every set, zoom and format, alone and with others', async () => {
    const cache = await filled();
    expect(cache.dropCollection(1, [AREA])).toBe(5);
    expect(there(cache)).toEqual(['far', 'farDegrees', 'farLow', 'other']);
  });

  test('drops the neighbour whose buffer reaches over, and no more', async () => {
    const cache = new TileCache(1_000_000);
    const at = (column: number, format = PNG_FORMAT) => wanted({ zoom: 1, row: 0, column, format });
    for (const column of [0, 1]) await cache.load(at(column), async () => tileOf(1));
    // A hundredth of a tile east of the line between both.
    cache.dropCollection(1, [[1.8, 40, 1.8, 40]]);
    expect([0, 1].filter((column) => cache.find(at(column).key))).toEqual([]);
    for (const column of [0, 1]) await cache.load(at(column), async () => tileOf(1));
    cache.dropCollection(1, [[90, 40, 90, 40]]);
    expect([0, 1].filter((column) => cache.find(at(column).key))).toEqual([0]);
  });

  test('finds few tiles among many, and many among few', async () => {
    const cache = new TileCache(10_000_000);
    const row = (zoom: number) => 2 ** (zoom - 1);
    for (let column = 0; column < 200; column++)
      await cache.load(wanted({ zoom: 8, row: row(8), column }), async () => tileOf(1));
    await cache.load(wanted({ zoom: 14, row: row(14), column: 5000 }), async () => tileOf(1));
    expect(cache.dropCollection(1, [[-180, -1, -175, 1]])).toBe(4);
    expect(cache.dropCollection(1, [[-90, -20, 0, 20]])).toBe(66 + 1);
  });

  test('without a known area drops the whole collection', async () => {
    const cache = await filled();
    cache.dropCollection(1);
    expect(there(cache)).toEqual(['other']);
  });

  test('keeps a rendering that was under way from being stored, if it touches it', async () => {
    const cache = new TileCache(1_000_000);
    const finish: (() => void)[] = [];
    const render = () => new Promise<ReturnType<typeof tileOf>>((done) => finish.push(() => done(tileOf(1))));
    const [near, far] = [wanted(PLACES.near), wanted(PLACES.far)];
    const before = [cache.load(near, render), cache.load(far, render)];
    cache.dropCollection(1, [AREA]);
    // Who asks after the edit gets a rendering of after the edit.
    const after = cache.load(near, async () => tileOf(2));
    for (const one of finish) one();
    expect((await Promise.all(before)).map(({ bytes }) => bytes)).toEqual([1, 1]);
    expect((await after).bytes).toBe(2);
    expect(cache.find(near.key)?.tile.bytes).toBe(2);
    expect(cache.find(far.key)?.tile.bytes).toBe(1);
  });
});

describe('tiles of equal content', () => {
  const at = (column: number) => wanted({ zoom: 8, row: 0, column });

  test('are held once, until the last of them goes', async () => {
    const cache = new TileCache(10_000_000);
    for (let column = 0; column < 10; column++)
      await cache.load(at(column), async () => tileOf(50_000, 'sea'));
    await cache.load(at(10), async () => tileOf(50_000, 'land'));
    expect(cache.find(at(3).key)!.tile).toBe(cache.find(at(4).key)!.tile);
    const { bytes } = cache.statistics();
    expect(bytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThan(110_000);
    cache.invalidate((key) => key.includes('/8/0/') && !key.startsWith(`mvt/WebMercatorQuad/8/0/9/`));
    expect(cache.find(at(9).key)!.tile.bytes).toBe(50_000);
    expect(cache.statistics().bytes).toBeGreaterThan(50_000);
    cache.invalidate(() => true);
    expect(cache.statistics()).toMatchObject({ entries: 0, bytes: 0 });
  });

  test('have their own names in a content delivery network, and one body', async () => {
    const cache = new TileCache(10_000_000);
    const body = Buffer.alloc(50_000);
    for (let column = 0; column < 2; column++)
      await cache.load(at(column), async () => ({
        ...{ body: Buffer.from(body), tag: 'sea', bytes: 50_000, names: ['tiles', `c1-8-0-${column}`] },
      }));
    const [one, other] = [0, 1].map((column) => cache.find(at(column).key)!.tile);
    expect([one!.names, other!.names]).toEqual([
      ['tiles', 'c1-8-0-0'],
      ['tiles', 'c1-8-0-1'],
    ]);
    expect(other!.body).toBe(one!.body);
    expect(cache.statistics().bytes).toBeLessThan(55_000);
  });

  test('keep the rasters and batches that each of them shows', async () => {
    const cache = new TileCache(10_000_000);
    const shown = (count: number) =>
      ({ batch: { start: '2026-01-01T00:00:00Z' }, count, items: [] }) as never;
    for (let column = 0; column < 2; column++)
      await cache.load(at(column), async () => ({ ...tileOf(10, 'sea'), shown: shown(column) }));
    expect([0, 1].map((column) => cache.find(at(column).key)!.tile.shown?.count)).toEqual([0, 1]);
  });

  test('are counted for each collection that they show', async () => {
    const cache = new TileCache(10_000_000);
    await cache.load(wanted({ zoom: 1, row: 0, column: 0, layers: [1, 2] }), async () => tileOf(10, 'a'));
    await cache.load(wanted({ zoom: 1, row: 0, column: 1, layers: [2] }), async () => tileOf(10, 'a'));
    expect(cache.byCollection().get(1)).toEqual({ entries: 1, bytes: 10 });
    expect(cache.byCollection().get(2)).toEqual({ entries: 2, bytes: 20 });
    cache.dropCollection(1);
    expect([...cache.byCollection()]).toEqual([[2, { entries: 1, bytes: 10 }]]);
  });
});

describe('tiles of one rendering', () => {
  const four = [0, 1, 2, 3].map((column) => wanted({ zoom: 8, row: 0, column }));
  const block = (index: number): TileBlock => ({ key: 'block', tiles: four, width: 4, height: 1, index });
  const never = () => Promise.reject(new Error('made twice'));
  /** A drawing that ends when it is told to. */
  function drawing(sizes: number[]) {
    let finish = () => {};
    const drawn = new Promise<Tile[]>((done) => {
      finish = () => done(sizes.map((bytes) => tileOf(bytes)));
    });
    return { draw: () => drawn, finish };
  }
  const held = (cache: TileCache) => four.map(({ key }) => cache.find(key)?.tile.bytes);

  test('are all kept, and waited for by who asks for any of them', async () => {
    const cache = new TileCache(1_000_000);
    const { draw, finish } = drawing([1, 2, 3, 4]);
    const answers = [cache.loadBlock(block(0), draw), cache.loadBlock(block(1), never)];
    finish();
    expect((await Promise.all(answers)).map(({ bytes }) => bytes)).toEqual([1, 2]);
    await new Promise(setImmediate);
    expect(held(cache)).toEqual([1, 2, 3, 4]);
  });

  test('are drawn once also when all are looked for on disk first', async () => {
    const level: TileLevel = {
      reach: 'server',
      read: async () => undefined,
      write: () => {},
      drop: async () => 0,
      status: async () => ({ name: 'disk', healthy: true, lookUps: { hits: 0, misses: 0 } }),
      close: async () => {},
    };
    const cache = new TileCache(1_000_000, new TileLevels([level]));
    let drawings = 0;
    const draw = async () => {
      drawings++;
      return [1, 2, 3, 4].map((bytes) => tileOf(bytes));
    };
    const answers = await Promise.all(four.map((_, i) => cache.loadBlock(block(i), draw)));
    expect(answers.map(({ bytes }) => bytes)).toEqual([1, 2, 3, 4]);
    expect(drawings).toBe(1);
  });

  test('fail together, and only for who waits', async () => {
    const cache = new TileCache(1_000_000);
    const broken = () => Promise.reject(new Error('broken'));
    const answers = [cache.loadBlock(block(0), broken), cache.loadBlock(block(2), never)];
    for (const answer of answers) await expect(answer).rejects.toThrow('broken');
    expect((await cache.load(four[2]!, async () => tileOf(7))).bytes).toBe(7);
  });

  test('are drawn anew after an edit in one of them, and only the others are kept', async () => {
    const cache = new TileCache(1_000_000);
    const before = drawing([1, 2, 3, 4]);
    const after = drawing([10, 20, 30, 40]);
    const old = cache.loadBlock(block(1), before.draw);
    const [west, east] = [(1 / 256) * 360 - 180, (2 / 256) * 360 - 180];
    const middle = (west + east) / 2;
    cache.dropCollection(1, [[middle, 85, middle, 85]]);
    const anew = cache.loadBlock(block(1), after.draw);
    before.finish();
    after.finish();
    expect((await old).bytes).toBe(2);
    expect((await anew).bytes).toBe(20);
    await new Promise(setImmediate);
    expect(held(cache)).toEqual([1, 20, 3, 4]);
  });
});
