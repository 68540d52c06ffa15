import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { errorLines, gateways } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { smallWorld } from '../../support/small-world.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-tile-jobs-'));
let server: TestServer;
let ids: Map<string, number>;

beforeAll(async () => {
  const data = join(folder, 'data');
  mkdirSync(data);
  smallWorld(data, ['states_provinces', 'countries']);
  server = await startServerProcess({ sources: [data, 'demo/data/L7_ETMs.tif'] });
  const { collections } = (await (await fetch(`${server.url}/ogc/tiles/collections?f=json`)).json()) as {
    collections: { name: string; id: string }[];
  };
  ids = new Map(collections.map(({ name, id }) => [name, Number(id)]));
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Job {
  JobId: string;
  Status: number;
  TotalTiles: number;
  ProcessedTiles: number;
  SuccessfulTiles: number;
  PercentComplete: number | null;
  ErrorMessage: string | null;
  Warnings: string[];
  ArchiveSizeBytes: number;
  DownloadUrl: string | null;
  PublishedArtifact: { AccessUrl: string; ObjectKey: string; LayerId: number } | null;
}

const BASE = '/api/v1/admin/tile-operations';

async function call(method: string, path: string, body?: unknown) {
  const headers = { 'x-api-key': server.adminKey, ...(body ? { 'content-type': 'application/json' } : {}) };
  const response = await fetch(server.url + path, {
    method,
    headers,
    body: body ? JSON.stringify(body) : null,
  });
  return { status: response.status, body: (await response.json()) as never };
}

async function metrics(): Promise<string> {
  return (await fetch(`${server.url}/metrics`, { headers: { 'x-api-key': server.adminKey } })).text();
}

async function start(body: Record<string, unknown>): Promise<string> {
  const answer = await call('POST', `${BASE}/jobs`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return (answer.body as { JobId: string }).JobId;
}

const jobOf = async (id: string) => (await call('GET', `${BASE}/jobs/${id}`)).body as Job;

async function until(id: string, good: (job: Job) => boolean): Promise<Job> {
  for (const end = Date.now() + 120_000; Date.now() < end; await pause(50)) {
    // While the gateway is away there is no answer.
    const job = await jobOf(id).catch(() => undefined);
    if (job?.JobId && good(job)) return job;
  }
  throw new Error('it did not come to that');
}
const ended = (id: string) => until(id, ({ Status }) => Status > 1);

async function download(job: Job, name: string): Promise<string> {
  const headers = { 'x-api-key': server.adminKey };
  const response = await fetch(server.url + job.DownloadUrl, { headers });
  expect(response.status).toBe(200);
  const path = join(folder, name);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.length).toBe(job.ArchiveSizeBytes);
  const part = await fetch(server.url + job.DownloadUrl, { headers: { ...headers, range: 'bytes=100-199' } });
  expect(part.status).toBe(206);
  expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(100, 200))).toBe(true);
  writeFileSync(path, bytes);
  return path;
}

