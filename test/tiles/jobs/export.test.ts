import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { CatalogSnapshot, type VectorCollection } from '../../../src/core/catalog/collection.js';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import { CRS84 } from '../../../src/core/geometry/crs.js';
import type { GeoPackageSource } from '../../../src/core/sources/vector-source.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { tileBox, WEB_MERCATOR_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import Database from '../../../src/native/sqlite.js';
import { exportTiles, type TileExportOptions } from '../../../src/services/tiles/jobs/export.js';
import { yielding } from '../../../src/services/tiles/jobs/make.js';
import { seedTiles } from '../../../src/services/tiles/jobs/seed.js';
import type { TileJobRequest } from '../../../src/services/tiles/jobs/tally.js';
import { tileWork } from '../../../src/services/tiles/jobs/work.js';
import type { TileRequest } from '../../../src/services/tiles/request.js';
import type { Tile } from '../../../src/services/tiles/tile.js';
import { compress } from '../../../src/services/uploads/compression.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import {
  appendTiles,
  discardArchive,
  finishArchive,
  openArchive,
} from '../../../src/workers/tiles/archive/write.js';
import { findOccupiedBoxes } from '../../../src/workers/tiles/occupancy.js';
import { vectorTile } from '../../../src/workers/tiles/tile.js';
import { archiveTile } from '../../support/archive-tile.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const info = inspectGeoPackage('demo/data/world_map.gpkg').find(
  ({ source }) => source.table === 'countries',
)!;
const countries: VectorCollection = {
  kind: 'vector',
  id: 'countries',
  layerId: 1,
  title: 'Countries',
  description: '',
  extent84: info.extent84,
  storageCrs: CRS84,
  crs: [CRS84],
  file: 'demo/data/world_map.gpkg',
  version: '1',
  origin: '1',
  source: info.source as GeoPackageSource,
  featureCount: info.featureCount,
  cursor: 0,
  style: { version: 0, layers: [] },
};
const catalog = new CatalogSnapshot([countries], [], 1);

const key = (zoom: number, row: number, column: number) => `${zoom}/${row}/${column}`;

/** The real writer and the real indexes, here; what is appended is noted. */
function pools(appended: Map<string, number>, dies: () => boolean = () => false): Pools {
  const tasks: Record<string, (input: never) => unknown> = {
    'archive.open': openArchive,
    'archive.append': (input: Parameters<typeof appendTiles>[0]) => {
      if (dies()) throw new TaskFailure('worker-lost', 'killed');
      appendTiles(input);
      for (const { zoom, row, column } of input.tiles)
        appended.set(key(zoom, row, column), (appended.get(key(zoom, row, column)) ?? 0) + 1);
      return null;
    },
    'archive.finish': (input: Parameters<typeof finishArchive>[0]) => finishArchive(input),
    'archive.discard': discardArchive,
    'vector.occupied': (input: Parameters<typeof findOccupiedBoxes>[0]) => findOccupiedBoxes(input),
  };
  const run = async (name: string, input: unknown) => tasks[name]!(input as never);
  return { run: run as never, status: () => [], close: async () => {} };
}

const selection: TileJobRequest = {
  collections: ['countries'],
  tileMatrixSetId: 'WebMercatorQuad',
  minZoom: 0,
  maxZoom: 5,
  format: 'mvt',
};

async function made({ at }: TileRequest): Promise<Tile> {
  const { data } = await vectorTile({
    layers: [{ filter: undefined, name: 'countries', source: countries.source }],
    crs: at.set.crs.proj,
    bbox: tileBox(at.set, at.zoom, at.row, at.column),
    extent: 4096,
    buffer: 64,
    simplify: 0.5,
    encoding: 'gzip',
  });
  return { body: data.length === 0 ? undefined : data, bytes: data.length };
}

function options(output: string, extra: Partial<TileExportOptions> = {}): TileExportOptions {
  return {
    pools: pools(new Map()),
    signal: new AbortController().signal,
    concurrency: 3,
    output,
    container: 'pmtiles',
    make: made,
    room: async () => {},
    progress: () => {},
    ...extra,
  };
}

