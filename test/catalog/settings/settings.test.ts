import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';

/** Settings of layers and services: laid over the data in all processes at once, on every surface. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-layer-settings-'));
/** An integer that a double does not hold, and its neighbour. */
const BIG = '9007199254740993';
const OTHER = '9007199254740995';

const start = () =>
  startServer({
    sources: [join(folder, 'data')],
    args: ['--processes', '2'],
    dataDir: join(folder, 'state'),
  });
let server: TestServer;
let works: number;
let owners: number;

/** Works of roads and who pays for them. Two gateways must agree on all of it. */
beforeAll(async () => {
  const feature = (id: number, kind: string, from: string, to: string | null, owner: number) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [id, id] },
    properties: { kind, secret: `s${id}`, planned: '2020-01-01', from, to, owner, number: BIG },
  });
  const features = [
    feature(1, 'A', '2024-01-01', '2024-02-01', 1),
    feature(2, 'B', '2024-03-01', '2024-04-01', 1),
    feature(3, 'A', '2024-03-15', null, 2),
    feature(4, 'B', '2024-06-01', '2024-07-01', 2),
  ];
  const people = [1, 2].map((number) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [number, 0] },
    properties: { number, name: `owner ${number}` },
  }));
  for (const name of ['data', 'state']) mkdirSync(join(folder, name));
  writeFileSync(
    join(folder, 'data', 'works.geojson'),
    JSON.stringify({ type: 'FeatureCollection', features }).replaceAll(`"${BIG}"`, BIG),
  );
  writeFileSync(
    join(folder, 'data', 'owners.geojson'),
    JSON.stringify({ type: 'FeatureCollection', features: people }),
  );
  execFileSync('ogr2ogr', [
    join(folder, 'data', 'edited.gpkg'),
    join(folder, 'data', 'works.geojson'),
    '-nln',
    'edited',
  ]);
  server = await start();
  const { collections } = await json('/ogc/tiles/collections?f=json');
  const idOf = (wanted: string) =>
    Number(collections.find(({ name }: { name: string }) => name === wanted).id);
  works = idOf('works');
  owners = idOf('owners');
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

/** Asks on a connection of its own: the answer comes from either process. */
async function get(path: string): Promise<Response> {
  return fetch(`${server.url}${path}`, { headers: { connection: 'close' } });
}

async function json(path: string): Promise<Json> {
  return (await get(path)).json();
}

/** Asks often enough that both processes answer, and expects the same of both. */
async function jsonOfAll(path: string): Promise<Json> {
  const answers = await Promise.all(Array.from({ length: 8 }, () => json(path)));
  for (const answer of answers) expect(without(answer)).toEqual(without(answers[0]));
  return answers[0];
}

const without = ({ timeStamp: _, ...rest }: Json) => rest;