describe('an archive job', () => {
  it('survives kill -9 again and again and ends with every tile once', async () => {
    const body = {
      operation: 'archive',
      layerId: ids.get('countries'),
      minZoom: 0,
      maxZoom: 6,
      container: 'mbtiles',
    };
    const id = await start(body);
    const killed = new Set<number>();
    let done = 0;
    while (killed.size < 3) {
      const job = await until(id, ({ ProcessedTiles, Status }) => ProcessedTiles > done + 200 || Status > 1);
      expect(job.Status).toBeLessThan(2);
      done = job.ProcessedTiles;
      const [gateway] = gateways(server.process.pid!).filter((pid) => !killed.has(pid));
      if (!gateway) continue;
      process.kill(gateway, 'SIGKILL');
      killed.add(gateway);
    }
    const job = await ended(id);
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null, PercentComplete: 100, FailedTiles: 0 });
    expect(job.ProcessedTiles).toBe(job.TotalTiles);
    const db = new Database(await download(job, 'killed.mbtiles'), { readonly: true });
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    const read = db.prepare(
      'SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?',
    );
    const stored = db.prepare('SELECT count(*) FROM tiles').pluck().get() as number;
    const base = `${server.url}/ogc/tiles/collections/${ids.get('countries')}/tiles/WebMercatorQuad`;
    let found = 0;
    const compare = async (zoom: number, row: number, column: number) => {
      const response = await fetch(`${base}/${zoom}/${row}/${column}?f=mvt`);
      const tile = read.get(zoom, column, 2 ** zoom - 1 - row) as { tile_data: Buffer } | undefined;
      const body = Buffer.from(await response.arrayBuffer());
      expect(tile ? [200] : [204, 404], `${zoom}/${row}/${column}`).toContain(response.status);
      if (tile) expect(gunzipSync(tile.tile_data).equals(body)).toBe(true);
      if (tile) found++;
    };
    for (let zoom = 0; zoom <= 5; zoom++) {
      const numbers = Array.from({ length: 2 ** zoom }, (_, i) => i);
      for (const row of numbers) await Promise.all(numbers.map((column) => compare(zoom, row, column)));
    }
    expect(found).toBeGreaterThan(500);
    expect(stored).toBeGreaterThan(found);
    const twice = db.prepare(
      'SELECT 1 FROM map GROUP BY zoom_level, tile_column, tile_row HAVING count(*) > 1',
    );
    expect(twice.all()).toEqual([]);
    db.close();
    expect(readdirSync(join(server.dataDir, 'archives'))).toEqual([`${id}.mbtiles`]);
    // Three restarts and 5,000 tiles, on a machine that does other things too.
  }, 600_000);

  it('is seen among jobs and operations, can be cancelled, leaves nothing, and runs again', async () => {
    const body = { Operation: 'archive', LAYERID: ids.get('states_provinces'), minZoom: 0, maxZoom: 9 };
    const id = await start(body);
    await until(id, ({ ProcessedTiles }) => ProcessedTiles > 0);
    const console = (await call('GET', `/api/v1/admin/jobs/${id}`)).body as Record<string, unknown>;
    expect(console).toMatchObject({ kind: 'TileCache', resourceRefs: ['collection:states_provinces'] });
    const active = (await call('GET', '/api/v1/admin/operations/type/PMTilesArchive')).body;
    expect(active).toMatchObject({ TotalCount: 1, Operations: [{ operationId: id, type: 5 }] });
    const listed = (await call('GET', `${BASE}/jobs`)).body;
    expect(listed).toMatchObject({ TotalCount: 1, Jobs: [{ JobId: id, Operation: 'archive', Status: 1 }] });
    expect((await call('POST', `${BASE}/jobs/${id}/cancel`)).status).toBe(200);
    expect(await ended(id)).toMatchObject({ Status: 4, DownloadUrl: null });
    expect(readdirSync(join(server.dataDir, 'archives')).filter((name) => name.startsWith(id))).toEqual([]);
    expect((await call('POST', `${BASE}/jobs/${id}/retry`)).body).toMatchObject({ RetryJobId: id });
    await until(id, ({ Status }) => Status < 2);
    await call('POST', `${BASE}/jobs/${id}/cancel`);
    await ended(id);
  });

  it('publishes an archive as a collection, and replaces it', async () => {
    const body = { operation: 'publish', layerId: ids.get('countries'), maxZoom: 3 };
    for (const maxZoom of [2, 3]) {
      const job = await ended(await start({ ...body, maxZoom }));
      expect(job).toMatchObject({ Status: 2, PublishedArtifact: { ObjectKey: 'countries-tiles.pmtiles' } });
      const { AccessUrl, LayerId } = job.PublishedArtifact!;
      const tileset = await fetch(`${server.url}${AccessUrl}?f=json`);
      expect(tileset.status).toBe(200);
      const tile = (z: number) =>
        fetch(`${server.url}/ogc/tiles/collections/${LayerId}/tiles/WebMercatorQuad/${z}/0/0?f=mvt`);
      expect((await tile(2)).status).toBe(200);
    }
    expect(readdirSync(join(server.dataDir, 'published'))).toEqual(['countries-tiles.pmtiles']);
  });

  it('writes images into a GeoPackage', async () => {
    const body = {
      operation: 'archive',
      layerId: ids.get('countries'),
      maxZoom: 2,
      container: 'gpkg',
      format: 'png',
    };
    const job = await ended(await start({ ...body, tileMatrixSetId: 'WorldCRS84Quad' }));
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null });
    const db = new Database(await download(job, 'images.gpkg'), { readonly: true });
    expect(db.prepare('SELECT count(*) FROM countries WHERE zoom_level = 2').pluck().get()).toBeGreaterThan(
      10,
    );
    db.close();
  });
});

