import { describe, expect, it, vi } from 'vitest';
import type { RasterCollection } from '../../../src/core/catalog/collection.js';
import type { MergeStrategy } from '../../../src/core/catalog/layer-settings.js';
import { listMosaicMembers } from '../../../src/core/catalog/raster-sources.js';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import type { Box } from '../../../src/core/geometry/box.js';
import { LIMITS } from '../../../src/core/kit/limits.js';
import { RASTER_LIMITS } from '../../../src/core/rasters/limits.js';
import type { Merge, RasterMosaic } from '../../../src/core/rasters/rasters.js';
import type { SceneSearchTask } from '../../../src/core/stac/stac-scenes.js';
import { stacSource } from '../../../src/core/stac/stac-source.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { settled } from '../../../src/services/catalog/layers/effective-collection.js';
import { chooseRaster } from '../../../src/services/rasters/choose.js';
import { listCoveringCells } from '../../../src/services/rasters/stac-imagery/cells.js';
import { sceneMembers } from '../../../src/services/rasters/stac-imagery/mosaic.js';
import { searchTime, withItsScenes } from '../../../src/services/rasters/stac-imagery/windows.js';

const SOURCE = 'stac+https://stac.example.org/?collections=scenes&asset=data&search=window&refresh=30';
const collection = {
  kind: 'raster',
  raster: {
    source: { kind: 'mosaic', members: [], search: stacSource(SOURCE), byRange: true },
    extent84: [-180, -85, 180, 85],
  },
} as unknown as RasterCollection;

/** Pools of an API that finds a scene in each cell. */
function pools(tasks: SceneSearchTask[], state: { isAway?: boolean } = {}): Pools {
  return {
    async run(_: string, task: SceneSearchTask) {
      tasks.push(task);
      if (state.isAway) throw new TaskFailure('store-unavailable', 'It is away.');
      const { bbox } = task.query;
      const scene = { id: String(bbox), collection: 'scenes', bbox, hrefs: ['https://example.org/a.tif'] };
      return { scenes: [scene, { ...scene, id: 'everywhere' }], isCut: false, refused: 0, problems: [] };
    },
  } as unknown as Pools;
}

const window = (window84: Box) => ({ window84, datetime: undefined });
const idsOf = ({ raster }: RasterCollection) => listMosaicMembers(raster.source)!.map(({ id }) => id);

describe('cells', () => {
  it.each<[Box, number]>([
    [[10, 50, 10.1, 50.1], 1],
    [[-0.1, -0.1, 0.1, 0.1], 4],
    [[-180, -90, 180, 90], 1],
    [[179.9, 10, -179.9, 10.1], 2],
    [[8.25, 46, 8.25, 46], 1],
  ])('cover %j, and are %i', (box, count) => {
    const cells = listCoveringCells(box);
    expect(cells).toHaveLength(count);
    for (const corner of [
      [box[0], box[1]],
      [box[2], box[3]],
    ])
      expect(
        cells.some(
          ([w, s, e, n]) => w <= corner[0]! && corner[0]! <= e && s <= corner[1]! && corner[1]! <= n,
        ),
      ).toBe(true);
  });

  it.each<[Box, Box[]]>([
    [
      [175, -20, 185.05, -10],
      [
        [168.75, -22.5, 180, -11.25],
        [-180, -22.5, -168.75, -11.25],
      ],
    ],
    [[180, 10, 180, 10], [[179.6484375, 9.84375, 180, 10.1953125]]],
    [[-185, 10, -180, 10], [[174.375, 5.625, 180, 11.25]]],
  ])('of %j beyond the antimeridian have a width', (window, some) => {
    const cells = listCoveringCells(window);
    for (const cell of some) expect(cells).toContainEqual(cell);
    for (const [west, south, east, north] of cells) {
      expect(west).toBeLessThan(east);
      expect(south).toBeLessThan(north);
    }
  });

  it('are cut at the sides of an area', () => {
    expect(listCoveringCells([-180, -85, 180, 85], [13, 50.7, 14, 51.1])).toEqual([[13, 50.7, 14, 51.1]]);
    expect(listCoveringCells([2, 48, 3, 49], [13, 50.7, 14, 51.1])).toEqual([]);
    expect(listCoveringCells([-180, -85, 180, 85], [179, -19.5, -179, -18.8])).toEqual([
      [179, -19.5, 180, -18.8],
      [-180, -19.5, -179, -18.8],
    ]);
  });

  it('of tiles that lie together are the same', () => {
    const tiles = Array.from({ length: 64 }, (_, i) => [7 + (i % 8) * 0.01, 46 + (i >> 3) * 0.01]);
    const cells = tiles.flatMap(([x, y]) => listCoveringCells([x!, y!, x! + 0.01, y! + 0.01]).map(String));
    expect(new Set(cells).size).toBeLessThanOrEqual(4);
  });
});

