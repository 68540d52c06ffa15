import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { run } from '../providers/postgis/support.js';
import { freePort } from '../support/ports.js';
import { OWNER, startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';
import { adminClient } from './support/admin-client.js';

/** What the configuration publishes stands among what was published over the API, and is changed by nobody there. */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'graticule-sources-')));
const real = join(folder, 'real');
/** The configuration names a link, as those of orchestrators are. */
const town = join(folder, 'town');
const single = join(folder, 'single.geojson');
const inner = join(town, 'inner');
/** Is there when the server starts, and gone then. */
const gone = join(folder, 'gone');
let away: string;
let postgres: TestPostgres;
let port: number;
let server: TestServer;
const admin = adminClient(() => server);

const points = (count: number) =>
  JSON.stringify({
    type: 'FeatureCollection',
    features: Array.from({ length: count }, (_, i) => ({
      ...{ type: 'Feature', id: i + 1, properties: { name: `n${i}`, height: i } },
      geometry: { type: 'Point', coordinates: [i, i] },
    })),
  });

beforeAll(async () => {
  mkdirSync(join(real, 'inner'), { recursive: true });
  symlinkSync(real, town);
  writeFileSync(join(real, 'wells.geojson'), points(3));
  writeFileSync(join(real, 'inner', 'pumps.geojson'), points(2));
  writeFileSync(single, points(4));
  mkdirSync(gone);
  cpSync('demo/data/world_map.gpkg', join(real, 'world_map.gpkg'));
  away = `http://127.0.0.2:${await freePort()}/away.tif?signature=hidden-word`;
  port = await freePort();
  postgres = await startPostgres(['listen_addresses=127.0.0.1', `port=${port}`]);
  await run(
    postgres.url,
    `CREATE TABLE trees (id int PRIMARY KEY, kind text, geom geometry(Point, 4326));
     INSERT INTO trees VALUES (1, 'oak', ST_SetSRID(ST_MakePoint(1, 2), 4326))`,
  );
  await run(postgres.url, 'CREATE DATABASE other');
  await run(
    postgres.url.replace('/postgres', '/other'),
    `CREATE EXTENSION postgis; CREATE TABLE trees (id int PRIMARY KEY, geom geometry(Point, 4326))`,
  );
  server = await startServer({
    sources: [town, inner, single, gone, away, postgres.url],
    env: { SVC_REMOTE__ALLOW: '["127.0.0.2"]' },
  });
  rmSync(gone, { recursive: true });
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

async function connections(): Promise<Json[]> {
  return (await admin('GET', '/connections')).body.data;
}
const databaseOf = async (name: string) =>
  (await connections()).find(({ provider, owner }) => provider === 'PostGIS' && owner === name);
const named = async (name: string) => (await connections()).find((one) => one.name === name);
const layersOf = async (name: string) => {
  const { connectionId } = await named(name);
  return (await admin('GET', `/connections/${connectionId}/layers`)).body.data as Json[];
};
const graticule = (...args: string[]) =>
  promisify(execFile)(process.execPath, [
    ...['dist/cli/main.js', ...args],
    ...['--url', server.url, '--key', server.adminKey],
  ]);

describe('sources of the configuration', () => {
  it('are connections with an owner, whatever they are', async () => {
    const all = (await connections()).map(({ name, provider, owner }) => [name, provider, owner]);
    expect(all).toEqual([
      ...[town, inner, single, gone].map((path) => [path, 'Local', 'configuration']),
      [away.replace(/\?.*/, ''), 'Web', 'configuration'],
      ['postgres@localhost', 'PostGIS', 'configuration'].map((text, i) =>
        i === 0 ? expect.stringMatching(/^postgres@/) : text,
      ),
    ]);
    const answer = await admin('POST', '/connections', {
      ...{ name: 'own', host: 'localhost', databaseName: 'x', username: 'y' },
    });
    expect(answer.body.data).toMatchObject({ owner: 'api', provider: 'PostGIS' });
    expect((await admin('GET', '/connections')).text).not.toContain('hidden-word');
  });

  it('list what they publish: each collection below the innermost source', async () => {
    const ids = async (name: string) => (await layersOf(name)).map(({ collectionId }) => collectionId).sort();
    expect(await ids(town)).toEqual(['countries', 'wells'].concat(await others(town)).sort());
    expect(await ids(inner)).toEqual(['pumps']);
    expect(await ids(single)).toEqual(['single']);
    expect(await ids(gone)).toEqual([]);
    const [wells] = (await layersOf(town)).filter(({ collectionId }) => collectionId === 'wells');
    expect(wells).toMatchObject({
      ...{ layerName: 'Wells', schema: 'wells.geojson', table: 'wells', geometryType: 'Point', srid: 4326 },
      ...{ enabled: true, serviceName: 'default', owner: 'configuration', layerId: expect.any(Number) },
    });
    const { name } = (await connections()).find(
      ({ provider, owner }) => provider === 'PostGIS' && owner !== 'api',
    );
    expect(await layersOf(name)).toMatchObject([
      { collectionId: 'trees', schema: 'public', table: 'trees', primaryKey: 'id', owner: 'configuration' },
    ]);
  });

  /** Tables of the demonstration file beside the one that is named. */
  async function others(name: string): Promise<string[]> {
    return (await layersOf(name))
      .filter(({ schema, collectionId }) => schema === 'world_map.gpkg' && collectionId !== 'countries')
      .map(({ collectionId }) => collectionId);
  }

  it('are looked through and tried', async () => {
    const { connectionId } = await named(single);
    const { tables } = (await admin('GET', `/connections/${connectionId}/tables`)).body;
    expect(tables).toMatchObject([
      { schema: 'single.geojson', table: 'single', geometryType: 'Point', srid: 4326, estimatedRows: 4 },
    ]);
    expect(tables[0].columns.map(({ name }: Json) => name)).toEqual(
      expect.arrayContaining(['name', 'height']),
    );
    const health = async (name: string) => {
      const one = await named(name);
      return (await admin('POST', `/connections/${one.connectionId}/test`)).body.data;
    };
    expect(await health(town)).toMatchObject({ isHealthy: true, reason: 'ok' });
    expect(await health(single)).toMatchObject({ isHealthy: true, reason: 'ok' });
    expect(await health(gone)).toMatchObject({ isHealthy: false, reason: 'missing' });
    const remote = await health(away.replace(/\?.*/, ''));
    expect(remote).toMatchObject({ isHealthy: false, reason: 'other' });
    expect(remote.message).not.toContain('hidden-word');
    expect((await named(gone)).healthStatus).toBe('unhealthy');
  });

  it('are changed in the configuration alone', async () => {
    const { connectionId } = await named(town);
    const path = `/connections/${connectionId}`;
    const [{ layerId }] = await layersOf(town);
    const refused: [string, string, object?][] = [
      ['PUT', path, { description: 'other' }],
      ['DELETE', path],
      ['POST', `${path}/layers`, { schema: 'wells.geojson', table: 'wells' }],
      ['PUT', `${path}/layers/${layerId}/enabled`, { enabled: false }],
      ['PUT', `${path}/layers/enabled`, { enabled: false }],
      ['DELETE', `${path}/layers/${layerId}`],
      ['POST', `${path}/layers/${layerId}/features/refresh`],
      ['POST', '/connections', { name: town, host: 'h', databaseName: 'd', username: 'u' }],
    ];
    for (const [method, to, body] of refused) {
      const { status, text } = await admin(method, to, body);
      expect([method, to, status]).toEqual([method, to, 409]);
      expect(text).not.toContain('hidden-word');
    }
    expect((await admin('PUT', `${path}/layers/999999/enabled`, { enabled: true })).status).toBe(404);
    const validation = await admin('POST', `${path}/tables/validate`, { schema: 'a', table: 'b' });
    expect(validation.status).toBe(400);
    expect((await fetch(`${server.url}/ogc/features/collections/wells`)).status).toBe(200);
  });

  it('leave to the API what is imported or published over it', async () => {
    const { connectionId } = await databaseOf('configuration');
    const path = `/connections/${connectionId}/layers`;
    const { body } = await admin('POST', path, { schema: 'public', table: 'trees', layerName: 'More trees' });
    expect(body.data.owner).toBe('api');
    expect(
      (await admin('GET', path)).body.data.map(({ layerName, owner }: Json) => [layerName, owner]),
    ).toEqual([
      ['More trees', 'api'],
      ['Trees', 'configuration'],
    ]);
    expect((await admin('PUT', `${path}/enabled`, { enabled: false })).body.data).toHaveLength(1);
    expect((await fetch(`${server.url}/ogc/features/collections/trees`)).status).toBe(200);
    expect((await admin('DELETE', `${path}/${body.data.layerId}`)).status).toBe(200);
  });
});

describe('a table that is reached by another address', () => {
  it('is published again by those alone who may read all of its layer, as a copy of it', async () => {
    const [{ layerId }] = (await layersOf((await databaseOf('configuration')).name)) as Json[];
    const access = `/services/default/layers/${layerId}/metadata`;
    const open = (allowAnonymous: boolean) => admin('PUT', access, { accessPolicy: { allowAnonymous } });
    expect((await open(false)).status).toBe(200);
    const address = { host: '127.0.0.1', port, databaseName: 'postgres', username: OWNER };
    const mode = { sslMode: 'Disable', sslRequired: false };
    expect((await admin('POST', '/connections', { name: 'by address', ...address, ...mode })).status).toBe(
      201,
    );
    const publish = async (...permissions: string[]) => {
      const { key } = (await admin('POST', '/api-keys', { name: 'publisher', permissions })).body.data;
      const response = await fetch(`${server.url}/api/v1/admin/connections/by%20address/layers`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ schema: 'public', table: 'trees', layerName: 'by address' }),
      });
      return { status: response.status, body: (await response.json()) as Json };
    };
    const work = ['admin:layers:write', 'admin:connections:read'];
    expect((await publish(...work)).status).toBe(403);
    const made = await publish(...work, 'read:*');
    expect(made.status).toBe(201);
    const items = `${server.url}/ogc/features/collections/by-address/items`;
    expect((await fetch(items)).status).toBe(401);
    expect((await open(true)).status).toBe(200);
    expect((await fetch(items)).status).toBe(200);
    // A layer of another database becomes a copy when its connection leads to this one.
    await admin('DELETE', `/connections/by%20address/layers/${made.body.data.layerId}`);
    expect((await admin('PUT', '/connections/by%20address', { databaseName: 'other' })).status).toBe(200);
    expect((await publish(...work)).status).toBe(201);
    expect((await open(false)).status).toBe(200);
    expect((await fetch(items)).status).toBe(200);
    expect((await admin('PUT', '/connections/by%20address', { databaseName: 'postgres' })).status).toBe(200);
    expect((await fetch(items)).status).toBe(401);
    expect((await open(true)).status).toBe(200);
  });
});

