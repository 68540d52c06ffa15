import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import decode from 'arcgis-pbf-parser';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { run } from '../../e2e/support/http.js';
import { townOf } from '../../replicas/support.js';
import { startServer } from '../../support/server.js';
import { type KeyedTown, startKeyedTown, TREES } from './keys.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let keyed: KeyedTown;
/** Rows as the database has them, by their keys. */
let rows: Map<string, Json>;
beforeAll(async () => {
  keyed = await startKeyedTown();
  const { rows: all } = await keyed.client.query('SELECT id, kind, height, ST_X(geom) AS x FROM trees');
  rows = new Map(all.map((row) => [row.id, row]));
});
afterAll(() => keyed?.stop());

const query = (layer: string, members: Record<string, unknown>) =>
  keyed.town.post(`${keyed.town.layers[layer]}/query`, { f: 'json', where: '1=1', ...members });
const attributesOf = ({ features }: Json): Json[] => features.map(({ attributes }: Json) => attributes);
const numberOf = async (where: string, layer = 'trees') => {
  const { objectIds } = await query(layer, { where, returnIdsOnly: true });
  return objectIds as number[];
};

it('documents name a field that no column has, and the key as another', async () => {
  const trees = await keyed.town.get(`${keyed.town.layers['trees']}?f=json`);
  expect(trees).toMatchObject({ objectIdField: 'OBJECTID', hasAttachments: true });
  expect(trees.fields.slice(0, 2)).toMatchObject([
    { name: 'OBJECTID', type: 'esriFieldTypeOID', editable: false },
    { name: 'id', type: 'esriFieldTypeString' },
  ]);
  const signs = await keyed.town.get(`${keyed.town.layers['signs']}?f=json`);
  expect(signs.objectIdField).toBe('OBJECTID_1');
  expect(signs.fields.map(({ name }: Json) => name)).toEqual(['OBJECTID_1', 'code', 'objectid']);
});

it.each(['json', 'geojson', 'pbf'])('pages hold every feature once as %s', async (f) => {
  const ids: number[] = [];
  for (let offset = 0; offset < TREES; offset += 100) {
    const members = { f, where: '1=1', outFields: '*', resultRecordCount: '100', resultOffset: `${offset}` };
    const { url, adminKey } = keyed.town.server;
    const address = `${url}/rest/services/default/FeatureServer/${keyed.town.layers['trees']}/query`;
    const response = await fetch(`${address}?${new URLSearchParams(members)}`, {
      headers: { 'x-api-key': adminKey },
    });
    const page =
      f === 'pbf'
        ? decode(new Uint8Array(await response.arrayBuffer())).featureCollection
        : await response.json();
    for (const feature of (page as Json).features) {
      const values = feature.attributes ?? feature.properties;
      const x = feature.geometry.x ?? feature.geometry.coordinates[0];
      expect(values).toMatchObject({ kind: rows.get(values.id).kind, height: rows.get(values.id).height });
      expect(x).toBeCloseTo(rows.get(values.id).x, 6);
      ids.push(values.OBJECTID ?? feature.id);
    }
  }
  expect(ids).toEqual(Array.from({ length: TREES }, (_, i) => i + 1));
});

