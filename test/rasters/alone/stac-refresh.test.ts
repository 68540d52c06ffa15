import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listMosaicMembers } from '../../../src/core/catalog/raster-sources.js';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import type { RemoteRaster } from '../../../src/core/rasters/rasters.js';
import type { SceneSearchTask } from '../../../src/core/stac/stac-scenes.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { sceneMosaic } from '../../../src/services/rasters/stac-imagery/mosaic.js';
import { StacImagery } from '../../../src/services/rasters/stac-imagery/searches.js';

const ADDRESS = 'stac+https://stac.example.org/?collections=scenes&asset=data&refresh=600';
const REFRESH_MS = 600_000;

/** What an API of a test has now. */
interface State {
  scenes: { id: string; signature?: string; epsg?: number }[];
  type: string;
  isAway: boolean;
  /** A collection whose searches do not end. */
  hangs?: string;
  /** Searches and looks at scenes. */
  tasks: string[];
}

let state: State;
let imagery: StacImagery;
let changes: string[];

const raster = (type: string) => ({
  bands: [{ band: 1, type, noData: 0, description: '', colorInterpretation: 'Gray' }],
  ...{ blockSize: [256, 256], overviewCount: 0, driver: 'GTiff', source: { kind: 'file', path: '' } },
  ...{ width: 100, height: 100, epsg: 32632, crs: 'EPSG:32632' },
  geoTransform: [500_000, 100, 0, 5_600_000, 0, -100],
  ...{ extent: [500_000, 5_590_000, 510_000, 5_600_000], extent84: [9, 50.46, 9.14, 50.55] },
});

async function run(name: string, { query }: Partial<SceneSearchTask>): Promise<unknown> {
  state.tasks.push(name);
  if (query && query.collections[0] === state.hangs) return new Promise(() => {});
  if (state.isAway) throw new TaskFailure('store-unavailable', 'It is away.');
  if (name === 'raster.inspect') return raster(state.type);
  const scenes = state.scenes.map(({ id, signature = '', epsg = 32632 }) => ({
    ...{ id, collection: 'scenes', bbox: [9, 50.46, 9.14, 50.55], epsg },
    hrefs: [`https://example.org/${id}.tif?sig=${signature}`],
  }));
  return { scenes, isCut: false, refused: 0, problems: [] };
}

beforeEach(() => {
  vi.useFakeTimers();
  state = { scenes: [{ id: 'a' }, { id: 'b' }], type: 'Byte', isAway: false, tasks: [] };
  changes = [];
  imagery = new StacImagery({ run } as unknown as Pools);
  imagery.keep([ADDRESS]);
  imagery.watch((address) => changes.push(address));
});
afterEach(() => {
  imagery.close();
  vi.useRealTimers();
});

const searches = () => state.tasks.filter((name) => name === 'ingest.stacScenes').length;
const urls = (mosaic: ReturnType<typeof sceneMosaic>) =>
  listMosaicMembers(mosaic.source)!.map(({ source }) => (source as RemoteRaster).url);
const idsNow = async () =>
  listMosaicMembers(sceneMosaic(await imagery.read(ADDRESS)).source)!.map(({ id }) => id);

it('is not searched again for reloads, and again when it is old', async () => {
  for (let i = 0; i < 5; i++) {
    await imagery.read(ADDRESS);
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(searches()).toBe(1);
  await vi.advanceTimersByTimeAsync(REFRESH_MS);
  expect(searches()).toBe(2);
  expect(changes).toEqual([]);
});

it('is left alone for a minute after it failed', async () => {
  state.isAway = true;
  for (let i = 0; i < 4; i++) {
    await expect(imagery.read(ADDRESS)).rejects.toMatchObject({ code: 'store-unavailable' });
    await vi.advanceTimersByTimeAsync(14_000);
  }
  expect(searches()).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  state.isAway = false;
  expect(await idsNow()).toHaveLength(2);
});

describe('a search that ends', () => {
  it('finds other scenes', async () => {
    await imagery.read(ADDRESS);
    state.scenes = [{ id: 'a' }, { id: 'c' }];
    await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
    expect(changes).toEqual([ADDRESS]);
    expect((await idsNow()).sort()).toEqual(['a', 'c']);
    expect(state.tasks.filter((name) => name === 'raster.inspect')).toHaveLength(1);
  });

  it('finds nothing any more: nothing is shown', async () => {
    await imagery.read(ADDRESS);
    state.scenes = [];
    await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
    expect(changes).toEqual([ADDRESS]);
    expect(await idsNow()).toEqual([]);
    state.scenes = [{ id: 'a' }];
    await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
    expect(await idsNow()).toEqual(['a']);
  });

  it('fails: what it was stays', async () => {
    await imagery.read(ADDRESS);
    state.isAway = true;
    await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
    expect(searches()).toBe(2);
    expect(await idsNow()).toHaveLength(2);
  });

  it('renews signatures of what is published', async () => {
    const mosaic = sceneMosaic(await imagery.read(ADDRESS));
    for (const one of state.scenes) one.signature = 'new';
    await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
    expect(changes).toEqual([]);
    expect(urls(mosaic).sort()).toEqual(['a', 'b'].map((id) => `https://example.org/${id}.tif?sig=new`));
  });

  it('is forgotten where its source is none any more', async () => {
    const reading = imagery.read(ADDRESS);
    imagery.keep([]);
    await reading;
    imagery.keep([ADDRESS]);
    await imagery.read(ADDRESS);
    expect(searches()).toBe(2);
  });
});

it('has the bands of the scenes that are there', async () => {
  await imagery.read(ADDRESS);
  state = { ...state, scenes: [{ id: 'c' }], type: 'UInt16' };
  await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
  const { bands, source } = sceneMosaic(await imagery.read(ADDRESS));
  expect(bands.map(({ type }) => type)).toEqual(['UInt16']);
  expect(source).toMatchObject({ bandTypes: ['UInt16'] });
});

it('stays in its CRS when scenes of other zones come', async () => {
  expect(sceneMosaic(await imagery.read(ADDRESS)).crs).toBe('EPSG:32632');
  state.scenes = [...state.scenes, { id: 'c', epsg: 32633 }];
  await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
  expect(sceneMosaic(await imagery.read(ADDRESS)).crs).toBe('EPSG:32632');
});

it('that hangs does not hold up others', async () => {
  const other = ADDRESS.replace('scenes', 'others');
  imagery.keep([ADDRESS, other]);
  await Promise.all([imagery.read(ADDRESS), imagery.read(other)]);
  state = { ...state, scenes: [{ id: 'c' }], hangs: 'scenes' };
  await vi.advanceTimersByTimeAsync(REFRESH_MS + 5000);
  expect(changes).toEqual([other]);
});
