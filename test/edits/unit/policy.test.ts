import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CatalogSnapshot, type VectorCollection } from '../../../src/core/catalog/collection.js';
import { CRS84 } from '../../../src/core/geometry/crs.js';
import type { Principal } from '../../../src/core/http/operation.js';
import { defaultStyle } from '../../../src/core/styles/default-style.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { createEditOperations } from '../../../src/gateway/features/edits/operations.js';
import { Dispatcher } from '../../../src/gateway/http/dispatch.js';
import { ForwardedHeaders } from '../../../src/gateway/http/requests/forwarded-headers.js';
import { HttpServer } from '../../../src/gateway/http/server.js';
import type { AccessPolicy } from '../../../src/services/access/access.js';
import { fixedReading, VisibleCatalog } from '../../../src/services/catalog/visible-catalog.js';
import { Edits } from '../../../src/services/edits/edits.js';
import { createLog } from '../../../src/services/telemetry/log.js';
import { closeWriters, writer } from '../../../src/workers/providers/geopackage/edits/writer.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { getFeatureStore } from '../../../src/workers/providers/store.js';
import { NO_AUDIT } from '../../support/no-audit.js';
import { type Editor, geoPackageStore, parcel, sender } from '../support.js';

/** Whose a place is: west of 50° of one, east of it of the other. */
const PLACES: Record<string, [number, number, number, number]> = {
  ann: [0, 0, 50, 80],
  bob: [60, 0, 150, 80],
};

/** A fixed policy: rows of one's own place exist; `area` exists for nobody, and `note` is not to be written. */
const policy: AccessPolicy = (principal, _collection, action) => {
  if (principal.kind === 'anonymous') return { allowed: action === 'read' };
  const visible = ['name', 'floors', 'built', 'seen', 'active', 'code', 'note', 'tags'];
  return {
    allowed: true,
    filter: {
      op: 's_intersects',
      args: [{ property: 'geom' }, { bbox: PLACES[principal.id]!, crs: 'OGC:CRS84' }],
    },
    fields: action === 'read' ? visible : visible.filter((name) => name !== 'note'),
  };
};

const principals: Record<string, Principal> = {
  ann: { kind: 'api-key', id: 'ann', name: 'ann', permissions: [] },
  bob: { kind: 'api-key', id: 'bob', name: 'bob', permissions: [] },
};

const store = geoPackageStore();
let server: HttpServer;
let ann: Editor['send'];
let bob: Editor['send'];

beforeAll(async () => {
  const layer = inspectGeoPackage(store.file).find(({ source }) => source.table === 'parcels')!;
  const collection = {
    ...layer,
    kind: 'vector',
    style: defaultStyle('Polygon', 'parcels'),
    id: 'parcels',
    layerId: 1,
    crs: [CRS84],
    storageCrs: CRS84,
    file: store.file,
  } as unknown as VectorCollection;
  const run = async (name: string, input: never) =>
    name === 'vector.edit'
      ? getFeatureStore(layer.source).edit(input)
      : getFeatureStore(layer.source).item(input);
  const pools = { run } as unknown as Pools;
  const snapshot = new CatalogSnapshot([collection], [], 1);
  const visible = new VisibleCatalog(() => snapshot, fixedReading(policy));
  const operations = createEditOperations({
    catalog: () => snapshot,
    visible: (principal) => visible.of(principal),
    pools,
    access: policy,
    edits: new Edits(pools, () => {}),
  });
  const dispatcher = new Dispatcher({
    once: (_request, work) => work(),
    operations,
    pools,
    authenticate: ({ apiKey }) => principals[apiKey!]!,
    permits: () => false,
    audit: NO_AUDIT,
  });
  const log = createLog({ level: 'Fatal', pretty: false, process: 'test' });
  server = new HttpServer({
    dispatcher,
    log,
    vendor: 'test',
    forwarding: new ForwardedHeaders({ publicUrl: undefined, trustProxy: [], fallbackHost: 'localhost' }),
  });
  const url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  ann = sender(url, 'ann');
  bob = sender(url, 'bob');
});

