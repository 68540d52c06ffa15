import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FeatureStream } from '../../src/client/index.js';
import { startServer, type TestServer } from '../support/server.js';

/** Files that were published once and cannot be opened at the next start. */

const parent = mkdtempSync(join(tmpdir(), 'graticule-unread-'));
const [dataDir, folder] = [join(parent, 'data'), join(parent, 'sources')];
const FILES = { 'world.gpkg': 'demo/data/world_map.gpkg', 'dem.tif': 'demo/data/olinda_dem_utm25s.tif' };
/** Numbers of collections by their ids. */
const ids = new Map<string, number>();
let server: TestServer;

const start = () => startServer({ sources: [folder], dataDir });

interface Request {
  path: string;
  body?: object;
  accept?: string;
  key?: string | undefined;
  method?: string;
}

async function send({ path, body, accept, key, method = body ? 'POST' : 'GET' }: Request) {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      ...(accept === undefined ? {} : { accept }),
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, retry: response.headers.get('retry-after'), text: await response.text() };
}

const items = (id: string) => `/ogc/features/collections/${id}/items?limit=1&f=json`;
const admin = (method: string, path: string, body?: object) =>
  send({ path: `/api/v1/admin${path}`, method, key: server.adminKey, ...(body ? { body } : {}) });

beforeAll(async () => {
  for (const path of [dataDir, folder]) mkdirSync(path);
  for (const [name, source] of Object.entries(FILES)) copyFileSync(source, join(folder, name));
  server = await start();
  const { text } = await send({ path: '/ogc/tiles/collections?f=json' });
  for (const { id, name } of JSON.parse(text).collections) ids.set(name, Number(id));
  const metadata = (id: string) => `/services/default/layers/${ids.get(id)}/metadata`;
  const closed = await admin('PUT', metadata('states_provinces'), {
    accessPolicy: { allowAnonymous: false },
  });
  const disabled = await admin('PUT', metadata('disputed_borders'), { enabled: false });
  expect([closed.status, disabled.status]).toEqual([200, 200]);
  await server.stop();
  for (const name of Object.keys(FILES)) writeFileSync(join(folder, name), 'this is not what it was');
  server = await start();
});
afterAll(async () => {
  await server?.stop();
  rmSync(parent, { recursive: true, force: true });
});

describe('a file that cannot be opened since the start', () => {
  it('answers 503 on its pages and APIs, without the reason of the file', async () => {
    const n = ids.get('countries')!;
    const raster = ids.get('dem')!;
    const html = 'text/html';
    const requests: Request[] = [
      { path: items('countries') },
      { path: '/ogc/features/collections/countries', accept: html },
      { path: '/ogc/features/collections/countries/items', accept: html },
      { path: '/ogc/features/collections/countries/items/1?f=json' },
      { path: `/ogc/tiles/collections/${n}` },
      { path: `/ogc/maps/collections/${n}/map?width=64&height=64` },
      { path: '/tiles/countries/0/0/0' },
      { path: '/ogc/coverages/collections/dem/coverage?f=geotiff' },
      { path: '/ogc/coverages/collections/dem', accept: html },
      { path: '/stac/search', body: { collections: ['dem'] } },
      {
        path: '/ogc/processes/processes/geometry.centroid/execution',
        body: { inputs: { features: { collection: 'countries' } } },
        key: server.adminKey,
      },
      { path: `/api/v1/admin/metadata/layers/${n}/style`, key: server.adminKey },
      { path: `/api/v1/admin/metadata/layers/${raster}/style`, key: server.adminKey },
    ];
    for (const request of requests) {
      const { status, retry, text } = await send(request);
      expect([request.path, status, retry]).toEqual([request.path, 503, '5']);
      expect(text).toContain('could not be read yet');
      expect(text).not.toContain(folder);
    }
  });

  it('answers 503 in the documents of GeoServices', async () => {
    const n = ids.get('countries')!;
    const rest = '/rest/services/default';
    const window = 'bbox=0,0,1,1&f=json';
    for (const path of [
      `${rest}/FeatureServer/${n}?f=json`,
      `${rest}/FeatureServer/${n}/query?where=1%3D1&f=json`,
      `${rest}/MapServer/${n}?f=json`,
      `${rest}/MapServer/export?layers=show:${n}&${window}`,
      `/rest/services/dem/ImageServer?f=json`,
      `/rest/services/dem/ImageServer/exportImage?${window}`,
    ]) {
      const { text } = await send({ path });
      expect([path, JSON.parse(text).error?.code]).toEqual([path, 503]);
    }
    const wms = `${rest}/MapServer/WMSServer?service=WMS&version=1.3.0&request=GetMap&layers=${n}&styles=&crs=CRS:84&bbox=0,0,1,1&width=9&height=9&format=image/png`;
    expect((await send({ path: wms })).text).toContain('could not be read yet');
  });

  it('answers as before for layers that a caller may not see, and 404 for what never was', async () => {
    const path = items('states_provinces');
    const { text } = await admin('POST', '/api-keys', { name: 'reader', permissions: ['read:countries'] });
    const { key } = JSON.parse(text).data;
    const outcomes = await Promise.all([
      send({ path }),
      send({ path, key }),
      send({ path, key: server.adminKey }),
      send({ path: items('disputed_borders'), key: server.adminKey }),
      send({ path: items('nowhere') }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([401, 403, 503, 404, 404]);
  });

  it('comes back with the file, also for clients that follow it', async () => {
    const told: string[] = [];
    const stream = new FeatureStream(`${server.url}/api/v1/streaming/features`, {
      open: (url) => new WebSocket(url),
      firstMs: 20,
      longestMs: 200,
      onState: (state) => told.push(state),
    });
    const snapshot = new Promise<void>((resolve, reject) =>
      stream.subscribe(
        { layers: [ids.get('countries')!], mode: 'snapshot' },
        { onFrame: () => undefined, onEnd: resolve, onError: ({ message }) => reject(new Error(message)) },
      ),
    );
    await expect.poll(() => told.filter((state) => state === 'waiting').length).toBeGreaterThan(1);
    for (const [name, source] of Object.entries(FILES)) copyFileSync(source, join(folder, name));
    server.reload();
    const isBack = async () => (await send({ path: items('countries') })).status === 200;
    for (let n = 0; n < 150 && !(await isBack()); n++) await new Promise((next) => setTimeout(next, 200));
    const { text } = await send({ path: '/ogc/tiles/collections?f=json' });
    const found = new Map(
      JSON.parse(text).collections.map(({ id, name }: { id: string; name: string }) => [name, Number(id)]),
    );
    expect([found.get('countries'), found.get('dem')]).toEqual([ids.get('countries'), ids.get('dem')]);
    await snapshot;
    stream.close();
  });
});

describe('a file that is replaced by a pipe', () => {
  it('holds up no request', async () => {
    expect((await send({ path: items('states_provinces'), key: server.adminKey })).status).toBe(200);
    rmSync(join(folder, 'world.gpkg'));
    execFileSync('mkfifo', [join(folder, 'world.gpkg')]);
    const signal = AbortSignal.timeout(60_000);
    const paths = [items('countries'), '/tiles/countries/0/0/0', items('countries'), '/healthz/live'];
    const found: number[] = [];
    for (const path of paths) found.push((await fetch(server.url + path, { signal })).status);
    expect(found.at(-1)).toBe(200);
    // Gone, or not read again yet: the watcher may have seen it.
    for (const status of found.slice(0, -1)) expect([404, 503]).toContain(status);
  });
});
