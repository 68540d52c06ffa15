import { execFileSync } from 'node:child_process';
import { cpSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Data that is published a second time is a copy of the layers that show it already. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape
type Json = any;

const work = mkdtempSync(join(tmpdir(), 'graticule-second-'));
const grids = join(work, 'grids');
let remote: TestServer;
/** The same service at another port. */
let other: Server;
let server: TestServer;
const keys: Record<string, string | undefined> = {};
let next = 500;

beforeAll(async () => {
  mkdirSync(grids);
  cpSync('demo/data/years/bcsd_obs_1999.nc', join(grids, 'closed.nc'));
  cpSync('demo/data/years/bcsd_obs_1999.nc', join(grids, 'open.nc'));
  execFileSync('gdalmdimtranslate', ['-of', 'Zarr', join(grids, 'closed.nc'), join(grids, 'store.zarr')]);
  writeFileSync(join(grids, 'broken.nc'), 'CDF\u0001 but not much more');
  // One file with several names.
  linkSync(join(grids, 'closed.nc'), join(grids, 'early.nc'));
  symlinkSync('closed.nc', join(grids, 'soft.nc'));
  const zones = {
    type: 'FeatureCollection',
    features: [
      { type: 'Feature', properties: { zone: 1 }, geometry: { type: 'Point', coordinates: [7, 46] } },
    ],
  };
  writeFileSync(join(work, 'zones.geojson'), JSON.stringify(zones));
  remote = await startServer({ sources: [join(work, 'zones.geojson')] });
  const remotePort = Number(new URL(remote.url).port);
  other = createServer((socket) => {
    const there = connect(remotePort, '127.0.0.1');
    for (const [one, far] of [
      [socket, there],
      [there, socket],
    ] as const)
      one.on('error', () => far.destroy()).pipe(far);
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  server = await startServer({
    sources: [grids],
    env: { SVC_REMOTE__ALLOW: '["127.0.0.1"]', SVC_SECURITY__STATE_KEY: 'the key of the state' },
  });
  linkSync(join(grids, 'closed.nc'), join(grids, 'hard.nc'));
  keys['admin'] = server.adminKey;
  expect((await admin('POST', '/tenants', { tenantId: 'acme', layers: ['open'] })).status).toBe(201);
  const scopes = ['multidim-coverages', 'zarr-stores', 'layers'].map((scope) => `admin:${scope}:write`);
  for (const [name, permissions] of [
    ['weak', scopes],
    ['tenant', ['tenant:acme', ...scopes]],
    ['reader', ['read:*', 'write:*', ...scopes]],
  ] as const)
    keys[name] = (await admin('POST', '/api-keys', { name, permissions })).body.data.key;
  server.reload();
  await vi.waitFor(async () => expect(await layerOf('hard')).toBeDefined(), { timeout: 60_000 });
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await remote?.stop();
  other?.close();
  rmSync(work, { recursive: true, force: true });
});

async function send(caller: string, method: string, path: string, body?: unknown) {
  const key = keys[caller];
  const response = await fetch(server.url + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith('{') ? (JSON.parse(text) as Json) : text };
}
const admin = (method: string, path: string, body?: unknown) =>
  send('admin', method, `/api/v1/admin${path}`, body);

const register = (caller: string, objectKey: string, change: object = {}) =>
  send(caller, 'POST', '/api/v1/admin/multidim-coverages', {
    ...{ layerId: next++, name: `Second ${next}`, provider: 'Local', bucket: 'grids', objectKey },
    ...{ format: 'NetCdf4', createLayer: true },
    ...change,
  });
const registerStore = (caller: string, rootPath: string) =>
  send(caller, 'POST', '/api/v1/admin/zarr-stores', {
    ...{ layerId: next++, name: `Store ${next}`, provider: 'Local', bucket: 'grids', rootPath },
    createLayer: true,
  });

async function layerOf(id: string): Promise<{ layerId: number; id: string }> {
  const { collections } = (await send('admin', 'GET', '/?f=json')).body as { collections: Json[] };
  return collections.find((one) => one.id === id)!;
}
const idOf = async (layerId: number): Promise<string> =>
  ((await send('admin', 'GET', '/?f=json')).body.collections as Json[]).find((one) => one.layerId === layerId)
    .id;

async function close(layerId: number, allowAnonymous = false): Promise<void> {
  const path = `/services/default/layers/${layerId}/metadata`;
  expect((await admin('PUT', path, { accessPolicy: { allowAnonymous } })).status).toBe(200);
}
const statuses = (path: string) =>
  Promise.all(
    ['nobody', 'weak', 'reader', 'admin'].map(async (caller) => (await send(caller, 'GET', path)).status),
  );
const coverage = (id: string) => `/ogc/coverages/collections/${id}?f=json`;
/** What differs between answers to two requests for different objects. */
const shapeOf = ({ status, text }: { status: number; text: string }, name: string) => [
  status,
  text
    .replaceAll(name, 'NAME')
    .replace(/"(instance|timestamp|requestId|traceId|correlationId)":"[^"]*"/g, ''),
];

describe('a file of a published folder', () => {
  it('does not exist for callers who cannot read its layer, under any of its names', async () => {
    const { layerId } = await layerOf('closed');
    await close(layerId);
    for (const caller of ['weak', 'tenant']) {
      const missing = shapeOf(await register(caller, 'nothing.nc'), 'nothing.nc');
      expect(missing[0]).toBe(404);
      for (const name of ['closed.nc', 'soft.nc', 'hard.nc', 'broken.nc'])
        expect(shapeOf(await register(caller, name), name), name).toEqual(missing);
    }
    expect((await register('reader', 'broken.nc')).status).toBe(400);
    await close(layerId, true);
    expect((await register('weak', 'broken.nc')).status).toBe(400);
  });

  it('is a copy of its layer when it is registered again, whatever changes later', async () => {
    const { layerId } = await layerOf('closed');
    await close(layerId);
    for (const name of ['closed.nc', 'soft.nc', 'hard.nc']) {
      const { status, body, text } = await register('reader', name);
      expect(status, text).toBe(201);
      const id = await idOf(body.layerId);
      expect(await statuses(coverage(id)), name).toEqual([401, 403, 200, 200]);
      await close(layerId, true);
      expect(await statuses(coverage(id))).toEqual([200, 200, 200, 200]);
      await close(layerId);
      expect(await statuses(coverage(id))).toEqual([401, 403, 200, 200]);
      // The copy of a copy.
      const again = await register('reader', name);
      expect((await register('weak', name)).status).toBe(404);
      expect(await statuses(coverage(await idOf(again.body.layerId)))).toEqual([401, 403, 200, 200]);
      expect((await admin('DELETE', `/multidim-coverages/${body.id}`)).status).toBe(204);
      expect((await admin('DELETE', `/multidim-coverages/${again.body.id}`)).status).toBe(204);
    }
    await close(layerId, true);
  });

  it('narrows a layer that it is added to, and what remains open can be registered', async () => {
    const closed = await layerOf('closed');
    await close(closed.layerId);
    const first = await register('weak', 'open.nc');
    expect(first.status, first.text).toBe(201);
    const id = await idOf(first.body.layerId);
    expect(await statuses(coverage(id))).toEqual([200, 200, 200, 200]);
    const change = { layerId: first.body.layerId, name: 'Beside' };
    const second = await register('reader', 'closed.nc', change);
    expect(second.status, second.text).toBe(201);
    expect(await statuses(coverage(id))).toEqual([401, 403, 200, 200]);
    await close(closed.layerId, true);
    expect(await statuses(coverage(id))).toEqual([200, 200, 200, 200]);
    for (const { body } of [first, second])
      expect((await admin('DELETE', `/multidim-coverages/${body.id}`)).status).toBe(204);
  });

  it('is free again once the layer of that number is gone', async () => {
    const { layerId } = await layerOf('closed');
    await close(layerId);
    const copy = await register('reader', 'closed.nc');
    expect((await admin('DELETE', `/multidim-coverages/${copy.body.id}`)).status).toBe(204);
    const present = await register('weak', 'open.nc', { layerId: copy.body.layerId });
    expect(present.status, present.text).toBe(201);
    expect(await statuses(coverage(await idOf(copy.body.layerId)))).toEqual([200, 200, 200, 200]);
    await close(layerId, true);
  });
});

describe('a second name of a published file', () => {
  const seen = async (id: string) => (await send('nobody', 'GET', coverage(id))).status;
  const until = (id: string, status: number) =>
    vi.waitFor(async () => expect(await seen(id)).toBe(status), { timeout: 20_000, interval: 200 });

  it('is a copy of the layer of the first one, for as long as it leads there', async () => {
    const { layerId } = await layerOf('closed');
    server.reload();
    await until('hard', 200);
    await close(layerId);
    // One was there from the start, the other came later.
    expect([await seen('early'), await seen('hard')]).toEqual([401, 401]);
    linkSync(join(grids, 'closed.nc'), join(grids, 'late.nc'));
    server.reload();
    const answers: number[] = [];
    await vi.waitFor(
      async () => {
        answers.push(await seen('late'));
        expect(answers.at(-1)).not.toBe(404);
      },
      { timeout: 20_000, interval: 20 },
    );
    expect(answers).not.toContain(200);
    await close(layerId, true);
    await until('late', 200);
    await close(layerId);
    rmSync(join(grids, 'early.nc'));
    linkSync(join(grids, 'open.nc'), join(grids, 'early.nc'));
    server.reload();
    await until('early', 200);
    // The first name is gone, and the file is still there.
    rmSync(join(grids, 'closed.nc'));
    server.reload();
    await until('closed', 404);
    expect([await seen('late'), await seen('hard')]).toEqual([401, 401]);
  }, 90_000);
});

describe('a Zarr store', () => {
  it('is a copy of its layer when it is registered again', async () => {
    await close((await layerOf('store')).layerId);
    const missing = shapeOf(await registerStore('weak', 'nothing.zarr'), 'nothing.zarr');
    expect(missing[0]).toBe(404);
    for (const name of ['store.zarr', 'store.zarr/pr', 'store.zarr/.zgroup'])
      expect(shapeOf(await registerStore('weak', name), name), name).toEqual(missing);
    const { status, body, text } = await registerStore('reader', 'store.zarr/');
    expect(status, text).toBe(201);
    expect(await statuses(coverage(await idOf(body.layerId)))).toEqual([401, 403, 200, 200]);
  });
});

describe('a layer of another server', () => {
  it('is a copy of the first copy when it is published again', async () => {
    const { hostname, port } = new URL(remote.url);
    const connection = {
      ...{ name: 'zones', provider: 'ogc-api-features', host: hostname, port: Number(port) },
      ...{ databaseName: 'ogc/features', username: '', sslMode: 'Disable' },
    };
    const made = await admin('POST', '/connections', connection);
    expect(made.status, made.text).toBe(201);
    // Another connection to the same service.
    await admin('POST', '/connections', { ...connection, name: 'again', databaseName: 'ogc/features/' });
    const publish = (caller: string, layerName: string, table = 'zones', from = 'zones') =>
      send(caller, 'POST', `/api/v1/admin/connections/${from}/layers`, {
        ...{ schema: 'ogc-api-features', table, layerName },
      });
    const first = await publish('admin', 'First');
    expect(first.status, first.text).toBe(201);
    await close(first.body.data.layerId);
    for (const caller of ['weak', 'tenant']) {
      const missing = shapeOf(await publish(caller, 'Nothing', 'nothing'), 'nothing');
      for (const from of ['zones', 'again'])
        expect(shapeOf(await publish(caller, 'Second', 'zones', from), 'zones')).toEqual(missing);
    }
    for (const [layerName, from] of [
      ['third', 'zones'],
      ['fourth', 'again'],
    ] as const) {
      const copy = await publish('reader', layerName, 'zones', from);
      expect(copy.status, copy.text).toBe(201);
      const items = `/ogc/features/collections/${layerName}/items`;
      expect(await statuses(items)).toEqual([401, 403, 200, 200]);
      const refreshed = `/connections/${from}/layers/${copy.body.data.layerId}/features/refresh`;
      expect((await admin('POST', refreshed)).status).toBe(200);
      expect(await statuses(items)).toEqual([401, 403, 200, 200]);
      await close(first.body.data.layerId, true);
      expect(await statuses(items)).toEqual([200, 200, 200, 200]);
      await close(first.body.data.layerId);
    }
    // Nor is a connection that leads to the service only later.
    await admin('POST', '/connections', {
      ...connection,
      name: 'later',
      port: (other.address() as AddressInfo).port,
    });
    const fifth = await publish('weak', 'fifth', 'zones', 'later');
    expect(fifth.status, fifth.text).toBe(201);
    expect(await statuses('/ogc/features/collections/fifth/items')).toEqual([200, 200, 200, 200]);
    expect((await admin('PUT', '/connections/later', { port: Number(port) })).status).toBe(200);
    expect(await statuses('/ogc/features/collections/fifth/items')).toEqual([401, 403, 200, 200]);
    // A manifest is not a way round.
    const spec = { connection: 'zones', schema: 'ogc-api-features', table: 'zones', layerName: 'sixth' };
    const resources = [{ kind: 'LayerCopy', metadata: { name: 'sixth' }, spec }];
    const permissions = ['admin:layers:write', 'admin:metadata:write', 'admin:read'];
    keys['packer'] = (await admin('POST', '/api-keys', { name: 'packer', permissions })).body.data.key;
    const applied = await send('packer', 'POST', '/api/v1/admin/metadata/manifest/apply', { resources });
    expect(applied.status, applied.text).not.toBe(200);
    expect((await send('admin', 'GET', '/ogc/features/collections/sixth/items')).status).toBe(404);
  }, 60_000);
});

describe('a layer of this very server', () => {
  it('is read over HTTP as anonymous callers read it, whatever credentials its connection has', async () => {
    const { hostname, port } = new URL(server.url);
    const connection = {
      ...{ name: 'loop', provider: 'ogc-api-features', host: hostname, port: Number(port) },
      ...{ databaseName: 'ogc/features', username: 'admin', password: server.adminKey, sslMode: 'Disable' },
    };
    expect((await admin('POST', '/connections', connection)).status).toBe(201);
    const publish = (layerName: string) =>
      send('reader', 'POST', '/api/v1/admin/connections/loop/layers', {
        ...{ schema: 'ogc-api-features', table: 'first', layerName },
      });
    const { layerId } = await layerOf('first');
    await close(layerId);
    const refused = await publish('looped');
    expect(refused.status, refused.text).not.toBe(201);
    expect((await send('admin', 'GET', '/ogc/features/collections/looped/items')).status).toBe(404);
    await close(layerId, true);
    const made = await publish('looped');
    expect(made.status, made.text).toBe(201);
    const rows = { service: 'default', layer: 'first', role: 'anonymous', attribute: null, claimType: null };
    const policy = await admin('POST', '/rls-policies', { ...rows, filter: 'zone > 1' });
    expect(policy.status, policy.text).toBe(201);
    const part = await publish('part');
    expect([part.status, part.text]).toEqual([422, expect.stringContaining('there is nothing to import')]);
    await admin('DELETE', `/rls-policies/${policy.body.data.policyId}`);
  }, 60_000);
});
