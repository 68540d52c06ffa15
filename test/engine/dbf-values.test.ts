import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, expect, it } from 'vitest';
import { stage } from '../../src/workers/exchange/ogr/stage.js';

/** Values of the tables of shapefiles in a staging GeoPackage. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-dbf-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Field = readonly [name: string, type: 'N' | 'F' | 'D' | 'C', length: number, decimals: number];

/** Writes a shapefile of points with rows of text. */
function writeShapefile(
  name: string,
  fields: readonly Field[],
  rows: readonly (readonly string[])[],
): string {
  const stem = join(folder, name);
  const header = (bytes: number) => {
    const head = Buffer.alloc(100);
    head.writeInt32BE(9994, 0);
    head.writeInt32BE((100 + bytes) / 2, 24);
    head.writeInt32LE(1000, 28);
    head.writeInt32LE(1, 32);
    for (const [i, side] of [1, 2, 1, 2].entries()) head.writeDoubleLE(side, 36 + 8 * i);
    return head;
  };
  const record = Buffer.alloc(28);
  record.writeInt32BE(10, 4);
  record.writeInt32LE(1, 8);
  record.writeDoubleLE(1, 12);
  record.writeDoubleLE(2, 20);
  const shapes = rows.map((_, i) => {
    const shape = Buffer.from(record);
    shape.writeInt32BE(i + 1, 0);
    return shape;
  });
  const index = rows.map((_, i) => {
    const entry = Buffer.alloc(8);
    entry.writeInt32BE(50 + 14 * i, 0);
    entry.writeInt32BE(10, 4);
    return entry;
  });
  writeFileSync(`${stem}.shp`, Buffer.concat([header(28 * rows.length), ...shapes]));
  writeFileSync(`${stem}.shx`, Buffer.concat([header(8 * rows.length), ...index]));
  const size = 1 + fields.reduce((sum, [, , length]) => sum + length, 0);
  const head = Buffer.alloc(32);
  head.set([3, 120, 1, 1]);
  head.writeUInt32LE(rows.length, 4);
  head.writeUInt16LE(33 + 32 * fields.length, 8);
  head.writeUInt16LE(size, 10);
  const columns = fields.map(([column, type, length, decimals]) => {
    const field = Buffer.alloc(32);
    field.write(column);
    field.write(type, 11);
    field.set([length, decimals], 16);
    return field;
  });
  const records = rows.map((row) => {
    const cells = row.map((value, i) => {
      const [, type, length] = fields[i]!;
      return type === 'N' || type === 'F' ? value.padStart(length) : value.padEnd(length);
    });
    return Buffer.from(` ${cells.join('')}`, 'latin1');
  });
  writeFileSync(
    `${stem}.dbf`,
    Buffer.concat([head, ...columns, Buffer.from('\r'), ...records, Buffer.from([0x1a])]),
  );
  writeFileSync(
    `${stem}.prj`,
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]',
  );
  return `${stem}.shp`;
}

async function stageShapefile(path: string) {
  const output = `${path}.gpkg`;
  const staged = await stage({ path, output, table: 't', isUnpacked: false }, `${output}.part`, () => {});
  const db = new Database(output);
  try {
    const columns = db.prepare("SELECT name, type FROM pragma_table_info('t')").all() as {
      name: string;
      type: string;
    }[];
    const list = columns.slice(2);
    const rows = db
      .prepare(`SELECT ${list.map(({ name }) => name).join(', ')} FROM t ORDER BY fid`)
      .safeIntegers()
      .raw()
      .all();
    const notes = 'notes' in staged ? staged.notes : undefined;
    return { notes, rows, types: list.map(({ type }) => type.replace(/\(.*/, '')), driver: staged };
  } finally {
    db.close();
  }
}

it('keeps integers, and makes text and null of what a column cannot hold', async () => {
  const fields: Field[] = [
    ...([
      ['over', 'N', 20, 0],
      ['most', 'N', 19, 0],
      ['plain', 'N', 20, 0],
      ['whole', 'N', 10, 0],
      ['word', 'N', 10, 0],
      ['real', 'N', 20, 16],
      ['day', 'D', 8, 0],
      ['good', 'D', 8, 0],
      ['name', 'C', 10, 0],
    ] as const),
  ];
  const path = writeShapefile('odd', fields, [
    [
      '18446744073709551615',
      '9223372036854775807',
      '5',
      '1',
      '7',
      '0.1234567890123456',
      '20210230',
      '20200229',
      'Zürich',
    ],
    ['-5', '9007199254740993', '00000000000000000012', '1.5', 'abc', 'nan', '2021-1-1', '00000000', 'a'],
    ['', '', '', '', '', '******', '20210228', '', 'b'],
  ]);
  const before = readFileSync(path.replace('.shp', '.dbf'));
  const { rows, types, notes, driver } = await stageShapefile(path);
  expect(rows).toEqual([
    [
      '18446744073709551615',
      9223372036854775807n,
      5,
      1,
      '7',
      0.1234567890123456,
      null,
      '2020-02-29',
      'Zürich',
    ],
    ['-5', 9007199254740993n, 12, 1.5, 'abc', null, null, null, 'a'],
    [null, null, null, null, null, null, '2021-02-28', null, 'b'],
  ]);
  expect(types).toEqual(['TEXT', 'INTEGER', 'REAL', 'REAL', 'TEXT', 'REAL', 'DATE', 'DATE', 'TEXT']);
  expect(notes).toEqual(
    expect.arrayContaining([
      'Numbers that a column of numbers cannot hold: the values of these properties are text: over.',
      'Values that do not have the type of their column: the values of these properties are text: word.',
      'Decimals in columns of integers: these properties are decimals: whole.',
      'Dates that no calendar has are null in these properties: day.',
      expect.stringContaining('The strings were read as'),
    ]),
  );
  expect(driver).toMatchObject({ driver: 'ESRI Shapefile', layer: 'odd', features: 3 });
  expect(readFileSync(path.replace('.shp', '.dbf'))).toEqual(before);
});

it('leaves tables whose values fit', async () => {
  const fields = [
    ['n', 'N', 18, 0],
    ['f', 'F', 13, 6],
    ['d', 'D', 8, 0],
  ] as const;
  const path = writeShapefile('fits', fields, [['9007199254740993', '1.50000e+003', '20200101']]);
  const { rows, types, notes } = await stageShapefile(path);
  expect([rows, types, notes]).toEqual([
    [[9007199254740993n, 1500, '2020-01-01']],
    ['INTEGER', 'REAL', 'DATE'],
    undefined,
  ]);
});