describe('manifests and what the configuration owns', () => {
  const apply = (resources: object[], dryRun = false) =>
    admin('POST', '/metadata/manifest/apply', { resources, dryRun });
  const connection = (name: string) => ({
    ...{ kind: 'Connection', metadata: { name } },
    spec: {
      ...{ description: null, host: 'localhost', port: 5432, databaseName: 'd', username: 'u' },
      ...{ sslMode: 'Prefer', secretReference: null, secretType: null, isActive: true },
    },
  });

  it('name the owner of each object, and hold none of the configuration', async () => {
    await admin('POST', '/roles', { name: 'clerk', description: null });
    const { owners, resources } = (await admin('GET', '/metadata/manifest')).body.data;
    expect(owners).toEqual(
      expect.arrayContaining([
        { kind: 'Connection', name: town, owner: 'configuration' },
        { kind: 'PublishedLayer', name: 'wells', owner: 'configuration' },
        { kind: 'Role', name: 'clerk', owner: 'api' },
      ]),
    );
    expect(JSON.stringify(resources)).not.toContain(town);
    const { stdout } = await graticule('manifest');
    expect(stdout).toContain(`#   PublishedLayer wells\n`);
    expect(stdout).toContain('#   Role clerk\n');
    expect(parse(stdout).resources).toEqual(resources);
  });

  it('do not take over what the configuration owns, and name the owner in a plan', async () => {
    const { status, body } = await apply([connection(town), connection('fine')]);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([
      {
        name: '/resources/0/metadata/name',
        detail: expect.stringContaining('is defined in the configuration'),
      },
    ]);
    const role = { kind: 'Role', metadata: { name: 'clerk' }, spec: { description: 'x', permissions: [] } };
    const planned = (await apply([role], true)).body.data;
    expect(planned.entries).toMatchObject([{ action: 'updated', owner: 'api' }]);
    await apply([role]);
    const again = (await apply([{ ...role, spec: { ...role.spec, description: 'y' } }], true)).body.data;
    expect(again.entries).toMatchObject([{ action: 'updated', owner: 'manifest' }]);
    const fresh = (await apply([connection('fine')], true)).body.data;
    expect(fresh.entries).toMatchObject([{ action: 'created', owner: null }]);
    const { owners } = (await admin('GET', '/metadata/manifest')).body.data;
    expect(owners).toContainEqual({ kind: 'Role', name: 'clerk', owner: 'manifest' });
  });

  it('tell no drift of what the configuration has taken over', async () => {
    const { name } = (await connections()).find(
      ({ provider, owner }) => provider === 'PostGIS' && owner === 'configuration',
    );
    const layer = {
      ...{ kind: 'PublishedLayer', metadata: { name: 'springs' } },
      spec: {
        ...{ connection: name, layerName: 'springs', serviceName: 'default', enabled: true },
        ...{ description: null, license: null, licenseUrl: null, attribution: null, publisher: null },
        ...{ sourceUrl: null, choice: { schema: 'public', table: 'trees' } },
      },
    };
    const applied = await apply([layer]);
    expect(applied.status, applied.text).toBe(200);
    const { layerId } = (await layersOf(name)).find(({ collectionId }) => collectionId === 'springs');
    const path = `/connections/${encodeURIComponent(name)}/layers/${layerId}`;
    expect((await admin('DELETE', path)).status).toBe(200);
    const drift = async () => (await admin('GET', '/metadata/manifest')).body.data.driftedResources;
    expect(await drift()).toEqual([{ kind: 'PublishedLayer', namespace: null, name: 'springs' }]);
    writeFileSync(join(real, 'springs.geojson'), points(1));
    const status = async () => (await fetch(`${server.url}/ogc/features/collections/springs`)).status;
    await expect.poll(status, { timeout: 60_000 }).toBe(200);
    expect(await drift()).toEqual([]);
  });
});
