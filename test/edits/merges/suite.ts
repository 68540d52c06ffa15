import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { multipart } from '../../admin/support/multipart.js';
import { StreamClient } from '../../streams/support.js';
import { gateways } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { type EditableStore, parcel, square } from '../support.js';

/** A store of parcels in which the row `slow` takes long to write. */
export interface MergeStore extends EditableStore {
  /** Lets nobody write the row `slow` until the function that it answers is called; it takes seconds where there is none. */
  hold?(): Promise<() => Promise<void>>;
  /** Statements that write, past the server. */
  execute(sql: string): Promise<void>;
}

type Properties = Record<string, unknown>;

/** Milliseconds for what the server does by itself. */
const PATIENCE = 90_000;

/** What imports into a collection that is there must do, whatever the store is. A brief run has each mode once, and a kill. */
export function mergeSuite(name: string, open: () => Promise<MergeStore>, isFull: boolean): void {
  const full = it.runIf(isFull);
  let store: MergeStore;
  let server: TestServer;

  beforeAll(async () => {
    store = await open();
    server = await startServerProcess({ sources: store.sources });
  }, 180_000);
  afterAll(async () => {
    await server?.stop();
    await store?.release();
  });
  beforeEach(async () => {
    const answer = await send(
      { TableName: 'parcels', Mode: 'replace' },
      file([{ name: 'first', code: 'a' }]),
    );
    expect(answer.body).toMatchObject({ success: true });
    expect(await parcels()).toMatchObject([{ name: 'first', code: 'a' }]);
  }, PATIENCE);

  const call = async (path: string, method = 'GET') => {
    const answer = await fetch(server.url + path, { method, headers: { 'x-api-key': server.adminKey } });
    return { status: answer.status, text: await answer.text() };
  };
  const admin = (path: string, method = 'GET') => call(`/api/v1/admin${path}`, method);
  async function send(
    fields: Record<string, string>,
    content: string,
    filename = 'data.geojson',
    key?: string,
  ) {
    const parts = Object.entries(fields).map(([field, value]) => ({ name: field, content: value }));
    const { contentType, body } = multipart([...parts, { name: 'file', filename, content }]);
    const answer = await fetch(`${server.url}/api/v1/admin/import/upload`, {
      method: 'POST',
      headers: { 'content-type': contentType, 'x-api-key': key ?? server.adminKey },
      body: new Uint8Array(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
    return { status: answer.status, body: (await answer.json()) as any };
  }
  const parcels = () => store.query('SELECT fid, name, code, floors, note FROM parcels ORDER BY fid');
  const names = async () => (await parcels()).map((row) => row['name']);
  const events = async (from = 0) =>
    (await store.query(`SELECT * FROM ${store.outbox} ORDER BY cursor`)).slice(from);
  const shown = async (): Promise<number> =>
    JSON.parse((await call('/ogc/features/collections/parcels/items?limit=1')).text).numberMatched;
  const jobOf = async (id: string) => JSON.parse((await admin(`/import/jobs/${id}`)).text);
  const ended = async (id: string) => {
    await expect
      .poll(async () => (await jobOf(id)).status, { timeout: PATIENCE })
      .toMatch(/Completed|Failed|Cancelled/);
    return jobOf(id);
  };
  /** A job in the background whose rows are being written. */
  const writing = async (rows: Properties[]): Promise<string> => {
    const fields = { TableName: 'parcels', Mode: 'append', ForceBackground: 'true' };
    const { status, body } = await send(fields, file(rows));
    expect(status).toBe(202);
    await expect
      .poll(async () => (await jobOf(body.jobId)).currentPhase, { timeout: PATIENCE, interval: 50 })
      .toBe('merge');
    return body.jobId;
  };

  describe(`${name}: append`, () => {
    it('adds rows, projected, whatever the case of their columns, and tells what it left', async () => {
      const before = (await events()).length;
      const row = { NAME: 'Barn', floors: '3', code: 'b', colour: 'red', active: 1, built: '1999-12-31' };
      const answer = await send({ TableName: 'parcels', Mode: 'append' }, file([row]));
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ featureCount: 1, merge: { ...none, mode: 'append', inserted: 1 } });
      expect(answer.body.warnings).toEqual([
        'The column NAME is used for the field name.',
        'These columns are not fields of the collection and were omitted: colour.',
      ]);
      const [, added] = await parcels();
      expect(added).toMatchObject({ name: 'Barn', code: 'b', note: 'none' });
      expect(Number(added!['floors'])).toBe(3);
      const item = JSON.parse((await call(`/ogc/features/collections/parcels/items/${added!['fid']}`)).text);
      expect(item).toMatchObject({
        geometry: { type: 'MultiPolygon', coordinates: [square(7, 46)] },
        properties: { active: true, built: '1999-12-31' },
      });
      const [event, ...rest] = await events(before);
      expect(rest).toEqual([]);
      expect(event).toMatchObject({ operation: 'insert', protocol: 'Import', request_id: answer.body.jobId });
      expect(await shown()).toBe(2);
    });

    full('reads texts of CSV as values of the fields', async () => {
      const polygon = 'POLYGON((7 46,8 46,8 47,7 47,7 46))';
      const csv = `wkt,name,floors,active,built,seen,tags\n"${polygon}",Csv,12,TRUE,2001-02-03,2001-02-03T04:05:06Z,"{""a"":1}"\n"${polygon}",Bare,,,,,\n`;
      const fields = { TableName: 'parcels', Mode: 'append', SourceSrid: '4326' };
      const answer = await send(fields, csv, 'data.csv');
      expect(answer.body).toMatchObject({ merge: { inserted: 2 } });
      const page = JSON.parse((await call('/ogc/features/collections/parcels/items?name=Csv')).text);
      expect(page.features[0].properties).toMatchObject({
        ...{ floors: 12, active: true, built: '2001-02-03', tags: { a: 1 } },
        seen: expect.stringMatching(/^2001-02-03T04:05:06/),
      });
    });

    full('changes nothing when one row cannot be taken, and lists those that cannot', async () => {
      const before = (await events()).length;
      const rows = [{ name: 'good' }, { name: null }, { name: 'x'.repeat(21) }, { name: 'also good' }];
      const { status, body } = await send({ TableName: 'parcels', Mode: 'append' }, file(rows));
      expect(status).toBe(422);
      expect(body.detail).toBe(
        'No feature was changed. 2 rows were rejected. Row 2: properties.name: must not be null; received null.',
      );
      expect(await names()).toEqual(['first']);
      expect(await events(before)).toEqual([]);
      const [job] = JSON.parse((await admin('/jobs?limit=1')).text).items;
      expect(await rejected(job.jobId)).toMatchObject([
        { row: 2, reasons: [{ name: '/properties/name', detail: 'must not be null' }] },
        { row: 3, reasons: [{ detail: 'must have at most 20 characters' }] },
      ]);
    });

    full('leaves rows out that edits would refuse, where that is asked for', async () => {
      const rows = [
        { name: 'b' },
        { name: null },
        { name: 'c', floors: 1.5 },
        { name: 'd', code: 'a' },
        { name: 'e' },
      ];
      const content = file(rows, (feature, i) =>
        i === 4 ? { ...feature, geometry: { type: 'Point', coordinates: [7, 46] } } : feature,
      );
      const fields = { TableName: 'parcels', Mode: 'append', RejectRows: 'true' };
      const { status, body } = await send(fields, content);
      expect(status).toBe(200);
      expect(body.merge).toMatchObject({ inserted: 1, rejected: 4 });
      expect(body.merge.rejections.map(reasonOf)).toEqual([
        '2 /properties/name must not be null',
        '3 /properties/floors must be an integer',
        expect.stringMatching(/^4 .*Another feature has the same/),
        '5 /geometry must be a MultiPolygon, not a Point',
      ]);
      expect(await names()).toEqual(['first', 'b']);
      expect(await rejected(body.jobId)).toEqual(body.merge.rejections);
      expect(body.warnings).toContain('4 rows were left out; the list of rejected rows says why.');
    });

    it('changes nothing when the store refuses the last row', async () => {
      const before = (await events()).length;
      const rows = [...many(50), { name: 'last', code: 'a' }];
      const { status, body } = await send({ TableName: 'parcels', Mode: 'append' }, file(rows));
      expect(status).toBe(422);
      expect(body.detail).toMatch(/^No feature was changed. Row 51: Another feature has the same/);
      expect(await names()).toEqual(['first']);
      expect(await events(before)).toEqual([]);
    });
  });

  describe(`${name}: upsert`, () => {
    const upsert = (rows: Properties[], more: Record<string, string> = {}) =>
      send({ TableName: 'parcels', Mode: 'upsert', KeyField: 'code', ...more }, file(rows));

    it('changes the features of the keys, leaves those that are the same, and adds the others', async () => {
      await upsert([{ name: 'second', code: 'b', floors: 2 }]);
      const [{ fid }] = (await parcels()) as [Properties];
      await store.execute(`UPDATE parcels SET note = 'kept' WHERE code = 'a'`);
      const before = (await events()).length;
      const rows = [
        { name: 'changed', code: 'a', floors: 7 },
        { name: 'second', code: 'b', floors: 2 },
        { name: 'third', code: 'c', floors: 3 },
      ];
      const { body } = await upsert(rows);
      expect(body.merge).toMatchObject({ ...none, mode: 'upsert', inserted: 1, updated: 1, unchanged: 1 });
      expect(await parcels()).toMatchObject([
        { fid, name: 'changed', code: 'a', note: 'kept' },
        { name: 'second', code: 'b' },
        { name: 'third', code: 'c' },
      ]);
      const changes = await events(before);
      expect(changes.map(({ operation }) => operation)).toEqual(['update', 'insert']);
      const fields = changes[0]!['changed_attributes'];
      expect(typeof fields === 'string' ? JSON.parse(fields) : fields).toEqual(['name', 'floors']);
      expect((await upsert(rows)).body.merge).toMatchObject({ inserted: 0, updated: 0, unchanged: 3 });
      expect(await events(before + 2)).toEqual([]);
    });

    full('leaves a geometry that comes back as a page shows it', async () => {
      const collection = (...features: unknown[]) => JSON.stringify({ type: 'FeatureCollection', features });
      const exact = parcel(7.123456789012, 46.987654321098, { name: 'exact', code: 'e' });
      await send({ TableName: 'parcels', Mode: 'append' }, collection(exact));
      const geometry = () => store.query("SELECT geom FROM parcels WHERE code = 'e'");
      const [stored, before] = [await geometry(), (await events()).length];
      const page = JSON.parse((await call('/ogc/features/collections/parcels/items?code=e&f=json')).text);
      const [shownFeature] = page.features;
      expect(shownFeature.geometry).not.toEqual(exact.geometry);
      const fields = { TableName: 'parcels', Mode: 'upsert', KeyField: 'code' };
      const back = async (feature: unknown) => (await send(fields, collection(feature))).body.merge;
      expect(await back(shownFeature)).toMatchObject({ unchanged: 1, updated: 0 });
      // Rings of other formats run the other way.
      const [ring] = shownFeature.geometry.coordinates.flat();
      const turned = { ...shownFeature.geometry, coordinates: [[[...ring].reverse()]] };
      expect(await back({ ...shownFeature, geometry: turned })).toMatchObject({ unchanged: 1, updated: 0 });
      const renamed = { ...shownFeature, properties: { ...shownFeature.properties, name: 'renamed' } };
      expect(await back(renamed)).toMatchObject({ unchanged: 0, updated: 1 });
      expect(await geometry()).toEqual(stored);
      expect(await events(before)).toMatchObject([{ operation: 'update' }]);
      // A move by a tenth of a metre is a change.
      const moved = parcel(7.123457789012, 46.987654321098, { name: 'renamed', code: 'e' });
      expect(await back(moved)).toMatchObject({ updated: 1 });
      expect(await geometry()).not.toEqual(stored);
    });

    full('refuses rows without a key, and the second of two that have the same', async () => {
      const rows = [
        { name: 'x', code: 'a' },
        { name: 'y', code: 'a' },
        { name: 'z', code: null },
      ];
      expect((await upsert(rows)).status).toBe(422);
      expect(await names()).toEqual(['first']);
      const { body } = await upsert(rows, { RejectRows: 'true' });
      expect(body.merge).toMatchObject({ updated: 1, rejected: 2 });
      expect(body.merge.rejections.map(reasonOf)).toEqual([
        '2 /properties/code is also the key of row 1',
        '3 /properties/code is required, because it is the key',
      ]);
      expect(await names()).toEqual(['x']);
    });

    full('refuses a row whose key several features have', async () => {
      await send({ TableName: 'parcels', Mode: 'append' }, file([{ name: 'first', code: 'b' }]));
      const fields = { KeyField: 'name', RejectRows: 'true' };
      const { body } = await upsert([{ name: 'first', floors: 9 }, { name: 'other' }], fields);
      expect(body.merge.rejections.map(reasonOf)).toEqual(['1  Several features have this key.']);
      expect(body.merge).toMatchObject({ inserted: 1, updated: 0 });
    });

    full('takes whole numbers of 64 bits and dates for keys', async () => {
      await store.execute(`UPDATE parcels SET floors = 9007199254740993, built = '2001-02-03'`);
      const byNumber = file([{ name: 'number', floors: 0 }]).replace(
        '"floors":0',
        '"floors":9007199254740993',
      );
      const fields = { TableName: 'parcels', Mode: 'upsert' };
      expect((await send({ ...fields, KeyField: 'floors' }, byNumber)).body.merge).toMatchObject({
        updated: 1,
      });
      expect(
        (await upsert([{ name: 'date', built: '2001-02-03' }], { KeyField: 'built' })).body.merge,
      ).toMatchObject({
        updated: 1,
      });
      expect(await names()).toEqual(['date']);
    });
  });

  describe(`${name}: replace`, () => {
    it('puts the rows in the place of all features', async () => {
      const before = (await events()).length;
      const { body } = await send(
        { TableName: 'parcels', Mode: 'replace' },
        file([{ name: 'new', code: 'a' }, { name: 'newer' }]),
      );
      expect(body.merge).toMatchObject({ ...none, mode: 'replace', inserted: 2, deleted: 1 });
      expect(await names()).toEqual(['new', 'newer']);
      expect((await events(before)).map(({ operation }) => operation)).toEqual([
        'delete',
        'insert',
        'insert',
      ]);
      expect(await shown()).toBe(2);
    });

    full('keeps what was there when no row can be taken', async () => {
      const fields = { TableName: 'parcels', Mode: 'replace', RejectRows: 'true' };
      expect((await send(fields, file([{ name: null }]))).status).toBe(422);
      expect(await names()).toEqual(['first']);
    });
  });

  describe(`${name}: a merge`, () => {
    full('of many rows is told as one gap, and shown', async () => {
      const capabilities = JSON.parse((await call('/api/v1/streaming/features/capabilities')).text);
      const { layerId } = capabilities.layers.find((layer: Properties) => layer['name'] === 'parcels');
      const client = await new StreamClient(`${server.url}/api/v1/streaming/features`).opened();
      await client.subscribe('p', { layers: [layerId] });
      const before = (await events()).length;
      const fields = { TableName: 'parcels', Mode: 'append', ForceBackground: 'true' };
      const { body } = await send(fields, file(many(12_000)));
      expect((await ended(body.jobId)).merge).toMatchObject({ inserted: 12_000 });
      expect((await events(before)).map(({ operation }) => operation)).toEqual(['gap']);
      await client.next((frame) => frame.type === 'gap');
      // A count that takes too long is left out of the answer.
      await expect.poll(shown, { timeout: PATIENCE }).toBe(12_001);
      await send({ TableName: 'parcels', Mode: 'replace' }, file([{ name: 'first', code: 'a' }]));
      expect((await events(before)).map(({ operation }) => operation)).toEqual(['gap', 'gap']);
      expect(await names()).toEqual(['first']);
      client.close();
    });

    full('that is cancelled while it writes changes nothing', async () => {
      const before = (await events()).length;
      const letGo = await store.hold?.();
      const id = await writing([{ name: 'b' }, { name: 'slow' }, { name: 'c' }]);
      expect((await admin(`/import/jobs/${id}/cancel`, 'POST')).status).toBe(200);
      expect((await ended(id)).status).toBe('Cancelled');
      await letGo?.();
      expect(await names()).toEqual(['first']);
      expect(await events(before)).toEqual([]);
    });

    it('whose server is killed while it writes is carried out once', async () => {
      const before = (await events()).length;
      const letGo = await store.hold?.();
      const id = await writing([{ name: 'b' }, { name: 'slow' }, { name: 'c' }]);
      process.kill(gateways(server.process.pid!)[0]!, 'SIGKILL');
      await letGo?.();
      expect(await names()).toEqual(['first']);
      const job = await endedSomehow(id);
      expect(job).toMatchObject({ status: 'Completed', merge: { inserted: 3 } });
      expect(await names()).toEqual(['first', 'b', 'slow', 'c']);
      expect(await events(before)).toHaveLength(3);
    });

    full('is refused for what is not there, cannot be a key, or does not go together', async () => {
      const refusal = async (fields: Record<string, string>) => {
        const { status, body } = await send(fields, file([{ name: 'x' }]));
        return [status, body.errors?.[0]?.name];
      };
      expect(await refusal({ TableName: 'nowhere', Mode: 'append' })).toEqual([404, undefined]);
      expect(await refusal({ TableName: 'parcels', Mode: 'mix' })).toEqual([400, 'Mode']);
      expect(await refusal({ TableName: 'parcels', Mode: 'upsert' })).toEqual([400, 'KeyField']);
      expect(await refusal({ TableName: 'parcels', Mode: 'upsert', KeyField: 'area' })).toEqual([
        400,
        'KeyField',
      ]);
      expect(await refusal({ TableName: 'parcels', Mode: 'upsert', KeyField: 'none' })).toEqual([
        400,
        'KeyField',
      ]);
      expect(await refusal({ TableName: 'parcels', Mode: 'append', KeyField: 'code' })).toEqual([
        400,
        'KeyField',
      ]);
      expect(await refusal({ TableName: 'new', RejectRows: 'true' })).toEqual([400, 'RejectRows']);
      expect(await refusal({ TableName: 'parcels', Mode: 'upsert', KeyField: 'code' })).toEqual([
        422,
        undefined,
      ]);
      expect(await names()).toEqual(['first']);
    });

    full('needs the right to change the collection, and stays within it', async () => {
      const imports = await keyOf(['admin:import:write']);
      const fields = { TableName: 'parcels', Mode: 'append' };
      expect((await send(fields, file([{ name: 'x' }]), 'data.geojson', imports)).status).toBe(403);
      const both = await keyOf(['admin:import:write', 'features:write']);
      expect((await send(fields, file([{ name: 'x' }]), 'data.geojson', both)).status).toBe(200);
      expect(await names()).toEqual(['first', 'x']);
    });
  });

  const rejected = async (id: string) =>
    (await admin(`/import/jobs/${id}/rejected-rows`)).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  /** The job, once there is a gateway again that has ended it. */
  const endedSomehow = async (id: string) => {
    const look = () => jobOf(id).catch(() => ({ status: 'away' }));
    await expect
      .poll(async () => (await look()).status, { timeout: PATIENCE })
      .toMatch(/Completed|Failed|Cancelled/);
    return jobOf(id);
  };
  const keyOf = async (permissions: string[]): Promise<string> => {
    const answer = await fetch(`${server.url}/api/v1/admin/api-keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
      body: JSON.stringify({ name: permissions.join(), permissions }),
    });
    const text = await answer.text();
    const key = /"(?:key|apiKey|secret)":"([^"]+)"/.exec(text)?.[1];
    if (!key) throw new Error(text);
    return key;
  };
}

const none = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 };

function reasonOf({ row, reasons }: { row: number; reasons: { name: string; detail: string }[] }): string {
  return `${row} ${reasons.map(({ name, detail }) => `${name} ${detail}`).join()}`;
}

const many = (n: number): Properties[] =>
  Array.from({ length: n }, (_, i) => ({ name: `row ${i}`, code: `m${i}` }));

/** A file of parcels at one place. */
function file(rows: Properties[], change = (feature: object, _index: number): object => feature): string {
  const features = rows.map((row, i) => change(parcel(7, 46, row), i));
  return JSON.stringify({ type: 'FeatureCollection', features });
}
