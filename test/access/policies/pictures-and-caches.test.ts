import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type TestRedis } from '../../support/redis.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Pictures and tiles of callers who have some rows and attributes, also from disk and Redis; and rasters that are closed. */

const SEEN = ['CHE', 'FRA', 'ITA'];
const RASTER = 'l7_etms';

let folder: string;
let redis: TestRedis;
/** All rows under rules, and only what these leave. */
let server: TestServer;
let part: TestServer;
const keys = new Map<string, string>();

/** Countries without styles of their own, so that both servers draw the plain look. */
function countries(file: string, ...options: string[]): string {
  const path = join(folder, file);
  execFileSync('ogr2ogr', ['-f', 'GPKG', path, 'demo/data/world_map.gpkg', 'countries', ...options]);
  return path;
}

const start = (sources: string[], levels: string) =>
  startServer({
    sources,
    dataDir: join(folder, levels),
    env: {
      SVC_CACHE__DISK__DIRECTORY: join(folder, `${levels}-tiles`),
      SVC_CACHE__REDIS__URL: redis.url,
    },
  });

let sources: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-pictures-'));
  for (const name of ['part', 'all', 'elsewhere']) mkdirSync(join(folder, name));
  redis = await startRedis();
  sources = [countries('countries.gpkg', '-select', 'ISO_A3,NAME'), 'demo/data/L7_ETMs.tif'];
  const where = `ISO_A3 IN (${SEEN.map((name) => `'${name}'`).join(', ')})`;
  [server, part] = await Promise.all([
    start(sources, 'all'),
    startServer({ sources: [countries('part/countries.gpkg', '-where', where, '-select', 'ISO_A3')] }),
  ]);
  for (const name of ['limited', 'viewer', 'hashed']) await admin('POST', '/roles', { name });
  const scope = { service: '*', layer: 'countries' };
  const filter = "ISO_A3 IN (claim('country'))";
  await admin('POST', '/rls-policies', { ...scope, role: 'limited', filter });
  await admin('POST', '/field-mask-policies', { ...scope, role: 'limited', attribute: 'NAME' });
  const hash = { treatment: 'hash', attribute: 'NAME', role: 'hashed' };
  await admin('POST', '/field-mask-policies', { ...scope, ...hash });
  const { layerId } = (await layers(server)).find(({ id }) => id === RASTER)!;
  await admin('PUT', `/services/default/layers/${layerId}/metadata`, {
    accessPolicy: { allowAnonymous: false, allowedRoles: ['viewer'] },
  });
  const claims = SEEN.map((name) => `claim:country=${name}`);
  for (const [caller, permissions] of [
    ['limited', ['role:limited', ...claims]],
    ['alike', [...claims, 'role:limited']],
    ['other', ['role:limited', 'claim:country=NOR']],
    ['hashed', ['role:hashed']],
    ['viewer', ['role:viewer']],
    ['reader', ['role:reader']],
  ] as const)
    keys.set(caller, (await admin<{ key: string }>('POST', '/api-keys', { name: caller, permissions })).key);
});
afterAll(async () => {
  await server?.stop();
  await part?.stop();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function admin<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: T }).data;
}

async function layers({ url }: TestServer): Promise<{ id: string; layerId: number }[]> {
  const start = (await (await fetch(`${url}/?f=json`)).json()) as { collections: never };
  return start.collections;
}

function ask(caller: string | undefined, path: string, { url }: TestServer = server): Promise<Response> {
  return fetch(`${url}${path}`, { headers: caller === undefined ? {} : { 'x-api-key': keys.get(caller)! } });
}