describe('a seed job', () => {
  const tileUrl = () =>
    `${server.url}/ogc/tiles/collections/${ids.get('countries')}/tiles/WebMercatorQuad/3/2/4?f=mvt`;

  it('fills the cache, and jobs empty it again', async () => {
    const misses = async () => {
      const text = await metrics();
      return Number(/^svc_tile_cache_misses(?:_total)? (\d+)/m.exec(text)?.[1] ?? Number.NaN);
    };
    const seeded = await ended(await start({ operation: 'seed', layerId: ids.get('countries'), maxZoom: 3 }));
    expect(seeded).toMatchObject({ Status: 2, TotalTiles: 85 });
    const before = await misses();
    expect(before).toBeGreaterThan(50);
    await (await fetch(tileUrl())).arrayBuffer();
    expect(await misses()).toBe(before);
    const dropped = await ended(await start({ operation: 'invalidate', layerId: ids.get('countries') }));
    expect(dropped.SuccessfulTiles).toBeGreaterThan(50);
    await (await fetch(tileUrl())).arrayBuffer();
    expect(await misses()).toBe(before + 1);
    const evicted = (await call('POST', `${BASE}/evict`)).body;
    expect(evicted).toMatchObject({ Enabled: true, Message: expect.stringMatching(/^[1-9]\d* tiles/) });
    await (await fetch(tileUrl())).arrayBuffer();
    expect(await misses()).toBe(before + 2);
  });

  it('counts in the metrics', async () => {
    const text = await metrics();
    expect(text).toMatch(/^svc_tile_jobs_total\{operation="seed",status="completed"\} 1$/m);
    expect(text).toMatch(/^svc_tile_jobs_queue_depth 0$/m);
    expect(text).toMatch(/^svc_tile_archives_size_bytes_count [1-9]/m);
    expect(text).toMatch(/^svc_tile_jobs_tiles_processed_total [1-9]/m);
  });
});

describe('a layer with a permanent filter and a hidden field', () => {
  it('is archived and seeded where its rows are', async () => {
    const layerId = ids.get('states_provinces')!;
    const admin = '/api/v1/admin';
    const settings = `${admin}/metadata/layers/${layerId}`;
    const permanentFilter = { expression: "iso_a2 = 'CH'" };
    for (const [path, body] of [
      ['filter', { permanentFilter }],
      ['fields', { fields: [{ name: 'fips', hidden: true }] }],
    ] as const)
      expect((await call('PUT', `${settings}/${path}`, body)).status).toBe(200);
    for (const operation of ['archive', 'seed']) {
      const job = await ended(await start({ operation, layerId, minZoom: 0, maxZoom: 6 }));
      expect(job).toMatchObject({ Status: 2, ErrorMessage: null });
      // The tiles around Switzerland, and not those of the world.
      expect(job.TotalTiles).toBeLessThan(40);
    }
  });
});