describe('the object id', () => {
  it('selects, alone and with others', async () => {
    const some = await query('trees', { objectIds: '7,3,9999', outFields: '*' });
    expect(attributesOf(some).map(({ OBJECTID }) => OBJECTID)).toEqual([3, 7]);
    expect(await numberOf('objectid > 10 AND OBJECTID <= 12')).toEqual([11, 12]);
    const [oak] = await numberOf("kind = 'oak'");
    expect(await numberOf(`OBJECTID = ${oak} OR height < 0`)).toEqual([oak]);
    expect(await numberOf(`OBJECTID <> ${oak} AND kind = 'oak'`)).not.toContain(oak);
    expect(await query('trees', { returnCountOnly: true, where: 'OBJECTID < 101' })).toEqual({ count: 100 });
  });

  it('orders, in both directions and after other fields', async () => {
    const order = async (orderByFields: string) =>
      attributesOf(await query('trees', { orderByFields, outFields: 'kind', resultRecordCount: 2 }));
    expect((await order('OBJECTID DESC')).map(({ OBJECTID }) => OBJECTID)).toEqual([TREES, TREES - 1]);
    const [first, second] = await order('kind DESC, OBJECTID DESC');
    expect([first.kind, second.kind]).toEqual(['oak', 'oak']);
    expect(first.OBJECTID).toBeGreaterThan(second.OBJECTID);
  });

  it('is counted, summed up, ranked and cut into bins', async () => {
    const max = [{ statisticType: 'max', onStatisticField: 'OBJECTID', outStatisticFieldName: 'last' }];
    expect(attributesOf(await query('trees', { outStatistics: max }))).toEqual([{ last: TREES }]);
    const layer = keyed.town.layers['trees'];
    const topFilter = { groupByFields: 'kind', topCount: 1, orderByFields: 'height DESC' };
    const top = await keyed.town.post(`${layer}/queryTopFeatures`, { topFilter, outFields: 'height' });
    expect(
      attributesOf(top)
        .map(({ height }) => height)
        .sort(),
    ).toEqual([248, 249, 250]);
    const bin = {
      type: 'fixedIntervalBin',
      onField: 'OBJECTID',
      parameters: { interval: 100, start: 1, end: 201 },
    };
    const bins = await keyed.town.post(`${layer}/queryBins`, { bin });
    expect(attributesOf(bins).map(({ frequency }) => frequency)).toEqual([100, 101]);
  });

  it('is that of the key in every answer', async () => {
    const [quoted] = await numberOf("code = 'it''s \"A\"'", 'signs');
    const { features } = await query('signs', { objectIds: `${quoted}`, outFields: '*' });
    expect(features[0].attributes).toEqual({ OBJECTID_1: quoted, code: 'it\'s "A"', objectid: 'b' });
    const place = { geometry: '3,4', sr: 4326, mapExtent: '2,3,4,5', imageDisplay: '100,100,96' };
    const members = { ...place, tolerance: 2, layers: 'all', f: 'json' };
    const { url, adminKey } = keyed.town.server;
    const map = `${url}/rest/services/default/MapServer`;
    const get = async (operation: string, asked: object) => {
      const response = await fetch(`${map}/${operation}?${new URLSearchParams(asked as never)}`, {
        headers: { 'x-api-key': adminKey },
      });
      return (await response.json()) as Json;
    };
    const { results } = await get('identify', members);
    expect(results).toMatchObject([{ attributes: { OBJECTID_1: `${quoted}`, code: 'it\'s "A"' } }]);
    const layerDefs = JSON.stringify({ [keyed.town.layers['signs']!]: `OBJECTID_1 <> ${quoted}` });
    expect((await get('identify', { ...members, layerDefs })).results).toEqual([]);
    const signs = `${keyed.town.layers['signs']}`;
    const info = {
      ...{
        VERSION: '1.1.1',
        REQUEST: 'GetFeatureInfo',
        SRS: 'EPSG:4326',
        BBOX: '2,3,4,5',
        QUERY_LAYERS: signs,
      },
      ...{ WIDTH: '100', HEIGHT: '100', X: '50', Y: '50', INFO_FORMAT: 'application/json' },
    };
    const { features: places } = await get('WMSServer', info);
    expect(places).toMatchObject([{ properties: { OBJECTID_1: `${quoted}` } }]);
    const picture = await get('export', { bbox: '0,0,9,9', layerDefs, f: 'json' });
    expect(picture.error).toMatchObject({ code: 400, message: expect.stringContaining('layerDefs') });
    const found = await get('find', { searchText: 'é', layers: signs, f: 'json' });
    expect(found.results).toMatchObject([{ foundFieldName: 'code', attributes: { OBJECTID_1: '3' } }]);
  });

  it('is a whole number: others are refused by name', async () => {
    for (const members of [{ objectIds: [...rows.keys()][0] }, { where: "OBJECTID = 'a'" }]) {
      const { error } = await query('trees', members);
      expect(error).toMatchObject({ code: 400 });
      expect(error.message).toContain(Object.keys(members)[0]);
    }
  });
});

describe('numbers of keys', () => {
  it('come to rows that others write, and come back with their keys', async () => {
    const key = '00000000-0000-4000-8000-000000000001';
    const insert = `INSERT INTO trees VALUES ('${key}', 'SRID=4326;POINT(0 0)', 'fir', 1)`;
    await keyed.client.query(insert);
    await vi.waitFor(async () => expect(await numberOf("kind = 'fir'")).toEqual([TREES + 1]), 10_000);
    await keyed.client.query(`DELETE FROM trees WHERE id = '${key}'`);
    expect(await numberOf("kind = 'fir'")).toEqual([]);
    await keyed.client.query(`INSERT INTO trees (kind) VALUES ('yew')`);
    await vi.waitFor(async () => expect(await numberOf("kind = 'yew'")).toEqual([TREES + 2]), 10_000);
    await keyed.client.query(insert);
    expect(await numberOf("kind = 'fir'")).toEqual([TREES + 1]);
    await keyed.client.query("DELETE FROM trees WHERE kind IN ('fir', 'yew')");
  }, 30_000);

  it('are the same after the server has ended, and of another one', async () => {
    const before = attributesOf(await query('trees', { outFields: 'id' }));
    await keyed.client.query('VACUUM FULL trees');
    await keyed.restart();
    expect(attributesOf(await query('trees', { outFields: 'id' }))).toEqual(before);
  });

  it('are not told of rows that a permanent filter hides', async () => {
    const layer = keyed.town.layers['trees'];
    const [elm] = await numberOf("kind = 'elm'");
    const put = (expression: string) =>
      keyed.town.admin('PUT', `/metadata/layers/${layer}/filter`, { permanentFilter: { expression } });
    expect((await put(`kind <> 'elm' AND id <> '${[...rows.keys()][1]}'`)).status).toBe(200);
    expect(await numberOf(`OBJECTID = ${elm}`)).toEqual([]);
    expect((await query('trees', { objectIds: `${elm}` })).features).toEqual([]);
    const { objectIds } = await query('trees', { returnIdsOnly: true });
    const hidden = [...rows.values()].filter(({ kind }) => kind === 'elm').length + 1;
    expect(objectIds).toHaveLength(TREES - hidden);
    await keyed.town.admin('PUT', `/metadata/layers/${layer}/filter`, { permanentFilter: null });
  });
});

