import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import {
  item,
  landing,
  page,
  type StacApi,
  sendJson,
  sendRange,
  startStacApi,
} from '../../support/stac-api.js';

const SCENES: Record<string, [number, number]> = {
  west: [600_000, 5_600_000],
  east: [620_000, 5_600_000],
};

const folder = mkdtempSync(join(tmpdir(), 'graticule-stac-tiles-'));
let api: StacApi;
let server: TestServer;
/** What is answered for the scene in the east. */
let status = 503;

function sceneOf(name: string): Buffer {
  const path = join(folder, `${name}.tif`);
  const [x, y] = SCENES[name]!;
  const place = ['-a_srs', 'EPSG:32632', '-a_ullr', x, y, x + 20_000, y - 20_000].map(String);
  const values = ['-outsize', '100', '100', '-bands', '1', '-ot', 'Byte', '-burn', '50', '-a_nodata', '0'];
  execFileSync('gdal_create', ['-q', '-of', 'GTiff', ...values, ...place, path]);
  return readFileSync(path);
}

beforeAll(async () => {
  const files = new Map(Object.keys(SCENES).map((name) => [`/${name}.tif`, sceneOf(name)]));
  api = await startStacApi();
  api.answer = (request, response) => {
    const file = files.get(request.url!);
    if (file && request.url === '/east.tif' && status !== 200) return response.writeHead(status).end();
    if (file) return sendRange(request, response, file);
    if (!request.url!.startsWith('/search')) return sendJson(response, landing());
    const items = Object.keys(SCENES).map((id, i) =>
      item(id, { bbox: [10.4 + 0.25 * i, 50.3, 10.75 + 0.25 * i, 50.6] }),
    );
    return sendJson(response, page(items));
  };
  server = await startServer({
    sources: [`stac+${api.origin}/?collections=scenes&asset=data&crs=EPSG:32632`],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1' },
  });
}, 60_000);

afterAll(async () => {
  await server?.stop();
  api.close();
  rmSync(folder, { recursive: true, force: true });
});

async function tile(id: string) {
  const response = await fetch(
    `${server.url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/8/86/135?f=png`,
  );
  const bytes = (await response.arrayBuffer()).byteLength;
  const { headers } = response;
  return {
    status: response.status,
    bytes,
    lost: headers.get('graticule-source-items-lost'),
    keep: headers.get('cache-control'),
  };
}

it('a tile that lacks a scene says so, and nobody keeps it', async () => {
  const { collections } = await (await fetch(`${server.url}/ogc/tiles/collections`)).json();
  const { id } = collections[0];
  for (let i = 0; i < 2; i++)
    expect(await tile(id)).toMatchObject({ status: 200, lost: '1', keep: 'no-store' });
  status = 200;
  await expect.poll(async () => (await tile(id)).lost, { timeout: 20_000, interval: 500 }).toBeNull();
  expect(await tile(id)).toMatchObject({ lost: null, keep: expect.stringContaining('max-age') });
}, 40_000);
