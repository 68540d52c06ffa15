import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { adminOf } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-hosted-scenes-'));
const outside = mkdtempSync(join(tmpdir(), 'graticule-outside-'));
let server: TestServer;
let admin: ReturnType<typeof adminOf>;

const TILESET = {
  asset: { version: '1.1' },
  geometricError: 100,
  root: {
    boundingVolume: { region: [0, 0, 0.1, 0.1, 0, 10] },
    geometricError: 10,
    refine: 'ADD',
    content: { uri: 'tiles/0/große kachel.glb' },
    children: [
      {
        boundingVolume: { box: [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1] },
        geometricError: 0,
        content: { uri: 'b.b3dm' },
      },
    ],
  },
};

function writeTileset(name: string, tileset: unknown): string {
  const root = join(folder, name);
  mkdirSync(join(root, 'tiles/0'), { recursive: true });
  writeFileSync(join(root, 'tileset.json'), typeof tileset === 'string' ? tileset : JSON.stringify(tileset));
  writeFileSync(join(root, 'tiles/0/große kachel.glb'), 'glTF and bytes');
  writeFileSync(join(root, 'b.b3dm'), 'b3dm');
  return root;
}

beforeAll(async () => {
  writeTileset('city', TILESET);
  writeFileSync(join(outside, 'tileset.json'), JSON.stringify(TILESET));
  writeFileSync(join(folder, 'secret.txt'), 'secret');
  symlinkSync(outside, join(folder, 'link'));
  symlinkSync(join(outside, 'tileset.json'), join(folder, 'city/linked.json'));
  server = await startServer({ sources: [folder] });
  admin = adminOf(server);
});
afterAll(async () => {
  await server?.stop();
  for (const path of [folder, outside]) rmSync(path, { recursive: true, force: true });
});

/** Sends a path unchanged, which `fetch` would not. */
const readRaw = (path: string) =>
  new Promise<number>((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    get({ hostname, port, path }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    }).on('error', reject);
  });

const TILE = `tiles/0/${encodeURIComponent('große kachel.glb')}`;

