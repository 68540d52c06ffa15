import decode from 'arcgis-pbf-parser';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EditableStore } from '../../edits/support.js';
import { startTown, type Town } from '../../replicas/support.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const square = (at: number) => ({
  rings: [
    [
      [at, at],
      [at, at + 10],
      [at + 10, at + 10],
      [at + 10, at],
      [at, at],
    ],
  ],
});
const parcel = (name: string, attributes: Json = {}, geometry: Json = square(100)) => ({
  attributes: { name, ...attributes },
  geometry,
});

const service = '/rest/services/default/FeatureServer';

/** Edits by the protocol of a FeatureServer, of one sort of store. */
export function editSuite(open: () => EditableStore | Promise<EditableStore>): void {
  let store: EditableStore;
  let town: Town;
  let layer: number;
  beforeAll(async () => {
    store = await open();
    town = await startTown(store);
    layer = town.layers['parcels']!;
  });
  afterAll(async () => {
    await town?.server.stop();
    await store?.release();
  });

  const post = (verb: string, members: Json, headers?: Record<string, string>) =>
    town.post(`${layer}/${verb}`, members, headers);
  const count = async () => (await post('query', { where: '1=1', returnCountOnly: true })).count;
  const read = async (id: number) =>
    (await post('query', { objectIds: String(id), outFields: '*' })).features[0];

  it('adds, changes and deletes features, which events and OGC API Features tell of', async () => {
    const instant = Date.UTC(2026, 0, 2, 3, 4, 5);
    const added = await post('applyEdits', {
      adds: [
        parcel('one', { seen: instant, active: 1, built: '2020-02-29', tags: '{"a":1}' }),
        parcel('two'),
      ],
    });
    expect(added.addResults.map(({ success }: Json) => success)).toEqual([true, true]);
    const [one, two] = added.addResults.map(({ objectId }: Json) => objectId);
    const feature = await read(one);
    expect(feature.attributes).toMatchObject({
      name: 'one',
      seen: instant,
      active: 1,
      built: Date.parse('2020-02-29'),
    });
    expect(JSON.parse(feature.attributes.tags)).toEqual({ a: 1 });
    expect(feature.geometry.rings[0]).toHaveLength(5);
    const pbf = await fetch(
      `${town.server.url}${service}/${layer}/query?f=pbf&objectIds=${one}&outFields=*`,
      {
        headers: { 'x-api-key': town.server.adminKey },
      },
    );
    const [same] = decode(new Uint8Array(await pbf.arrayBuffer())).featureCollection.features;
    expect(same).toEqual({
      ...{ type: 'Feature', id: one, properties: feature.attributes },
      geometry: { type: 'Polygon', coordinates: feature.geometry.rings },
    });
    const changed = await post('applyEdits', {
      updates: [{ attributes: { fid: one, floors: 3 } }],
      deletes: [two],
    });
    expect(changed).toMatchObject({
      ...{ addResults: [], updateResults: [{ objectId: one, success: true }] },
      deleteResults: [{ objectId: two, success: true }],
    });
    const { body } = await town.send('GET', `parcels/items/${one}?f=json`);
    expect(body).toMatchObject({ properties: { name: 'one', floors: 3, active: true } });
    const events = await store.query(`SELECT * FROM ${store.outbox}`);
    expect(events.length).toBeGreaterThanOrEqual(4);
    expect(JSON.stringify(events)).toContain('FeatureServer');
  });

  it('brings geometries of other spatial references into that of the layer', async () => {
    const geometry = { ...square(1), spatialReference: { wkid: 4326 } };
    const { addResults } = await post('addFeatures', { features: [parcel('degrees', {}, geometry)] });
    const { geometry: stored } = await read(addResults[0].objectId);
    expect(stored.rings[0][0][0]).toBeGreaterThan(100_000);
  });

  it('undoes all where one fails, unless it is told not to', async () => {
    const before = await count();
    const features = [parcel('good'), parcel('x'.repeat(30))];
    const together = await post('addFeatures', { features });
    expect(together.addResults.map(({ success }: Json) => success)).toEqual([false, false]);
    expect(together.addResults[1].error.description).toContain('name');
    expect(await count()).toBe(before);
    const alone = await post('applyEdits', { adds: features });
    expect(alone.addResults.map(({ success }: Json) => success)).toEqual([true, false]);
    expect(await count()).toBe(before + 1);
  });

  it('takes JSON, and parameters of the query', async () => {
    const before = await count();
    const send = (query: string, body: Json) =>
      fetch(`${town.server.url}/rest/services/default/FeatureServer/${layer}/applyEdits${query}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'x-api-key': town.server.adminKey, 'content-type': 'application/json' },
      }).then((response) => response.json() as Promise<Json>);
    const adds = [parcel('json'), parcel('x'.repeat(30))];
    const undone = await send('?rollbackOnFailure=true', { adds });
    expect(undone.addResults.map(({ success }: Json) => success)).toEqual([false, false]);
    expect((await send('?f=json', { adds: adds.slice(0, 1) })).addResults[0].success).toBe(true);
    expect((await send('?f=json', { f: 'pjson', adds })).error.code).toBe(400);
    expect(await count()).toBe(before + 1);
  });

  it('takes multipart forms, also long ones, without files', async () => {
    const send = async (form: FormData): Promise<Json> => {
      const headers = { 'x-api-key': town.server.adminKey };
      const url = `${town.server.url}${service}/${layer}/applyEdits`;
      return (await fetch(url, { method: 'POST', body: form, headers })).json();
    };
    for (const number of [1, 500]) {
      const form = new FormData();
      form.append('f', 'json');
      form.append('adds', JSON.stringify(Array.from({ length: number }, () => parcel('of a form'))));
      const { addResults } = await send(form);
      expect(addResults).toHaveLength(number);
      expect((await read(addResults.at(-1).objectId)).attributes.name).toBe('of a form');
      form.append('file', new Blob(['x']), 'x.txt');
      expect((await send(form)).error).toMatchObject({ code: 400, message: expect.stringContaining('file') });
    }
    await post('deleteFeatures', { where: "name = 'of a form'" });
  });

  it('deletes by condition', async () => {
    await post('addFeatures', { features: [parcel('old 1'), parcel('old 2'), parcel('new')] });
    const { deleteResults } = await post('deleteFeatures', { where: "name LIKE 'old%'" });
    expect(deleteResults.map(({ success }: Json) => success)).toEqual([true, true]);
    const rest = await post('query', { where: "name LIKE 'old%' OR name = 'new'", outFields: 'name' });
    expect(rest.features.map(({ attributes }: Json) => attributes.name)).toEqual(['new']);
  });

  it('edits several layers at once', async () => {
    const edits = [
      { id: layer, adds: [parcel('of many')] },
      { id: town.layers['spots'], adds: [{ attributes: { name: 's' }, geometry: { x: 1, y: 2, z: 3 } }] },
    ];
    const results = await town.post('applyEdits', { edits, rollbackOnFailure: false });
    expect(results.map(({ id, addResults }: Json) => [id, addResults[0].success])).toEqual([
      [layer, true],
      [town.layers['spots'], true],
    ]);
  });

  it('changes no layer where another may not be changed', async () => {
    const before = await count();
    const edits = [
      { id: layer, adds: [parcel('half')] },
      { id: town.layers['spots'], adds: 'nonsense' },
    ];
    const { error } = await town.post('applyEdits', { edits, rollbackOnFailure: false });
    expect([error.code, await count()]).toEqual([400, before]);
  });

  it('tells what a layer can do for who asks', async () => {
    expect((await town.get(`${layer}`)).capabilities).toContain('Update');
    expect((await town.get(`${layer}`, {})).capabilities).toBe('Query');
  });

  it.each([
    ['adds', { adds: 'nonsense' }],
    ['edits', { updates: [{ attributes: { name: 'no id' } }] }],
    ['edits', { adds: [parcel('x', {}, { rings: [[[0, 0]]] })] }],
    ['edits', { adds: [parcel('x', {}, { curveRings: [] })] }],
    ['adds', { adds: [parcel('x', {}, { ...square(1), spatialReference: { wkid: 99 } })] }],
    ['adds', { adds: [parcel('x'), parcel('y', {}, { ...square(1), spatialReference: { wkid: 4326 } })] }],
    ['adds', { adds: [parcel('x', {}, { ...square(1), spatialReference: { wkid: 4978 } })] }],
    ['useGlobalIds', { adds: [], useGlobalIds: true }],
  ])('names what is wrong: %s', async (name, members) => {
    const before = await count();
    const { error } = await post('applyEdits', members);
    expect([error.code, error.message]).toEqual([400, expect.stringContaining(name)]);
    expect(await count()).toBe(before);
  });

  it('needs the right to write', async () => {
    const { error } = await post('addFeatures', { features: [parcel('nobody')] }, {});
    expect(error.code).toBe(499);
    expect((await post('deleteFeatures', { where: 'nowhere = 1' }, {})).error.code).toBe(499);
    const missing = await post('applyEdits', { deletes: [999_999] });
    expect(missing.deleteResults).toMatchObject([{ success: false, error: { code: 1019 } }]);
  });
}