async function bytes(response: Response): Promise<Buffer> {
  expect(response.status, response.url).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

const pixels = async (response: Response) =>
  sharp(await bytes(response))
    .raw()
    .toBuffer();

describe('pictures', () => {
  it('are those of a server that has only what the caller sees', async () => {
    const layerId = async (of: TestServer) =>
      (await layers(of)).find(({ id }) => id === 'countries')!.layerId;
    const [own, other] = [await layerId(server), await layerId(part)];
    const paths = [
      (id: number) => `/ogc/maps/collections/${id}/map?width=300&bbox=-10,35,25,60`,
      (id: number) =>
        `/ogc/maps/collections/${id}/map?width=200&crs=http://www.opengis.net/def/crs/EPSG/0/3035`,
      (id: number) => `/ogc/tiles/collections/${id}/tiles/WebMercatorQuad/3/2/4?f=png`,
      () => '/tiles/countries/2/2/1.png',
      () => '/tiles/countries/4/8/5.webp',
    ];
    for (const path of paths) {
      const mine = await pixels(await ask('limited', path(own)));
      const theirs = await pixels(await ask(undefined, path(other), part));
      expect(mine.equals(theirs), path(own)).toBe(true);
      const all = await pixels(await ask('reader', path(own)));
      expect(mine.equals(all), path(own)).toBe(false);
    }
  });
});

const TILE = '/tiles/countries/1/1/0.mvt';

async function tile(caller: string) {
  const response = await ask(caller, TILE);
  const text = (await bytes(response)).toString('latin1');
  return { text, made: response.headers.get('server-timing')?.includes('vector-tile') ?? false };
}

/** Every caller has what is theirs, whoever filled the levels. */
async function expectOwnTiles(): Promise<void> {
  const limited = await tile('limited');
  const other = await tile('other');
  const hashed = await tile('hashed');
  const reader = await tile('reader');
  expect(reader.text).toContain('Norway');
  for (const name of SEEN) expect(limited.text).toContain(name);
  expect(limited.text).not.toMatch(/NOR|DEU|Norway|France/);
  expect(other.text).toContain('NOR');
  expect(other.text).not.toMatch(/CHE|DEU|Norway|France/);
  expect(hashed.text).toMatch(/[\da-f]{16}/);
  expect(hashed.text).toContain('NOR');
  expect(hashed.text).not.toMatch(/Norway|France/);
}

describe('tiles on disk and in Redis', () => {
  it('are those of who asks, and shared by equal rights', async () => {
    await expectOwnTiles();
    expect(await tile('alike')).toEqual({ text: (await tile('limited')).text, made: false });
    // The disk outlives the process, and the rules with the state.
    const before = server;
    await before.stop();
    server = await start(sources, 'all');
    expect((await tile('alike')).made).toBe(false);
    expect((await tile('hashed')).made).toBe(false);
    await expectOwnTiles();
  });

  it('are kept apart by servers whose rules differ', async () => {
    // Another state: nobody is limited there, and the tiles in Redis are of callers who are.
    const elsewhere = await start(sources, 'elsewhere');
    const response = await fetch(`${elsewhere.url}${TILE}`);
    expect((await bytes(response)).toString('latin1')).toContain('Norway');
    await elsewhere.stop();
  });
});

describe('a closed raster', () => {
  const at = (id: number) => [
    `/stac/collections/${RASTER}`,
    `/stac/collections/${RASTER}/items`,
    `/stac/collections/${RASTER}/items/${RASTER}`,
    `/stac/collections/${RASTER}/queryables`,
    `/ogc/coverages/collections/${RASTER}`,
    `/ogc/coverages/collections/${RASTER}/coverage?f=png&scale-size=Lon(16),Lat(16)`,
    `/ogc/coverages/collections/${RASTER}/schema`,
    `/ogc/maps/collections/${id}/map?width=32`,
    `/ogc/maps/collections/${id}/legend?f=json`,
    `/tiles/${RASTER}`,
    `/tiles/${RASTER}/9/264/192.png`,
    `/ogc/tiles/collections/${id}/tiles`,
  ];

  it('is open to its role alone, whoever asked before', async () => {
    const { layerId } = (await listed('viewer')).find(({ id }) => id === RASTER)!;
    for (const round of [1, 2])
      for (const path of at(layerId)) {
        const about = `${path}, round ${round}`;
        const allowed = await ask('viewer', path);
        expect([allowed.status, about]).toEqual([expect.toSatisfy((s) => s === 200 || s === 204), about]);
        expect([(await ask(undefined, path)).status, about]).toEqual([401, about]);
        for (const caller of ['reader', 'limited'])
          expect([(await ask(caller, path)).status, about]).toEqual([403, about]);
      }
  });

  it('is in no list and no search of others', async () => {
    expect((await listed('reader')).map(({ id }) => id)).not.toContain(RASTER);
    for (const path of [
      '/stac/search?limit=100',
      '/stac/collections',
      '/ogc/coverages/collections?f=json',
      '/stac',
    ]) {
      const texts = await Promise.all(
        ['viewer', 'reader', undefined].map(async (caller) => (await ask(caller, path)).text()),
      );
      expect(
        texts.map((text) => text.includes(RASTER)),
        path,
      ).toEqual([true, false, false]);
    }
  });

  async function listed(caller: string): Promise<{ id: string; layerId: number }[]> {
    return ((await (await ask(caller, '/?f=json')).json()) as { collections: never }).collections;
  }
});