afterAll(async () => {
  await server.close(100);
  closeWriters();
  await store.release();
});

const own = (owner: string, code: string, more: object = {}) =>
  parcel(owner === 'ann' ? 7 : 107, 46, { name: owner, code: `${owner}-${code}`, ...more });

describe('a row filter', () => {
  it('hides the rows of others: 404 for every edit', async () => {
    const made = await ann('POST', 'parcels/items', own('ann', '1'));
    expect([made.status, made.body.detail]).toEqual([201, undefined]);
    const { id } = made.body;
    for (const [method, body] of [
      ['PUT', own('bob', '1')],
      ['PATCH', { properties: { floors: 1 } }],
      ['DELETE', undefined],
    ] as const)
      expect([method, (await bob(method, `parcels/items/${id}`, body)).status]).toEqual([method, 404]);
    expect((await ann('PATCH', `parcels/items/${id}`, { properties: { floors: 1 } })).status).toBe(200);
  });

  it('lets no edit move a row out of it: 403, and nothing changes', async () => {
    expect((await ann('POST', 'parcels/items', own('bob', '2'))).status).toBe(403);
    const { id } = (await ann('POST', 'parcels/items', own('ann', '3'))).body;
    const moved = { geometry: own('bob', '3').geometry };
    expect((await ann('PATCH', `parcels/items/${id}`, moved)).status).toBe(403);
    expect((await ann('PUT', `parcels/items/${id}`, own('bob', '3'))).status).toBe(403);
    const codes = await store.query("SELECT code FROM parcels WHERE code LIKE '%-2' OR code LIKE '%-3'");
    expect(codes).toEqual([{ code: 'ann-3' }]);
  });

  it('holds in a batch, operation by operation', async () => {
    const { id } = (await bob('POST', 'parcels/items', own('bob', '4'))).body;
    const operations = [
      { type: 'CREATE', feature: own('ann', '5') },
      { type: 'CREATE', feature: own('bob', '5') },
      { type: 'DELETE', featureId: String(id) },
    ];
    const json = { 'content-type': 'application/json' };
    const { body } = await ann('POST', 'parcels/items/batch', { operations }, json);
    expect(body.results.map((r: { statusCode: number }) => r.statusCode)).toEqual([201, 403, 404]);
  });
});

describe('a field mask', () => {
  it('makes a hidden attribute unknown: not written, not in the answer', async () => {
    expect((await ann('POST', 'parcels/items', own('ann', '6', { area: 1 }))).status).toBe(400);
    const { body } = await ann('POST', 'parcels/items', own('ann', '6'));
    expect(Object.keys(body.properties)).not.toContain('area');
    expect(Object.keys(body.properties)).toContain('note');
  });

  it('refuses an attribute that may only be read, and keeps it and what is hidden when a feature is replaced', async () => {
    const { id } = (await ann('POST', 'parcels/items', own('ann', '7'))).body;
    const sql = (set: string) => `UPDATE parcels SET ${set} WHERE fid = ${id} RETURNING fid`;
    storeChange(sql("area = 5, note = 'official'"));
    expect((await ann('PATCH', `parcels/items/${id}`, { properties: { note: 'x' } })).status).toBe(403);
    const replaced = await ann('PUT', `parcels/items/${id}`, own('ann', '7', { floors: 9 }));
    expect([replaced.status, replaced.body.properties.note]).toEqual([200, 'official']);
    const [row] = await store.query(`SELECT area, note, floors FROM parcels WHERE fid = ${id}`);
    expect(row).toEqual({ area: 5, note: 'official', floors: 9 });
  });
});

/** Changes rows past the server. */
function storeChange(sql: string): void {
  writer(store.file).db.prepare(sql).all();
}
