import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { multipart } from '../admin/support/multipart.js';
import { LANDSAT } from '../engine/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startS3, type TestS3 } from '../support/s3.js';
import { startServer, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';

const SOURCES = ['demo/data/world_map.gpkg'];

interface TileJob {
  JobId: string;
  Status: number;
  ErrorMessage: string | null;
  DownloadUrl: string;
  ArchiveSizeBytes: number;
  PublishedArtifact: { AccessUrl: string } | null;
}

describe('two servers whose files are in a bucket', () => {
  let postgres: TestPostgres;
  let s3: TestS3;
  let one: TestServer;
  let other: TestServer;
  let layerId: number;
  beforeAll(async () => {
    [postgres, s3] = await Promise.all([startPostgres(), startS3()]);
    const env = {
      ...s3.env,
      SVC_STATE__URL: await makeDatabase(postgres.url),
      SVC_STORAGE__URL: `s3://${s3.bucket}/maps/north`,
    };
    one = await startServer({ env, sources: SOURCES });
    other = await startServer({ env, sources: SOURCES });
    const { collections } = (await (await fetch(`${one.url}/ogc/tiles/collections?f=json`)).json()) as {
      collections: { id: string; title: string }[];
    };
    layerId = Number(collections.find(({ title }) => title.toLowerCase() === 'countries')!.id);
  });
  afterAll(async () => {
    await Promise.all([one?.stop(), other?.stop()]);
    await Promise.all([postgres?.stop(), s3?.stop()]);
  });

  const keyOf = (server: TestServer) => ({ 'x-api-key': server.adminKey });

  async function tileJob(server: TestServer, body: Record<string, unknown>): Promise<TileJob> {
    const base = `${server.url}/api/v1/admin/tile-operations/jobs`;
    const response = await fetch(base, {
      method: 'POST',
      headers: { ...keyOf(server), 'content-type': 'application/json' },
      body: JSON.stringify({ layerId, maxZoom: 4, ...body }),
    });
    const { JobId } = (await response.json()) as TileJob;
    expect(response.status).toBe(202);
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
      const job = (await (await fetch(`${base}/${JobId}`, { headers: keyOf(server) })).json()) as TileJob;
      if (job.Status > 1) return job;
    }
    throw new Error('the job did not end');
  }

  async function importRaster(server: TestServer, name: string) {
    const { contentType, body } = multipart([
      { name: 'layerId', content: '900' },
      { name: 'name', content: name },
      { name: 'file', filename: `${name}.tif`, content: readFileSync(LANDSAT) },
    ]);
    const response = await fetch(`${server.url}/api/v1/admin/import/raster`, {
      method: 'POST',
      headers: { ...keyOf(server), 'content-type': contentType },
      body: new Uint8Array(body),
    });
    return { status: response.status, body: await response.json() };
  }

  const coverage = (server: TestServer) =>
    fetch(`${server.url}/ogc/coverages/collections/scene/coverage?scale-size=64,64&f=png`);

  it('read a raster at both that one has imported, and lose it at both', async () => {
    const { status, body } = await importRaster(one, 'scene');
    expect(status, JSON.stringify(body)).toBe(200);
    expect(await s3.keys()).toEqual([expect.stringMatching(/^maps\/north\/rasters\/[0-9a-f-]+\.tif$/)]);
    // Nothing of it is left on the machine.
    const folder = join(one.dataDir, 'rasters');
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
    const pictures = await Promise.all(
      [one, other].map(async (server) => {
        const response = await coverage(server);
        expect(response.status).toBe(200);
        return createHash('sha1')
          .update(Buffer.from(await response.arrayBuffer()))
          .digest('hex');
      }),
    );
    expect(pictures[0]).toBe(pictures[1]);
    const removed = await fetch(`${other.url}/api/v1/admin/import/raster/${body.rasterId}`, {
      method: 'DELETE',
      headers: keyOf(other),
    });
    expect(removed.status).toBe(204);
    expect((await Promise.all([one, other].map(coverage))).map(({ status: code }) => code)).toEqual([
      404, 404,
    ]);
    expect(await s3.keys()).toEqual([]);
  });

  it('hand out at both, also in parts, the archive that one has made, until it is deleted', async () => {
    const job = await tileJob(one, { operation: 'archive' });
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null });
    const get = (server: TestServer, headers: Record<string, string> = {}) =>
      fetch(server.url + job.DownloadUrl, { headers: { ...keyOf(server), ...headers } });
    const whole = await get(other);
    expect(whole.status).toBe(200);
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect(bytes.byteLength).toBe(job.ArchiveSizeBytes);
    expect(bytes.subarray(0, 7).toString()).toBe('PMTiles');
    const part = await get(one, { range: 'bytes=100-355', 'if-range': whole.headers.get('etag')! });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe(`bytes 100-355/${bytes.byteLength}`);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(100, 356));
    expect((await get(one, { 'if-none-match': whole.headers.get('etag')! })).status).toBe(304);
    expect((await get(one, { range: 'bytes=99999999-' })).status).toBe(416);
    expect(await tileJob(one, { operation: 'delete', serviceId: 'countries' })).toMatchObject({ Status: 2 });
    expect((await get(other)).status).toBe(404);
    expect(await s3.keys()).toEqual([]);
  });

  it('serve at both the archive that one has published', async () => {
    const job = await tileJob(other, { operation: 'publish' });
    expect(job).toMatchObject({ Status: 2, ErrorMessage: null });
    expect(await s3.keys()).toEqual(['maps/north/published/countries-tiles.pmtiles']);
    const { AccessUrl } = job.PublishedArtifact!;
    for (const server of [one, other]) {
      const response = await fetch(`${server.url}${AccessUrl}/3/2/4?f=mvt`);
      expect(response.status).toBe(200);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
    const mbtiles = await fetch(`${one.url}/api/v1/admin/tile-operations/jobs`, {
      method: 'POST',
      headers: { ...keyOf(one), 'content-type': 'application/json' },
      body: JSON.stringify({ layerId, operation: 'publish', container: 'mbtiles' }),
    });
    expect(mbtiles.status).toBe(400);
  });

  it('fail an import with a reason while the bucket is away, and keep nothing of it', async () => {
    await s3.stop();
    const { status, body } = await importRaster(one, 'late');
    expect([status, JSON.stringify(body)]).toEqual([503, expect.stringMatching(/object store/)]);
    expect(readdirSync(join(one.dataDir, 'rasters'))).toEqual([]);
    // What needs nothing of it goes on.
    expect((await fetch(`${other.url}/ogc/features/collections/countries/items?limit=1`)).status).toBe(200);
  });
});
