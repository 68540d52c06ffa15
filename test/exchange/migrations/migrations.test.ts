import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type GeoServicesRemote, LAYER_PATH, startGeoServices } from '../../support/geoservices.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { call, collections, itemsOf, type Json, leftovers, REMOTE_HOST } from '../remote/support.js';

/** Batches of layers of GeoServices, on a server that runs one job at a time: a batch that waits must not be that one. */

const env = { SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]`, SVC_JOBS__AT_ONCE: '1' };
let server: TestServer;
let remote: GeoServicesRemote;

beforeAll(async () => {
  remote = await startGeoServices();
  server = await startServerProcess({ sources: [], env });
}, 180_000);

afterEach(() => {
  remote.behaviour = undefined;
  remote.relationships = [];
});

afterAll(async () => {
  await server?.stop();
  await remote?.close();
});

const layer = (tableName: string, more: Json = {}) => ({
  sourceResourceId: `source-${tableName}`,
  serviceUrl: remote.url + LAYER_PATH,
  layerId: 0,
  tableName,
  ...more,
});
const behind = (...tables: string[]) => ({ dependsOn: tables.map((table) => `source-${table}`) });

const start = (layers: Json[], more: Json = {}) =>
  call(server, 'POST', '/import/migrations', { sourceKind: 'geoservices', layers, ...more });

const batchOf = async (id: unknown) => (await call(server, 'GET', `/import/migrations/${id}`)).body;

type Child = Json & { status: string; tableName: string };
const childrenOf = (batch: Json) => batch['children'] as Child[];

async function ended(id: unknown): Promise<Json> {
  return vi.waitFor(
    async () => {
      const batch = await batchOf(id);
      expect(batch['status']).not.toBe('running');
      return batch;
    },
    { timeout: 120_000, interval: 200 },
  );
}

/** The server gives no features from now on, to anybody. */
function stall(): void {
  remote.behaviour = (query) => query['objectIds'] !== undefined;
}

describe('a batch', () => {
  it('imports its layers, those that depend on others behind them', async () => {
    const { status, body } = await start([
      layer('rivers', behind('basins')),
      layer('basins', behind('countries')),
      layer('countries'),
    ]);
    expect({ status, body }).toMatchObject({
      status: 202,
      body: { status: 'running', totalChildren: 3, children: [], relationshipsApplied: false },
    });
    const batch = await ended(body['batchId']);
    expect(batch).toMatchObject({ status: 'succeeded', succeededChildren: 3, statusNote: null });
    expect(childrenOf(batch).map(({ tableName, status: state }) => [tableName, state])).toEqual([
      ['rivers', 'succeeded'],
      ['basins', 'succeeded'],
      ['countries', 'succeeded'],
    ]);
    const jobs = await Promise.all(
      childrenOf(batch).map(
        async ({ jobId }) => (await call(server, 'GET', `/import/geoservices/jobs/${jobId}`)).body,
      ),
    );
    const [rivers, basins, countries] = jobs as [Json, Json, Json];
    expect(String(rivers['startedAt']) >= String(basins['completedAt'])).toBe(true);
    expect(String(basins['startedAt']) >= String(countries['completedAt'])).toBe(true);
    for (const child of childrenOf(batch)) {
      expect(child['publishedLayerId']).toEqual(expect.any(Number));
      expect((await itemsOf(server, child.tableName))['numberMatched']).toBe(remote.total);
    }
  }, 240_000);

  it('leaves out what depends on a layer that failed, and nothing else', async () => {
    const { body } = await start([
      layer('lost', { layerId: 5 }),
      layer('behind', behind('lost')),
      layer('farther', behind('behind')),
      // A name that is taken.
      layer('countries'),
      layer('alone'),
    ]);
    const batch = await ended(body['batchId']);
    expect(batch).toMatchObject({
      status: 'failed',
      succeededChildren: 1,
      failedChildren: 2,
      cancelledChildren: 2,
    });
    expect(batch['statusNote']).toMatch(/4 of 5 layers/);
    expect(childrenOf(batch).map(({ status }) => status)).toEqual([
      'failed',
      'cancelled',
      'cancelled',
      'failed',
      'succeeded',
    ]);
    expect(childrenOf(batch)[1]!['statusNote']).toContain('source-lost');
    expect(childrenOf(batch)[3]!['statusNote']).toMatch(/already/);
    const published = await collections(server);
    expect(published).toContain('alone');
    expect(published).not.toContain('behind');
  }, 240_000);

  it('takes over relationships whose ends are both there, and tells of others', async () => {
    const relationship = (role: string, relatedTableId: number, keyField: string, more: Json = {}) => ({
      ...{ id: 4, name: 'kinds', relatedTableId, keyField, role: `esriRelRole${role}` },
      cardinality: 'esriRelCardinalityOneToMany',
      ...more,
    });
    remote.relationships = [
      [relationship('Origin', 1, 'NAME'), relationship('Origin', 9, 'KIND', { id: 5, name: 'lonely' })],
      [relationship('Destination', 0, 'KIND')],
    ];
    const layers = [layer('parents'), layer('children', { layerId: 1, ...behind('parents') })];
    const { body } = await start(layers, { applyRelationships: true, manifestBody: '{}' });
    const batch = await ended(body['batchId']);
    expect(batch).toMatchObject({ status: 'needs-review', succeededChildren: 2, relationshipsApplied: true });
    expect(batch['statusNote']).toMatch(/lonely of source-parents/);
    const [parents, children] = childrenOf(batch).map((child) => child['publishedLayerId'] as number);
    const ofLayer = async (id: number | undefined) => {
      const answer = (await call(server, 'GET', `/metadata/layers/${id}/relationships`)).body;
      return (answer['data'] as { relationships: Json[] }).relationships;
    };
    const both = { name: 'kinds', originField: 'NAME', destinationField: 'KIND', esriRelationshipId: 4 };
    expect(await ofLayer(parents)).toEqual([
      expect.objectContaining({ ...both, role: 'origin', relatedLayerId: children }),
    ]);
    expect(await ofLayer(children)).toEqual([
      expect.objectContaining({ ...both, role: 'destination', relatedLayerId: parents }),
    ]);
  }, 240_000);

  it('ends with its jobs when it is cancelled', async () => {
    stall();
    const { body } = await start([layer('never'), layer('later', behind('never'))]);
    const id = body['batchId'];
    await vi.waitFor(
      async () => expect(childrenOf(await batchOf(id))[0]).toMatchObject({ status: 'running' }),
      { timeout: 60_000, interval: 100 },
    );
    expect((await call(server, 'POST', `/jobs/${id}/cancel`)).status).toBeLessThan(300);
    await vi.waitFor(
      async () => {
        const batch = await batchOf(id);
        expect(batch['status']).toBe('cancelled');
        expect(childrenOf(batch).map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
      },
      { timeout: 60_000, interval: 100 },
    );
    expect(await collections(server)).not.toContain('never');
  }, 180_000);

  it('goes on after kill -9, and imports nothing twice', async () => {
    // Pages of the first layer, and one of the second.
    let pages = Math.ceil(remote.total / 30) + 1;
    remote.behaviour = (query) => query['objectIds'] !== undefined && pages-- <= 0;
    const layers = [layer('one'), layer('two', behind('one')), layer('three', behind('two'))];
    const { body } = await start(layers);
    const id = body['batchId'];
    await vi.waitFor(
      async () =>
        expect(childrenOf(await batchOf(id)).map(({ status }) => status)).toEqual([
          'succeeded',
          'running',
          'pending',
        ]),
      { timeout: 60_000, interval: 100 },
    );
    const [first] = childrenOf(await batchOf(id));
    const { dataDir } = server;
    await server.kill();
    remote.behaviour = undefined;
    server = await startServerProcess({ sources: [], dataDir, env });
    const batch = await ended(id);
    expect(batch).toMatchObject({ status: 'succeeded', succeededChildren: 3 });
    expect(childrenOf(batch)[0]!['jobId']).toBe(first!['jobId']);
    const { jobs } = (await call(server, 'GET', '/import/geoservices/jobs')).body as { jobs: Json[] };
    for (const table of ['one', 'two', 'three'])
      expect(jobs.filter(({ tableName }) => tableName === table)).toHaveLength(1);
    await vi.waitFor(() => expect(leftovers(server)).toEqual([]), { timeout: 60_000 });
  }, 240_000);

  it('is refused, naming the member, and begins nothing', async () => {
    const wrong: [Json[], Json, RegExp][] = [
      [[], {}, /layers/],
      [[layer('a', behind('b')), layer('b', behind('a'))], {}, /layers\[0\]\.dependsOn/],
      [[layer('a', behind('a'))], {}, /layers\[0\]\.dependsOn/],
      [[layer('a'), layer('b', behind('c'))], {}, /layers\[1\]\.dependsOn/],
      [[layer('a'), layer('A', { sourceResourceId: 'other' })], {}, /layers\[1\]\.tableName/],
      [[layer('a'), layer('b', { sourceResourceId: 'source-a' })], {}, /layers\[1\]\.sourceResourceId/],
      [[layer('a b')], {}, /layers\[0\]\.tableName/],
      [[layer('a', { serviceUrl: 'file:///etc/passwd' })], {}, /layers\[0\]\.serviceUrl/],
      [[layer('a', { targetSchema: 'public' })], {}, /layers\[0\]\.targetSchema/],
      [[layer('a')], { sourceKind: 'geoserver' }, /sourceKind/],
      [[layer('a')], { manifestBody: '{' }, /manifestBody/],
      [Array.from({ length: 501 }, (_, i) => layer(`t${i}`)), {}, /layers/],
    ];
    for (const [layers, more, text] of wrong) {
      const { status, body } = await start(layers, more);
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringMatching(text)]);
    }
    expect((await call(server, 'GET', '/import/migrations/none')).status).toBe(404);
  }, 120_000);
});