describe('a search for a window', () => {
  it('is made once for windows that share a cell, at once and later', async () => {
    const tasks: SceneSearchTask[] = [];
    const of = pools(tasks);
    const windows: Box[] = [
      [10, 50, 10.1, 50.1],
      [10.02, 50.02, 10.05, 50.05],
      [10.03, 50.03, 10.04, 50.04],
    ];
    await Promise.all(windows.map((one) => withItsScenes(of, collection, window(one))));
    await withItsScenes(of, collection, window(windows[0]!));
    expect(tasks).toHaveLength(1);
    expect(tasks[0]).toMatchObject({ maxScenes: 100, query: { collections: ['scenes'], prefers: 'newest' } });
  });

  it('is made nowhere but in the bbox of its source', async () => {
    const tasks: SceneSearchTask[] = [];
    const search = stacSource(`${SOURCE}&bbox=13,50.7,14,51.1`);
    const { source } = collection.raster;
    const bounded = { ...collection, raster: { ...collection.raster, source: { ...source, search } } };
    const of = pools(tasks);
    expect(idsOf(await withItsScenes(of, bounded as RasterCollection, window([2, 48, 2.1, 48.1])))).toEqual(
      [],
    );
    expect(tasks).toEqual([]);
    await withItsScenes(of, bounded as RasterCollection, window([-180, -85, 180, 85]));
    expect(tasks.map(({ query }) => query.bbox)).toEqual([[13, 50.7, 14, 51.1]]);
  });

  it('has each scene of several cells once', async () => {
    const tasks: SceneSearchTask[] = [];
    const ids = idsOf(await withItsScenes(pools(tasks), collection, window([-0.1, -0.1, 0.1, 0.1])));
    expect(tasks).toHaveLength(4);
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
  });

  it('that fails is told, and not made again at once', async () => {
    const tasks: SceneSearchTask[] = [];
    const of = pools(tasks, { isAway: true });
    for (let i = 0; i < 3; i++)
      await expect(withItsScenes(of, collection, window([10, 50, 10.1, 50.1]))).rejects.toMatchObject({
        code: 'store-unavailable',
      });
    expect(tasks).toHaveLength(1);
  });
});

it('reads none of the scenes for a window that they do not touch', () => {
  const scene = { kind: 'remote', url: 'https://example.org/a.tif' } as const;
  const members = [{ id: 'a', source: scene, extent84: [10, 50, 11, 51] as Box }];
  const { raster } = collection;
  const source = { kind: 'mosaic', members, byRange: true } as const;
  const held = { ...collection, raster: { ...raster, source } } as unknown as RasterCollection;
  const at = (window84: Box) => chooseRaster(held, { window84 });
  expect(listMosaicMembers(at([20, 50, 21, 51])!.source)).toEqual([]);
  expect(listMosaicMembers(at([10, 50, 10.5, 51])!.source)).toEqual(members);
});

it('forgets what takes too much memory, the oldest first', async () => {
  const tasks: SceneSearchTask[] = [];
  const self = 'a'.repeat(RASTER_LIMITS.stacWindowBytes / 8);
  const run = async (_: string, task: SceneSearchTask) => {
    tasks.push(task);
    const scene = { id: 'a', collection: 'scenes', bbox: [0, 0, 1, 1], hrefs: ['https://example.org'], self };
    return { scenes: [scene], isCut: false, refused: 0, problems: [] };
  };
  const of = { run } as unknown as Pools;
  for (const west of [10, 20, 30, 40, 40, 10])
    await withItsScenes(of, collection, window([west, 50.1, west, 50.1]));
  expect(tasks).toHaveLength(5);
});

it('names thousands of scenes of several collections at once', () => {
  const source = stacSource(SOURCE.replace('collections=scenes', 'collections=a,b'));
  const scenes = Array.from({ length: 20_000 }, (_, i) => ({
    ...{ id: `${i >> 1}`, collection: i < 19_998 && i % 2 ? 'b' : 'a', bbox: [10, 50, 11, 51] as Box },
    hrefs: ['https://example.org/a.tif'],
  }));
  const start = performance.now();
  const members = sceneMembers(source, [...scenes, { ...scenes[0]!, id: 'alone' }]);
  // Each compared with each takes longer.
  expect(performance.now() - start).toBeLessThan(2000);
  expect(
    members
      .slice(0, 1)
      .concat(members.slice(-2))
      .map(({ id }) => id),
  ).toEqual(['alone', 'b.0', 'a.0']);
});

