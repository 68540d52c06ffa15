import { mkdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { adminClient } from '../catalog/support/admin-client.js';
import { scratchDirectory } from '../engine/support.js';
import { startMapServer } from '../exchange/remote/mapserver.js';
import { leftovers, REMOTE_HOST, type Remote, sendJson, startRemote } from '../exchange/remote/support.js';
import { type GeoServicesRemote, LAYER_PATH, startGeoServices } from '../support/geoservices.js';
import { freePort } from '../support/ports.js';
import { startServerProcess, type TestServer } from '../support/server.js';

/** Services of other servers as connections: MapServer, a FeatureServer, and an OGC API that wants credentials. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape
type Json = any;

const SECRET = 'a secret of the towns';
const BASIC = `Basic ${Buffer.from(`reader:${SECRET}`).toString('base64')}`;
const scratch = scratchDirectory();
let mapServer: Remote;
let geoServices: GeoServicesRemote;
let api: Remote;
let server: TestServer;
/** Names of the towns that the OGC API has, and how it answers for its items. */
let towns = ['Olinda', 'Recife', 'Natal'];
let items = (response: ServerResponse): void => sendItems(response);
/** Where the items are, and a server to which a link may lead. */
let itemsUrl = () => `${api.url}/geo/collections/towns/items`;
let elsewhere: Remote;
const authorizations: (string | undefined)[] = [];
const admin = adminClient(() => server);

function sendItems(response: ServerResponse, matched = towns.length): void {
  const features = towns.map((name, i) => ({
    ...{ type: 'Feature', id: i, properties: { name } },
    geometry: { type: 'Point', coordinates: [-35 + i, -8] },
  }));
  const counts = { numberReturned: features.length, numberMatched: matched };
  sendJson(response, { type: 'FeatureCollection', features, ...counts }, 'application/geo+json');
}

/** Lets those in who have the password or the token; the others are told so. */
function answer(url: URL, response: ServerResponse, authorization: string | undefined): void {
  const base = `${api.url}/geo`;
  if (authorization === 'Bearer barred') return sendJson(response, {}, 'application/json', 403);
  if (authorization !== BASIC && authorization !== `Bearer ${SECRET}`)
    return sendJson(response, {}, 'application/json', 401);
  const collection = {
    ...{ id: 'towns', title: 'Towns of the coast', itemType: 'feature' },
    links: [{ rel: 'items', type: 'application/geo+json', href: itemsUrl() }],
  };
  if (url.pathname.endsWith('/items')) return items(response);
  if (url.pathname.endsWith('/towns')) return sendJson(response, collection);
  if (url.pathname.endsWith('/collections'))
    return sendJson(response, { links: [], collections: [collection] });
  if (url.pathname !== '/geo') return sendJson(response, {}, 'application/json', 404);
  const links = [
    { rel: 'conformance', type: 'application/json', href: `${base}/conformance` },
    { rel: 'data', type: 'application/json', href: `${base}/collections` },
  ];
  sendJson(response, { title: 'Towns', links });
}

beforeAll(async () => {
  mkdirSync(join(scratch.path, 'data'));
  mapServer = await startMapServer(scratch.path);
  geoServices = await startGeoServices();
  elsewhere = await startRemote((_url, response, request) => {
    authorizations.push(request.headers.authorization);
    sendItems(response);
  });
  api = await startRemote((url, response, request) => answer(url, response, request.headers.authorization));
  server = await start();
}, 120_000);
afterAll(async () => {
  await server?.stop();
  for (const remote of [mapServer, geoServices, api, elsewhere]) await remote?.close();
  scratch.remove();
});

const start = () =>
  startServerProcess({
    sources: [],
    dataDir: join(scratch.path, 'data'),
    env: {
      SVC_REMOTE__ALLOW: `["${REMOTE_HOST}", "*.invalid"]`,
      SVC_SECURITY__STATE_KEY: 'the key of the state',
      CONNECTION_TOWNS: SECRET,
    },
  });

/** Its processes are killed, and another server begins with what they left. */
async function restart(change: (state: Database.Database) => void): Promise<void> {
  await server.kill();
  const state = new Database(join(server.dataDir, 'state.db'));
  change(state);
  state.close();
  server = await start();
}

/** The layer as a deletion leaves it whose server was killed at once, and the connection as one that was moved. */
function moveAndDelete(state: Database.Database): void {
  const move = "UPDATE documents SET body_json = json_set(body_json, '$.port', 9) WHERE kind = 'connection'";
  expect(state.prepare(`${move} AND json_extract(body_json, '$.name') = 'killed'`).run().changes).toBe(1);
  const sql =
    "UPDATE documents SET body_json = json_set(body_json, '$.isGone', json('true')) WHERE id = 'brief'";
  expect(state.prepare(`${sql} AND kind = 'layer copy'`).run().changes).toBe(1);
}

const draft = (url: string, provider: string, change: object = {}) => ({
  ...{ name: provider, provider, host: REMOTE_HOST, port: Number(new URL(url).port) },
  ...{ databaseName: new URL(url).pathname, username: '', sslMode: 'Disable' },
  ...change,
});
const ofTowns = (change: object = {}) =>
  draft(`${api.url}/geo`, 'ogc-api-features', { username: 'reader', password: SECRET, ...change });
const connect = async (body: Json) => {
  const reply = await admin('POST', '/connections', body);
  expect(reply.status, reply.text).toBe(201);
  return reply;
};
const publish = (connection: string, body: object) =>
  admin('POST', `/connections/${connection}/layers`, body);
const namesOf = async (id: string): Promise<unknown[] | number> => {
  const response = await fetch(`${server.url}/ogc/features/collections/${id}/items?f=json&limit=100`);
  if (response.status !== 200) return response.status;
  const { features } = (await response.json()) as Json;
  return features.map(({ properties }: Json) => properties.name);
};

describe('an OGC API with a password', () => {
  let layerId: number;

  it('is connected to; the secret is never shown', async () => {
    const creation = await connect(ofTowns({ name: 'towns' }));
    expect(creation.body.data).toMatchObject({
      provider: 'ogc-api-features',
      databaseName: '/geo',
      owner: 'api',
    });
    const trial = await admin('POST', '/connections/towns/test');
    expect(trial.body.data, trial.text).toMatchObject({ isHealthy: true, reason: 'ok' });
    const state = ['state.db', 'state.db-wal'].map((name) =>
      readFileSync(join(server.dataDir, name), 'latin1'),
    );
    for (const text of [creation.text, trial.text, ...state]) expect(text).not.toContain(SECRET);
  });

  it('lists its collections as tables', async () => {
    const { tables } = (await admin('GET', '/connections/towns/tables')).body;
    expect(tables).toEqual([
      expect.objectContaining({ schema: 'ogc-api-features', table: 'towns', title: 'Towns of the coast' }),
    ]);
  });

  it('publishes a collection as a copy, which its job reads with the password of the connection', async () => {
    const choice = { schema: 'ogc-api-features', table: 'towns' };
    const report = await admin('POST', '/connections/towns/tables/validate', choice);
    expect(report.body.data, report.text).toMatchObject({ isValid: true });
    const publication = await publish('towns', {
      ...{ ...choice, layerName: 'Coastal towns', serviceName: 'coast', attribution: 'The towns' },
    });
    expect(publication.status, publication.text).toBe(201);
    expect(publication.body.data).toMatchObject({
      ...{ collectionId: 'coastal_towns', layerName: 'Coastal towns', serviceName: 'coast', enabled: true },
      ...{
        schema: 'ogc-api-features',
        table: 'towns',
        geometryType: 'Point',
        srid: 4326,
        attribution: 'The towns',
      },
    });
    ({ layerId } = publication.body.data);
    expect(await namesOf('coastal_towns')).toEqual(expect.arrayContaining(towns));
    const listing = await admin('GET', '/connections/towns/layers');
    expect(listing.body.data).toEqual([publication.body.data]);
    const jobs = await admin('GET', '/jobs');
    const detail = await admin('GET', `/jobs/${jobs.body.items[0].jobId}`);
    for (const text of [jobs.text, detail.text, server.log()]) expect(text).not.toContain(SECRET);
    expect((await publish('towns', { ...choice, layerName: 'Coastal towns' })).status).toBe(409);
  });

  it('is copied anew by a refresh; what was there is served until then, and when it fails', async () => {
    towns = ['Olinda', 'Fortaleza'];
    const refresh = () => admin('POST', `/connections/towns/layers/${layerId}/features/refresh`);
    const outcome = await refresh();
    expect(outcome.body.data, outcome.text).toMatchObject({ layerId, materializedFeatureCount: 2 });
    expect(await namesOf('coastal_towns')).toEqual(expect.arrayContaining(towns));
    items = (response) => sendItems(response, 7);
    expect((await refresh()).status).toBe(422);
    items = (response) => sendJson(response, {}, 'application/json', 500);
    expect((await refresh()).status).toBe(503);
    items = (response) => sendItems(response);
    expect(await namesOf('coastal_towns')).toHaveLength(2);
    expect(leftovers(server)).toEqual([]);
  });

  it('is copied by one job at a time, and not deleted meanwhile', async () => {
    let resume = (): void => {};
    const isReached = new Promise<void>((reached) => {
      items = (response) => {
        resume = () => sendItems(response);
        reached();
      };
    });
    const path = `/connections/towns/layers/${layerId}`;
    const outcome = admin('POST', `${path}/features/refresh`);
    await isReached;
    expect((await admin('POST', `${path}/features/refresh`)).status).toBe(409);
    expect((await admin('DELETE', path)).status).toBe(409);
    items = (response) => sendItems(response);
    resume();
    expect((await outcome).status).toBe(200);
  });

  it('is switched off and on, and keeps its number', async () => {
    const path = `/connections/towns/layers/${layerId}/enabled`;
    expect((await admin('PUT', path, { enabled: false })).body.data).toMatchObject({
      layerId,
      enabled: false,
    });
    expect(await namesOf('coastal_towns')).toBe(404);
    const all = await admin('PUT', '/connections/towns/layers/enabled?serviceName=coast', { enabled: true });
    expect(all.body.data).toMatchObject([{ layerId, enabled: true }]);
    expect(await namesOf('coastal_towns')).toHaveLength(2);
  });

  it('keeps its connection, which a manifest names without the secret', async () => {
    expect((await admin('DELETE', '/connections/towns')).status).toBe(409);
    const { resources } = (await admin('GET', '/metadata/manifest')).body.data;
    const connection = resources.find(({ kind }: Json) => kind === 'Connection');
    expect(connection.spec).toMatchObject({ provider: 'ogc-api-features', databaseName: '/geo' });
    expect(JSON.stringify(resources)).not.toContain(SECRET);
    const application = await admin('POST', '/metadata/manifest/apply', { resources: [connection] });
    expect(application.status, application.text).toBe(200);
    const outcome = await admin('POST', `/connections/towns/layers/${layerId}/features/refresh`);
    expect(outcome.status, outcome.text).toBe(200);
    const pruning = await admin('POST', '/metadata/manifest/apply', { resources: [], prune: true });
    expect(pruning.status).toBe(409);
    for (const [member, change] of [
      ['host', { host: '10.0.0.1' }],
      ['host', { host: '10.0.0.256' }],
      ['username', { username: 'a:b' }],
      ['databaseName', { databaseName: 'a b' }],
      ['region', { region: 'eu-central-1' }],
      ['provider', { provider: 'PostGIS', databaseName: 'geo' }],
    ] as const) {
      const wrong = { ...connection, spec: { ...connection.spec, ...change } };
      const { status, text } = await admin('POST', '/metadata/manifest/apply', { resources: [wrong] });
      expect([status, text]).toEqual([400, expect.stringContaining(`/spec/${member}`)]);
    }
  });

  it('goes with its rows when it is deleted, and then its connection can be', async () => {
    expect((await admin('DELETE', `/connections/towns/layers/${layerId}`)).status).toBe(200);
    expect(await namesOf('coastal_towns')).toBe(404);
    expect((await admin('GET', '/connections/towns/layers')).body.data).toEqual([]);
    const again = await publish('towns', {
      ...{ schema: 'ogc-api-features', table: 'towns', layerName: 'Coastal towns', enabled: false },
    });
    expect(again.body.data, again.text).toMatchObject({ layerId, enabled: false, serviceName: 'default' });
    expect(await namesOf('coastal_towns')).toBe(404);
    await admin('DELETE', `/connections/towns/layers/${layerId}`);
    expect((await admin('DELETE', '/connections/towns')).status).toBe(200);
  });

  it('leaves nothing of a copy that fails', async () => {
    await connect(ofTowns({ name: 'failing' }));
    items = (response) => sendItems(response, 7);
    const choice = { schema: 'ogc-api-features', table: 'towns', layerName: 'Lies', serviceName: 'coast' };
    const { status, text } = await publish('failing', choice);
    expect([status, text]).toEqual([422, expect.stringContaining('7 features')]);
    const [job] = (await admin('GET', '/jobs')).body.items;
    const retry = await admin('POST', `/jobs/${job.jobId}/retry`);
    expect([retry.status, retry.text]).toEqual([409, expect.stringContaining('publish the layer')]);
    items = (response) => sendItems(response);
    expect((await admin('GET', '/connections/failing/layers')).body.data).toEqual([]);
    expect(leftovers(server)).toEqual([]);
    expect((await publish('failing', { ...choice, table: 'rivers' })).status).toBe(400);
    expect((await publish('failing', { ...choice, primaryKey: 'id' })).status).toBe(400);
    expect((await admin('DELETE', '/connections/failing')).status).toBe(200);
  });

  it('forgets a copy whose job failed, and goes through with a deletion, after its server was killed', async () => {
    await connect(ofTowns({ name: 'killed' }));
    const choice = { schema: 'ogc-api-features', table: 'towns' };
    const brief = (await publish('killed', { ...choice, layerName: 'Brief' })).body.data;
    let reached = (): void => {};
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    items = () => reached();
    const lost = publish('killed', { ...choice, layerName: 'Lost', enabled: false });
    await isReached;
    const before = api.asked.length;
    await Promise.all([lost.catch(() => {}), restart(moveAndDelete)]);
    expect(brief.collectionId).toBe('brief');
    await expect.poll(() => namesOf('brief'), { timeout: 30_000 }).toBe(404);
    items = (response) => sendItems(response);
    const { resources } = (await admin('GET', '/metadata/manifest')).body.data;
    const own = resources.filter(({ metadata }: Json) => metadata.name === 'killed');
    expect((await admin('POST', '/metadata/manifest/apply', { resources: own })).status).toBe(200);
    const prune = () => admin('POST', '/metadata/manifest/apply', { resources: [], prune: true });
    await expect.poll(async () => (await prune()).status, { timeout: 90_000 }).toBe(200);
    expect((await admin('GET', '/connections/killed')).status).toBe(404);
    // The secret of the connection is not for the server that it led to before.
    expect(api.asked).toHaveLength(before);
    expect(leftovers(server)).toEqual([]);
    await connect(ofTowns({ name: 'heir', databaseName: 'geo?f=json' }));
    expect((await publish('heir', { ...choice, layerName: 'Lost' })).status).toBe(201);
    expect(await namesOf('lost')).toHaveLength(towns.length);
  });

  it('has its password sent to the server that was named alone, wherever its links lead', async () => {
    await connect(ofTowns({ name: 'leading' }));
    itemsUrl = () => `${elsewhere.url}/geo/collections/towns/items`;
    const choice = { schema: 'ogc-api-features', table: 'towns', layerName: 'Elsewhere' };
    expect((await publish('leading', choice)).status).toBe(201);
    itemsUrl = () => `${api.url}/geo/collections/towns/items`;
    expect(authorizations).toEqual([undefined]);
  });

  it('is not asked by a connection that is switched off', async () => {
    await connect(ofTowns({ name: 'off' }));
    await admin('PUT', '/connections/off', { isActive: false });
    const before = api.asked.length;
    expect((await admin('GET', '/connections/off/tables')).status).toBe(503);
    expect((await publish('off', { schema: 'ogc-api-features', table: 'towns' })).status).toBe(503);
    expect(api.asked.length).toBe(before);
  });
});

describe('a copy in a manifest', () => {
  const password = { username: 'reader', secretReference: 'env:CONNECTION_TOWNS', secretType: 'env' };
  const spec = { connection: 'declared', schema: 'ogc-api-features', table: 'towns', layerName: 'Shore' };
  const resources = (change: object = {}): Json[] => [
    {
      ...{ kind: 'FieldMask', metadata: { name: 'shore-names' } },
      spec: { service: 'shores', layer: 'shore', role: 'anonymous', attribute: 'name' },
    },
    { kind: 'Layer', metadata: { name: 'shore' }, spec: { service: 'shores', title: 'The shore' } },
    { kind: 'LayerCopy', metadata: { name: 'shore' }, spec: { ...spec, ...change } },
    {
      ...{ kind: 'Connection', metadata: { name: 'declared' } },
      spec: { ...declared(), description: null, isActive: true, ...password },
    },
  ];
  const declared = () => {
    const { name: _, ...target } = draft(`${api.url}/geo`, 'ogc-api-features');
    return target;
  };
  const apply = (body: object) => admin('POST', '/metadata/manifest/apply', body);
  const listed = async (): Promise<Json[]> => {
    const { resources: all } = (await admin('GET', '/metadata/manifest')).body.data;
    return all.filter(({ metadata }: Json) => ['shore', 'declared', 'shore-names'].includes(metadata.name));
  };
  /** Collections that callers without credentials see. */
  const shown = async () => (await fetch(`${server.url}/ogc/features/collections/shore?f=json`)).status;

  it('is planned, and refused with all else when it cannot be made', async () => {
    const plan = await apply({ resources: resources(), dryRun: true });
    expect(plan.body.data?.summary, plan.text).toMatchObject({ created: 4 });
    expect(plan.text).toContain('Layer shore would be created, and is checked when');
    expect(await listed()).toEqual([]);
    const unknown = await apply({ resources: resources({ table: 'rivers' }) });
    expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('/resources/2/spec')]);
    items = (response) => sendItems(response, 7);
    const failure = await apply({ resources: resources() });
    expect([failure.status, failure.text]).toEqual([422, expect.stringContaining('7 features')]);
    items = (response) => sendItems(response);
    const [mask, ...others] = resources();
    const wrong = { ...mask, spec: { ...mask.spec, attribute: 'none' } };
    const late = await apply({ resources: [wrong, ...others] });
    expect([late.status, late.text]).toEqual([400, expect.stringContaining('/resources/0/attribute')]);
    expect([await listed(), await shown()]).toEqual([[], 404]);
    expect(leftovers(server)).toEqual([]);
  });

  it('is made by its job, unseen until all is written, and left as it is when it is applied again', async () => {
    const sightings: string[] = [];
    const outcome = apply({ resources: resources() });
    const seen = async (): Promise<void> => {
      const text = await (await fetch(`${server.url}/ogc/features/collections/shore/items?f=json`)).text();
      if (text.includes(towns[0]!)) sightings.push(text);
    };
    let isDone = false;
    void outcome.then(() => {
      isDone = true;
    });
    while (!isDone) await seen();
    const { status, text } = await outcome;
    expect([status, sightings], text).toEqual([200, []]);
    expect(await shown()).toBe(200);
    const all = await listed();
    expect(all.map(({ kind }) => kind)).toEqual(['Connection', 'LayerCopy', 'Layer', 'FieldMask']);
    expect(all[1].spec).toEqual({ ...spec, layerId: expect.any(Number) });
    expect(all[2].spec).toEqual({ service: 'shores', title: 'The shore' });
    expect(JSON.stringify(all)).not.toContain(SECRET);
    const before = api.asked.length;
    const again = await apply({ resources: all });
    expect(again.body.data.summary).toEqual({ created: 0, updated: 0, deleted: 0, skipped: 4 });
    expect(api.asked).toHaveLength(before);
    const other = await apply({ resources: resources({ srid: 3857 }), dryRun: true });
    expect([other.status, other.text]).toEqual([400, expect.stringContaining('/resources/2/spec/srid')]);
  });

  it('stays switched off where the manifest says so', async () => {
    const [, , copy] = resources();
    const quiet = { ...copy, metadata: { name: 'quiet' }, spec: { ...copy.spec, layerName: 'Quiet' } };
    const layer = { kind: 'Layer', metadata: { name: 'quiet' }, spec: { enabled: false } };
    const connection = resources()[3];
    const { status, text } = await apply({ resources: [layer, quiet, connection] });
    expect(status, text).toBe(200);
    expect((await fetch(`${server.url}/ogc/features/collections/quiet?f=json`)).status).toBe(404);
    const again = await apply({ resources: [layer, quiet, connection] });
    expect(again.body.data.summary).toMatchObject({ created: 0, updated: 0 });
    const removal = await apply({ resources: resources(), prune: true });
    expect(removal.body.data.summary, removal.text).toMatchObject({ deleted: 2 });
  });

  it('goes with its settings and its connection when the manifest holds them no more', async () => {
    const pruning = await apply({ resources: [], prune: true });
    expect(pruning.body.data?.summary, pruning.text).toMatchObject({ deleted: 4 });
    expect([await listed(), await shown()]).toEqual([[], 404]);
    expect((await admin('GET', '/connections/declared')).status).toBe(404);
    expect(leftovers(server)).toEqual([]);
  });

  it('is taken up by the next manifest when its server was killed while it was made', async () => {
    let reached = (): void => {};
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const waiting: ServerResponse[] = [];
    items = (response) => {
      waiting.push(response);
      reached();
    };
    const lost = apply({ resources: resources() });
    await isReached;
    await Promise.all([lost.catch(() => {}), restart(() => {})]);
    const under = await apply({ resources: resources(), dryRun: true });
    expect([under.status, under.text]).toEqual([400, expect.stringContaining('is creating')]);
    items = (response) => sendItems(response);
    for (const response of waiting) if (!response.destroyed) sendItems(response);
    const plan = () => apply({ resources: resources(), dryRun: true });
    await expect.poll(async () => (await plan()).status, { timeout: 90_000 }).toBe(200);
    expect(await shown()).toBe(404);
    const before = api.asked.length;
    expect((await plan()).text).toContain('LayerCopy shore would be created');
    const { status, text } = await apply({ resources: resources() });
    expect([status, await shown()], text).toEqual([200, 200]);
    expect(api.asked).toHaveLength(before);
    expect((await apply({ resources: [], prune: true })).status).toBe(200);
  });
});

