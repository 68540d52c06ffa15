import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type SecurePostgres, startSecurePostgres } from '../catalog/support/secure-postgres.js';
import { startMapServer } from '../exchange/remote/mapserver.js';
import { call, REMOTE_HOST, type Remote } from '../exchange/remote/support.js';
import { run } from '../providers/postgis/support.js';
import { pythonOfClients } from '../support/python.js';
import { startServer, type TestServer } from '../support/server.js';
import { smallWorld } from '../support/small-world.js';

/** An empty server is given a database, layers, a copy of a layer of a WFS, a style, a policy and settings; another one is given the same by its manifest. */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const PASSWORD = 'pass/w?rd@#:%x';
const folder = mkdtempSync(join(tmpdir(), 'graticule-manifest-'));
const file = join(folder, 'state.yaml');
let postgres: SecurePostgres;
let one: TestServer;
let two: TestServer;
let mapServer: Remote;

beforeAll(async () => {
  postgres = await startSecurePostgres();
  await run(
    postgres.url,
    `CREATE ROLE reader LOGIN PASSWORD '${PASSWORD}';
     CREATE TABLE places (id int PRIMARY KEY, name text, kind text, owner text, geom geometry(Point, 4326));
     INSERT INTO places SELECT i, 'p' || i, CASE WHEN i % 2 = 0 THEN 'A' ELSE 'B' END, 'o' || i % 3,
       ST_SetSRID(ST_MakePoint(i, i / 2.0), 4326) FROM generate_series(1, 60) i;
     CREATE INDEX ON places USING gist (geom);
     CREATE TABLE "Odd Name" (gid bigint PRIMARY KEY, "Näme" text, shape geometry(Polygon, 3857));
     INSERT INTO "Odd Name" VALUES (1, 'x', ST_MakeEnvelope(0, 0, 1000, 1000, 3857));
     GRANT SELECT ON places, "Odd Name" TO reader;
     ANALYZE`,
  );
  mkdirSync(join(folder, 'files'));
  const point = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 1] }, properties: {} };
  writeFileSync(join(folder, 'files', 'there.geojson'), JSON.stringify(point));
  mapServer = await startMapServer(folder, smallWorld(folder, ['countries', 'disputed_borders']));
  const env = {
    ...{ SVC_CONNECTIONS__SECRETS: 'env:CONNECTION_*', CONNECTION_READER: PASSWORD },
    SVC_REMOTE__ALLOW: JSON.stringify([REMOTE_HOST]),
  };
  const setup = { sources: [join(folder, 'files')], env };
  [one, two] = await Promise.all([startServer(setup), startServer(setup)]);
});
afterAll(async () => {
  await Promise.all([one?.stop(), two?.stop()]);
  await mapServer?.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

async function admin(server: TestServer, method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Json;
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.data;
}

function graticule(
  server: TestServer,
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  const command = ['dist/cli/main.js', ...args, '--url', server.url, '--key', server.adminKey];
  return promisify(execFile)(process.execPath, command).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
  );
}

async function layerIdOf(server: TestServer, id: string): Promise<number> {
  const capabilities = await fetch(`${server.url}/api/v1/streaming/features/capabilities`);
  const { layers } = (await capabilities.json()) as Json;
  return layers.find(({ name }: Json) => name === id).layerId;
}

async function answers(server: TestServer): Promise<Json> {
  const get = async (path: string): Promise<Json> => {
    const response = await fetch(server.url + path);
    if (response.status === 204) return null;
    if (response.headers.get('content-type')?.includes('mapbox-vector'))
      return Buffer.from(await response.arrayBuffer()).toString('base64');
    const { timeStamp: _, ...rest } = JSON.parse((await response.text()).replaceAll(server.url, '')) as Json;
    return rest;
  };
  const paths = ['places', 'odd-name', 'borders'].flatMap((id) => [
    ...['', '/schema', '/queryables', '/items'].map((end) => `/ogc/features/collections/${id}${end}?f=json`),
    `/tiles/${id}/0/0/0.mvt`,
  ]);
  return Promise.all(paths.map(async (path) => [path, await get(path)]));
}

describe('a server that is published by its manifest', () => {
  it('answers as the one that was published by hand', async () => {
    const connection = await admin(one, 'POST', '/connections', {
      ...{
        name: 'work',
        host: '127.0.0.1',
        port: postgres.port,
        databaseName: 'postgres',
        username: 'reader',
      },
      ...{ secretReference: 'env:CONNECTION_READER', secretType: 'env' },
    });
    const layers = `/connections/${connection.connectionId}/layers`;
    const places = await admin(one, 'POST', layers, {
      schema: 'public',
      table: 'places',
      layerName: 'Places',
    });
    await admin(one, 'POST', layers, {
      ...{ schema: 'public', table: 'Odd Name', layerName: 'Odd name', serviceName: 'odds' },
      ...{ license: 'CC0-1.0', attribution: '© Odd' },
    });
    const domain = {
      ...{ type: 'codedValue', name: 'kinds' },
      codedValues: [
        { code: 'A', name: 'Asphalt' },
        { code: 'B', name: 'Bridge' },
      ],
    };
    await admin(one, 'PUT', `/metadata/layers/${places.layerId}/fields`, {
      fields: [{ name: 'kind', alias: 'Kind', domain }],
    });
    const { mapLibreStyle } = await admin(one, 'GET', `/metadata/layers/${places.layerId}/style`);
    mapLibreStyle.layers.find(({ type }: Json) => type === 'circle').paint = { 'circle-color': '#123456' };
    await admin(one, 'PUT', `/metadata/layers/${places.layerId}/style`, { mapLibreStyle });
    await admin(one, 'POST', '/rls-policies', {
      ...{ service: '*', layer: 'places', role: 'anonymous', filter: "owner = 'o1'" },
    });
    const maps = await admin(one, 'POST', '/connections', {
      ...{ name: 'maps', provider: 'ogc-wfs', host: REMOTE_HOST, port: Number(new URL(mapServer.url).port) },
      ...{ databaseName: '/', username: '', sslMode: 'Disable' },
    });
    const borders = await admin(one, 'POST', `/connections/${maps.connectionId}/layers`, {
      ...{ schema: 'ogc-wfs', table: 'ms:borders', layerName: 'Borders', attribution: 'The maps' },
    });

    expect(await graticule(one, 'manifest', file)).toMatchObject({ code: 0, err: '' });
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain(PASSWORD);
    expect((parse(text) as Json).resources.map(({ kind }: Json) => kind)).toEqual([
      ...['Connection', 'Connection', 'PublishedLayer', 'PublishedLayer', 'LayerCopy', 'Layer', 'Layer'],
      ...['Style', 'RowPolicy'],
    ]);
    const planned = await graticule(two, 'plan', file);
    expect(planned.out).toContain('9 to be created');
    const applied = await graticule(two, 'apply', file);
    expect(applied).toMatchObject({ code: 0, err: '' });
    const both = () => Promise.all([answers(one), answers(two)]);
    // What a policy leaves is counted when somebody asks, which a busy machine may do later.
    await expect.poll(async () => isDeepStrictEqual(...(await both())), { timeout: 60_000 }).toBe(true);
    const [first] = await both();
    const items = first.find(([path]: [string]) => path.endsWith('places/items?f=json'))[1];
    expect(items.numberMatched).toBe(20);
    expect(await layerIdOf(two, 'borders')).toBe(borders.layerId);
    expect(first.find(([path]: [string]) => path.endsWith('borders/items?f=json'))[1].numberMatched).toBe(46);
    expect((await graticule(two, 'apply', file)).out).toContain('9 unchanged');
    expect((await admin(two, 'GET', '/services')).map(({ serviceName }: Json) => serviceName)).toEqual([
      ...['default', 'odds'],
    ]);
  });

  it('imports from a WFS, exports what it has, and does so again on the other server', async () => {
    const exported = [];
    for (const server of [one, two]) {
      const { body } = await call(server, 'POST', '/import/ogc-wfs/start', {
        ...{ serviceUrl: `${mapServer.url}/`, featureTypeNames: ['ms:countries'], applyMode: true },
      });
      expect(body).toMatchObject({ success: true, featuresCopied: 240 });
      const listed = (await (await fetch(`${server.url}/ogc/features/collections/countries`)).json()) as Json;
      expect(listed.id).toBe('countries');
      const layerId = await layerIdOf(server, 'countries');
      const path = `/services/default/layers/${layerId}/export?format=gpkg&where=${encodeURIComponent("NAME LIKE 'S%'")}`;
      const response = await fetch(`${server.url}/api/v1/admin${path}`, {
        headers: { 'x-api-key': server.adminKey },
      });
      expect(response.status).toBe(200);
      const output = join(folder, `exported-${exported.length}.gpkg`);
      writeFileSync(output, Buffer.from(await response.arrayBuffer()));
      exported.push(JSON.parse(execFileSync('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', output]).toString()));
    }
    const [first, second] = exported as Json[];
    expect(first.features.length).toBeGreaterThan(20);
    expect(second.features).toEqual(first.features);
  });

  it('is read by QGIS', async () => {
    const layer = `url='${two.url}/ogc/features' typename='places'`;
    const script = ['test/e2e/clients/read_with_qgis.py', layer, 'OAPIF', 'name'];
    const { stdout } = await promisify(execFile)(
      '/usr/bin/python3',
      [...script, ...['0', '0', '10.5', '90']],
      {
        env: { ...process.env, HOME: folder, QT_QPA_PLATFORM: 'offscreen' },
      },
    );
    // Every third of the sixty is left by the policy.
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({
      features: 20,
      geometries: 20,
      inside: ['p1', 'p10', 'p4', 'p7'],
    });
  }, 120_000);

  it('is read by OWSLib', async () => {
    const script = [
      'test/e2e/clients/read_with_owslib.py',
      `${two.url}/ogc/features`,
      'places',
      "kind = 'A'",
    ];
    const { stdout } = await promisify(execFile)(pythonOfClients(), script);
    expect(JSON.parse(stdout)).toEqual({
      ...{ conforms: true, listed: true, title: 'Places', matched: 20, items: 20, filtered: 10 },
      queryables: ['geom', 'id', 'kind', 'name', 'owner'],
    });
  }, 60_000);

  it('is read by GDAL', () => {
    const info = execFileSync('ogrinfo', [
      '-so',
      '-ro',
      `OAPIF:${two.url}/ogc/features`,
      'places',
    ]).toString();
    expect(info).toContain('Feature Count: 20');
    expect(info).toContain('kind: String');
  });

  it('names what cannot be published, and publishes nothing then', async () => {
    const manifest = parse(readFileSync(file, 'utf8')) as Json;
    const published = manifest.resources.find(({ kind }: Json) => kind === 'PublishedLayer');
    const wrong = (name: string, change: object) => ({
      ...{ ...published, metadata: { name } },
      spec: { ...published.spec, layerName: name, ...change },
    });
    const broken = {
      resources: [
        wrong('good', {}),
        wrong('lost', { choice: { schema: 'public', table: 'nothing' } }),
        wrong('nowhere', { connection: 'nowhere' }),
        wrong('other', { layerName: 'another name' }),
        wrong('there', {}),
      ],
    };
    writeFileSync(join(folder, 'broken.yaml'), stringify(broken));
    const { code, err } = await graticule(two, 'apply', join(folder, 'broken.yaml'));
    expect(code).not.toBe(0);
    expect([...new Set([...err.matchAll(/resources\[\d\]\.[\w.]+/g)].map(String))].sort()).toEqual([
      ...['resources[1].spec.choice', 'resources[2].spec.connection', 'resources[3].metadata.name'],
      'resources[4].metadata.name',
    ]);
    expect((await fetch(`${two.url}/ogc/features/collections/good`)).status).toBe(404);
  });

  it('is empty again when an empty manifest is applied with prune', async () => {
    writeFileSync(join(folder, 'nothing.yaml'), stringify({ resources: [] }));
    const { out } = await graticule(two, 'apply', join(folder, 'nothing.yaml'), '--prune');
    expect(out).toContain('9 deleted');
    for (const id of ['places', 'borders'])
      expect((await fetch(`${two.url}/ogc/features/collections/${id}`)).status).toBe(404);
    expect(await admin(two, 'GET', '/connections')).toMatchObject([{ owner: 'configuration' }]);
  });
});