async function admin(method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

const put = (path: string, body: unknown) => admin('PUT', path, body);
const ids = async (query = '') => {
  const { features } = await jsonOfAll(`/ogc/features/collections/works/items?f=json${query}`);
  return features.map(({ id }: { id: number }) => id);
};

const tile = () => tileOf('public');

async function tileOf(caching: 'public' | 'private'): Promise<{ kinds: unknown[]; names: string[] }> {
  const response = await get('/tiles/works/0/0/0.mvt');
  if (response.status === 204) return { kinds: [], names: [] };
  expect(response.headers.get('cache-control')).toContain(caching);
  const { layers } = new VectorTile(new PbfReader(Buffer.from(await response.arrayBuffer())));
  const layer = layers['works']!;
  const properties = Array.from({ length: layer.length }, (_, i) => layer.feature(i).properties);
  return {
    kinds: properties.map(({ kind }) => kind).sort(),
    names: [...new Set(properties.flatMap((one) => Object.keys(one)))].sort(),
  };
}

describe('settings of layers', () => {
  it('name fields, give them coded values that edits are held to, and hide them everywhere', async () => {
    const fields = `/metadata/layers/${works}/fields`;
    expect((await tile()).names).toContain('secret');
    const domain = {
      type: 'codedValue',
      name: 'kinds',
      codedValues: [
        { code: 'A', name: 'Asphalt' },
        { code: 'B', name: 'Bridge' },
      ],
    };
    const { status, data } = await put(fields, {
      fields: [
        { name: 'kind', alias: 'Kind of work', domain },
        { name: 'secret', hidden: true },
      ],
    });
    expect(status).toBe(200);
    expect(data.fields.find(({ name }: Json) => name === 'kind')).toEqual({
      ...{ name: 'kind', type: 'string', alias: 'Kind of work', hidden: false, editable: true, order: null },
      domain,
    });
    expect(data.fields.find(({ name }: Json) => name === 'secret')).toMatchObject({ hidden: true });

    const schema = await jsonOfAll('/ogc/features/collections/works/schema?f=json');
    expect(schema.properties.kind).toMatchObject({
      title: 'Kind of work',
      enum: ['A', 'B'],
      oneOf: [
        { const: 'A', title: 'Asphalt' },
        { const: 'B', title: 'Bridge' },
      ],
    });
    expect(schema.properties.secret).toBeUndefined();
    const items = await jsonOfAll('/ogc/features/collections/works/items?f=json');
    expect(items.features[0].properties).not.toHaveProperty('secret');
    expect(items.features[0].properties).toHaveProperty('kind');
    expect((await get('/ogc/features/collections/works/items?secret=s1')).status).toBe(400);
    expect((await get("/ogc/features/collections/works/items?filter=secret='s1'")).status).toBe(400);
    expect(
      (await (await get('/ogc/features/collections/works/items?f=csv')).text()).split('\n')[0],
    ).not.toContain('secret');
    expect((await tile()).names).not.toContain('secret');
    // A field that is not named keeps its settings; one that is named anew loses what is left out.
    const service = '/rest/services/default/FeatureServer';
    const { domains } = await json(`${service}/queryDomains?f=json&layers=[${works}]`);
    expect(domains).toMatchObject([{ type: 'codedValue' }]);
    expect(domains[0].codedValues.map(({ code }: Json) => code)).toEqual(['A', 'B']);
    const validate = (sql: string) =>
      json(`${service}/${works}/validateSQL?f=json&sql=${encodeURIComponent(sql)}`);
    expect(await validate("kind = 'A'")).toEqual({ isValidSQL: true, validationErrors: [] });
    // A field that is hidden is none.
    for (const sql of ["secret = 'x'", 'kind = ', '1=1; DROP TABLE works']) {
      const { isValidSQL, validationErrors } = await validate(sql);
      expect([sql, isValidSQL, validationErrors[0].errorCode]).toEqual([sql, false, 3006]);
    }
    const again = await put(fields, { fields: [{ name: 'kind', alias: '' }] });
    expect(again.data.fields.find(({ name }: Json) => name === 'kind')).toMatchObject({
      alias: null,
      domain: null,
    });
    expect(again.data.fields.find(({ name }: Json) => name === 'secret')).toMatchObject({ hidden: true });
  });

  it('refuse fields that are not there and codes that are no values of theirs', async () => {
    const fields = `/metadata/layers/${works}/fields`;
    const domain = (code: unknown) => ({ type: 'codedValue', name: 'd', codedValues: [{ code, name: 'x' }] });
    const wrong = await put(fields, {
      fields: [
        { name: 'nothing' },
        { name: 'kind', domain: domain(1) },
        { name: 'owner', domain: domain('a') },
      ],
    });
    expect(wrong.status).toBe(400);
    expect(wrong.errors.map(({ name }: Json) => name)).toEqual([
      '/fields/0/name',
      '/fields/1/domain',
      '/fields/2/domain',
    ]);
    expect((await put(fields, { fields: [] })).status).toBe(400);
    expect((await put('/metadata/layers/99999/fields', { fields: [{ name: 'kind' }] })).status).toBe(404);
  });

  it('leave out features by a permanent filter, in counts, extents and tiles too, and by hidden fields', async () => {
    const filter = `/metadata/layers/${works}/filter`;
    expect(await ids()).toEqual([1, 2, 3, 4]);
    const set = await put(filter, { permanentFilter: { expression: "kind = 'A' AND secret <> 's9'" } });
    expect(set.data.permanentFilter).toEqual({
      expression: "kind = 'A' AND secret <> 's9'",
      language: 'arcgis-sql',
    });
    expect(await ids()).toEqual([1, 3]);
    expect((await get('/ogc/features/collections/works/items/2?f=json')).status).toBe(404);
    expect((await json('/ogc/features/collections/works/items?f=json')).numberMatched).toBe(2);
    expect((await tile()).kinds).toEqual(['A', 'A']);
    const { extent } = await jsonOfAll('/ogc/features/collections/works?f=json');
    expect(extent.spatial.bbox[0]).toEqual([1, 1, 3, 3]);
    expect(
      (
        await put(filter, {
          permanentFilter: {
            expression: '{"op":"=","args":[{"property":"kind"},"B"]}',
            language: 'cql2-json',
          },
        })
      ).status,
    ).toBe(200);
    expect(await ids()).toEqual([2, 4]);
    expect((await tile()).kinds).toEqual(['B', 'B']);
    const wrong = await put(filter, { permanentFilter: { expression: 'nothing = 1' } });
    expect([wrong.status, wrong.errors[0].name]).toEqual([400, '/permanentFilter/expression']);
    expect(await ids()).toEqual([2, 4]);
    expect((await put(filter, null)).data.permanentFilter).toBeNull();
    expect(await ids()).toEqual([1, 2, 3, 4]);
    expect((await tile()).kinds).toEqual(['A', 'A', 'B', 'B']);
  });

  it('say which fields datetime selects by, from begin to end', async () => {
    const within = '&datetime=2024-03-20T00:00:00Z/2024-03-25T00:00:00Z';
    // The first field that holds dates is when it was planned.
    expect(await ids(within)).toEqual([]);
    const layer = `/services/default/layers/${works}/metadata`;
    const time = { startTimeField: 'from', endTimeField: 'to', trackIdField: null };
    expect((await put(layer, { timeInfo: time })).data.timeInfo).toEqual(time);
    expect(await ids(within)).toEqual([2, 3]);
    expect(await ids('&datetime=2024-05-01T00:00:00Z')).toEqual([3]);
    expect((await put(layer, { timeInfo: { startTimeField: 'kind' } })).status).toBe(400);
    expect(
      (await put(layer, { timeInfo: { startTimeField: null, endTimeField: null } })).data.timeInfo,
    ).toBeNull();
    expect((await put('/services/default/timeinfo', time)).data.timeInfo).toEqual(time);
    expect(await ids(within)).toEqual([2, 3]);
    const document = async () =>
      (await fetch(`${server.url}/rest/services/default/FeatureServer/${works}?f=json`)).json();
    expect((await document()).timeInfo).toMatchObject({ startTimeField: 'from', endTimeField: 'to' });
    expect((await put('/services/default/timeinfo', { startTimeField: 'nothing' })).status).toBe(400);
    const cleared = { startTimeField: null, endTimeField: null, trackIdField: null };
    expect((await put('/services/default/timeinfo', cleared)).data.timeInfo).toBeNull();
    expect((await document()).timeInfo).toBeUndefined();
  });

  it('tell of a licence, who made the data and where it is from', async () => {
    const layer = `/services/default/layers/${works}/metadata`;
    const words = {
      ...{ title: 'Works of roads', description: 'All of them.', keywords: ['roads'], license: 'CC-BY-4.0' },
      ...{ attribution: '© City', publisher: 'City', sourceUrl: 'https://example.org/works' },
    };
    expect((await put(layer, words)).data).toMatchObject({
      layerName: 'Works of roads',
      ...{ keywords: ['roads'], license: 'CC-BY-4.0', attribution: '© City', publisher: 'City' },
    });
    const document = await jsonOfAll('/ogc/features/collections/works?f=json');
    expect(document).toMatchObject({
      ...{ title: 'Works of roads', keywords: ['roads'], attribution: '© City', publisher: 'City' },
    });
    const links = document.links.filter(({ rel }: Json) => rel === 'license' || rel === 'via');
    expect(links.map(({ href }: Json) => href)).toEqual([
      'https://spdx.org/licenses/CC-BY-4.0.html',
      'https://example.org/works',
    ]);
    expect((await json('/tiles/works')).attribution).toBe('© City');
    expect(await json('/stac/collections/works')).toMatchObject({
      license: 'CC-BY-4.0',
      keywords: ['roads'],
    });
    expect((await put(layer, { sourceUrl: 'javascript:alert(1)' })).status).toBe(400);
    const left = await put(layer, { license: '', title: '', attribution: null });
    expect(left.data).toMatchObject({ license: null, layerName: 'Works', attribution: '© City' });
  });

  it('relate layers by fields that both have', async () => {
    const path = `/metadata/layers/${works}/relationships`;
    const relationship = {
      ...{ name: 'payer', originField: 'number', destinationField: 'owner', role: 'destination' },
      relatedLayerId: owners,
    };
    const { status, data } = await put(path, { relationships: [relationship] });
    expect(status).toBe(200);
    expect(data.relationships).toEqual([
      {
        ...{ ...relationship, id: expect.any(String), description: null, cardinality: 'one-to-many' },
        esriRelationshipId: null,
      },
    ]);
    const wrong = await put(path, {
      relationships: [
        { ...relationship, relatedLayerId: 9999 },
        { ...relationship, originField: 'nothing' },
      ],
    });
    expect(wrong.errors.map(({ name }: Json) => name)).toEqual([
      '/relationships/0/relatedLayerId',
      '/relationships/1/originField',
    ]);
    const { data: checked } = await admin('GET', `/metadata/layers/${works}/validation`);
    expect(checked).toMatchObject({ isValid: true, layerId: works });
    expect(checked.checks.map(({ code }: Json) => code)).toContain('relationship');
  });

  it('lead from a feature to those that belong to it, at both ends', async () => {
    const payer = { name: 'payer', originField: 'number', destinationField: 'owner' };
    const [toOwner, toWorks] = [
      { ...payer, role: 'destination', relatedLayerId: owners },
      { ...payer, name: 'works', role: 'origin', relatedLayerId: works },
    ];
    await put(`/metadata/layers/${works}/relationships`, { relationships: [toOwner] });
    await put(`/metadata/layers/${owners}/relationships`, { relationships: [toWorks] });
    const items = (name: string) => `/ogc/features/collections/${name}/items`;
    const follow = async (path: string) => {
      const { links } = await jsonOfAll(path);
      const related = links.filter(({ rel }: Json) => rel === 'related');
      return Promise.all(
        related.map(async ({ href, title }: Json) => [title, (await (await fetch(href)).json()).features]),
      );
    };
    const [[title, paying], ...others] = await follow(`${items('works')}/3?f=json`);
    expect([title, others]).toEqual(['payer', []]);
    expect(paying.map(({ properties }: Json) => properties.name)).toEqual(['owner 2']);
    const [[, belonging]] = await follow(`${items('owners')}/1?f=json`);
    expect(belonging.map(({ id }: Json) => id)).toEqual([1, 2]);
    const page = await (await get(`${items('owners')}/1?f=html`)).text();
    expect(page).toContain('items?filter=owner%20%3D%201');
    const layer = `/rest/services/default/FeatureServer/${owners}`;
    expect((await json(`${layer}?f=json`)).relationships).toMatchObject([
      { id: 0, name: 'works', relatedTableId: works, role: 'esriRelRoleOrigin', keyField: 'number' },
    ]);
    const { relationships } = await json('/rest/services/default/FeatureServer/relationships?f=json');
    expect(relationships).toMatchObject([
      { id: 0, name: 'works', destinationLayerId: works, originPrimaryKey: 'number' },
    ]);
    const related = (query: string) =>
      json(`${layer}/queryRelatedRecords?objectIds=1,2&relationshipId=0&f=json&${query}`);
    const { relatedRecordGroups: groups } = await related('outFields=kind');
    expect(groups.map(({ objectId }: Json) => objectId)).toEqual([1, 2]);
    expect(groups[0].relatedRecords.map(({ attributes }: Json) => Object.values(attributes))).toEqual([
      [1, 'A'],
      [2, 'B'],
    ]);
    const counted = await related("returnCountOnly=true&definitionExpression=kind='A'");
    expect(counted.relatedRecordGroups).toEqual([
      { objectId: 1, count: 1 },
      { objectId: 2, count: 1 },
    ]);
    expect((await json(`${layer}/queryRelatedRecords?objectIds=1&relationshipId=7&f=json`)).error.code).toBe(
      400,
    );
    // Nothing is told of a field that is hidden, at either end.
    await put(`/metadata/layers/${works}/fields`, { fields: [{ name: 'owner', hidden: true }] });
    expect((await related('outFields=*')).error.code).toBe(400);
    const worksLayer = `/rest/services/default/FeatureServer/${works}`;
    expect((await json(`${worksLayer}?f=json`)).relationships).toEqual([]);
    expect(await follow(`${items('works')}/3?f=json`)).toEqual([]);
    expect(await follow(`${items('owners')}/1?f=json`)).toEqual([]);
    await put(`/metadata/layers/${works}/fields`, { fields: [{ name: 'owner', hidden: false }] });
    expect(await follow(`${items('owners')}/1?f=json`)).toHaveLength(1);
    await put(`/metadata/layers/${owners}/relationships`, { relationships: [] });
    expect(await follow(`${items('owners')}/1?f=json`)).toEqual([]);
  });

  it('are there after a restart of everything', async () => {
    await put(`/metadata/layers/${works}/filter`, { permanentFilter: { expression: "kind = 'A'" } });
    await server.stop();
    server = await start();
    expect(await ids()).toEqual([1, 3]);
    await put(`/metadata/layers/${works}/filter`, { permanentFilter: null });
  });
});

describe('settings of layers that are edited', () => {
  const items = '/ogc/features/collections/edited/items';
  let edited: number;

  beforeAll(async () => {
    const { collections } = await json('/ogc/tiles/collections?f=json');
    edited = Number(collections.find(({ name }: { name: string }) => name === 'edited').id);
  });

  async function create(properties: object): Promise<Response> {
    return fetch(`${server.url}${items}`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
      body: JSON.stringify({ type: 'Feature', geometry: { type: 'Point', coordinates: [9, 9] }, properties }),
    });
  }

  it('keep all digits of codes, also in manifests', async () => {
    const text = async (path: string, init: RequestInit = {}) => {
      const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
      const response = await fetch(`${server.url}${path}`, { headers, ...init });
      return { status: response.status, text: await response.text() };
    };
    const path = `/api/v1/admin/metadata/layers/${edited}/fields`;
    const makeBody = (codes: string[]) =>
      `{"fields":[{"name":"number","domain":{"type":"codedValue","name":"n","codedValues":[${codes
        .map((code) => `{"Code":${code},"name":"label"}`)
        .join()}]}}]}`;
    const codes = [BIG, '9007199254740992'];
    const put = await text(path, { method: 'PUT', body: makeBody(codes) });
    expect(put).toMatchObject({ status: 200, text: expect.stringContaining(`"code":${BIG},`) });
    const collection = '/ogc/features/collections/edited';
    expect((await text(`${collection}/schema?f=json`)).text).toContain(`"enum":[${codes.join()}]`);
    expect((await text(`${collection}/schema?f=json`)).text).toContain(`"const":${BIG}`);
    const service = '/rest/services/default/FeatureServer';
    for (const one of [`${service}/${edited}?f=json`, `${service}/queryDomains?f=json&layers=[${edited}]`])
      expect((await text(one)).text).toContain(`"code":${BIG},"name":"label"`);
    expect((await text(collection, { headers: { accept: 'text/html' } })).text).toContain(`"${BIG}"`);
    const edit = (number: string) =>
      text(`${collection}/items/1`, {
        method: 'PATCH',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/merge-patch+json' },
        body: `{"properties":{"number":${number}}}`,
      });
    expect((await edit(BIG)).status).toBe(200);
    const refused = await edit(OTHER);
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining(`must be one of ${BIG}, `) });

    // Codes that no column of integers holds, equal codes, and other members beyond 2^53.
    for (const [wrong, detail] of [
      [['9223372036854775808'], 'the code 9223372036854775808 is not a value of the column'],
      [[BIG, `${BIG}e0`], 'e0 is not a value of the column'],
      [[BIG, BIG], 'a code is given twice'],
    ] as const)
      expect(await text(path, { method: 'PUT', body: makeBody([...wrong]) })).toMatchObject({
        status: 400,
        text: expect.stringContaining(detail),
      });
    const order = `{"fields":[{"name":"number","order":${BIG}}]}`;
    expect(await text(path, { method: 'PUT', body: order })).toMatchObject({
      status: 400,
      text: expect.stringContaining(`fields[0].order: the server would round ${BIG}`),
    });

    const file = join(folder, 'manifest.yaml');
    const command = async (...args: string[]) => {
      const options = ['--url', server.url, '--key', server.adminKey];
      return (await promisify(execFile)('node', ['dist/cli/main.js', ...args, ...options])).stdout;
    };
    await command('manifest', file);
    const manifest = readFileSync(file, 'utf8');
    expect(manifest).toContain(`code: ${BIG}\n`);
    expect(await command('plan', file)).toMatch(/^0 to be created, 0 to be updated, 0 to be deleted/);
    writeFileSync(file, manifest.replace(BIG, OTHER));
    expect(await command('apply', file)).toContain(`"code":${OTHER}`);
    expect((await text(path)).text).toContain(`"code":${OTHER},`);
    await text(path, { method: 'PUT', body: '{"fields":[{"name":"number"}]}' });
  });

  it('take only coded values', async () => {
    const domain = { type: 'codedValue', name: 'd', codedValues: [{ code: 'A', name: 'Asphalt' }] };
    await put(`/metadata/layers/${edited}/fields`, { fields: [{ name: 'kind', domain }] });
    const refused = await create({ kind: 'C' });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('must be one of A');
    expect((await create({ kind: 'A' })).status).toBe(201);
  });

  it('put fields in an order, and close them to edits', async () => {
    await put(`/metadata/layers/${edited}/fields`, {
      fields: [{ name: 'secret', order: 1, editable: false }, { name: 'kind' }],
    });
    const before = (await json(`${items}/1?f=json`)).properties;
    expect(Object.keys(before)[0]).toBe('secret');
    const schema = await jsonOfAll('/ogc/features/collections/edited/schema?f=json');
    expect(schema.properties.secret.readOnly).toBe(true);
    const { status } = await fetch(`${server.url}${items}/1`, {
      method: 'PUT',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
      body: JSON.stringify({
        ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 1] } },
        properties: { ...before, secret: 'mine' },
      }),
    });
    expect(status).toBeLessThan(300);
    expect((await json(`${items}/1?f=json`)).properties).toEqual(before);
    const { data } = await put(`/metadata/layers/${edited}/fields`, { fields: [{ name: 'secret' }] });
    expect(data.fields.find(({ name }: Json) => name === 'secret')).toMatchObject({
      editable: true,
      order: null,
    });
  });

  it('keep what is hidden when a feature is replaced, and what the filter leaves out from everybody', async () => {
    await put(`/metadata/layers/${edited}/fields`, {
      fields: [{ name: 'secret', hidden: true }, { name: 'kind' }],
    });
    const replace = (id: number, kind: string) =>
      fetch(`${server.url}${items}/${id}`, {
        method: 'PUT',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
        body: JSON.stringify({
          ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 1] }, properties: { kind } },
        }),
      });
    expect((await replace(1, 'B')).status).toBeLessThan(300);
    await put(`/metadata/layers/${edited}/fields`, { fields: [{ name: 'secret' }] });
    expect((await json(`${items}/1?f=json`)).properties).toMatchObject({ kind: 'B', secret: 's1' });
    await put(`/metadata/layers/${edited}/filter`, { permanentFilter: { expression: "kind = 'A'" } });
    expect((await replace(1, 'A')).status).toBe(404);
    expect((await create({ kind: 'B' })).status).toBe(403);
    const before = (await json(`${items}?f=json`)).numberMatched;
    const tileOf = async () => (await get('/tiles/edited/2/2/1.mvt')).headers.get('etag');
    const tag = await tileOf();
    expect((await create({ kind: 'A' })).status).toBe(201);
    expect((await jsonOfAll(`${items}?f=json`)).numberMatched).toBe(before + 1);
    expect(await tileOf()).not.toBe(tag);
  });
});

