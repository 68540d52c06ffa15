import { expect, it } from 'vitest';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import type { EditableStore, Editor, geoPackageStore } from './support.js';

/** Columns that hold fewer values than their type: of a width, a precision or a scale. */

/** Adds a table `narrow` whose second row has numbers beyond its columns. */
export function addNarrowRows<T extends ReturnType<typeof geoPackageStore>>(store: T): T {
  const db = connect(store.file, false);
  db.exec(`CREATE TABLE narrow (fid INTEGER PRIMARY KEY NOT NULL, geom POINT, name TEXT, kind TEXT, i8 TINYINT, i16 SMALLINT, i32 MEDIUMINT, f FLOAT);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('narrow', 'features', 'narrow', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('narrow', 'geom', 'POINT', 4326, 0, 0);
    INSERT INTO narrow (name, kind, i8, i16, i32, f) VALUES ('fits', 'A', 1, 1, 1, 1), ('old', 'Z', 200, 40000, 3000000000, 1e39)`);
  db.close();
  return store;
}

/** Adds a table `narrow` whose second row has a code that no domain of the test names. */
export async function addNarrowTable(store: EditableStore): Promise<EditableStore> {
  await store.query(`
    CREATE TABLE narrow (fid serial PRIMARY KEY, geom geometry(Point, 4326), name text, kind text, i16 smallint, i32 integer, f real,
      n numeric(4,2), hundreds numeric(3,-2), w numeric(5), t time, at timestamp(0), local timestamp, list smallint[]);
    INSERT INTO narrow (name, kind, i16, i32, f) VALUES ('fits', 'A', 1, 1, 1), ('old', 'Z', 1, 1, 1)`);
  return store;
}

const INTEGERS = [
  ['i16', 32768, 'must be from -32768 to 32767, the range of its column; received 32768'],
  ['i16', -32769, 'must be from -32768 to 32767, the range of its column; received -32769'],
  ['i32', 2147483648, 'must be from -2147483648 to 2147483647, the range of its column; received 2147483648'],
  [
    'f',
    1e39,
    'must be from -3.4028234663852886e+38 to 3.4028234663852886e+38, the range of its column; received 1e+39',
  ],
] as const;
const OF_STORE: Record<string, readonly (readonly [string, unknown, string])[]> = {
  GeoPackage: [
    ['i8', 128, 'must be from -128 to 127, the range of its column; received 128'],
    ['i8', -129, 'must be from -128 to 127, the range of its column; received -129'],
  ],
  PostGIS: [
    ['n', 1.239, 'must have at most 2 decimal places, the scale of its column; received 1.239'],
    ['n', 100, 'must be from -99.99 to 99.99, the range of its column; received 100'],
    ['hundreds', 150, 'must be a multiple of 100, the scale of its column; received 150'],
    ['w', 0.5, 'must have at most 0 decimal places, the scale of its column; received 0.5'],
    [
      't',
      '12:00+02',
      'must be a time without an offset (hh:mm:ss): its column stores none; received 12:00+02',
    ],
    [
      'at',
      '2020-01-01T00:00:00.6Z',
      'must have at most 0 decimal places of a second, the precision of its column; received 2020-01-01T00:00:00.6Z',
    ],
    ['list', [1, 40000], 'member 1 must be from -32768 to 32767, the range of its column; received 40000'],
  ],
};
/** Values that just fit. */
const FIT: Record<string, Record<string, unknown>> = {
  GeoPackage: { i8: -128, i16: 32767, i32: -2147483648, f: 3.4028234663852886e38 },
  PostGIS: {
    ...{ i16: -32768, i32: 2147483647, f: 3.4028235e38, n: -99.99, hundreds: 99900, w: 12345 },
    ...{ t: '23:59:59.5', at: '2020-01-01T00:00:00Z', list: [-32768, 32767] },
  },
};

