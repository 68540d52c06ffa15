import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportDriver } from '../../src/core/exchange/ogr.js';
import type { FieldType } from '../../src/core/sources/vector-source.js';
import { geojsonToWkb, wkbToGeoPackage } from '../../src/native/index.js';
import { stage } from '../../src/workers/exchange/ogr/stage.js';
import { translate } from '../../src/workers/exchange/ogr/translate.js';
import { connect } from '../../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../../src/workers/providers/geopackage/schema/create.js';

/** Values of GeoPackages that do not have the type of their column, in imports and exports. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-misfits-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const COLUMNS = {
  tx: ['TEXT', "'a'", "x'ff00fe'"],
  i: ['INTEGER', '1', "'abc'"],
  whole: ['INTEGER', '2', '1.5'],
  large: ['INTEGER', '9223372036854775807', '1.5'],
  m: ['MEDIUMINT', '1', '3000000000'],
  t8: ['TINYINT', '-1', '-200'],
  b: ['BOOLEAN', '1', "'maybe'"],
  r: ['DOUBLE', '1.5', "'text'"],
  f: ['FLOAT', '0.5', '1e39'],
  d: ['DATE', "'2020-01-01'", '20200101'],
  dt: ['DATE', "'2020-01-01'", "'2020-01-01T10:00:00Z'"],
  t: ['DATETIME', "'2020-01-01T00:00:00.5Z'", "'soon'"],
  fits: ['MEDIUMINT', '5', '-2147483648'],
} as const;
const NAMES = Object.keys(COLUMNS);
const file = join(folder, 'odd.gpkg');

beforeAll(() => {
  const db = connect(file, false);
  prepareStore(db);
  db.exec(`CREATE TABLE odd (fid INTEGER PRIMARY KEY NOT NULL, geom POINT, ${NAMES.map(
    (name) => `${name} ${COLUMNS[name as keyof typeof COLUMNS][0]}`,
  ).join(', ')});
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('odd', 'features', 'odd', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('odd', 'geom', 'POINT', 4326, 0, 0);`);
  const crs = { from: 'OGC:CRS84', to: 'OGC:CRS84' };
  const point = wkbToGeoPackage(
    geojsonToWkb(JSON.stringify({ type: 'Point', coordinates: [1, 2] }), crs),
    4326,
  );
  for (const row of [1, 2])
    db.prepare(
      `INSERT INTO odd VALUES (${row * 10}, ?, ${NAMES.map((name) => COLUMNS[name as keyof typeof COLUMNS][row as 1 | 2]).join(', ')})`,
    ).run(point);
  db.close();
});

function rowsOf(path: string, table: string) {
  const db = new Database(path);
  try {
    const columns = db.prepare('SELECT name, type FROM pragma_table_info(?)').all(table) as {
      name: string;
      type: string;
    }[];
    const list = columns.filter(({ name }) => name !== 'geom');
    const rows = db
      .prepare(`SELECT ${list.map(({ name }) => `"${name}"`).join(', ')} FROM "${table}" ORDER BY 1`)
      .safeIntegers()
      .all();
    return { rows, types: Object.fromEntries(list.map(({ name, type }) => [name, type])) };
  } finally {
    db.close();
  }
}

describe('an import of a GeoPackage', () => {
  it('changes no value, and names the properties that have another type', async () => {
    const output = join(folder, 'staged.gpkg');
    const staged = await stage(
      { path: file, output, table: 't', isUnpacked: false },
      `${output}.part`,
      () => {},
    );
    const { rows, types } = rowsOf(output, 't');
    expect(rows).toEqual([
      {
        ...{ fid: 10n, tx: 'a', i: '1', whole: 2, large: '9223372036854775807', m: 1n, t8: -1n, b: 'true' },
        ...{ r: '1.5', f: 0.5, d: '2020-01-01', dt: '2020-01-01', t: '2020-01-01T00:00:00.5Z', fits: 5n },
      },
      {
        ...{
          fid: 20n,
          tx: '/wD+',
          i: 'abc',
          whole: 1.5,
          large: '1.5',
          m: 3000000000n,
          t8: -200n,
          b: 'maybe',
        },
        ...{ r: 'text', f: 1e39, d: '20200101', dt: '2020-01-01T10:00:00Z', t: 'soon', fits: -2147483648n },
      },
    ]);
    expect(types).toMatchObject({ whole: 'REAL', m: 'INTEGER', f: 'REAL', fits: 'MEDIUMINT', i: 'TEXT' });
    expect('notes' in staged ? staged.notes : staged).toEqual([
      'Values that do not have the type of their column: the values of these properties are text: i, large, b, r, d, dt, t.',
      'Decimals in columns of integers: these properties are decimals: whole.',
      'Binary values in columns of text: they are base64 text in these properties: tx.',
    ]);
  });

  it('leaves the file, and copies none whose values fit', async () => {
    const before = rowsOf(file, 'odd');
    const output = join(folder, 'again.gpkg');
    await stage(
      { path: join(folder, 'staged.gpkg'), output, table: 't', isUnpacked: false },
      `${output}.part`,
      () => {},
    );
    expect(rowsOf(output, 't').rows).toEqual(rowsOf(join(folder, 'staged.gpkg'), 't').rows);
    expect(before.types).toMatchObject({ i: 'INTEGER', m: 'MEDIUMINT' });
  });
});

const FIELDS: [string, FieldType][] = [
  ['i', 'integer'],
  ['whole', 'integer'],
  ['large', 'integer'],
  ['b', 'boolean'],
  ['r', 'number'],
  ['d', 'date'],
  ['dt', 'date'],
  ['leap', 'date'],
  ['t', 'date-time'],
  ['fits', 'integer'],
];
const DRAFT = [
  '{"i":1,"whole":2,"large":9223372036854775807,"b":true,"r":1.5,"d":"2020-01-01","dt":"2020-01-01","leap":"2020-02-29","t":"2020-01-01T00:00:00.5Z","fits":5}',
  '{"i":"abc","whole":1.5,"large":1.5,"b":"maybe","r":"text","d":20200101,"dt":"2020-01-01T10:00:00Z","leap":"2021-02-29","t":1577836800,"fits":null}',
];

describe('an export of such values', () => {
  it.each<ExportDriver>(['GPKG', 'FlatGeobuf'])('as %s changes none', async (format) => {
    const path = join(folder, `${format}.draft.geojson`);
    const features = DRAFT.map(
      (properties, i) =>
        `{"type":"Feature","id":${i + 1},"geometry":{"type":"Point","coordinates":[1,2]},"properties":${properties}}`,
    );
    writeFileSync(path, `{"type":"FeatureCollection","features":[${features.join(',\n')}]}`);
    let output = join(folder, `${format}.out`);
    const { notes } = await translate(
      {
        ...{ path, output, table: 'odd', format, sourceCrs: 'EPSG:4326' },
        draft: {
          fields: FIELDS.map(([name, type]) => ({ name, type })),
          ...{ geometryType: 'Point', hasZ: false, isEmpty: false },
        },
      },
      `${output}.part${format === 'FlatGeobuf' ? '.fgb' : ''}`,
      () => {},
    );
    if (format !== 'GPKG') {
      const copy = join(folder, 'copy.gpkg');
      await stage({ path: output, output: copy, table: 'odd', isUnpacked: false }, `${copy}.part`, () => {});
      output = copy;
    }
    const { rows } = rowsOf(output, 'odd');
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...{ i: '1', whole: 2, large: '9223372036854775807', b: 'true', r: '1.5', fits: 5n },
          ...{ d: '2020-01-01', dt: '2020-01-01', leap: '2020-02-29', t: '2020-01-01T00:00:00.5Z' },
        }),
        expect.objectContaining({
          ...{ i: 'abc', whole: 1.5, large: '1.5', b: 'maybe', r: 'text', fits: null },
          ...{ d: '20200101', dt: '2020-01-01T10:00:00Z', leap: '2021-02-29', t: '1577836800' },
        }),
      ]),
    );
    expect(notes).toEqual(
      expect.arrayContaining([
        'Times that the format does not have: the values of these properties are text: d, dt, leap, t.',
        'Values that do not have the type of their column: the values of these properties are text: i, b, r.',
        'Decimals in columns of integers: these properties are decimals: whole.',
      ]),
    );
  });
});