describe('an export', () => {
  it('holds every tile that is not empty', async () => {
    const output = join(folder, 'whole.mbtiles');
    const done = await exportTiles(tileWork(selection, catalog), options(output, { container: 'mbtiles' }));
    const expected = new Set<string>();
    for (let zoom = 0; zoom <= 5; zoom++)
      for (let row = 0; row < 2 ** zoom; row++)
        for (let column = 0; column < 2 ** zoom; column++) {
          const { body } = await made({ at: { set: WEB_MERCATOR_QUAD, zoom, row, column } } as TileRequest);
          if (body) expected.add(key(zoom, row, column));
        }
    const db = new Database(output, { readonly: true });
    const rows = db.prepare('SELECT zoom_level z, tile_row y, tile_column x FROM tiles').all() as {
      z: number;
      y: number;
      x: number;
    }[];
    const stored = rows.map(({ z, y, x }) => key(z, 2 ** z - 1 - y, x));
    db.close();
    expect(new Set(stored)).toEqual(expected);
    expect(stored).toHaveLength(expected.size);
    expect(done.tally).toMatchObject({ tiles: expected.size, processed: done.tally.total, failed: 0 });
    expect(done.archive.tiles).toBe(expected.size);
  });

  it('holds gzip of tiles that are something else where they come from', async () => {
    const output = join(folder, 'coded.pmtiles');
    const coded = async (request: TileRequest): Promise<Tile> => {
      const tile = await made(request);
      if (!tile.body) return tile;
      const encoding = request.at.column % 2 === 0 ? 'br' : 'zstd';
      const body = await compress(gunzipSync(tile.body), encoding);
      return { ...tile, body, encoding };
    };
    await exportTiles(tileWork({ ...selection, maxZoom: 2 }, catalog), options(output, { make: coded }));
    for (const [row, column] of [
      [1, 1],
      [1, 2],
    ] as const) {
      const tile = await archiveTile({ path: output, container: 'pmtiles', zoom: 2, row, column });
      const { body } = await made({ at: { set: WEB_MERCATOR_QUAD, zoom: 2, row, column } } as TileRequest);
      expect(tile.encoding).toBe('gzip');
      expect(gunzipSync(tile.data).equals(gunzipSync(body!))).toBe(true);
    }
  });

  it('that dies again and again makes no safe tile twice and ends with each once', async () => {
    const output = join(folder, 'dying.pmtiles');
    const appended = new Map<string, number>();
    const remade: string[] = [];
    let deaths = 0;
    let done: Awaited<ReturnType<typeof exportTiles>> | undefined;
    while (!done) {
      let left = 1;
      // All that a killed process wrote is in the file; what it made meanwhile is lost.
      const dies = () => left-- <= 0;
      const make = (request: TileRequest) => {
        const name = key(request.at.zoom, request.at.row, request.at.column);
        if (appended.has(name)) remade.push(name);
        return made(request);
      };
      const parts = options(output, { pools: pools(appended, deaths < 5 ? dies : undefined), make });
      const work = tileWork({ ...selection, maxZoom: 6 }, catalog);
      done = await exportTiles(work, parts).catch(() => undefined);
      if (!done) {
        deaths++;
        expect(existsSync(output)).toBe(false);
      }
    }
    expect(deaths).toBe(5);
    expect(remade).toEqual([]);
    expect([...appended.values()].every((times) => times === 1)).toBe(true);
    expect(done.archive.tiles).toBe(appended.size);
    expect(done.tally).toMatchObject({ tiles: appended.size, processed: done.tally.total });
    for (const name of [...appended.keys()].filter((_, i) => i % 17 === 0)) {
      const [zoom, row, column] = name.split('/').map(Number) as [number, number, number];
      const tile = await archiveTile({ path: output, container: 'pmtiles', zoom, row, column });
      const { body } = await made({ at: { set: WEB_MERCATOR_QUAD, zoom, row, column } } as TileRequest);
      expect(Buffer.from(tile.data).equals(body!)).toBe(true);
    }
  });

  it('keeps what it made when it is stopped, and goes on behind it', async () => {
    const output = join(folder, 'stopped.mbtiles');
    const appended = new Map<string, number>();
    const stop = new AbortController();
    const first = options(output, {
      container: 'mbtiles',
      pools: pools(appended),
      signal: stop.signal,
      progress: ({ tiles }) => tiles === 100 && stop.abort(new Error('stopped')),
    });
    await expect(exportTiles(tileWork(selection, catalog), first)).rejects.toThrow('stopped');
    expect(appended.size).toBeGreaterThanOrEqual(100);
    const before = appended.size;
    let makings = 0;
    const make = (request: TileRequest) => {
      makings++;
      return made(request);
    };
    const again = options(output, { container: 'mbtiles', pools: pools(appended), make });
    const { archive } = await exportTiles(tileWork(selection, catalog), again);
    expect(archive.tiles).toBe(appended.size);
    expect([...appended.values()].every((times) => times === 1)).toBe(true);
    expect(makings).toBeLessThan(archive.tiles - before + 400);
  });

  it('counts tiles that fail and waits for what passes', async () => {
    let refusals = 0;
    const make = async (request: TileRequest) => {
      const { zoom, row, column } = request.at;
      if (key(zoom, row, column) === '2/1/1') throw new TaskFailure('too-large', 'too much');
      if (key(zoom, row, column) === '2/1/2' && refusals++ < 2) throw new TaskFailure('queue-full', 'busy');
      return made(request);
    };
    const work = tileWork({ ...selection, maxZoom: 2 }, catalog);
    const done = await exportTiles(work, options(join(folder, 'failing.pmtiles'), { make }));
    expect(done.tally.failed).toBe(1);
    expect(done.failures).toEqual([expect.stringContaining('2/1/1')]);
    expect(refusals).toBe(3);
    expect(done.tally.processed).toBe(done.tally.total);
  });

  it('tries tiles again that lack rasters, and tells which still do', async () => {
    const tries = new Map<string, number>();
    const make = async (request: TileRequest): Promise<Tile> => {
      const { zoom, row, column } = request.at;
      const place = key(zoom, row, column);
      const count = (tries.get(place) ?? 0) + 1;
      tries.set(place, count);
      const isLossy = place === '2/1/1' || (place === '2/1/2' && count < 3);
      return { ...(await made(request)), isLossy };
    };
    const work = tileWork({ ...selection, maxZoom: 2 }, catalog);
    const output = join(folder, 'lossy.pmtiles');
    const done = await exportTiles(work, options(output, { make, lossPatience: 1300 }));
    expect(done.tally).toMatchObject({ failed: 0, lossy: 1, tiles: done.archive.tiles });
    expect(done.failures).toEqual(['Tile 2/1/1 has no tiles of rasters that could not be read.']);
    expect(tries.get('2/1/1')).toBe(3);
    expect(tries.get('2/1/2')).toBe(3);
    const seed = await seedTiles(work, { ...options('', { make, lossPatience: 0 }), from: undefined });
    expect(seed.tally).toMatchObject({ failed: 1, lossy: 0, tiles: done.archive.tiles - 1 });
    expect(seed.failures[0]).toContain('2/1/1');
  });

  it('ends where maxTiles says, and stays within a bounding box', async () => {
    const work = tileWork({ ...selection, maxTiles: 7, bbox: [0, 40, 20, 55] }, catalog);
    const { archive, cut } = await exportTiles(work, options(join(folder, 'few.pmtiles')));
    expect([archive.tiles, cut]).toEqual([7, true]);
    const small = tileWork({ ...selection, bbox: [0, 40, 20, 55] }, catalog);
    expect(small.total).toBeLessThan(60);
  });

  it('rejects when the disk is full, naming it, and leaves no file of the name', async () => {
    const output = join(folder, 'full.pmtiles');
    const full = pools(new Map());
    const run: Pools['run'] = async (name, input, more) => {
      if (name === 'archive.append') throw new TaskFailure('store-unavailable', 'There is no room left.');
      return full.run(name, input, more);
    };
    const work = tileWork(selection, catalog);
    await expect(exportTiles(work, options(output, { pools: { ...full, run } }))).rejects.toThrow(/no room/);
    expect(existsSync(output)).toBe(false);
    discardArchive({ output });
    expect(readdirSync(folder).filter((name) => name.includes('full'))).toEqual([]);
  });
});

describe('a selection', () => {
  it.each([
    [{ collections: ['rivers'] }, /no collection/],
    [{ tileMatrixSetId: 'Nowhere' }, /no tile matrix set/],
    [
      { minZoom: 5, maxZoom: 2 },
      'The zooms of WebMercatorQuad must be from 0 to 24, the first not above the last.',
    ],
    [{ maxZoom: 40 }, 'The zooms of WebMercatorQuad must be from 0 to 24, the first not above the last.'],
    [{ format: 'gif' }, /mvt, mlt, png, webp/],
    [{ collections: [] }, /no collection/],
  ])('%j is refused', (change, message) => {
    expect(() => tileWork({ ...selection, ...change }, catalog)).toThrow(message);
  });
});

it('begins nothing while others wait', async () => {
  let queued = 3;
  const busy = {
    status: () => [{ name: 'vector', queued: queued--, workers: 1, running: 1, healthy: true }],
  };
  await yielding(busy as unknown as Pools, new AbortController().signal)();
  expect(queued).toBe(-1);
});
