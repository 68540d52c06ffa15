import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ObjectStore, objectAddress } from '../../src/core/sources/object-stores.js';
import { adminClient } from '../catalog/support/admin-client.js';
import { sampleObjects } from '../catalog/support/samples.js';
import { freePort } from '../support/ports.js';
import { guardS3, type S3User, s3User, startS3, type TestS3 } from '../support/s3.js';
import { startServer, type TestServer } from '../support/server.js';

/** Buckets as connections, in a store that others wrote, which checks signatures and rights. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape
type Json = any;

const work = mkdtempSync(join(tmpdir(), 'graticule-buckets-'));
mkdirSync(join(work, 'data'));
let store: TestS3;
let origin: string;
let reader: S3User;
let stranger: S3User;
let server: TestServer;
const admin = adminClient(() => server);

const start = () =>
  startServer({
    dataDir: join(work, 'data'),
    env: {
      SVC_REMOTE__ALLOW: '["127.0.0.1", "*.invalid"]',
      SVC_SECURITY__STATE_KEY: 'the key of the state',
      CONNECTION_BUCKET: reader.secretAccessKey,
    },
  });

beforeAll(async () => {
  store = await startS3();
  origin = store.env['AWS_ENDPOINT_URL']!;
  const { scene, roads } = sampleObjects(work, 600);
  const put = async (key: string, body: Buffer | string) => {
    const url = `${origin}/${store.bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
    expect((await fetch(url, { method: 'PUT', body: body as BodyInit })).ok).toBe(true);
  };
  await put('scenes/2026/a b+ü.tif', scene);
  await put('scenes/broken.tif', 'no raster at all'.repeat(100));
  await put('vectors/roads.fgb', roads);
  await put('vectors/towns.parquet', readFileSync('test/fixtures/parquet/types.parquet'));
  await put('notes/readme.txt', 'no geodata');
  reader = s3User(origin, 'reader', ['s3:ListBucket', 's3:GetObject']);
  stranger = s3User(origin, 'stranger', []);
  await guardS3(origin);
  server = await start();
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await store?.stop();
  rmSync(work, { recursive: true, force: true });
});

const draft = (change: object = {}) => ({
  ...{ name: 'scenes', provider: 'AwsS3', host: '127.0.0.1', port: Number(new URL(origin).port) },
  ...{ databaseName: store.bucket, username: reader.accessKeyId, password: reader.secretAccessKey },
  ...{ sslMode: 'Disable' },
  ...change,
});
const listed = async (query = '') => (await admin('GET', `/connections/scenes/tables${query}`)).body;
const raster = (change: object = {}) => ({
  ...{ layerId: 70, name: 'Summer scene', provider: 'AwsS3', bucket: store.bucket },
  ...{ objectKey: 'scenes/2026/a b+ü.tif', createLayer: true, connection: 'scenes' },
  ...change,
});
const tile = async () => (await fetch(`${server.url}/tiles/summer-scene/12/1651/2139.png`)).status;

describe('a bucket', () => {
  it('is connected to; the secret is never shown', async () => {
    const answer = await admin('POST', '/connections', draft());
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body.data).toMatchObject({
      ...{ provider: 'AwsS3', owner: 'api', databaseName: store.bucket, username: reader.accessKeyId },
      ...{ sslMode: 'Disable', sslRequired: false, healthStatus: 'unknown' },
    });
    const detail = await admin('GET', '/connections/scenes');
    expect(detail.body.data.encryptionVersion).toBe(1);
    const tested = await admin('POST', '/connections/scenes/test');
    expect(tested.body.data, tested.text).toMatchObject({ isHealthy: true, reason: 'ok' });
    for (const { text } of [answer, detail, tested]) expect(text).not.toContain(reader.secretAccessKey);
    const state = ['state.db', 'state.db-wal'].map((name) =>
      readFileSync(join(work, 'data', name), 'latin1'),
    );
    expect(state.join('')).not.toContain(reader.secretAccessKey);
  });

  it('is listed page by page: what holds geodata by its name', async () => {
    const whole = await listed();
    expect(whole.tables.map(({ table, format, kind }: Json) => [table, format, kind])).toEqual([
      ['scenes/2026/a b+ü.tif', 'GeoTIFF', 'raster'],
      ['scenes/broken.tif', 'GeoTIFF', 'raster'],
      ['vectors/roads.fgb', 'FlatGeobuf', 'object'],
      ['vectors/towns.parquet', 'GeoParquet', 'object'],
    ]);
    expect(whole.tables[1]).toMatchObject({ bytes: 1600, schema: store.bucket, columns: [] });
    expect(whole.nextCursor).toBeUndefined();
    const prefixed = await listed('?prefix=vectors/');
    expect(prefixed.tables).toHaveLength(2);
    const keys: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
      const page: Json = await listed(
        `?limit=2${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      keys.push(...page.tables.map(({ table }: Json) => table));
      cursor = page.nextCursor;
    }
    expect(keys).toEqual(whole.tables.map(({ table }: Json) => table));
    expect(pages).toBe(3);
    expect((await admin('GET', '/connections/scenes/tables?limit=0')).status).toBe(400);
    expect((await admin('GET', '/connections/scenes/tables?limit=5000')).status).toBe(400);
  });

  it('publishes a raster under a name of choice, read with its own key', async () => {
    expect((await admin('POST', '/cloud-rasters', raster({ connection: undefined }))).status).toBe(400);
    const answer = await admin('POST', '/cloud-rasters', raster());
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).toMatchObject({ width: 600, bandCount: 6, connection: expect.any(String) });
    expect(answer.text).not.toContain(reader.secretAccessKey);
    expect(await tile()).toBe(200);
    const items = await (await fetch(`${server.url}/stac/collections/summer-scene/items?f=json`)).text();
    expect(items).not.toContain(reader.secretAccessKey);
    expect((await admin('POST', '/cloud-rasters', raster())).status).toBe(409);
    expect((await admin('POST', `/cloud-rasters/${answer.body.id}/refresh`)).status).toBe(200);
    await server.stop();
    server = await start();
    expect(await tile()).toBe(200);
    const state = ['state.db', 'state.db-wal'].map((name) =>
      readFileSync(join(work, 'data', name), 'latin1'),
    );
    expect(state.join('')).not.toContain(reader.secretAccessKey);
    expect(server.log()).not.toContain(reader.secretAccessKey);
  });

  it.each([
    ['is no raster', { objectKey: 'scenes/broken.tif' }, 'GeoTIFF'],
    ['is not there', { objectKey: 'scenes/none.tif' }, 'no longer exists'],
    ['is in another bucket', { bucket: 'elsewhere' }, 'bucket'],
    ['is of another provider', { provider: 'AzureBlob' }, 'provider'],
    ['is of no connection', { connection: 'nobody' }, 'connection'],
  ])('refuses what %s', async (_what, change, word) => {
    const { status, text } = await admin('POST', '/cloud-rasters', raster({ layerId: 71, ...change }));
    expect([status, text]).toEqual([400, expect.stringContaining(word)]);
    expect((await admin('GET', '/cloud-rasters?layerId=71')).body).toEqual([]);
  });

  it('takes its rasters along when it is switched off, and another key over for them', async () => {
    const off = await admin('PUT', '/connections/scenes', { isActive: false });
    expect(off.status, off.text).toBe(200);
    expect(await tile()).toBe(404);
    expect((await admin('PUT', '/connections/scenes', { isActive: true })).status).toBe(200);
    expect(await tile()).toBe(200);
    const other = { username: stranger.accessKeyId, password: stranger.secretAccessKey };
    expect((await admin('PUT', '/connections/scenes', other)).status).toBe(200);
    const { layerId } = (await admin('GET', '/cloud-rasters?layerId=70')).body[0];
    const [{ id }] = (await admin('GET', `/cloud-rasters?layerId=${layerId}`)).body;
    expect((await admin('POST', `/cloud-rasters/${id}/refresh`)).status).toBe(400);
    const back = { username: reader.accessKeyId, password: reader.secretAccessKey };
    await admin('PUT', '/connections/scenes', back);
    expect((await admin('POST', `/cloud-rasters/${id}/refresh`)).status).toBe(200);
    expect((await admin('DELETE', '/connections/scenes')).status).toBe(409);
    const gone = { resources: [], prune: true };
    expect((await admin('POST', '/metadata/manifest/apply', gone)).status).toBe(200);
    expect((await admin('GET', '/connections/scenes')).status).toBe(200);
  });

  it('stands in manifests without its secret, and keeps it when one is applied', async () => {
    const { resources } = (await admin('GET', '/metadata/manifest')).body.data;
    const connection = resources.find(({ kind }: Json) => kind === 'Connection');
    expect(connection.spec).toMatchObject({ provider: 'AwsS3', databaseName: store.bucket });
    expect(JSON.stringify(resources)).not.toContain(reader.secretAccessKey);
    const changed = { ...connection, spec: { ...connection.spec, description: 'Of the satellites' } };
    const applied = await admin('POST', '/metadata/manifest/apply', { resources: [changed] });
    expect(applied.status, applied.text).toBe(200);
    expect(await tile()).toBe(200);
    const pruned = await admin('POST', '/metadata/manifest/apply', { resources: [], prune: true });
    expect(pruned.status).toBe(409);
    const elsewhere = { ...connection, spec: { ...connection.spec, host: '10.0.0.1' } };
    expect((await admin('POST', '/metadata/manifest/apply', { resources: [elsewhere] })).status).toBe(400);
  });

  it('has files that manifests publish as copies, and remove', async () => {
    const spec = { connection: 'scenes', schema: store.bucket, table: 'vectors/roads.fgb' };
    const copy = (name: string, change: object = {}) => ({
      ...{ kind: 'LayerCopy', metadata: { name } },
      spec: { ...spec, layerName: name, ...change },
    });
    const apply = (resources: object[], prune = false) =>
      admin('POST', '/metadata/manifest/apply', { resources, prune });
    const items = async (id: string) =>
      (await fetch(`${server.url}/ogc/features/collections/${id}/items?f=json&limit=1`)).status;
    const lost = await apply([copy('kept'), copy('lost', { table: 'vectors/none.fgb' })]);
    expect([422, 503], lost.text).toContain(lost.status);
    expect([await items('kept'), await items('lost')]).toEqual([404, 404]);
    const applied = await apply([copy('kept')]);
    expect([applied.status, await items('kept')], applied.text).toEqual([200, 200]);
    expect((await apply([copy('kept')])).body.data.summary).toMatchObject({ created: 0, skipped: 1 });
    expect((await apply([], true)).body.data.summary).toMatchObject({ deleted: 1 });
    expect(await items('kept')).toBe(404);
  });

  it.each([
    ['ok', {}],
    ['ok', { password: undefined, secretReference: 'env:CONNECTION_BUCKET' }],
    ['password', { password: 'wrong' }],
    ['password', { username: 'AKIAUNKNOWN' }],
    ['rights', 'stranger'],
    ['bucket-missing', { databaseName: 'no-such-bucket' }],
    ['tls-unavailable', { sslMode: 'Require' }],
    ['name-not-found', { host: 'nowhere.invalid' }],
    ['refused', 'closed'],
    ['secret', { password: undefined, secretReference: 'env:CONNECTION_NONE' }],
  ])('is tried, and tells apart %s: %j', async (reason, change) => {
    const special: Record<string, object> = {
      stranger: { username: stranger.accessKeyId, password: stranger.secretAccessKey },
      closed: { port: await freePort() },
    };
    const sent = draft(typeof change === 'string' ? special[change] : change);
    const { status, body, text } = await admin('POST', '/connections/test', sent);
    expect(status, text).toBe(200);
    expect(body.data, text).toMatchObject({ reason, isHealthy: reason === 'ok', connectionId: null });
    expect(body.data.message.length).toBeGreaterThan(10);
    expect(text).not.toContain(reader.secretAccessKey);
  });

  it.each([
    ['host', { host: '10.0.0.1' }],
    ['host', { host: '169.254.169.254' }],
    ['host', { host: 'a/b' }],
    ['databaseName', { databaseName: '../other' }],
    ['databaseName', { databaseName: 'Not_A_Bucket' }],
    ['username', { username: 'a\r\nb' }],
    ['provider', { provider: 'Floppy' }],
    ['region', { region: 'eu/../' }],
    ['region', { provider: 'PostGIS', region: 'eu-central-1' }],
  ])('refuses a wrong %s: %j', async (member, change) => {
    for (const path of ['/connections', '/connections/test']) {
      const { status, text } = await admin('POST', path, draft({ name: 'wrong', ...change }));
      expect([status, text]).toEqual([400, expect.stringContaining(member)]);
    }
  });

  it('has files of vector data, which are published as copies and copied anew', async () => {
    const listing = await listed('?prefix=vectors/');
    const layers: Json[] = [];
    for (const { schema, table } of listing.tables) {
      const published = await admin('POST', '/connections/scenes/layers', {
        schema,
        table,
        layerName: table,
      });
      expect(published.status, published.text).toBe(201);
      layers.push(published.body.data);
    }
    expect(layers).toMatchObject([
      { collectionId: 'vectors_roads_fgb', table: 'vectors/roads.fgb', srid: 4326 },
      { collectionId: 'vectors_towns_parquet', table: 'vectors/towns.parquet' },
    ]);
    const { layerId } = layers[0];
    const refreshed = await admin('POST', `/connections/scenes/layers/${layerId}/features/refresh`);
    expect(refreshed.body.data, refreshed.text).toMatchObject({ materializedFeatureCount: 20 });
    const items = await fetch(
      `${server.url}/ogc/features/collections/vectors_roads_fgb/items?f=json&limit=50`,
    );
    expect(((await items.json()) as Json).features).toHaveLength(20);
    await admin('PUT', '/connections/scenes', { isActive: false });
    expect((await admin('POST', `/connections/scenes/layers/${layerId}/features/refresh`)).status).toBe(503);
    await admin('PUT', '/connections/scenes', { isActive: true });
    for (const { layerId: id } of layers)
      expect((await admin('DELETE', `/connections/scenes/layers/${id}`)).status).toBe(200);
  });

  it.each([
    ['scenes/broken.tif', 400],
    ['vectors/none.fgb', 422],
    ['../secrets/roads.fgb', 400],
    ['vectors/../../secrets/roads.fgb', 400],
    ['vectors/./roads.fgb', 400],
  ])('publishes no copy of %s', async (table, expected) => {
    const layer = { schema: store.bucket, table, layerName: 'None' };
    const { status, text } = await admin('POST', '/connections/scenes/layers', layer);
    expect(status, text).toBe(expected);
    if (expected === 400) expect(text).toContain('/table');
    expect((await admin('GET', '/connections/scenes/layers')).body.data).toEqual([]);
  });

  it('has no address for a key that leads out of it', () => {
    const bucket: ObjectStore = { protocol: 'S3', endpoint: 'https://s3.invalid', bucket: 'scenes' };
    expect(objectAddress(bucket, 'a b//..c/%2e%2e')).toBe('https://s3.invalid/scenes/a%20b//..c/%252e%252e');
    for (const key of ['', '..', '../other/a.fgb', 'a/../../other/a.fgb', 'a/.', '\ud800.fgb'])
      expect(() => objectAddress(bucket, key), key).toThrow('key');
  });

  it('has objects that are copies of the layers which show them already, for every way to publish them', async () => {
    const scopes = ['cloud-rasters', 'layers'].map((scope) => `admin:${scope}:write`);
    const keys: Record<string, string> = { admin: server.adminKey };
    for (const [name, permissions] of [
      ['weak', scopes],
      ['reads', ['read:*', 'write:*', ...scopes]],
    ] as const)
      keys[name] = (await admin('POST', '/api-keys', { name, permissions })).body.data.key;
    const send = async (caller: string, method: string, path: string, body?: unknown) => {
      const key = keys[caller];
      const headers = {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'x-api-key': key }),
      };
      const answer = await fetch(server.url + path, {
        ...{ method, headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const close = (layerId: number) =>
      admin('PUT', `/services/default/layers/${layerId}/metadata`, {
        accessPolicy: { allowAnonymous: false },
      });
    const statuses = (path: string) =>
      Promise.all(
        ['nobody', 'weak', 'reads'].map(async (caller) => (await send(caller, 'GET', path)).status),
      );
    const detailOf = ({ status, text }: { status: number; text: string }) => [
      status,
      JSON.parse(text).detail,
    ];

    const again = (caller: string, layerId: number, change: object = {}) =>
      send(
        caller,
        'POST',
        '/api/v1/admin/cloud-rasters',
        raster({ layerId, name: `r${layerId}`, ...change }),
      );
    expect((await again('admin', 170)).status).toBe(201);
    await close(170);
    const missing = (key: string) => [404, `There is no '${key}' in '${store.bucket}' that you can read.`];
    const { objectKey } = raster();
    expect(detailOf(await again('weak', 171))).toEqual(missing(objectKey));
    for (const key of ['scenes/none.tif', 'scenes/broken.tif'])
      expect(detailOf(await again('weak', 171, { objectKey: key }))).toEqual(missing(key));
    // Another connection to the bucket.
    await admin('POST', '/connections', draft({ name: 'twin' }));
    expect(detailOf(await again('weak', 171, { connection: 'twin' }))).toEqual(missing(objectKey));
    const copy = await again('reads', 171, { connection: 'twin' });
    expect(copy.status, copy.text).toBe(201);
    expect(await statuses('/ogc/coverages/collections/r171?f=json')).toEqual([401, 403, 200]);
    // A raster of a connection that is switched off is in no catalog.
    await admin('PUT', '/connections/scenes', { isActive: false });
    expect(detailOf(await again('weak', 172, { connection: 'twin' }))).toEqual(missing(objectKey));
    await admin('PUT', '/connections/scenes', { isActive: true });

    const publish = (caller: string, layerName: string, table = 'vectors/roads.fgb') =>
      send(caller, 'POST', '/api/v1/admin/connections/scenes/layers', {
        schema: store.bucket,
        table,
        layerName,
      });
    const first = await publish('admin', 'first');
    expect(first.status, first.text).toBe(201);
    await close(JSON.parse(first.text).data.layerId);
    for (const table of ['vectors/roads.fgb', 'vectors/none.fgb'])
      expect(detailOf(await publish('weak', 'second', table))).toEqual(missing(table));
    expect((await publish('reads', 'second')).status).toBe(201);
    expect(await statuses('/ogc/features/collections/second/items')).toEqual([401, 403, 200]);

    for (const layerId of [170, 171]) {
      const [{ id }] = (await admin('GET', `/cloud-rasters?layerId=${layerId}`)).body;
      expect((await admin('DELETE', `/cloud-rasters/${id}`)).status).toBe(204);
    }
    for (const name of ['first', 'second']) {
      const { data } = (await admin('GET', '/connections/scenes/layers')).body;
      const { layerId } = data.find(({ collectionId }: Json) => collectionId === name);
      expect((await admin('DELETE', `/connections/scenes/layers/${layerId}`)).status).toBe(200);
    }
    expect((await admin('DELETE', '/connections/twin')).status).toBe(200);
  }, 60_000);

  it('refuses a cursor of another', async () => {
    const cursor = await admin('GET', '/connections/scenes/tables?cursor=nonsense');
    expect([200, 400]).toContain(cursor.status);
  });
});
