import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validateBytes } from 'gltf-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGlb, readSceneFeatures } from '../support/glb.js';
import { pythonOfClients } from '../support/python.js';
import { startServer, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';
import { adminOf, BUILDINGS, cornerOf, listTiles, makeBuildings } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-scenes-'));
const WITH_HEIGHT = BUILDINGS - BUILDINGS / 10;
let server: TestServer;
let admin: ReturnType<typeof adminOf>;
let layerId: number;
/** A second layer of the same data, which is restricted. */
let secretId: number;

beforeAll(async () => {
  makeBuildings(folder);
  server = await startServer({ sources: [folder, 'demo/data'] });
  admin = adminOf(server);
  const numbers = await layerNumbers(server);
  layerId = numbers['buildings']!;
  secretId = numbers['secrets']!;
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const read = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers });
const readTile = async (scene: string, uri: string, headers: Record<string, string> = {}) => {
  const response = await read(`/scenes/${scene}/${uri}`, headers);
  return {
    status: response.status,
    headers: response.headers,
    file: Buffer.from(await response.arrayBuffer()),
  };
};
const readTiles = async (scene: string, headers: Record<string, string> = {}) => {
  const tiles = listTiles(await (await read(`/scenes/${scene}/tileset.json`, headers)).json());
  return Promise.all(tiles.map(async (tile) => ({ ...tile, ...(await readTile(scene, tile.uri, headers)) })));
};

describe('a scene of a layer', () => {
  it('is created with the numbers of its features and tiles', async () => {
    const { status, body } = await admin('POST', '/scenes/generate', { layerId, displayName: 'Houses' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      sceneId: 'buildings',
      serviceId: 'scene:buildings',
      tilesetUrl: `${server.url}/scenes/buildings/tileset.json`,
      featureCount: WITH_HEIGHT,
    });
    expect(body.tileCount).toBeGreaterThan(2);
    const [west, south] = cornerOf(0);
    expect(body.boundingRegionDegrees[0]).toBeCloseTo(west, 8);
    expect(body.boundingRegionDegrees[1]).toBeCloseTo(south, 8);
    expect(body.warnings.join(' ')).toContain(`${BUILDINGS / 10} features have no height above 0`);
    const again = await admin('POST', '/scenes/generate', { layerId });
    expect(again.status).toBe(409);
    expect(again.body.message).toContain("there is already a scene 'buildings'");
  });

  it('has each feature in one tile, inside of its region, and valid files', async () => {
    const tiles = await readTiles('buildings');
    const ids: number[] = [];
    for (const { file, headers, region } of tiles) {
      expect(headers.get('content-type')).toBe('model/gltf-binary');
      const { issues } = await validateBytes(new Uint8Array(file));
      expect([issues.numErrors, issues.numWarnings]).toEqual([0, 0]);
      for (const { properties } of readSceneFeatures(file)) {
        const id = Number(properties['id']);
        ids.push(id);
        const [x, y] = cornerOf(id - 1).map((degrees) => (degrees * Math.PI) / 180) as [number, number];
        expect(x >= region[0]! - 1e-12 && x <= region[2]! && y >= region[1]! - 1e-12 && y <= region[3]!).toBe(
          true,
        );
      }
    }
    expect(ids.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: BUILDINGS }, (_, i) => i + 1).filter((id) => id % 10 !== 0),
    );
  });

  it('shows the attributes that /items shows', async () => {
    const { file } = (await readTiles('buildings'))[0]!;
    const [feature] = readSceneFeatures(file);
    const { id, ...attributes } = feature!.properties;
    const item = await (await read(`/ogc/features/collections/buildings/items/${id}?f=json`)).json();
    expect(attributes).toEqual(item.properties);
  });

  it('shows an edit in the next response, and the same tag for tiles without the edit', async () => {
    const before = await readTiles('buildings');
    const changed = before.find(({ file }) =>
      readSceneFeatures(file).some(({ properties }) => properties['id'] === 1),
    )!;
    const other = before.find(({ uri }) => uri !== changed.uri)!;
    const edit = await fetch(`${server.url}/ogc/features/collections/buildings/items/1`, {
      method: 'PATCH',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ properties: { height: 500 } }),
    });
    expect(edit.status).toBeLessThan(300);
    const after = await readTile('buildings', changed.uri, { 'if-none-match': changed.headers.get('etag')! });
    expect(after.status).toBe(200);
    const feature = readSceneFeatures(after.file).find(({ properties }) => properties['id'] === 1)!;
    expect(feature.properties['height']).toBe(500);
    const tag = other.headers.get('etag')!;
    expect((await readTile('buildings', other.uri, { 'if-none-match': tag })).status).toBe(304);
    const tileset = await (await read('/scenes/buildings/tileset.json')).json();
    expect(tileset.root.boundingVolume.region[5]).toBe(500);
    const removal = await fetch(`${server.url}/ogc/features/collections/buildings/items/1`, {
      method: 'DELETE',
      headers: { 'x-api-key': server.adminKey },
    });
    expect(removal.status).toBeLessThan(300);
    const gone = await readTile('buildings', changed.uri);
    expect(readSceneFeatures(gone.file).some(({ properties }) => properties['id'] === 1)).toBe(false);
  });

  it('is encoded once for all readers with the same rights, again after an edit', async () => {
    const { uri } = (await readTiles('buildings'))[1]!;
    const countEncodings = async () => {
      const tiles = await Promise.all(Array.from({ length: 8 }, () => readTile('buildings', uri)));
      return tiles.filter(({ headers }) => headers.get('server-timing')?.includes('sceneTile')).length;
    };
    expect(await countEncodings()).toBe(0);
    const patched = await fetch(`${server.url}/ogc/features/collections/buildings/items/2`, {
      method: 'PATCH',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ properties: { height: 3 } }),
    });
    expect(patched.status).toBeLessThan(300);
    expect(await countEncodings()).toBe(1);
    expect(await countEncodings()).toBe(0);
  });

  it('is compressed for clients that accept it, and empty where no feature is', async () => {
    const { uri } = (await readTiles('buildings'))[0]!;
    const plain = await fetch(`${server.url}/scenes/buildings/${uri}`, {
      headers: { 'accept-encoding': 'identity' },
    });
    expect(plain.headers.get('content-encoding')).toBeNull();
    const packed = await fetch(`${server.url}/scenes/buildings/${uri}`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(Buffer.from(await packed.arrayBuffer()).equals(Buffer.from(await plain.arrayBuffer()))).toBe(true);
    const empty = await readTile('buildings', 'tiles/10/3/3.glb');
    expect(readGlb(empty.file).document.asset.extras).toEqual({ features: 0 });
  });

  it.each([
    'tiles/25/0/0.glb',
    'tiles/1/4/0.glb',
    'tiles/1/0/2.glb',
    'tiles/1/0.glb',
    'other.json',
    'tiles/1/0/0.b3dm',
  ])('has no file %s', async (path) => expect((await read(`/scenes/buildings/${path}`)).status).toBe(404));

  it('is read by an unmodified honua-sdk', () => {
    const output = execFileSync(pythonOfClients(), ['test/scenes/read_scenes.py', server.url, 'buildings'], {
      encoding: 'utf8',
    });
    const document = JSON.parse(output) as Record<string, unknown>;
    expect(document).toMatchObject({
      name: 'Houses',
      tileset: `${server.url}/scenes/buildings/tileset.json`,
      version: '1.1',
      isValid: true,
    });
    expect(document['listed']).toContain('buildings');
  });
});