describe('WebP', () => {
  it.each(['pmtiles', 'mbtiles'])('is archived and published as %s, and seeded', async (container) => {
    const body = { layerId: ids.get('l7_etms'), minZoom: 10, maxZoom: 12, format: 'webp', container };
    const seeded = await ended(await start({ ...body, operation: 'seed' }));
    expect(seeded).toMatchObject({ Status: 2, ErrorMessage: null });
    expect(seeded.SuccessfulTiles).toBeGreaterThan(5);
    const job = await ended(await start({ ...body, operation: 'publish' }));
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null });
    const { AccessUrl } = job.PublishedArtifact!;
    const stored = await fetch(`${server.url}${AccessUrl}/12/2139/1651?f=webp`);
    const made = await fetch(`${server.url}/tiles/l7_etms/12/1651/2139.webp`);
    expect([stored.status, stored.headers.get('content-type')]).toEqual([200, 'image/webp']);
    expect(
      Buffer.from(await stored.arrayBuffer())
        .subarray(8, 12)
        .toString(),
    ).toBe('WEBP');
    expect(made.status).toBe(200);
  });
});

describe('a wrong request', () => {
  it.each([
    [{}, 400],
    [{ operation: 'paint' }, 400],
    [{ operation: 'seed' }, 400],
    [{ operation: 'archive', serviceId: 'countries' }, 400],
    [{ operation: 'seed', layerId: 9999 }, 400],
    [{ operation: 'seed', serviceId: 'nowhere' }, 400],
    [{ operation: 'seed', serviceId: 'countries', minZoom: 5, maxZoom: 4 }, 400],
    [{ operation: 'seed', serviceId: 'countries', maxZoom: 99 }, 400],
    [{ operation: 'seed', serviceId: 'countries', bbox: [1, 2, 3] }, 400],
    [{ operation: 'seed', serviceId: 'countries', bbox: [1, 20, 3, 10] }, 400],
    [{ operation: 'seed', serviceId: 'countries', tileMatrixSetId: 'x' }, 400],
    [{ operation: 'seed', serviceId: 'countries', format: 'gif' }, 400],
    [{ operation: 'seed', serviceId: 'countries', style: 'blue' }, 400],
    [{ operation: 'seed', serviceId: 'countries', maxTiles: 0 }, 400],
    [[1], 400],
  ])('%j: %i', async (body, status) => {
    expect((await call('POST', `${BASE}/jobs`, body)).status).toBe(status);
  });

  it('for a container: 400', async () => {
    const layerId = ids.get('countries');
    for (const wrong of [
      { container: 'gpkg' },
      { container: 'gpkg', format: 'png', operation: 'publish' },
      { container: 'mbtiles', tileMatrixSetId: 'WorldCRS84Quad' },
    ]) {
      const body = { operation: 'archive', layerId, ...wrong };
      expect((await call('POST', `${BASE}/jobs`, body)).status).toBe(400);
    }
  });

  it('for a job that is not there, or has ended', async () => {
    expect((await call('GET', `${BASE}/jobs/nothing`)).status).toBe(404);
    expect((await call('POST', `${BASE}/jobs/nothing/cancel`)).status).toBe(404);
    expect((await call('POST', `${BASE}/jobs/nothing/retry`)).status).toBe(400);
    const id = await start({ operation: 'purge' });
    await ended(id);
    expect((await call('POST', `${BASE}/jobs/${id}/cancel`)).status).toBe(400);
    expect((await call('POST', `${BASE}/jobs/${id}/retry`)).status).toBe(400);
    expect((await call('GET', `${BASE}/jobs/${id}/archive`)).status).toBe(404);
    expect((await fetch(`${server.url}${BASE}/jobs/${id}/archive`)).status).toBe(401);
  });

  it('leaves no error in the log', () => {
    const killed = /exited by SIGKILL/;
    expect(errorLines(server.log()).filter((line) => !killed.test(line['@m'] ?? ''))).toEqual([]);
  });
});
