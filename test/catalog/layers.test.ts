import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../providers/postgis/support.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { repetitions } from '../support/soak.js';
import { makeDatabase } from '../support/state.js';
import { adminClient, statuses } from './support/admin-client.js';
import { type SecurePostgres, startSecurePostgres } from './support/secure-postgres.js';

const PASSWORD = 'geheim';
const SRS = 'ST_SetSRID(ST_MakePoint(i, i / 2.0), 4326)';

let postgres: SecurePostgres;
let server: TestServer;
let dataDir: string;
let connectionId: string;
const admin = adminClient(() => server);

const start = () =>
  startServerProcess({
    ...{ sources: ['demo/data/world_map.gpkg'], dataDir, args: ['--processes', '2'] },
    env: { SVC_SECURITY__STATE_KEY: 'the key of the state' },
  });

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'graticule-layers-'));
  postgres = await startSecurePostgres(false);
  const columns = Array.from({ length: 300 }, (_, i) => `"c${i}" int DEFAULT ${i}`).join(', ');
  await run(
    postgres.url,
    `CREATE ROLE reader LOGIN PASSWORD '${PASSWORD}';
     CREATE SCHEMA data;
     CREATE TABLE data.places (id int PRIMARY KEY, name varchar(40), kind text, geom geometry(Point, 4326));
     INSERT INTO data.places SELECT i, 'p' || i, 'k', ${SRS} FROM generate_series(1, 80) i;
     CREATE INDEX ON data.places USING gist (geom);
     CREATE VIEW data.far AS SELECT id AS number, name, geom FROM data.places WHERE id > 40;
     CREATE TABLE data.no_key (name text, geom geometry(Point, 4326));
     CREATE TABLE data.loose (id int PRIMARY KEY, geom geometry);
     INSERT INTO data.loose SELECT i, ${SRS} FROM generate_series(1, 3) i;
     CREATE TABLE data.mixed (id int PRIMARY KEY, geom geometry);
     INSERT INTO data.mixed VALUES (1, 'SRID=4326;POINT(1 1)'), (2, 'SRID=3857;POINT(1 1)'), (3, NULL),
       (4, 'SRID=4326;POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))');
     CREATE TABLE data."We""ird Täble" ("The Id" int PRIMARY KEY, "a b" text, "Geo m" geometry(Point, 4326));
     INSERT INTO data."We""ird Täble" VALUES (1, 'x', 'SRID=4326;POINT(1 1)');
     CREATE TABLE data.wide (id int PRIMARY KEY, ${columns}, geom geometry(Point, 4326));
     INSERT INTO data.wide (id, geom) VALUES (1, 'SRID=4326;POINT(1 1)');
     CREATE TABLE data.dropped AS SELECT * FROM data.places;
     ALTER TABLE data.dropped ADD PRIMARY KEY (id);
     CREATE TABLE data.unplaced (id int PRIMARY KEY, geom geometry);
     INSERT INTO data.unplaced VALUES (1, 'POINT(7 47)'), (2, 'POINT(8 48)'), (3, 'POINT(70 4)');
     CREATE TABLE data.no_geometry (id int PRIMARY KEY);
     GRANT USAGE ON SCHEMA data TO reader;
     GRANT SELECT ON ALL TABLES IN SCHEMA data TO reader;
     CREATE TABLE data.hidden (id int PRIMARY KEY, geom geometry(Point, 4326));`,
  );
  server = await start();
  const made = await admin('POST', '/connections', {
    ...{ name: 'main', host: '127.0.0.1', port: postgres.port, databaseName: 'postgres' },
    ...{ username: 'reader', password: PASSWORD, sslMode: 'Disable', sslRequired: false },
  });
  expect(made.status, made.text).toBe(201);
  connectionId = made.body.data.connectionId;
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const publish = (body: object) => admin('POST', '/connections/main/layers', { schema: 'data', ...body });
const items = (id: string) => `/ogc/features/collections/${id}/items`;
const json = async (path: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape.
  (await (await fetch(`${server.url}${path}`, { headers: { connection: 'close' } })).json()) as any;

async function until(what: string, reached: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await reached().catch(() => false))) {
    if (Date.now() > end) throw new Error(`it was never ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
const problems = async (): Promise<string> => {
  const headers = { 'x-api-key': server.adminKey, connection: 'close' };
  return JSON.stringify(
    (await (await fetch(`${server.url}/healthz/metrics`, { headers })).json()).catalog.problems,
  );
};

describe('a published table', () => {
  it('is on every protocol, in all processes, once it is answered', async () => {
    const answer = await publish({
      table: 'places',
      layerName: 'Nice Places',
      description: 'Places',
      license: 'CC0-1.0',
    });
    expect(answer.status, answer.text).toBe(201);
    const { layerId } = answer.body.data;
    expect(answer.body.data).toEqual({
      ...{ layerId: expect.any(Number), layerName: 'Nice Places', schema: 'data', table: 'places' },
      ...{ collectionId: 'nice-places', description: 'Places', geometryType: 'Point', srid: 4326 },
      ...{ primaryKey: 'id', fieldCount: 3, enabled: true, serviceName: 'default', license: 'CC0-1.0' },
      ...{ licenseUrl: null, attribution: null, publisher: null, sourceUrl: null },
      owner: 'api',
    });
    const places = [
      ...['/ogc/features/collections/nice-places', items('nice-places'), `${items('nice-places')}/7`],
      ...[`/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/0/0/0?f=mvt`],
      `/ogc/maps/collections/${layerId}/map?f=png&width=64&height=64`,
    ];
    for (const path of places) expect(await statuses(server, path), path).toEqual([200]);
    const collection = await json('/ogc/features/collections/nice-places');
    expect(collection).toMatchObject({ title: 'Nice Places', description: 'Places' });
    expect((await json(`${items('nice-places')}?limit=1`)).numberMatched).toBe(80);
    expect((await admin('GET', '/connections/main/layers')).body.data).toEqual([answer.body.data]);
  });

  it('is found by every spatial filter where its SRID is stated', async () => {
    const { status, body } = await publish({ table: 'unplaced', layerName: 'Unplaced', srid: 4326 });
    expect([status, body.data.srid]).toEqual([201, 4326]);
    const ids = async (query: string) =>
      // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape.
      (await json(`${items('unplaced')}?${query}`)).features.map(({ id }: any) => id);
    expect(await ids('bbox=6,46,10,50')).toEqual([1, 2]);
    expect(await ids('bbox=7,47,7,47')).toEqual([1]);
    const area = encodeURIComponent('S_INTERSECTS(geom, POLYGON((6 46, 7.5 46, 7.5 50, 6 50, 6 46)))');
    expect(await ids(`filter=${area}`)).toEqual([1]);
    const box = encodeURIComponent(JSON.stringify({ xmin: 6, ymin: 46, xmax: 10, ymax: 50 }));
    const found = await json(
      `/rest/services/default/FeatureServer/${body.data.layerId}/query?geometry=${box}&geometryType=esriGeometryEnvelope&inSR=4326&returnIdsOnly=true&f=json`,
    );
    expect(found.objectIds).toEqual([1, 2]);
    expect((await admin('DELETE', `/connections/main/layers/${body.data.layerId}`)).status).toBe(200);
  });

  it('keeps its name: another is refused, also while it is switched off', async () => {
    expect((await publish({ table: 'places', layerName: 'nice places' })).status).toBe(409);
    expect((await publish({ table: 'places', layerName: 'Countries' })).status).toBe(409);
    const all = await Promise.all(
      [1, 2, 3, 4].map(() => publish({ table: 'far', layerName: 'Race', primaryKey: 'number' })),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  });

  it('has the key, the fields, and the SRID that are stated', async () => {
    const far = await publish({ table: 'far', primaryKey: 'number', fields: ['name'] });
    expect(far.status, far.text).toBe(201);
    expect(far.body.data).toMatchObject({ layerName: 'far', primaryKey: 'number', fieldCount: 2 });
    expect(await json(`${items('far')}/50`)).toMatchObject({ id: 50, properties: { name: 'p50' } });
    const some = await publish({ table: 'places', layerName: 'names', fields: ['name'] });
    expect(some.status).toBe(201);
    expect((await json(`${items('names')}/1`)).properties).toEqual({ name: 'p1' });
    expect((await publish({ table: 'far', layerName: 'far2' })).text).toContain(
      'No column identifies its rows',
    );
    expect((await publish({ table: 'far', layerName: 'far2', primaryKey: 'name' })).status).toBe(201);
  });

  it('may have a name that SQL quotes, and 300 columns', async () => {
    const weird = await publish({ table: 'We"ird Täble', layerName: 'Ünusual / näme' });
    expect(weird.status, weird.text).toBe(201);
    expect(weird.body.data).toMatchObject({ collectionId: 'unusual-name', primaryKey: 'The Id' });
    expect((await json(items('unusual-name'))).features).toMatchObject([
      { id: 1, properties: { 'a b': 'x' } },
    ]);
    const wide = await publish({ table: 'wide' });
    expect(wide.body.data).toMatchObject({ fieldCount: 301 });
    expect(Object.keys((await json(`${items('wide')}/1`)).properties)).toHaveLength(300);
  });

  it.each([
    ['no_key', ['It has no primary key']],
    ['no_geometry', ['It has no geometry column']],
    ['mixed', ['several SRIDs']],
    ['hidden', ['GRANT SELECT']],
    ['missing', ['There is no table or view data.missing']],
    [
      'places',
      ['no column nothing', 'no column absent', 'no geometry column shape'],
      { fields: ['nothing'], primaryKey: 'absent', geometryColumn: 'shape' },
    ],
    ['places', ['another SRID', 'another type'], { srid: 3857, geometryType: 'Polygon' }],
  ])('is refused with all that is wrong: %s', async (table, messages, choice: object = {}) => {
    const answer = await publish({ table, layerName: `bad ${table}`, ...choice });
    expect(answer.status).toBe(400);
    for (const message of messages) expect(answer.text).toContain(message);
    expect((await fetch(`${server.url}${items(`bad-${table}`)}`)).status).toBe(404);
  });

  it('is looked at from all sides before', async () => {
    const validate = async (body: object) =>
      (await admin('POST', '/connections/main/tables/validate', { schema: 'data', ...body })).body.data;
    const good = await validate({ table: 'places', layerName: 'New', targetSrid: 3857 });
    expect(good).toMatchObject({
      ...{ isValid: true, status: 'valid', layerName: 'New', serviceName: 'default', geometryColumn: 'geom' },
      ...{ geometryType: 'Point', primaryKey: 'id', objectIdStrategy: 'primaryKey', sourceSrid: 4326 },
      ...{ targetSrid: 3857, featureCount: 80, nullGeometryCount: 0, invalidGeometryCount: 0 },
    });
    expect(good.fields).toHaveLength(3);
    const bad = await validate({ table: 'mixed', layerName: 'Nice Places', fields: ['nothing'] });
    expect(bad).toMatchObject({
      isValid: false,
      status: 'invalid',
      nullGeometryCount: 1,
      invalidGeometryCount: 1,
    });
    const codes = (severity: string) =>
      bad.checks
        .filter((one: { severity: string }) => one.severity === severity)
        .map((one: { code: string }) => one.code);
    expect(codes('error')).toEqual(['layer-name', 'field', 'srid']);
    expect(codes('warning')).toEqual([
      'spatial-index',
      'null-geometries',
      'invalid-geometries',
      'geometry-type',
    ]);
    const view = await validate({ table: 'far', layerName: 'v' });
    expect(view).toMatchObject({ objectIdStrategy: 'unresolved', primaryKey: null });
    expect(await validate({ table: 'We"ird Täble' })).toMatchObject({ status: 'warning', isValid: true });
  });
});

describe('published layers', () => {
  it('are switched off and on, one and all of a service', async () => {
    const one = await publish({ table: 'places', layerName: 'switch a', serviceName: 'Switched' });
    await publish({ table: 'places', layerName: 'switch b', serviceName: 'Switched' });
    const { layerId } = one.body.data;
    const tile = `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/0/0/0?f=mvt`;
    expect(
      (await json('/ogc/features/collections')).collections.map(({ id }: { id: string }) => id),
    ).toContain('switch-a');
    const services = (await admin('GET', '/services/')).body.data;
    expect(services.map((s: { serviceName: string }) => s.serviceName)).toEqual(['default', 'Switched']);
    expect(services[1].layerCount).toBe(2);
    const off = await admin('PUT', `/connections/main/layers/${layerId}/enabled?serviceName=Switched`, {
      enabled: false,
    });
    expect(off.body.data).toMatchObject({ layerId, enabled: false });
    for (const path of [items('switch-a'), tile]) expect(await statuses(server, path), path).toEqual([404]);
    expect((await publish({ table: 'places', layerName: 'Switch A' })).status).toBe(409);
    await admin('PUT', `/connections/main/layers/${layerId}/enabled`, { enabled: true });
    expect(await statuses(server, tile)).toEqual([200]);
    const all = await admin('PUT', '/connections/main/layers/enabled?serviceName=Switched', {
      enabled: false,
    });
    expect(all.body.data.map(({ enabled }: { enabled: boolean }) => enabled)).toEqual([false, false]);
    expect(await statuses(server, items('switch-b'))).toEqual([404]);
    expect((await admin('PUT', `/connections/main/layers/999999/enabled`, { enabled: true })).status).toBe(
      404,
    );
    expect((await admin('PUT', `/connections/main/layers/x/enabled`, { enabled: true })).status).toBe(400);
  });

  it('are published again and switched on by those alone who may read all of the table', async () => {
    const { layerId } = (await publish({ table: 'places', layerName: 'kept' })).body.data;
    const metadata = `/services/default/layers/${layerId}/metadata`;
    expect((await admin('PUT', metadata, { accessPolicy: { allowAnonymous: false } })).status).toBe(200);
    const work = [
      'admin:layers:write',
      'admin:connections:write',
      'admin:manifest:write',
      'admin:services:write',
    ];
    const headersOf = async (...permissions: string[]) => {
      const { body } = await admin('POST', '/api-keys', { name: 'publisher', permissions });
      return { 'x-api-key': body.data.key, 'content-type': 'application/json' };
    };
    const [blind, reader] = [await headersOf(...work), await headersOf(...work, 'read:*')];
    const send = async (headers: Record<string, string>, method: string, path: string, body: object) => {
      const init = { method, headers, body: JSON.stringify(body) };
      const response = await fetch(`${server.url}/api/v1/admin${path}`, init);
      if (response.status === 400) throw new Error(await response.text());
      return response.status;
    };
    const copy = { schema: 'data', table: 'places', layerName: 'kept copy' };
    const enabled = `/connections/main/layers/${layerId}/enabled`;
    const { resources } = (await admin('GET', '/metadata/manifest')).body.data;
    const exported = resources.find((one: { metadata: { name: string } }) => one.metadata.name === 'kept');
    const { layerId: _, ...others } = exported.spec;
    const spec = { ...others, layerName: 'kept twice' };
    const manifest = { resources: [{ ...exported, metadata: { name: 'kept-twice' }, spec }] };
    const access = {
      ...{ apiVersion: exported.apiVersion, kind: 'AccessPolicy', metadata: { name: 'kept' } },
      spec: { allowAnonymous: true, allowAnonymousWrite: false, allowedRoles: [], allowedWriteRoles: [] },
    };
    expect(await send(blind, 'POST', '/connections/main/layers', copy)).toBe(403);
    expect(await send(blind, 'POST', '/metadata/manifest/apply', manifest)).toBe(403);
    expect(await send(reader, 'POST', '/metadata/manifest/apply', { ...manifest, dryRun: true })).toBe(200);
    expect(await send(reader, 'PUT', enabled, { enabled: false })).toBe(200);
    expect(await send(blind, 'PUT', enabled, { enabled: true })).toBe(403);
    expect(await send(blind, 'POST', '/metadata/manifest/apply', { resources: [access] })).toBe(403);
    expect(await send(reader, 'PUT', enabled, { enabled: true })).toBe(200);
    expect(await send(reader, 'POST', '/connections/main/layers', copy)).toBe(201);
    expect(await statuses(server, items('kept-copy'))).toEqual([401]);
    const removeAll = async () => {
      const { data } = (await admin('GET', '/connections/main/layers')).body;
      for (const one of data as { layerId: number; layerName: string }[])
        if (one.layerName.startsWith('kept'))
          expect((await admin('DELETE', `/connections/main/layers/${one.layerId}`)).status).toBe(200);
    };
    await removeAll();
    expect((await publish({ table: 'places', layerName: 'kept later' })).status).toBe(201);
    expect(await statuses(server, items('kept-later'))).toEqual([401]);
    expect((await publish({ table: 'places', layerName: 'kept' })).body.data.layerId).toBe(layerId);
    expect((await admin('PUT', metadata, { accessPolicy: { allowAnonymous: true } })).status).toBe(200);
    expect(await statuses(server, items('kept-later'))).toEqual([200]);
    await removeAll();
  });

  it('inherit what settings of another layer of the table hide', async () => {
    const send = async (headers: Record<string, string>, layerName: string) => {
      const body = JSON.stringify({ schema: 'data', table: 'places', layerName });
      const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
      return (await fetch(`${server.url}/api/v1/admin/connections/main/layers`, init)).status;
    };
    const headersOf = async (...permissions: string[]) => {
      const { body } = await admin('POST', '/api-keys', { name: 'publisher', permissions });
      return { 'x-api-key': body.data.key as string };
    };
    const publisher = await headersOf('read:*', 'admin:layers:write');
    const administrator = { 'x-api-key': server.adminKey };
    const shown = async (id: string) =>
      Promise.all(
        [{}, publisher, administrator].map(
          async (headers) => (await fetch(server.url + items(id), { headers })).status,
        ),
      );
    const { layerId } = (await publish({ table: 'places', layerName: 'veiled' })).body.data;
    const [field] = (await admin('GET', `/metadata/layers/${layerId}/fields`)).body.data.fields;
    const hidden = (isHidden: boolean) =>
      admin('PUT', `/metadata/layers/${layerId}/fields`, {
        fields: [{ name: field.name, hidden: isHidden }],
      });
    const filtered = (filter: object | null) => admin('PUT', `/metadata/layers/${layerId}/filter`, filter);
    await hidden(true);
    expect(await send(publisher, 'veiled refused')).toBe(403);
    expect(await send(administrator, 'veiled since')).toBe(201);
    expect(await shown('veiled-since')).toEqual([401, 403, 200]);
    await hidden(false);
    expect(await send(publisher, 'veiled before')).toBe(201);
    const copies = ['veiled-before', 'veiled-since'];
    for (const id of copies) expect(await shown(id), id).toEqual([200, 200, 200]);
    await filtered({ permanentFilter: { expression: `"${field.name}" IS NULL` } });
    for (const id of copies) expect(await shown(id), id).toEqual([401, 403, 200]);
    const enabled = `/connections/main/layers/${layerId}/enabled`;
    expect((await admin('PUT', enabled, { enabled: false })).status).toBe(200);
    for (const id of copies) expect(await shown(id), id).toEqual([401, 403, 200]);
    expect((await admin('PUT', enabled, { enabled: true })).status).toBe(200);
    await filtered(null);
    for (const id of copies) expect(await shown(id), id).toEqual([200, 200, 200]);
    const { data } = (await admin('GET', '/connections/main/layers')).body;
    for (const one of data as { layerId: number; layerName: string }[])
      if (one.layerName.startsWith('veiled'))
        expect((await admin('DELETE', `/connections/main/layers/${one.layerId}`)).status).toBe(200);
  });

  it('are gone while their connection is inactive, and keep it from being deleted', async () => {
    expect((await admin('DELETE', '/connections/main')).status).toBe(409);
    await admin('PUT', '/connections/main', { isActive: false });
    expect(await statuses(server, items('nice-places'))).toEqual([404]);
    await admin('PUT', '/connections/main', { isActive: true });
    expect(await statuses(server, items('nice-places'))).toEqual([200]);
  });

  it('are deleted; the table stays, and the connection can be deleted then', async () => {
    const made = await admin('POST', '/connections', {
      ...{ name: 'short', host: '127.0.0.1', port: postgres.port, databaseName: 'postgres' },
      ...{ username: 'reader', password: PASSWORD, sslRequired: false },
    });
    expect(made.status).toBe(201);
    const { body } = await admin('POST', '/connections/short/layers', {
      schema: 'data',
      table: 'places',
      layerName: 'short',
    });
    expect((await admin('DELETE', `/connections/main/layers/${body.data.layerId}`)).status).toBe(404);
    expect((await admin('DELETE', `/connections/short/layers/${body.data.layerId}`)).status).toBe(200);
    expect(await statuses(server, items('short'))).toEqual([404]);
    expect((await admin('DELETE', '/connections/short')).status).toBe(200);
    const again = await publish({ table: 'places', layerName: 'short' });
    expect(again.body.data.layerId).toBe(body.data.layerId);
  });

  it('have their extents and rows refreshed in all processes', async () => {
    const { body } = await publish({ table: 'loose', serviceName: 'Loose', srid: 4326 });
    const { layerId } = body.data;
    const box = async () => (await json('/ogc/features/collections/loose')).extent.spatial.bbox[0];
    const before = await box();
    await run(postgres.url, `INSERT INTO data.loose VALUES (10, 'SRID=4326;POINT(50 40)')`);
    const extents = await admin('POST', '/connections/main/layers/extents/refresh?serviceName=Loose');
    expect(extents.body.data).toEqual({
      ...{ serviceName: 'Loose', refreshedLayerCount: 1, layersWithExtent: 1, layersWithoutExtent: 0 },
      serviceExtentUpdated: true,
      layers: [{ layerId, layerName: 'loose', hasExtent: true, extentSrid: 4326 }],
    });
    for (let i = 0; i < 8; i++) expect((await box()).slice(2)).toEqual([50, 40]);
    expect(before.slice(2)).not.toEqual([50, 40]);
    const refreshed = await admin('POST', `/connections/main/layers/${layerId}/features/refresh`);
    expect(refreshed.body.data).toEqual({
      ...{ layerId, layerName: 'loose', schema: 'data', table: 'loose', materializedFeatureCount: 4 },
    });
    await run(postgres.url, 'DELETE FROM data.loose');
    expect(
      (await admin('POST', `/connections/main/layers/${layerId}/features/refresh`)).body.data
        .materializedFeatureCount,
    ).toBe(0);
    const none = await admin('POST', '/connections/main/layers/extents/refresh?serviceName=Loose');
    expect(none.body.data).toMatchObject({ layersWithExtent: 0, layersWithoutExtent: 1 });
  });

  it('come and go with a table per second, and no other source is inspected', async () => {
    const rounds = repetitions(import.meta.url, 15, 4);
    const pauseMs = repetitions(import.meta.url, 1000, 10);
    const columns = '(id int PRIMARY KEY, geom geometry(Point, 4326))';
    /** Counters of all processes, each of which counts its own. */
    const inspections = async () => {
      const headers = { 'x-api-key': server.adminKey, connection: 'close' };
      const counters = new Set<string>();
      for (let i = 0; i < 16; i++) {
        const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
        counters.add(String(text.match(/^svc_catalog_inspections_total.*$/gm)?.sort()));
      }
      return counters;
    };
    const before = await inspections();
    const failed: number[] = [];
    let isOver = false;
    const reader = (async () => {
      for (; !isOver; await new Promise((resolve) => setTimeout(resolve, 10)))
        failed.push(...(await statuses(server, `${items('countries')}?limit=1`, 2)).filter((s) => s !== 200));
    })();
    const made: { layerId: number; name: string }[] = [];
    for (let n = 0; n < rounds; n++) {
      const name = `every${n}`;
      await run(
        postgres.url,
        `CREATE TABLE data.${name} ${columns}; INSERT INTO data.${name} VALUES (1, 'SRID=4326;POINT(1 1)');
         GRANT SELECT ON data.${name} TO reader`,
      );
      const answer = await publish({ table: name });
      expect(answer.status, answer.text).toBe(201);
      expect(await statuses(server, items(name), 4)).toEqual([200]);
      made.push({ layerId: answer.body.data.layerId, name });
      if (n % 2 === 0) continue;
      const { layerId, name: former } = made.shift()!;
      expect((await admin('DELETE', `/connections/main/layers/${layerId}`)).status).toBe(200);
      await run(postgres.url, `DROP TABLE data.${former}`);
      expect(await statuses(server, items(former), 4)).toEqual([404]);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    isOver = true;
    await reader;
    expect(failed).toEqual([]);
    const { collections } = await json('/ogc/features/collections?f=json');
    const ids = collections.map(({ id }: { id: string }) => id);
    expect(ids.filter((id: string) => id.startsWith('every')).sort()).toEqual(
      made.map(({ name }) => name).sort(),
    );
    expect(await inspections()).toEqual(before);
    for (const { layerId } of made) await admin('DELETE', `/connections/main/layers/${layerId}`);
  });

  it('tell of a table that is gone or changed, which hides no other', async () => {
    expect((await publish({ table: 'dropped' })).status).toBe(201);
    await run(postgres.url, 'DROP TABLE data.dropped; ALTER TABLE data.places RENAME COLUMN kind TO sort');
    expect(await statuses(server, items('dropped'))).toEqual([404]);
    // Tables are looked at now and then, and when something is said about their connection.
    await admin('PUT', '/connections/main', { description: 'looked at' });
    await until('told', async () => (await problems()).includes('data.dropped'));
    await until('changed', async () => {
      const all = await Promise.all(Array.from({ length: 8 }, () => json(`${items('nice-places')}/1`)));
      return all.every(({ properties }) => properties?.sort === 'k');
    });
  });
});

describe('two servers of one state in PostgreSQL', () => {
  let one: TestServer;
  let other: TestServer;
  const here = adminClient(() => one);
  const there = adminClient(() => other);

  beforeAll(async () => {
    const env = {
      SVC_STATE__URL: await makeDatabase(postgres.url),
      SVC_SECURITY__STATE_KEY: 'the key of both',
    };
    const sources = ['demo/data/world_map.gpkg'];
    one = await startServerProcess({ env, sources });
    other = await startServerProcess({ env, sources });
    const made = await here('POST', '/connections', {
      ...{ name: 'shared', host: '127.0.0.1', port: postgres.port, databaseName: 'postgres' },
      ...{ username: 'reader', password: PASSWORD, sslRequired: false },
    });
    expect(made.status, made.text).toBe(201);
  });
  afterAll(() => Promise.all([one?.stop(), other?.stop()]));

  const layersPath = '/connections/shared/layers';
  const places = (layerName: string) => ({ schema: 'data', table: 'places', layerName });
  /** Statuses of the items of a layer at both servers. */
  const shown = async (id: string) =>
    (await Promise.all([one, other].map((server) => statuses(server, items(id), 2)))).flat();

  it('show what one of them publishes, and open what the other seals', async () => {
    const published = await there('POST', layersPath, places('shared'));
    expect(published.status, published.text).toBe(201);
    expect(await shown('shared')).toEqual([200, 200]);
    expect((await there('POST', '/connections/encryption/rotate-key')).body.data.newKeyVersion).toBe(2);
    expect((await here('POST', '/connections/encryption/validate')).body.data).toMatchObject({
      ...{ isValid: true, currentKeyVersion: 2 },
    });
    expect((await here('GET', '/connections/shared/tables')).status).toBe(200);
    const { layerId } = published.body.data;
    await here('PUT', `${layersPath}/${layerId}/enabled`, { enabled: false });
    expect(await statuses(other, items('shared'), 2)).toEqual([404]);
  });

  it('publish a table once that both are told to publish at the same time', async () => {
    for (let n = 0; n < repetitions(import.meta.url, 20, 2); n++) {
      const name = `both${n}`;
      const answers = await Promise.all(
        [here, there].map((admin) => admin('POST', layersPath, places(name))),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
      expect(await shown(name)).toEqual([200, 200]);
      for (const admin of [here, there]) {
        const { data } = (await admin('GET', layersPath)).body;
        expect(data.filter((layer: { layerName: string }) => layer.layerName === name)).toHaveLength(1);
      }
    }
  });

  it('agree on settings that both are told at the same time', async () => {
    const { layerId } = (await here('POST', layersPath, places('agreed'))).body.data;
    const path = `/metadata/layers/${layerId}/fields`;
    for (let n = 0; n < repetitions(import.meta.url, 20, 2); n++) {
      const put = (admin: typeof here, alias: string) =>
        admin('PUT', path, { fields: [{ name: 'name', alias }] });
      const answers = await Promise.all([put(here, `One ${n}`), put(there, `Other ${n}`)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const [first, second] = await Promise.all([here('GET', path), there('GET', path)]);
      expect(first.body.data).toEqual(second.body.data);
      expect(first.text).toMatch(new RegExp(`"(One|Other) ${n}"`));
    }
  });

  it('agree when one deletes a layer that the other changes', async () => {
    for (let n = 0; n < repetitions(import.meta.url, 20, 2); n++) {
      const { layerId } = (await here('POST', layersPath, places('contested'))).body.data;
      const path = `${layersPath}/${layerId}`;
      const [deleted, changed] = await Promise.all([
        here('DELETE', path),
        there('PUT', `${path}/enabled`, { enabled: n % 2 === 0 }),
      ]);
      expect(deleted.status).toBe(200);
      expect([200, 404], changed.text).toContain(changed.status);
      expect(await shown('contested')).toEqual([404, 404]);
      expect((await there('GET', layersPath)).text).not.toContain('"contested"');
    }
    const again = await there('POST', layersPath, places('contested'));
    expect(again.body.data).toMatchObject({ enabled: true });
    expect(await shown('contested')).toEqual([200, 200]);
  });
});

describe('a restart', () => {
  it('after kill -9 finds what was answered, with the same ids', async () => {
    const { status, body } = await publish({ table: 'places', layerName: 'Last' });
    expect(status).toBe(201);
    const before = (await admin('GET', '/connections/main/layers')).body.data;
    await server.kill();
    server = await start();
    expect((await admin('GET', '/connections/main/layers')).body.data).toEqual(before);
    expect(await statuses(server, items('last'))).toEqual([200]);
    expect(
      await statuses(server, `/ogc/tiles/collections/${body.data.layerId}/tiles/WebMercatorQuad/0/0/0?f=mvt`),
    ).toEqual([200]);
    expect(await statuses(server, items('switch-a'))).toEqual([404]);
  });

  it('of the database is survived, and one that is down at the start is waited for', async () => {
    await postgres.halt();
    expect(await statuses(server, items('last'))).toEqual([503]);
    expect(await statuses(server, '/ogc/features/collections/last')).toEqual([200]);
    expect(await statuses(server, items('countries'))).toEqual([200]);
    await postgres.start();
    await until('back', async () => (await statuses(server, items('last'))).every((one) => one === 200));
    const layer = (await admin('GET', '/connections/main')).body.data;
    expect(layer.connectionId).toBe(connectionId);
  });

  it('nothing of the password is in the log', () => {
    expect(server.log()).not.toContain(PASSWORD);
  });
});