describe('clients of others page such a layer whole', () => {
  const home = mkdtempSync(join(tmpdir(), 'graticule-keys-'));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const url = () =>
    `${keyed.town.server.url}/rest/services/default/FeatureServer/${keyed.town.layers['trees']}`;

  it('GDAL', async () => {
    const pages = 'where=1%3D1&outFields=*&f=json&orderByFields=OBJECTID&resultRecordCount=60';
    const text = await run('ogrinfo', ['-ro', '-al', `ESRIJSON:${url()}/query?${pages}`], {});
    const matches = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, value]) => value!);
    const numbers = matches(/^OGRFeature\(ESRIJSON\):(\d+)$/gm).map(Number);
    expect(numbers).toEqual(Array.from({ length: TREES }, (_, i) => i + 1));
    expect(matches(/^ {2}id \(String\) = (\S+)$/gm).sort()).toEqual([...rows.keys()].sort());
  }, 60_000);

  it('QGIS, and draws a window of it', async () => {
    const uri = `crs='EPSG:4326' url='${url()}'`;
    const text = await run(
      '/usr/bin/python3',
      ['test/e2e/clients/read_with_qgis.py', uri, 'arcgisfeatureserver', 'id', '0.95', '39', '1.25', '41'],
      { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
    );
    const read = JSON.parse(text.trim().split('\n').at(-1)!);
    expect(read).toMatchObject({ features: TREES, geometries: TREES });
    const inside = [...rows.values()].filter(({ x }) => x > 0.95 && x < 1.25).map(({ id }) => id);
    expect(inside).toHaveLength(3);
    expect(read.inside).toEqual(inside.sort());
  }, 120_000);
});

it('views, and keys of a fixed length in an order of their own, have numbers', async () => {
  const posts = attributesOf(await query('posts', { outFields: '*', where: "code IN ('Ab', 'b')" }));
  expect(posts.map(({ name }) => name).sort()).toEqual(['one', 'three']);
  const { objectIds } = await query('oaks', { returnIdsOnly: true });
  expect(objectIds).toHaveLength([...rows.values()].filter(({ kind }) => kind === 'oak').length);
  const [{ id }] = attributesOf(await query('oaks', { objectIds: `${objectIds[0]}`, outFields: 'id' }));
  expect(rows.get(id).kind).toBe('oak');
});

it('analytics name features by their object ids', async () => {
  const members = { algorithm: 'kmeans', k: 2, where: 'OBJECTID <= 3', f: 'json' };
  const answer = await keyed.town.post(`${keyed.town.layers['trees']}/queryClusters`, members);
  const clusters = attributesOf(answer);
  expect(clusters.map(({ objectId }) => objectId).sort()).toEqual([1, 2, 3]);
  expect(clusters.every(({ id }) => rows.has(id))).toBe(true);
});

it('features lead to those that belong to them by the key', async () => {
  const [trees, signs] = [keyed.town.layers['trees'], keyed.town.layers['signs']];
  await keyed.client.query("UPDATE trees SET kind = 'é' WHERE height < 3");
  const relationship = { name: 'kinds', originField: 'code', destinationField: 'kind', role: 'origin' };
  const { status } = await keyed.town.admin('PUT', `/metadata/layers/${signs}/relationships`, {
    relationships: [{ ...relationship, relatedLayerId: trees }],
  });
  expect(status).toBe(200);
  const { relatedRecordGroups } = await keyed.town.post(`${signs}/queryRelatedRecords`, {
    ...{ objectIds: '1,3', relationshipId: 0, outFields: 'height' },
  });
  expect(relatedRecordGroups).toHaveLength(1);
  expect(relatedRecordGroups[0].objectId).toBe(3);
  const related = relatedRecordGroups[0].relatedRecords.map(({ attributes }: Json) => attributes);
  expect(related.map(({ height }: Json) => height).sort()).toEqual([1, 2]);
  expect(related.map(({ OBJECTID }: Json) => OBJECTID).sort()).toEqual((await numberOf('height < 3')).sort());
});

it('a user who may make no tables has no such layers', async () => {
  await keyed.client.query('CREATE ROLE reader LOGIN; GRANT SELECT ON trees TO reader');
  const server = await startServer({ sources: [keyed.database.replace('graticule@', 'reader@')] });
  try {
    const town = await townOf(server);
    const { error } = await town.post(`${town.layers['trees']}/query`, { where: '1=1' });
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining('no object ids') });
    const { numberMatched } = (await town.send('GET', 'trees/items')).body;
    expect(numberMatched).toBe(TREES);
  } finally {
    await server.stop();
  }
});

it('replicas of such layers are refused', async () => {
  const { error } = await keyed.town.post('createReplica', { layers: `${keyed.town.layers['trees']}` });
  expect(error).toMatchObject({ code: 400, message: expect.stringContaining('so it cannot be replicated') });
});
