import { expect, it } from 'vitest';
import { geojsonToWkb, wkbToGeoPackage } from '../../src/native/index.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import type { EditableStore, Editor, geoPackageStore } from './support.js';

/** Features of which clients are shown less than is stored, in a table of EPSG:3857 and one of EPSG:4326. */

const FINE = { type: 'Point', coordinates: [700000.123456789, 5000000.987654321] };
const BOW = {
  type: 'Polygon',
  coordinates: [
    [
      [7, 46],
      [8, 47],
      [8, 46],
      [7, 47],
      [7, 46],
    ],
  ],
};
const NAN = [Number.NaN, Number.NaN] as const;

/** ISO WKB of a point, whatever its ordinates are. */
function point(x: number, y: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(21));
  view.setUint8(0, 1);
  view.setUint32(1, 1, true);
  view.setFloat64(5, x, true);
  view.setFloat64(13, y, true);
  return new Uint8Array(view.buffer);
}

const NO_PARTS = Uint8Array.of(1, 6, 0, 0, 0, 0, 0, 0, 0);
const sameCrs = { from: 'EPSG:3857', to: 'EPSG:3857' };

/** By feature id: the first is shown rounded, the others as null. */
const FLAT = [geojsonToWkb(FINE, sameCrs), point(...NAN), point(Number.NaN, 5)];
/** The first is shown rounded, the second is not valid, the third is shown as null. */
const ROUND = [point(7.123456789012, 47.123456789012), geojsonToWkb(BOW, sameCrs), NO_PARTS];

/** Name, EPSG code, type of the geometries and rows of each table. */
const TABLES = [
  ['fine', 3857, 'POINT', FLAT],
  ['round', 4326, 'GEOMETRY', ROUND],
] as const;

export function addFineRows(store: ReturnType<typeof geoPackageStore>): EditableStore {
  const db = connect(store.file, false);
  for (const [table, srsId, type, rows] of TABLES) {
    db.exec(`CREATE TABLE ${table} (fid INTEGER PRIMARY KEY NOT NULL, geom ${type}, name TEXT, day DATE, at DATETIME);
      INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${table}', 'features', '${table}', ${srsId});
      INSERT INTO gpkg_geometry_columns VALUES ('${table}', 'geom', '${type}', ${srsId}, 0, 0);`);
    const insert = db.prepare(`INSERT INTO ${table} (geom, name) VALUES (?, 'old')`);
    for (const wkb of rows) insert.run(wkbToGeoPackage(wkb, srsId));
  }
  db.exec(`CREATE TABLE odd (fid INTEGER PRIMARY KEY NOT NULL, geom POINT, name TEXT, tx TEXT(5), i INTEGER, b BOOLEAN, r DOUBLE, d DATE, t DATETIME, bl BLOB);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('odd', 'features', 'odd', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('odd', 'geom', 'POINT', 4326, 0, 0);`);
  for (const [column, value] of ODD) db.exec(`INSERT INTO odd (name, ${column}) VALUES ('old', ${value})`);
  db.close();
  return store;
}

/** Values that SQLite stores in columns of a type that they do not have. */
const ODD = [
  ...["'longer than five'", "'a' || char(0)", "x'ff00fe'", '5'].map((value) => ['tx', value]),
  ...["'text in blob'", '12'].map((value) => ['bl', value]),
  ...['1.5', "''", "'abc'", '1e300', "x'01'"].map((value) => ['i', value]),
  ...["'true'", '0.5', '2', '-1', "'yes'"].map((value) => ['b', value]),
  ...["'text'", "'NaN'"].map((value) => ['r', value]),
  ...["'2020/01/01'", "'2020-01-01T10:00:00Z'", '20200101', '2458849.5', "'2020-02-30'"].map((v) => ['d', v]),
  ...["'2020-01-01'", "'2020-01-01 10:00'", "'2020-01-01T10:00:00+0200'", '1577836800'].map((v) => ['t', v]),
  ...["'2020-01-01T10:00:60Z'", "'2020-01-01T24:00:00Z'", "'2020-01-01T10:00:00.1234567890123Z'"].map(
    (value) => ['t', value],
  ),
] as [string, string][];

