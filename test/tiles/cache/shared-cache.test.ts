import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { eventually } from '../../e2e/support/http.js';
import { type EditableStore, geoPackageStore, postgisStore, sender } from '../../edits/support.js';
import { startRedis, type TestRedis } from '../../support/redis.js';
import { startServerProcess, type TestServer } from '../../support/server.js';

/** Tiles that outlive a process, and tiles that several servers share. */

const point = (x: number, y: number, name: string) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [x, y] },
  properties: { name },
});

async function tile({ url }: TestServer, title: string, address = '4/6/8') {
  const { collections } = await (await fetch(`${url}/ogc/tiles/collections?f=json`)).json();
  const { id } = collections.find((one: { title: string }) => one.title === title);
  const response = await fetch(`${url}/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/${address}?f=mvt`);
  return {
    status: response.status,
    text: Buffer.from(await response.arrayBuffer()).toString('latin1'),
    made: response.headers.get('server-timing')?.includes('vector-tile') ?? false,
  };
}

async function manage({ url, adminKey }: TestServer, method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': adminKey, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return (await response.json()).data;
}

describe('tiles on disk', () => {
  const store = geoPackageStore();
  const dataDir = mkdtempSync(join(tmpdir(), 'graticule-disk-'));
  const env = { SVC_CACHE__DISK__DIRECTORY: join(dataDir, 'tiles') };
  let server: TestServer;
  const start = async () => {
    server = await startServerProcess({ sources: store.sources, dataDir, env });
  };
  const kill = async () => {
    await server.kill();
  };
  const add = (name: string) =>
    sender(server.url, server.adminKey)('POST', 'untended/items', point(10, 35, name));

  beforeAll(start);
  afterAll(async () => {
    await server?.stop();
    await store.release();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('outlive a restart', async () => {
    await add('first');
    await server.stop();
    await start();
    expect(await tile(server, 'Untended')).toMatchObject({ status: 200, made: true });
    const before = await tile(server, 'Untended');
    await server.stop();
    await start();
    expect(await tile(server, 'Untended')).toEqual({ ...before, made: false });
  });

  it('are not served after an edit, nor when the server was killed after it', async () => {
    await tile(server, 'Untended');
    await add('second');
    await kill();
    await start();
    const { text, made } = await tile(server, 'Untended');
    expect(text).toContain('second');
    expect(made).toBe(true);
  });

  it('are not served after another program wrote to the file while the server was off', async () => {
    await tile(server, 'Untended');
    await server.stop();
    const other = new Database(store.file);
    other.exec("UPDATE untended SET name = 'elsewhere'");
    other.close();
    await start();
    expect((await tile(server, 'Untended')).text).toContain('elsewhere');
  });

  it('are dropped by the management API, for good', async () => {
    await tile(server, 'Untended');
    await manage(server, 'POST', '/cache/invalidate', { scope: 'collection', collectionId: 'untended' });
    await server.stop();
    await start();
    expect((await tile(server, 'Untended')).made).toBe(true);
  });
});

describe('tiles of several servers with one Redis', () => {
  let store: EditableStore;
  let redis: TestRedis;
  let servers: TestServer[] = [];
  const [NEAR, FAR] = ['4/6/8', '4/6/2'];

  beforeAll(async () => {
    [store, redis] = await Promise.all([postgisStore(), startRedis()]);
    const env = { SVC_CACHE__REDIS__URL: redis.url };
    servers = await Promise.all([1, 2].map(() => startServerProcess({ sources: store.sources, env })));
    for (const server of servers)
      await eventually(async () =>
        expect(await manage(server, 'GET', '/cache/status')).toMatchObject({ isUsingFallback: false }),
      );
  });
  afterAll(async () => {
    for (const server of servers) await server.stop();
    await redis?.stop();
    await store?.release();
  });

  it('are made once', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    await sender(first.url, first.adminKey)('POST', 'spots/items', point(-120, 35, 'stays'));
    const made = await tile(first, 'Spots', FAR);
    expect(made).toMatchObject({ status: 200, made: true });
    await eventually(async () => expect(await tile(second, 'Spots', FAR)).toEqual({ ...made, made: false }));
    const { localKeyCount, distributedKeyCount } = await manage(
      second,
      'GET',
      '/operations/cache/statistics',
    );
    expect(localKeyCount).toBeGreaterThan(0);
    expect(distributedKeyCount).toBeGreaterThan(0);
  });

  it('show the edits of each other, and keep what they do not touch', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    for (const server of servers) for (const at of [NEAR, FAR]) await tile(server, 'Spots', at);
    await sender(first.url, first.adminKey)('POST', 'spots/items', point(10, 35, 'shared'));
    expect((await tile(first, 'Spots', NEAR)).text).toContain('shared');
    await eventually(async () => expect((await tile(second, 'Spots', NEAR)).text).toContain('shared'));
    for (const server of servers) expect((await tile(server, 'Spots', FAR)).made).toBe(false);
  });

  it('are dropped everywhere when one is told to', async () => {
    const [first, second] = servers as [TestServer, TestServer];
    await tile(second, 'Spots', FAR);
    await manage(first, 'POST', '/cache/invalidate', { scope: 'collection', collectionId: 'spots' });
    await eventually(async () => {
      const held = await manage(second, 'GET', '/operations/cache/statistics');
      expect(held).toMatchObject({ localKeyCount: 0, distributedKeyCount: 0 });
    });
  });

  it('are made by each for itself while Redis is gone', async () => {
    await redis.stop();
    for (const server of servers) {
      await eventually(async () =>
        expect(await manage(server, 'GET', '/cache/status')).toMatchObject({ isUsingFallback: true }),
      );
      for (const at of [NEAR, FAR, '5/1/1'])
        expect([200, 204, 404]).toContain((await tile(server, 'Spots', at)).status);
      expect(await manage(server, 'GET', '/operations/cache/distributed')).toMatchObject({
        isConfigured: true,
        isConnected: false,
      });
    }
    const [first] = servers as [TestServer];
    await sender(first.url, first.adminKey)('POST', 'spots/items', point(10, 35, 'alone'));
    expect((await tile(first, 'Spots', NEAR)).text).toContain('alone');
  });
});