describe('MapServer and a FeatureServer', () => {
  it('are copied with what they say of their layers', async () => {
    await connect(draft(`${mapServer.url}/`, 'ogc-wfs'));
    const { tables } = (await admin('GET', '/connections/ogc-wfs/tables')).body;
    expect(tables.map(({ table }: Json) => table)).toEqual(['ms:countries', 'ms:borders']);
    const borders = await publish('ogc-wfs', { schema: 'ogc-wfs', table: 'ms:borders' });
    expect(borders.status, borders.text).toBe(201);
    expect(borders.body.data).toMatchObject({ collectionId: 'ms_borders', srid: 4326 });
    const place = `${geoServices.url}${LAYER_PATH}`;
    await connect(draft(place, 'arcgis-geoservices-rest', { name: 'featureserver' }));
    const [table] = (await admin('GET', '/connections/featureserver/tables')).body.tables;
    expect(table).toMatchObject({ table: '0', title: 'Countries', geometryType: 'esriGeometryPolygon' });
    expect(table.columns[0]).toMatchObject({ name: 'OBJECTID', isPrimaryKey: true });
    const choice = { schema: table.schema, table: table.table, layerName: 'Lands', serviceName: 'lands' };
    const lands = await publish('featureserver', choice);
    expect(lands.body.data, lands.text).toMatchObject({
      serviceName: 'lands',
      description: 'Countries of the world',
    });
    const refresh = `/connections/featureserver/layers/${lands.body.data.layerId}/features/refresh`;
    expect((await admin('POST', refresh)).body.data).toMatchObject({ materializedFeatureCount: 100 });
  });

  it('are copied from the address of one layer with a query, with words of the operator', async () => {
    const address = { name: 'layer', databaseName: `${LAYER_PATH}/1/?x=1` };
    await connect(draft(geoServices.url, 'arcgis-geoservices-rest', address));
    const choice = { schema: 'arcgis-geoservices-rest', table: '1', layerName: 'One' };
    const { status, text, body } = await publish('layer', { ...choice, description: 'Ours' });
    expect([status, body.data?.description], text).toEqual([201, 'Ours']);
    expect(geoServices.queries.at(-1)).toMatchObject({ x: '1' });
  });

  it('list maps, which are not published', async () => {
    await connect(draft(`${mapServer.url}/`, 'ogc-wms'));
    const { tables } = (await admin('GET', '/connections/ogc-wms/tables')).body;
    expect(tables.map(({ table }: Json) => table)).toContain('countries');
    const refusal = await publish('ogc-wms', { schema: 'ogc-wms', table: 'countries' });
    expect([refusal.status, refusal.text]).toEqual([400, expect.stringContaining('no features')]);
  });
});