export function capacitySuite(name: string, open: () => { store: EditableStore; editor: Editor }): void {
  const rows = () => open().store.query('SELECT * FROM narrow ORDER BY fid');
  const read = async (path: string) => (await fetch(`${open().editor.server.url}${path}`)).json();
  const layerUrl = async () => {
    const { layers } = await read('/rest/services/default/FeatureServer?f=json');
    const layer = layers.find((one: { name: string }) => one.name.toLowerCase() === 'narrow');
    return `/rest/services/default/FeatureServer/${layer.id}`;
  };
  const post = async (path: string, body: unknown) => {
    const { server } = open().editor;
    const response = await fetch(`${server.url}${path}?f=json`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
      body: JSON.stringify(body),
    });
    return response.json();
  };

  it.each([...INTEGERS, ...OF_STORE[name]!])('refuses in %s the value %j', async (column, value, detail) => {
    const { send } = open().editor;
    const before = await rows();
    const feature = { type: 'Feature', geometry: null, properties: { [column]: value } };
    const errors = [expect.objectContaining({ name: `/properties/${column}`, detail: `${detail}.` })];
    const replies = [
      await send('POST', 'narrow/items', feature),
      await send('PUT', 'narrow/items/1', feature),
      await send('PATCH', 'narrow/items/1', { properties: feature.properties }),
    ];
    for (const { status, body } of replies) expect([status, body.errors]).toEqual([400, errors]);
    const operations = [{ type: 'UPDATE', featureId: '1', feature }];
    const batch = await send(
      'POST',
      'narrow/items/batch',
      { operations },
      { 'content-type': 'application/json' },
    );
    expect(batch.body.hasErrors).toBe(true);
    // Clients of GeoServices send arrays as text, and instants as numbers.
    if (!Array.isArray(value) && column !== 'at') {
      const url = await layerUrl();
      const attributes = { fid: 1, [column]: value };
      const added = await post(`${url}/addFeatures`, { features: [{ attributes: { [column]: value } }] });
      const updated = await post(`${url}/updateFeatures`, { features: [{ attributes }] });
      const applied = await post(`${url}/applyEdits`, { updates: [{ attributes }] });
      const results = [added.addResults[0], updated.updateResults[0], applied.updateResults[0]];
      const calculated = await post(`${url}/calculate`, {
        where: 'fid = 1',
        calcExpression: [{ field: column, value }],
      });
      for (const { success, error } of [...results, calculated]) {
        expect([success ?? false, error.description ?? error.message]).toEqual([
          false,
          expect.stringContaining(detail),
        ]);
      }
    }
    expect(await rows()).toEqual(before);
  });

  it('accepts the least and greatest values of its columns', async () => {
    const { send } = open().editor;
    const made = await send('POST', 'narrow/items', {
      type: 'Feature',
      geometry: null,
      properties: FIT[name],
    });
    expect([made.status, made.body.properties]).toEqual([201, expect.objectContaining(FIT[name]!)]);
    await send('DELETE', `narrow/items/${made.body.id}`);
  });

  it.runIf(name === 'PostGIS')(
    'rounds computed values to the scale, and converts instants to UTC',
    async () => {
      const { send } = open().editor;
      const url = await layerUrl();
      const calcExpression = [
        { field: 'n', sqlExpression: '10.0 / 3' },
        { field: 'hundreds', sqlExpression: '1250' },
      ];
      expect(await post(`${url}/calculate`, { where: 'fid = 1', calcExpression })).toMatchObject({
        success: true,
      });
      const local = '2020-01-01T12:00:00+02:00';
      const patched = await send('PATCH', 'narrow/items/1', { properties: { local } });
      expect(patched.body.properties).toMatchObject({
        n: 3.33,
        hundreds: 1300,
        local: '2020-01-01T10:00:00Z',
      });
      await send('PATCH', 'narrow/items/1', { properties: { n: null, hundreds: null, local: null } });
    },
  );

  it('leaves stored values that its columns and domains do not allow', async () => {
    const { send, server } = open().editor;
    const url = await layerUrl();
    const before = await rows();
    const domains = [
      {
        name: 'kind',
        domain: { type: 'codedValue', name: 'kinds', codedValues: [{ code: 'A', name: 'a' }] },
      },
      { name: 'i16', domain: { type: 'codedValue', name: 'few', codedValues: [{ code: 5, name: 'five' }] } },
    ];
    const setFields = async (fields: unknown) => {
      const response = await fetch(
        `${server.url}/api/v1/admin/metadata/layers/${url.split('/').at(-1)}/fields`,
        {
          method: 'PUT',
          headers: { 'content-type': 'application/json', 'x-api-key': server.adminKey },
          body: JSON.stringify({ fields }),
        },
      );
      expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
    };
    const named = (text: string) => before.map((row) => (row['fid'] === 2 ? { ...row, name: text } : row));
    await setFields(domains);
    const path = 'narrow/items/2';
    const feature = await read(`/ogc/features/collections/${path}`);
    const patch = await send('PATCH', path, { properties: { name: 'patch' } });
    expect([patch.status, await rows()]).toEqual([200, named('patch')]);
    const properties = { ...feature.properties, name: 'put' };
    const put = await send('PUT', path, { ...feature, properties });
    expect([put.status, await rows()]).toEqual([200, named('put')]);
    const repeated = await send('PATCH', path, { properties: { ...properties, name: 'all' } });
    expect([repeated.status, await rows()]).toEqual([200, named('all')]);
    const page = await read(`${url}/query?objectIds=2&outFields=*&f=json`);
    const attributes = { ...page.features[0].attributes, name: 'esri' };
    const updated = await post(`${url}/applyEdits`, { updates: [{ attributes }] });
    expect([updated.updateResults[0].success, await rows()]).toEqual([true, named('esri')]);
    const calculated = await post(`${url}/calculate`, {
      where: 'fid = 2',
      calcExpression: [{ field: 'name', value: 'sum' }],
    });
    expect([calculated.success, await rows()]).toEqual([true, named('sum')]);
    const other = await send('PUT', path, { ...feature, properties: { ...properties, kind: 'Y', i16: 4 } });
    expect([other.status, other.body.errors.map((error: { name: string }) => error.name)]).toEqual([
      400,
      ['/properties/kind', '/properties/i16'],
    ]);
    expect(await rows()).toEqual(named('sum'));
    await setFields([{ name: 'kind' }, { name: 'i16' }]);
  });
}