describe('a search that fails', () => {
  it.each(['invalid-input', 'too-large', 'source-missing', 'no-data'] as const)(
    'with %s is no fault of who asks',
    async (code) => {
      const of = { run: () => Promise.reject(new TaskFailure(code, 'It lies.')) } as unknown as Pools;
      await expect(withItsScenes(of, collection, window([10, 50, 10.1, 50.1]))).rejects.toMatchObject({
        code: 'source-unreadable',
        message: 'It lies.',
      });
    },
  );

  it('after one that did not has what that one found', async () => {
    vi.useFakeTimers();
    const state = { isAway: false };
    const of = pools([], state);
    const ids = idsOf(await withItsScenes(of, collection, window([10, 50, 10.1, 50.1])));
    state.isAway = true;
    vi.advanceTimersByTime(31_000);
    expect(idsOf(await withItsScenes(of, collection, window([10, 50, 10.1, 50.1])))).toEqual(ids);
    vi.useRealTimers();
  });
});

/** Pools of an API that answers when the test says so. */
function slowPools() {
  const ends: (() => void)[] = [];
  const nothing = { scenes: [], isCut: false, refused: 0, problems: [] };
  const run = () => new Promise((resolve) => ends.push(() => resolve(nothing)));
  return { ends, of: { run } as unknown as Pools };
}