export async function addFineTables(store: EditableStore): Promise<EditableStore> {
  const hex = (wkb: Uint8Array) => Buffer.from(wkb).toString('hex');
  for (const [table, srid, type, rows] of TABLES)
    await store.query(`
      CREATE TABLE ${table} (fid serial PRIMARY KEY, geom geometry(${type}, ${srid}), name text, day date, at timestamptz);
      INSERT INTO ${table} (geom, name) VALUES
        ${rows.map((wkb) => `(ST_GeomFromWKB('\\x${hex(wkb)}', ${srid}), 'old')`).join(', ')}`);
  const across = '((179 -1,-179 -1,-179 1,179 1,179 -1))';
  await store.query(`
    CREATE TABLE across (fid serial PRIMARY KEY, geom geography(Polygon, 4326), name text);
    INSERT INTO across (geom, name) VALUES ('POLYGON${across}', 'old');
    CREATE TABLE acrosses (fid serial PRIMARY KEY, geom geography(MultiPolygon, 4326), name text);
    INSERT INTO acrosses (geom, name) VALUES ('MULTIPOLYGON(${across})', 'old');
    CREATE TABLE crossings (fid serial PRIMARY KEY, geom geography(LineString, 4326), name text);
    INSERT INTO crossings (geom, name) VALUES ('LINESTRING(179 0,-179 1)', 'old');`);
  return store;
}

const MERCATOR = 'http://www.opengis.net/def/crs/EPSG/0/3857';