describe('a draft', () => {
  it.each([
    ['ok', {}],
    ['ok', { username: '', password: SECRET }],
    ['ok', { password: undefined, secretReference: 'env:CONNECTION_TOWNS' }],
    ['password', { password: 'wrong' }],
    ['rights', { username: '', password: 'barred' }],
    ['service-missing', { databaseName: 'elsewhere' }],
    ['service-missing', { provider: 'stac' }],
    ['tls-unavailable', { sslMode: 'Require' }],
    ['name-not-found', { host: 'nowhere.invalid' }],
    ['refused', 'closed'],
    ['secret', { password: undefined, secretReference: 'env:CONNECTION_NONE' }],
  ])('is tried, and tells apart %s: %j', async (reason, change) => {
    const body = ofTowns(typeof change === 'string' ? { port: await freePort() } : change);
    const { status, body: reply, text } = await admin('POST', '/connections/test', body);
    expect(status, text).toBe(200);
    expect(reply.data, text).toMatchObject({ reason, isHealthy: reason === 'ok', connectionId: null });
    expect(text).not.toContain(SECRET);
  });

  it.each([
    ['host', { host: '10.0.0.1' }],
    ['host', { host: '127.0.0.1' }],
    ['host', { host: 'a/b' }],
    ['host', { host: '10.0.0.256' }],
    ['host', { host: 'xn--a' }],
    ['host', { host: 'fe80::1%eth0' }],
    ['databaseName', { databaseName: 'a b' }],
    ['databaseName', { databaseName: 'geo#part' }],
    ['username', { username: 'a\r\nb' }],
    ['username', { username: 'a:b' }],
    ['provider', { provider: 'ogc-sos' }],
    ['region', { region: 'eu-central-1' }],
    ['username', { provider: 'PostGIS', username: '', databaseName: 'city' }],
    ['databaseName', { provider: 'PostGIS', databaseName: '' }],
  ])('with a wrong %s is refused: %j', async (member, change) => {
    for (const path of ['/connections', '/connections/test']) {
      const { status, text } = await admin('POST', path, ofTowns({ name: 'wrong', ...change }));
      expect([status, text]).toEqual([400, expect.stringContaining(member)]);
    }
  });
});