describe('a registered tileset', () => {
  let datasetId: string;

  it('is published with the defaults of its members', async () => {
    const { status, body, headers } = await admin('POST', '/scenes', {
      id: 'city',
      name: 'City',
      assetRoot: 'city',
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ id: 'city', name: 'City', description: null, datasetType: 'hosted_tiles', assetRoot: 'city' },
      ...{ tilesetFileName: 'tileset.json', extent: null, crs: null, isPublic: true, requiresAuth: false },
      ...{ cachePolicy: { maxAgeSeconds: 3600, noStore: false }, allowedRoles: null, editionGate: null },
      ...{ status: 'active', validationMessage: null, revision: 1 },
    });
    ({ datasetId } = body);
    expect(headers.get('location')).toBe(`/api/v1/admin/scenes/${datasetId}`);
    expect((await admin('GET', `/scenes/${datasetId}`)).body).toEqual(body);
    expect((await admin('GET', '/scenes')).body.map(({ id }: { id: string }) => id)).toEqual(['city']);
    const taken = await admin('POST', '/scenes', { id: 'city', name: 'Other', assetRoot: 'city' });
    expect(taken.status).toBe(409);
  });

  it('serves its files with their types, tags and ranges', async () => {
    const tileset = await fetch(`${server.url}/scenes/city/tileset.json`);
    expect(tileset.headers.get('content-type')).toBe('application/json');
    expect(tileset.headers.get('cache-control')).toBe('public, max-age=3600');
    expect(tileset.headers.get('access-control-allow-origin')).toBe('*');
    expect(await tileset.json()).toEqual(TILESET);
    const url = `${server.url}/scenes/city/${TILE}`;
    const tile = await fetch(url);
    expect([tile.status, tile.headers.get('content-type')]).toEqual([200, 'model/gltf-binary']);
    expect(tile.headers.get('content-disposition')).toBeNull();
    expect(await tile.text()).toBe('glTF and bytes');
    const part = await fetch(url, { headers: { range: 'bytes=5-7' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 5-7/14',
      'and',
    ]);
    expect((await fetch(url, { headers: { range: 'bytes=99-' } })).status).toBe(416);
    const same = await fetch(url, { headers: { 'if-none-match': tile.headers.get('etag')! } });
    expect(same.status).toBe(304);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '14']);
    expect((await fetch(`${server.url}/scenes/city/b.b3dm`)).headers.get('content-type')).toBe(
      'application/octet-stream',
    );
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'range',
      },
    });
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/range/i);
  });

  it.each([
    '/scenes/city/../secret.txt',
    '/scenes/city/%2e%2e/secret.txt',
    '/scenes/city/..%2fsecret.txt',
    '/scenes/city/tiles/..%2f..%2f..%2fsecret.txt',
    '/scenes/city/linked.json',
    '/scenes/city/tiles',
    '/scenes/city/tiles/0',
    '/scenes/city//tileset.json',
    '/scenes/city/%00',
    '/scenes/city',
  ])('does not serve %s', async (path) => expect(await readRaw(path)).toBe(404));

  it('is changed with If-Match, and its reader sees who may read it', async () => {
    const { headers } = await admin('GET', `/scenes/${datasetId}`);
    const change = { requiresAuth: true, allowedRoles: ['planner'], cachePolicy: { maxAgeSeconds: 0 } };
    const stale = await admin('PUT', `/scenes/${datasetId}`, change, { 'if-match': '"other"' });
    expect(stale.status).toBe(412);
    const changed = await admin('PUT', `/scenes/${datasetId}`, change, { 'if-match': headers.get('etag')! });
    expect([changed.status, changed.body.revision, changed.body.name]).toEqual([200, 2, 'City']);
    const keyOf = async (...permissions: string[]) =>
      (await admin('POST', '/api-keys', { name: 'test', permissions })).body.data.key as string;
    await admin('POST', '/roles', { name: 'planner', description: 'Plans.' });
    const [planner, other] = [await keyOf('role:planner'), await keyOf('features:read')];
    const paths = [
      '/scenes/city/tileset.json',
      `/scenes/city/${TILE}`,
      '/scenes/city/b.b3dm',
      '/api/scenes/city',
      '/api/scenes/city/resolve',
    ];
    const variants: Record<string, string>[] = [{}, { range: 'bytes=0-1' }, { 'if-none-match': '*' }];
    for (const path of paths)
      for (const extra of variants)
        for (const method of ['GET', 'HEAD']) {
          const statusOf = async (key?: string) => {
            const headers = { ...extra, ...(key ? { 'x-api-key': key } : {}) };
            return (await fetch(`${server.url}${path}`, { method, headers })).status;
          };
          expect([await statusOf(), await statusOf(other)], `${method} ${path}`).toEqual([401, 403]);
          expect([200, 206, 304]).toContain(await statusOf(planner));
        }
    const listed = async (key?: string) =>
      (await (await fetch(`${server.url}/api/scenes`, { headers: key ? { 'x-api-key': key } : {} })).json())
        .scenes.length;
    expect([
      await listed(),
      await listed(other),
      await listed(planner),
      await listed(server.adminKey),
    ]).toEqual([0, 0, 1, 1]);
    const file = await fetch(`${server.url}/scenes/city/tileset.json`, { headers: { 'x-api-key': planner } });
    expect(file.headers.get('cache-control')).toBe('private, no-cache');
    const open = await admin('PUT', `/scenes/${datasetId}`, { requiresAuth: false, clearAllowedRoles: true });
    expect([open.status, open.body.allowedRoles]).toEqual([200, null]);
  });

  it('is resolved to its URL, and to code', async () => {
    const { body } = await admin('GET', `/scenes/${datasetId}/resolve`);
    expect(body).toMatchObject({
      datasetId,
      id: 'city',
      status: 'active',
      tilesetUrl: `${server.url}/scenes/city/tileset.json`,
    });
    expect(body.cesiumJsSnippet).toContain(
      `Cesium.Cesium3DTileset.fromUrl("${server.url}/scenes/city/tileset.json")`,
    );
    expect((await admin('GET', '/scenes/nope/resolve')).status).toBe(404);
  });

  it('is gone after its deactivation, and its id can be used again', async () => {
    expect((await admin('DELETE', `/scenes/${datasetId}`)).status).toBe(204);
    for (const path of ['/scenes/city/tileset.json', '/scenes/city/b.b3dm', '/api/scenes/city'])
      expect((await fetch(`${server.url}${path}`)).status).toBe(404);
    expect((await admin('GET', '/scenes')).body).toEqual([]);
    const [inactive] = (await admin('GET', '/scenes?includeInactive=true')).body;
    expect(inactive).toMatchObject({ datasetId, status: 'inactive', revision: 4 });
    expect((await admin('PUT', `/scenes/${datasetId}`, { name: 'Again' })).status).toBe(409);
    expect((await admin('POST', '/scenes', { id: 'city', name: 'City 2', assetRoot: 'city' })).status).toBe(
      201,
    );
    expect((await fetch(`${server.url}/scenes/city/b.b3dm`)).status).toBe(200);
  });
});