describe('settings and policies', () => {
  it('hold together: a policy masks what settings leave, and looks at what they hide', async () => {
    const fields = `/metadata/layers/${works}/fields`;
    await put(fields, { fields: [{ name: 'secret', hidden: true }] });
    await put(`/metadata/layers/${works}/filter`, { permanentFilter: { expression: "kind = 'A'" } });
    const scope = { service: 'default', layer: 'works', role: 'anonymous' };
    const mask = await admin('POST', '/field-mask-policies', {
      ...scope,
      attribute: 'kind',
      treatment: 'hash',
    });
    const { features, numberMatched } = await jsonOfAll('/ogc/features/collections/works/items?f=json');
    expect(numberMatched).toBe(2);
    const kinds = features.map(({ properties }: Json) => properties.kind);
    expect([kinds[0] === kinds[1], kinds[0].length > 8, 'secret' in features[0].properties]).toEqual([
      ...[true, true, false],
    ]);
    expect(new Set((await tileOf('private')).kinds)).toEqual(new Set(kinds));
    const rows = await admin('POST', '/rls-policies', { ...scope, filter: "secret = 's3'" });
    expect(await ids()).toEqual([3]);
    // An administrator is bound by settings, not by policies.
    const exported = await fetch(
      `${server.url}/api/v1/admin/services/default/layers/${works}/export?format=csv`,
      { headers: { 'x-api-key': server.adminKey } },
    );
    const [head, ...lines] = (await exported.text()).trim().split('\n');
    expect(head).not.toContain('secret');
    expect(lines.map((line) => line.includes('A'))).toEqual([true, true]);
    for (const [path, { data }] of [
      ['/field-mask-policies', mask],
      ['/rls-policies', rows],
    ])
      await admin('DELETE', `${path}/${data.policyId}`);
    await put(`/metadata/layers/${works}/filter`, null);
    expect(await ids()).toEqual([1, 2, 3, 4]);
  });
});

