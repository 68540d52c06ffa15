import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, expect, it } from 'vitest';
import type { TranslateResult } from '../../src/core/exchange/ogr.js';
import { inspectLayers } from '../../src/workers/exchange/ogr/ogr.js';
import { translate } from '../../src/workers/exchange/ogr/translate.js';

/** Values of GML without a schema in a staging GeoPackage. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-gml-values-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const member = (id: number, values: string) =>
  `<ogr:featureMember><ogr:p gml:id="p.${id}"><ogr:geometryProperty><gml:Point srsName="EPSG:4326" gml:id="g${id}"><gml:pos>1.1234567890123456 2</gml:pos></gml:Point></ogr:geometryProperty>${values}</ogr:p></ogr:featureMember>`;
const gml = (...members: string[]) =>
  `<?xml version="1.0"?><ogr:FeatureCollection xmlns:ogr="http://ogr.maptools.org/" xmlns:gml="http://www.opengis.net/gml/3.2">${members.map((values, i) => member(i, values)).join('')}</ogr:FeatureCollection>`;
const element = (name: string, value: string) => `<ogr:${name}>${value}</ogr:${name}>`;

async function stage(name: string): Promise<TranslateResult & { rows: unknown[]; types: object }> {
  const path = join(folder, name);
  const output = `${path}.gpkg`;
  const result = await translate({ path, output, table: 't' }, `${output}.part`, () => {});
  const db = new Database(output);
  try {
    const columns = db.prepare("SELECT name, type FROM pragma_table_info('t')").all() as {
      name: string;
      type: string;
    }[];
    const fields = columns.filter(({ name: column }) => !['fid', 'geom', 'gml_id'].includes(column));
    const rows = db
      .prepare(`SELECT ${fields.map((field) => `"${field.name}"`).join(', ')} FROM t ORDER BY fid`)
      .safeIntegers()
      .all();
    return { ...result, rows, types: Object.fromEntries(fields.map((field) => [field.name, field.type])) };
  } finally {
    db.close();
  }
}

it('are text with leading zeros, and where no column of numbers holds them', async () => {
  const first = {
    ...{ zip: '01067', over: '9223372036854775808', most: '9223372036854775807', plain: '12' },
    ...{ mixed: '9007199254740993', far: '1e400', deep: '0.1234567890123456789', time: '-007.5' },
  };
  const second = {
    zip: '12345',
    over: '5',
    most: '-9223372036854775808',
    plain: '0',
    mixed: '1.5',
    far: '2',
    deep: '0.5',
  };
  const lists = `${element('list', '007')}${element('list', '8')}${element('large', '1')}${element('large', '99999999999999999999')}`;
  const values = (row: object) =>
    Object.entries(row)
      .map(([name, value]) => element(name, value))
      .join('');
  writeFileSync(join(folder, 'codes.gml'), gml(values(first) + lists, values(second)));
  const { rows, types, notes } = await stage('codes.gml');
  expect(rows).toEqual([
    {
      ...{ zip: '01067', over: '9223372036854775808', most: 9223372036854775807n, plain: 12n },
      ...{ mixed: '9007199254740993', far: '1e400', deep: 0.12345678901234568, time: '-007.5' },
      ...{ list: expect.stringContaining('007'), large: expect.stringContaining('99999999999999999999') },
    },
    {
      ...{
        zip: '12345',
        over: '5',
        most: -9223372036854775808n,
        plain: 0n,
        mixed: '1.5',
        far: '2',
        deep: 0.5,
      },
      ...{ time: null, list: null, large: null },
    },
  ]);
  expect(types).toMatchObject({ zip: 'TEXT', most: 'INTEGER', plain: 'MEDIUMINT', deep: 'REAL' });
  expect(notes).toEqual([
    expect.stringMatching(/^Numbers that a column of numbers cannot hold: .*: over, mixed, far, large\.$/),
    expect.stringMatching(/^Numbers are rounded .*: deep\.$/),
    expect.stringMatching(/^Lists are text .*: list, large\.$/),
  ]);
  const [layer] = await inspectLayers({ path: join(folder, 'codes.gml') });
  expect(layer?.fields.find(({ name }) => name === 'zip')?.type).toBe('string');
  expect(readdirSync(folder).filter((name) => name.endsWith('.gfs'))).toEqual([]);
});

it('have the types of the schema beside the file', async () => {
  const path = join(folder, 'schema.gml');
  writeFileSync(join(folder, 'plain.gml'), gml(element('code', '7')));
  execFileSync('ogr2ogr', ['-f', 'GML', '-nln', 'p', path, join(folder, 'plain.gml')]);
  const text = execFileSync('sed', ['s/>7</>007</', path]);
  writeFileSync(path, text);
  rmSync(join(folder, 'plain.gfs'), { force: true });
  const { rows, notes } = await stage('schema.gml');
  expect([rows, notes]).toEqual([[expect.objectContaining({ code: 7n })], undefined]);
});

it('name lists, which are text that tells neither commas nor types apart', async () => {
  const values = `${element('tag', 'a')}${element('tag', 'b,c')}${element('plain', 'x')}`;
  writeFileSync(join(folder, 'lists.gml'), gml(values, element('tag', 'only')));
  const { rows, notes } = await stage('lists.gml');
  expect(rows).toEqual([
    { tag: '(2:a,b,c)', plain: 'x' },
    { tag: '(1:only)', plain: null },
  ]);
  expect(notes).toContain(
    'Lists are text with the number of their values, as (2:a,b), in these properties: tag.',
  );
});