describe('a registration', () => {
  it.each([
    ['that leaves the published folder', 'city/../..'],
    ['by a link out of the published folder', 'link'],
    ['of an absolute path outside', '/etc'],
    ['of a folder that does not exist', 'nope'],
    ['of a file', 'secret.txt'],
  ])('%s is refused', async (_, assetRoot) => {
    const { status, body } = await admin('POST', '/scenes', { id: 'refused', name: 'Refused', assetRoot });
    expect([status, body.message]).toEqual([400, expect.stringContaining('assetRoot')]);
    expect(body.message).not.toContain(outside);
  });

  it.each<[string, unknown, string]>([
    ['text', 'no json', 'not JSON'],
    ['another version', { ...TILESET, asset: { version: '2.0' } }, 'asset.version'],
    ['no root', { ...TILESET, root: undefined }, 'root'],
    ['no volume', { ...TILESET, root: { ...TILESET.root, boundingVolume: {} } }, 'root.boundingVolume'],
    ['no error', { ...TILESET, root: { ...TILESET.root, geometricError: -1 } }, 'root.geometricError'],
    [
      'a remote tile',
      { ...TILESET, root: { ...TILESET.root, content: { uri: 'https://example.com/a.glb' } } },
      'root.content.uri',
    ],
    [
      'a tile outside',
      {
        ...TILESET,
        root: { ...TILESET.root, children: [{ ...TILESET.root, content: { uri: '../../a.glb' } }] },
      },
      'root.children[0].content.uri',
    ],
  ])(
    'of a tileset with %s has a status with the reason, and is not served',
    async (name, tileset, reason) => {
      const id = name.replaceAll(' ', '-');
      writeTileset(id, tileset);
      const { status, body } = await admin('POST', '/scenes', { id, name, assetRoot: id });
      expect([status, body.status]).toEqual([201, 'validation_failed']);
      expect(body.validationMessage).toContain(reason);
      expect((await fetch(`${server.url}/scenes/${id}/tileset.json`)).status).toBe(404);
      writeTileset(id, TILESET);
      const mended = await admin('PUT', `/scenes/${body.datasetId}`, {});
      expect([mended.body.status, mended.body.validationMessage]).toEqual(['active', null]);
      expect((await fetch(`${server.url}/scenes/${id}/tileset.json`)).status).toBe(200);
    },
  );

  it.each<[Record<string, unknown>, string]>([
    [{ id: 'Not An Id' }, 'id'],
    [{ name: undefined }, 'name'],
    [{ datasetType: 'other' }, 'datasetType'],
    [{ cachePolicy: { maxAgeSeconds: 86_401 } }, 'cachePolicy.maxAgeSeconds'],
    [{ extent: { xMin: 0, yMin: 5, xMax: 1, yMax: 4 } }, 'extent'],
    [{ tilesetFileName: '../tileset.json' }, 'tilesetFileName'],
    [{ allowedRoles: ['planner'] }, 'allowedRoles'],
  ])('with %j is refused with the name of the member', async (change, name) => {
    const body = { id: 'refused', name: 'Refused', assetRoot: 'city', ...change };
    const answer = await admin('POST', '/scenes', body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(name)]);
  });
});