describe('settings of services', () => {
  it('switch protocols off: there is nothing, and no list leads there', async () => {
    const path = '/services/default/protocols';
    const { data } = await put(path, ['OgcFeatures', 'OgcTiles']);
    expect(data.enabledProtocols).toEqual(['OgcFeatures', 'OgcTiles']);
    expect((await get(`/ogc/maps/collections/${works}/map`)).status).toBe(404);
    expect((await get(`/stac/collections/works`)).status).toBe(404);
    expect((await get('/tiles/works/0/0/0.mvt')).status).toBe(200);
    const document = await jsonOfAll('/ogc/features/collections/works?f=json');
    expect(document.links.filter(({ href }: Json) => /\/ogc\/maps/.test(href))).toEqual([]);
    expect((await json('/ogc/maps/collections?f=json')).collections).toEqual([]);
    // What the server does not have stays off; names are taken in any case.
    const { data: others } = await put(path, { enabledProtocols: ['ogcfeatures', 'Carrier pigeons'] });
    expect(others.enabledProtocols).toEqual(['OgcFeatures']);
    const { data: all } = await put(path, { enabledProtocols: data.availableProtocols });
    expect(all.enabledProtocols).toEqual(data.availableProtocols);
    expect((await get(`/ogc/maps/collections/${works}/map`)).status).toBe(200);
    expect((await put('/services/nothing/protocols', [])).status).toBe(404);
  });

  it('bound and size maps', async () => {
    const path = '/services/default/mapserver';
    const map = (query: string) => get(`/ogc/maps/collections/${works}/map?${query}`);
    const { data } = await put(path, { maxImageWidth: 300, defaultImageWidth: 120 });
    expect(data.mapServer).toMatchObject({
      maxImageWidth: 300,
      defaultImageWidth: 120,
      maxImageHeight: 4096,
    });
    expect((await map('width=301')).status).toBe(400);
    expect((await map('width=300')).status).toBe(200);
    const png = Buffer.from(await (await map('bbox=0,0,4,1')).arrayBuffer());
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([120, 30]);
    expect((await put(path, { defaultImageWidth: 400 })).status).toBe(400);
    await put(path, { maxImageWidth: 4096, defaultImageWidth: 256, defaultImageHeight: 128 });
    const exported = await json('/rest/services/default/MapServer/export?bbox=0,0,4,1&f=json');
    expect(exported).toMatchObject({ width: 256, height: 128 });
    await put(path, { defaultImageHeight: 256 });
  });

  it('say the format, the background and the features of maps whose request does not', async () => {
    const path = '/services/default/mapserver';
    const url = `${server.url}/ogc/maps/collections/${works}/map?bbox=-1,-1,9,9&width=100`;
    const typeOf = async (query = '', accept = '*/*') =>
      (await fetch(`${url}${query}`, { headers: { accept, connection: 'close' } })).headers.get(
        'content-type',
      );
    const opaque = async (query = '') => {
      const { data, info } = await sharp(Buffer.from(await (await fetch(`${url}${query}`)).arrayBuffer()))
        .ensureAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      return (
        data.filter((_, i) => i % 4 === 3).filter((alpha) => alpha > 0).length / (info.width * info.height)
      );
    };
    const all = await opaque();
    expect(all).toBeLessThan(0.5);
    await put(path, { defaultFormat: 'webp', maxFeaturesPerLayer: 1 });
    expect(await typeOf()).toBe('image/webp');
    expect(await typeOf('&f=png')).toBe('image/png');
    const exported = await fetch(`${server.url}/rest/services/default/MapServer/export?bbox=0,0,7,7&f=image`);
    expect([exported.status, exported.headers.get('content-type')]).toEqual([200, 'image/webp']);
    expect(await typeOf('', 'image/jpeg')).toBe('image/jpeg');
    const one = await opaque();
    expect(one).toBeGreaterThan(0);
    expect(one).toBeLessThan(all * 0.6);
    await put(path, { defaultTransparent: false });
    expect(await opaque()).toBe(1);
    expect(await opaque('&transparent=true')).toBeCloseTo(one, 3);
    expect((await put(path, { defaultFormat: 'bmp' })).status).toBe(400);
    await put(path, { defaultFormat: 'png', defaultTransparent: true, maxFeaturesPerLayer: 0 });
    expect([await typeOf(), await opaque()]).toEqual(['image/png', all]);
  });
});
