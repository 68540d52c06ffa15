import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { tiffWithMetadata } from './support.js';

/** Cloud rasters of the management API, read from a store of our own that speaks as S3 does. */

const work = mkdtempSync(join(tmpdir(), 'graticule-cloud-'));
const objects = new Map<string, Buffer>();
let store: Server;
let server: TestServer;
let dataDir: string;

const start = () =>
  startServer({
    dataDir,
    env: {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
      SVC_REMOTE__ALLOW: '127.0.0.1',
    },
  });

beforeAll(async () => {
  const path = join(work, 'cog.tif');
  const size = ['-outsize', '700', '700', '-co', 'BLOCKSIZE=128'];
  execFileSync('gdal_translate', ['-q', '-of', 'COG', ...size, 'demo/data/L7_ETMs.tif', path]);
  objects.set('/scenes/2026/a%20b.tif', readFileSync(path));
  objects.set('/scenes/text.tif', Buffer.from('no raster at all'.repeat(100)));
  objects.set(
    '/scenes/named.tif',
    tiffWithMetadata(
      `<GDALMetadata><Item name="OVERVIEW_FILE" domain="OVERVIEWS">${resolve('demo/data/L7_ETMs.tif')}</Item></GDALMetadata>`,
    ),
  );
  // Without another file's name it is a raster.
  objects.set('/scenes/plain.tif', tiffWithMetadata('<GDALMetadata/>'));
  store = createServer((request, response) => {
    const bytes = objects.get(request.url!);
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (!bytes || first === undefined) return response.writeHead(404).end();
    const part = bytes.subarray(Number(first), Number(last) + 1);
    const range = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`;
    return response.writeHead(206, { etag: `"${bytes.length}"`, 'content-range': range }).end(part);
  }).listen(0, '127.0.0.1');
  await once(store, 'listening');
  dataDir = mkdtempSync(join(work, 'data-'));
  server = await start();
}, 60_000);
afterAll(async () => {
  await server?.stop();
  store.close();
  store.closeAllConnections();
  rmSync(work, { recursive: true, force: true });
});

async function api(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const tile = async () => {
  const response = await fetch(`${server.url}/tiles/scene/12/1651/2139.png`);
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
};

const WANTED = {
  layerId: 30,
  name: 'Scene',
  provider: 'AwsS3',
  bucket: 'scenes',
  objectKey: '2026/a b.tif',
  createLayer: true,
};

describe('a cloud raster', () => {
  it('is a collection, also after a restart', async () => {
    const { status, body } = await api('POST', '/cloud-rasters', WANTED);
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ width: 700, bandCount: 6, srid: 31985, compression: 'LZW' }),
    ]);
    const first = await tile();
    expect(first.status).toBe(200);
    await server.stop();
    server = await start();
    expect((await tile()).bytes.equals(first.bytes)).toBe(true);
    expect((await api('POST', `/cloud-rasters/${body.id}/refresh`)).status).toBe(200);
    expect((await api('DELETE', `/cloud-rasters/${body.id}`)).status).toBe(204);
    expect((await tile()).status).toBe(404);
  }, 60_000);

  it('may be one pixel', async () => {
    const { status, body } = await api('POST', '/cloud-rasters', { ...WANTED, objectKey: 'plain.tif' });
    expect([status, body.width]).toEqual([201, 1]);
    expect((await api('DELETE', `/cloud-rasters/${body.id}`)).status).toBe(204);
  });

  it.each<[string, object, number]>([
    ['is not there', { objectKey: 'nothing.tif' }, 400],
    ['is no raster', { objectKey: 'text.tif' }, 400],
    ['names another file', { objectKey: 'named.tif' }, 400],
    ['is on a host that is not allowed', { provider: 'AzureBlob', bucket: 'scenes' }, 400],
  ])('is refused when it %s', async (_what, wrong, status) => {
    const answer = await api('POST', '/cloud-rasters', { ...WANTED, ...wrong });
    expect([answer.status, answer.body.detail]).toEqual([status, expect.any(String)]);
    expect((await api('GET', '/cloud-rasters?layerId=30')).body).toEqual([]);
  });
});