/** Geometries that come back as clients see them, by every way of editing. */
export function unchangedSuite(name: string, open: () => { store: EditableStore; editor: Editor }): void {
  const rows = [
    ...['fine/1', 'fine/2', 'fine/3', 'round/1', 'round/2', 'round/3'],
    ...(name === 'PostGIS' ? ['across/1', 'acrosses/1', 'crossings/1'] : []),
  ];
  const stored = async (row: string) => {
    const [table, id] = row.split('/');
    return (await open().store.query(`SELECT geom, name FROM ${table} WHERE fid = ${id}`))[0]!;
  };
  const read = async (path: string) => (await fetch(`${open().editor.server.url}${path}`)).json();

  it.each(rows)('leaves the stored geometry of %s where it comes back as it was read', async (row) => {
    const { send } = open().editor;
    const [table, id] = row.split('/') as [string, string];
    const path = `${table}/items/${id}`;
    const { geom } = await stored(row);
    const feature = await read(`/ogc/features/collections/${path}`);
    const named = (text: string) => ({ ...feature, properties: { name: text } });
    const put = await send('PUT', path, named('put'));
    expect([put.status, await stored(row)]).toEqual([200, { geom, name: 'put' }]);
    const { geometry } = feature;
    const patch = await send('PATCH', path, { geometry, properties: { name: 'patch' } });
    expect([patch.status, await stored(row)]).toEqual([200, { geom, name: 'patch' }]);
    const operations = [{ type: 'UPDATE', featureId: id, feature: named('batch') }];
    const batch = await send('POST', `${table}/items/batch`, { operations }, JSON_BODY);
    expect([batch.body.hasErrors, await stored(row)]).toEqual([false, { geom, name: 'batch' }]);
  });

  it('leaves it where it comes back in another CRS, and by GeoServices', async () => {
    const { send, server } = open().editor;
    const path = 'fine/items/1';
    const before = new Map<string, unknown>();
    for (const row of rows) before.set(row, (await stored(row))['geom']);
    const feature = await read(`/ogc/features/collections/${path}?crs=${MERCATOR}`);
    const put = await send('PUT', path, feature, { 'content-crs': MERCATOR });
    expect([put.status, (await stored('fine/1'))['geom']]).toEqual([200, before.get('fine/1')]);
    const { layers } = await read('/rest/services/default/FeatureServer?f=json');
    // Layers of GeoServices have geometries of one type.
    for (const row of rows.filter((one) => !one.startsWith('round'))) {
      const [table, id] = row.split('/') as [string, string];
      const layer = layers.find((one: { name: string }) => one.name.toLowerCase() === table);
      const url = `/rest/services/default/FeatureServer/${layer.id}`;
      const page = await read(`${url}/query?objectIds=${id}&outFields=*&f=json`);
      const [{ attributes, geometry = null }] = page.features;
      const update = { attributes: { ...attributes, name: 'esri' }, geometry };
      const reply = await fetch(`${server.url}${url}/updateFeatures?f=json`, {
        method: 'POST',
        headers: { ...JSON_BODY, 'x-api-key': server.adminKey },
        body: JSON.stringify({ features: [update] }),
      });
      const result = (await reply.json()) as { updateResults: unknown[] };
      expect([row, result.updateResults]).toEqual([row, [expect.objectContaining({ success: true })]]);
      expect(await stored(row)).toEqual({ geom: before.get(row), name: 'esri' });
    }
  });

  it.runIf(name === 'GeoPackage')('leaves values that do not fit their column', async () => {
    const { send, server } = open().editor;
    const query = 'SELECT fid, tx, i, b, r, d, t, bl, typeof(d) AS dt, typeof(t) AS tt FROM odd ORDER BY fid';
    const names = async () =>
      (await open().store.query('SELECT DISTINCT name FROM odd')).map((row) => row['name']);
    const before = await open().store.query(query);
    expect(before).toHaveLength(ODD.length);
    const { features } = await read('/ogc/features/collections/odd/items?limit=100');
    for (const feature of features) {
      const put = await send('PUT', `odd/items/${feature.id}`, {
        ...feature,
        properties: { ...feature.properties, name: 'put' },
      });
      expect([feature.properties, put.status]).toEqual([feature.properties, 200]);
    }
    expect([await open().store.query(query), await names()]).toEqual([before, ['put']]);

    const { layers } = await read('/rest/services/default/FeatureServer?f=json');
    const layer = layers.find((one: { name: string }) => one.name.toLowerCase() === 'odd');
    const url = `/rest/services/default/FeatureServer/${layer.id}`;
    const page = await read(`${url}/query?where=1=1&outFields=*&f=json`);
    const updates = page.features.map(({ attributes }: { attributes: object }) => ({
      attributes: { ...attributes, name: 'esri' },
    }));
    const reply = await fetch(`${server.url}${url}/updateFeatures?f=json`, {
      method: 'POST',
      headers: { ...JSON_BODY, 'x-api-key': server.adminKey },
      body: JSON.stringify({ features: updates }),
    });
    const { updateResults } = (await reply.json()) as { updateResults: { success: boolean }[] };
    expect(updateResults.filter(({ success }) => !success)).toEqual([]);
    expect([await open().store.query(query), await names()]).toEqual([before, ['esri']]);

    const wrong = await send('PUT', 'odd/items/1', { ...features[0], properties: { tx: 'longer than six' } });
    expect([wrong.status, wrong.body.errors]).toEqual([
      400,
      [expect.objectContaining({ name: '/properties/tx' })],
    ]);
    const unknown = { ...features[0].properties, nope: 1 };
    expect((await send('PUT', 'odd/items/1', { ...features[0], properties: unknown })).status).toBe(400);
    const changed = await send('PATCH', 'odd/items/1', { properties: { d: '2021-02-30' } });
    expect(changed.status).toBe(400);
    expect(await open().store.query(query)).toEqual(before);
  });

  it('takes the years before and after those of four digits as it shows them', async () => {
    const { send } = open().editor;
    const properties = { name: 'ides', day: '-004712-01-01', at: '-000043-03-15T12:00:00.123456Z' };
    const far = { name: 'far', day: '+010191-02-03', at: '0000-12-31T23:59:59.250001Z' };
    for (const [i, one] of [properties, far].entries()) {
      const body = { type: 'Feature', geometry: null, properties: one };
      const made = await send('POST', 'round/items', body);
      expect([made.status, made.body.properties]).toEqual([201, one]);
      const path = `round/items/${made.body.id}`;
      expect((await send('PUT', path, made.body)).body).toEqual(made.body);
      const sql = `SELECT day::text, (at AT TIME ZONE 'UTC')::text AS at FROM round WHERE fid = ${made.body.id}`;
      if (name !== 'PostGIS') continue;
      expect((await open().store.query(sql))[0]).toEqual(
        [
          { day: '4713-01-01 BC', at: '0044-03-15 12:00:00.123456 BC' },
          { day: '10191-02-03', at: '0001-12-31 23:59:59.250001 BC' },
        ][i],
      );
    }
    const items = '/ogc/features/collections/round/items?f=json&limit=100';
    const named = async (query: string) => {
      const reply = await read(`${items}&${query}`);
      expect([query, reply]).toEqual([query, expect.objectContaining({ features: expect.any(Array) })]);
      return reply.features.map((one: { properties: { name: string } }) => one.properties.name).sort();
    };
    const recent = { name: 'recent', day: '2020-01-01', at: '2020-01-01T00:00:00Z' };
    const made = await send('POST', 'round/items', { type: 'Feature', geometry: null, properties: recent });
    for (const [filter, names] of [
      ["day = DATE('-004712-01-01')", ['ides']],
      ["day > DATE('9999-12-31')", ['far']],
      ["day < DATE('+010191-02-04')", ['far', 'ides', 'recent']],
      ["day > DATE('-005000-01-01') AND day < DATE('+010191-02-04')", ['far', 'ides', 'recent']],
      ["day < DATE('-000001-01-01')", ['ides']],
      ["at < TIMESTAMP('-000043-03-15T12:00:00.2Z')", ['ides']],
      ["at > TIMESTAMP('0001-01-01T00:00:00Z')", ['recent']],
      ["T_INTERSECTS(at, INTERVAL('-000100-01-01T00:00:00Z', '-000001-01-01T00:00:00Z'))", ['ides']],
    ] as const)
      expect([filter, await named(`filter=${encodeURIComponent(filter)}`)]).toEqual([filter, names]);
    // The first column of times that `datetime` selects by is one of dates.
    expect(await named('datetime=%2B010191-02-03')).toEqual(['far']);
    expect(await named('datetime=../-004712-01-01')).toEqual(['ides']);
    expect(await named('datetime=-005000-01-01/9999-12-31')).toEqual(['ides', 'recent']);
    const { layers } = await read('/rest/services/default/FeatureServer?f=json');
    const layer = layers.find((one: { name: string }) => one.name.toLowerCase() === 'round');
    // Layers of GeoServices have geometries of one type.
    if (layer) {
      const url = `/rest/services/default/FeatureServer/${layer.id}/query?f=json&outFields=name`;
      const where = encodeURIComponent("at < TIMESTAMP '-000043-03-16 00:00:00'");
      const reply = await read(`${url}&where=${where}`);
      expect(reply.features.map((one: { attributes: { name: string } }) => one.attributes.name)).toEqual([
        'ides',
      ]);
    }
    await send('DELETE', `round/items/${made.body.id}`);
    const body = { type: 'Feature', geometry: null, properties: { day: '-000000-01-01' } };
    expect((await send('POST', 'round/items', body)).status).toBe(400);
  });

  it('writes a geometry that differs in the last place that clients see', async () => {
    const { send } = open().editor;
    const moved = { type: 'Point', coordinates: [7.1234569, 47.1234568] };
    const before = await stored('round/1');
    expect((await send('PATCH', 'round/items/1', { geometry: moved })).body.geometry).toEqual(moved);
    expect((await stored('round/1'))['geom']).not.toEqual(before['geom']);
    const bow = { ...BOW, coordinates: [BOW.coordinates[0]!.map(([x, y]) => [x! + 1, y!])] };
    expect((await send('PATCH', 'round/items/2', { geometry: bow })).status).toBe(400);
    // A client that accepts losses has null stored.
    const path = 'fine/items/3';
    await send('PATCH', path, { geometry: null }, { 'geometry-loss': 'accept' });
    expect((await stored('fine/3'))['geom']).toBeNull();
  });
}

const JSON_BODY = { 'content-type': 'application/json' };