describe('a scene of a restricted layer', () => {
  let clerk: string;

  beforeAll(async () => {
    const created = await admin('POST', '/scenes/generate', { layerId: secretId, sceneId: 'secrets' });
    expect(created.status).toBe(201);
    await admin('POST', '/roles', { name: 'clerk', description: 'Sees the south.' });
    const policy = {
      service: '*',
      layer: String(secretId),
      role: 'clerk',
      attribute: 'zone',
      claimType: 'zone',
    };
    expect((await admin('POST', '/rls-policies', policy)).status).toBe(201);
    const mask = { service: '*', layer: String(secretId), role: 'clerk', attribute: 'owner' };
    expect((await admin('POST', '/field-mask-policies', mask)).status).toBe(201);
    const made = await admin('POST', '/api-keys', {
      name: 'clerk',
      permissions: ['role:clerk', 'claim:zone=south'],
    });
    clerk = made.body.data.key;
  });

  it('has the rows and attributes of its reader in every tile', async () => {
    const tiles = await readTiles('secrets', { 'x-api-key': clerk });
    const features = tiles.flatMap(({ file }) => readSceneFeatures(file));
    expect(features).toHaveLength((BUILDINGS / 2) * 0.9);
    expect(new Set(features.map(({ properties }) => properties['zone']))).toEqual(new Set(['south']));
    for (const { file, headers } of tiles) {
      expect(file.includes('owner')).toBe(false);
      expect(headers.get('cache-control')).toMatch(/^private/);
    }
    const all = await readTiles('secrets', { 'x-api-key': server.adminKey });
    expect(all.flatMap(({ file }) => readSceneFeatures(file))).toHaveLength(WITH_HEIGHT);
  });

  it('has no tile with other rows, whatever is requested', async () => {
    const all = await readTiles('secrets', { 'x-api-key': server.adminKey });
    for (const { uri } of all) {
      const features = readSceneFeatures((await readTile('secrets', uri, { 'x-api-key': clerk })).file);
      expect(features.every(({ properties }) => properties['zone'] === 'south')).toBe(true);
    }
  });
});

describe('requests for a scene', () => {
  it.each<[string, Record<string, unknown>, number, string]>([
    ['of a layer that does not exist', { layerId: 99_999 }, 404, '99999'],
    ['without a layer', {}, 400, 'layerId'],
    ['of a layer without heights', { layerId: 0 }, 400, 'heightField'],
    ['with an unknown field', { heightField: 'nope' }, 400, 'heightField'],
    ['with an unknown attribute', { includeAttributes: ['name', 'nope'] }, 400, 'includeAttributes'],
    ['with too few features', { maxFeatureCount: 10 }, 400, 'maxFeatureCount'],
    ['with a wrong id', { sceneId: 'A b' }, 400, 'sceneId'],
  ])('%s are refused with the name of the member', async (_, body, status, name) => {
    const numbers = await layerNumbers(server);
    const layer = body['layerId'] === 0 ? numbers['countries'] : (body['layerId'] ?? layerId);
    const request = name === 'layerId' ? {} : { ...body, layerId: layer };
    const answer = await admin('POST', '/scenes/generate', { sceneId: 'refused', ...request });
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(name);
    expect((await read('/api/scenes/refused')).status).toBe(404);
  });

  it('of a layer without heights use the default height', async () => {
    const numbers = await layerNumbers(server);
    const body = {
      layerId: numbers['countries'],
      sceneId: 'lands',
      defaultHeight: 1000,
      includeAttributes: [],
    };
    const answer = await admin('POST', '/scenes/generate', body);
    expect(answer.status).toBe(201);
    const tiles = await readTiles('lands');
    const features = tiles.flatMap(({ file }) => readSceneFeatures(file));
    expect(features).toHaveLength(answer.body.featureCount);
    expect(Object.keys(features[0]!.properties)).toEqual(['id']);
  });
});