describe('an API that does not answer', () => {
  const at = (of: Pools, year: number, signal?: AbortSignal) => {
    const time = Date.UTC(year, 0);
    const datetime = { start: time, end: time };
    return withItsScenes(of, collection, { window84: [10, 50, 10.1, 50.1], datetime, signal });
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('has few searches at a time, and refuses those beyond all that may wait', async () => {
    const { ends, of } = slowPools();
    const first = Array.from({ length: RASTER_LIMITS.stacWindowSearches }, (_, i) => at(of, 1990 + i));
    await expect(at(of, 2024)).rejects.toMatchObject({ code: 'queue-full' });
    for (let ended = 0; ended < RASTER_LIMITS.stacWindowSearches; await turn()) {
      expect(ends.length - ended).toBeLessThanOrEqual(RASTER_LIMITS.stacSearches);
      for (; ended < ends.length; ended++) ends[ended]!();
    }
    await Promise.all(first);
    const later = at(of, 2024);
    await turn();
    ends.at(-1)!();
    expect(idsOf(await later)).toEqual([]);
  });

  it('holds no client that leaves, nor longer than a request may take', async () => {
    vi.useFakeTimers();
    const { ends, of } = slowPools();
    const client = new AbortController();
    const waits = [at(of, 1990, client.signal), at(of, 1990)];
    const outcomes = waits.map((one) => one.catch(({ code }: TaskFailure) => code));
    client.abort();
    expect(await outcomes[0]).toBe('cancelled');
    await vi.advanceTimersByTimeAsync(LIMITS.requestDeadlineMs);
    expect(await outcomes[1]).toBe('deadline-exceeded');
    const third = at(of, 1990);
    ends[0]!();
    expect(idsOf(await third)).toEqual([]);
    expect(ends).toHaveLength(1);
    vi.useRealTimers();
  });

  it('holds nobody where it was searched before', async () => {
    vi.useFakeTimers();
    const tasks: SceneSearchTask[] = [];
    const of = pools(tasks);
    const ids = idsOf(await withItsScenes(of, collection, window([10, 50, 10.1, 50.1])));
    let isEnded = false;
    const end = new Promise<void>((resolve) => setTimeout(resolve, 20_000)).then(() => {
      isEnded = true;
    });
    const { run } = of;
    of.run = (async (...args: Parameters<typeof run>) => end.then(() => run(...args))) as typeof run;
    vi.setSystemTime(Date.now() + 31_000);
    expect(idsOf(await withItsScenes(of, collection, window([10, 50, 10.1, 50.1])))).toEqual(ids);
    expect(isEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(tasks).toHaveLength(2);
    vi.useRealTimers();
  });
});

it('the setting of a layer has the oldest of the scenes on top, unless values are merged', async () => {
  const run = async () => {
    const hrefs = ['https://example.org/a.tif'];
    const scenes = ['2020', '2022', '2021', undefined].map((year = '') => ({
      ...{ id: year, collection: 'scenes', bbox: [10, 50, 11, 51], hrefs },
      ...(year && { acquired: `${year}-01-01T00:00:00Z` }),
    }));
    return { scenes, isCut: false, refused: 0, problems: [] };
  };
  const of = { run } as unknown as Pools;
  const by = (mergeStrategy: MergeStrategy, merge?: Merge) => {
    const { raster } = collection;
    const source = { ...(raster.source as RasterMosaic), ...(merge && { merge }) };
    const one = { ...collection, raster: { ...raster, source } };
    return settled(one, { mergeStrategy }, {}, undefined as never) as RasterCollection;
  };
  const at = (one: RasterCollection) => withItsScenes(of, one, window([10, 50.1, 10, 50.1]));
  expect(idsOf(await at(by('newest')))).toEqual(['', '2020', '2021', '2022']);
  expect(idsOf(await at(by('oldest')))).toEqual(['', '2022', '2021', '2020']);
  expect((await at(by('average'))).raster.source).toMatchObject({ merge: 'average' });
  expect(by('average', 'median').raster.source).toMatchObject({ merge: 'median' });
});

const DAY = 86_400_000;

it.each([
  [undefined, undefined, undefined],
  ['2024-01-01T00:00:00Z/..', undefined, '2024-01-01T00:00:00Z/..'],
  [undefined, { start: 1000, end: 2000 }, '1970-01-01T00:00:00.000Z/1970-01-01T23:59:59.999Z'],
  [undefined, { start: 1, end: DAY }, '1970-01-01T00:00:00.000Z/1970-01-02T23:59:59.999Z'],
  [
    '1969-01-01T10:00:00Z/..',
    { start: undefined, end: 1000 },
    '1969-01-01T10:00:00.000Z/1970-01-01T23:59:59.999Z',
  ],
  ['../1969-01-01T00:00:00Z', { start: 0, end: undefined }, null],
  ['../1970-01-01T10:00:00Z', { start: DAY / 2, end: undefined }, null],
])('times of the source %s and of the request %j are searched for together', (own, asked, expected) => {
  expect(searchTime(own, asked)).toBe(expected);
});

it('requests of one day share a search, and have the scenes of their own time', async () => {
  const tasks: SceneSearchTask[] = [];
  const run = async (_: string, task: SceneSearchTask) => {
    tasks.push(task);
    const hrefs = ['https://example.org/a.tif'];
    const scene = { collection: 'scenes', bbox: [10, 50, 11, 51], hrefs };
    const scenes = [10, 12, 14].map((hour) => {
      const acquired = `1970-01-01T${hour}:00:00Z`;
      return { ...scene, id: acquired.slice(11, 13), acquired };
    });
    return { scenes: [...scenes, { ...scene, id: 'ever' }], isCut: false, refused: 0, problems: [] };
  };
  const hours = async (first: number, last: number) =>
    idsOf(
      await withItsScenes({ run } as unknown as Pools, collection, {
        window84: [10, 50, 10.1, 50.1],
        datetime: { start: (first * DAY) / 24, end: (last * DAY) / 24 },
      }),
    ).sort();
  expect(await hours(9, 12)).toEqual(['10', '12', 'ever']);
  expect(await hours(13, 23)).toEqual(['14', 'ever']);
  expect(await hours(13, 13.5)).toEqual(['ever']);
});

it('scenes of several cells are in the order of their ranks', async () => {
  const lists = new Map([
    ['-0.', ['w0', 'shared', 'w2']],
    ['0,', ['shared', 'e1', 'e2']],
  ]);
  const run = async (_: string, { query }: SceneSearchTask) => {
    const [, ids] = [...lists].find(([start]) => String(query.bbox).startsWith(start))!;
    const scene = { collection: 'scenes', bbox: [-1, 50, 1, 51], hrefs: ['https://example.org/a.tif'] };
    return { scenes: ids.map((id) => ({ ...scene, id })), isCut: false, refused: 0, problems: [] };
  };
  const search = stacSource(`${SOURCE}&merge=first`);
  const { raster } = collection;
  const first = { ...collection, raster: { ...raster, source: { ...raster.source, search } } };
  const of = { run } as unknown as Pools;
  const box: Box = [-0.1, 50.1, 0.1, 50.15];
  const ids = idsOf(await withItsScenes(of, first as RasterCollection, window(box)));
  expect(ids.toReversed()).toEqual(['shared', 'w0', 'e1', 'e2', 'w2']);
});
