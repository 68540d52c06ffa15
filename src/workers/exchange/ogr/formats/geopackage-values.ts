/** GeoPackages whose values do not have the types of their columns: GDAL reads text as 0 and drops fractions. */

import { basename, join } from 'node:path';
import { MAX_FLOAT32 } from '../../../../core/features/column-capacity.js';
import {
  noteBase64Values,
  noteDecimalIntegers,
  noteMisfitText,
} from '../../../../core/features/value-notes.js';
import type Database from '../../../../native/sqlite.js';
import { listDatasetNotes, noteDataset } from '../../../gdal/dataset-notes.js';
import { type Dataset, openWith } from '../../../gdal/gdal.js';
import { openInScratch } from '../../../gdal/scratch.js';
import { connect, quote } from '../../../providers/geopackage/connection.js';
import { declaredBits } from '../../../providers/geopackage/schema/columns.js';

const DRIVER = 'GPKG';

/**
 * Returns an open GeoPackage dataset, or a copy in which columns have the types of their values. Integers beyond
 * their column become 64-bit integers, integers with fractions become decimals, and other misfits become text.
 * `layer` is the only layer that will be read.
 */
export async function keepGeoPackageValues(dataset: Dataset, path: string, layer?: string): Promise<Dataset> {
  if (dataset.driver.description !== DRIVER) return dataset;
  const db = connect(path, true);
  try {
    const tables = misfitTables(db, layer);
    if (tables.length === 0) return dataset;
    const copy = await openInScratch('gpkg', async (folder) => {
      const file = join(folder, basename(path));
      await db.backup(file);
      retype(file, tables);
      return openWith(file, [DRIVER]);
    });
    for (const note of [...listDatasetNotes(dataset), ...listNotes(tables)]) noteDataset(copy, note);
    dataset.close();
    return copy;
  } finally {
    db.close();
  }
}

interface ColumnInfo {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

/** Type of a column's values in the copy. */
type Form = 'text' | 'boolean text' | 'decimal' | 'wide integer' | 'wide decimal' | 'base64';

interface MisfitTable {
  name: string;
  columns: readonly ColumnInfo[];
  /** By the name of the column. */
  forms: ReadonlyMap<string, Form>;
}

const TABLES = `SELECT m.name FROM sqlite_master m JOIN gpkg_contents c ON lower(c.table_name) = lower(m.name)
  WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND c.data_type IN ('features', 'attributes')`;

/** Checks the table of a layer, or all tables if none has its name. */
function misfitTables(db: Database.Database, layer: string | undefined): MisfitTable[] {
  const all = db.prepare(TABLES).pluck().all() as string[];
  const names = layer !== undefined && all.includes(layer) ? [layer] : all;
  return names.flatMap((name) => {
    const columns = db
      .prepare('SELECT name, type, "notnull", pk FROM pragma_table_info(?)')
      .all(name) as ColumnInfo[];
    const keys = columns.filter(({ pk }) => pk > 0);
    // Rows of other tables cannot be copied with their ids.
    if (keys.length !== 1 || !/^INTEGER$/i.test(keys[0]!.type)) return [];
    const forms = collectForms(db, name, columns);
    return forms.size > 0 ? [{ name, columns, forms }] : [];
  });
}

/** An aggregate in SQL that is 1 if some value of a column passes, and the form of the column then. */
type Test = readonly [aggregate: string, form: Form];

/** The form of the first test that values pass, by column. */
function collectForms(
  db: Database.Database,
  table: string,
  columns: readonly ColumnInfo[],
): ReadonlyMap<string, Form> {
  const tested = columns.flatMap(({ name, type, pk }) => {
    const tests = pk > 0 ? [] : testsFor(type.toUpperCase(), quote(name));
    return tests.length > 0 ? [{ name, tests }] : [];
  });
  if (tested.length === 0) return new Map();
  for (const [name, reads] of Object.entries(READS))
    db.function(name, { deterministic: true }, (text: unknown) => Number(reads.test(String(text))));
  const aggregates = tested.flatMap(({ tests }) => tests.map(([aggregate]) => aggregate));
  const hits = db
    .prepare(`SELECT ${aggregates.join(', ')} FROM ${quote(table)}`)
    .raw()
    .get() as (number | null)[];
  const forms = new Map<string, Form>();
  for (const { name, tests } of tested) {
    const passed = hits.splice(0, tests.length);
    const form = tests.find((_, i) => passed[i] === 1)?.[1];
    if (form) forms.set(name, form);
  }
  return forms;
}

/** Text that GDAL reads as a date, and as a time. */
const DAY = String.raw`\d{4}[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])`;
const CLOCK = String.raw`(?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:\.\d+)?)?`;
const READS = {
  gr_reads_date: new RegExp(`^${DAY}$`),
  gr_reads_time: new RegExp(`^${DAY}(?:[T ]${CLOCK} ?(?:Z|[+-]\\d\\d(?::?\\d\\d)?)?)?$`),
};

const INTEGER_TYPE = /^(TINYINT|SMALLINT|MEDIUMINT|INT|BIGINT)/;

const writeAny = (test: string) => `coalesce(max(${test}), 0)`;

function testsFor(type: string, column: string): readonly Test[] {
  const isOther = writeAny(`typeof(${column}) IN ('text', 'blob')`);
  const isReal = writeAny(`typeof(${column}) = 'real'`);
  const isInteger = `typeof(${column}) = 'integer'`;
  if (INTEGER_TYPE.test(type)) {
    const bits = declaredBits(type) ?? 64;
    // A double rounds integers beyond 2^53.
    const isLarge = writeAny(`${isInteger} AND abs(${column} / 2) > ${2 ** 52}`);
    const isWide = writeAny(
      `${isInteger} AND ${column} NOT BETWEEN ${-(2 ** (bits - 1))} AND ${2 ** (bits - 1) - 1}`,
    );
    return [
      [isOther, 'text'],
      [`${isReal} AND ${isLarge}`, 'text'],
      [isReal, 'decimal'],
      ...(bits < 64 ? [[isWide, 'wide integer'] as const] : []),
    ];
  }
  if (type.startsWith('BOOL'))
    return [[writeAny(`typeof(${column}) NOT IN ('integer', 'null')`), 'boolean text']];
  if (/^(FLOAT|DOUBLE|REAL)/.test(type)) {
    const isFar = writeAny(
      `typeof(${column}) = 'real' AND abs(${column}) BETWEEN ${MAX_FLOAT32} AND 1.8e308`,
    );
    return [[isOther, 'text'], ...(type.startsWith('FLOAT') ? [[isFar, 'wide decimal'] as const] : [])];
  }
  if (type.startsWith('DATE')) {
    const reads = type.startsWith('DATETIME') ? 'gr_reads_time' : 'gr_reads_date';
    return [
      [
        writeAny(`${column} IS NOT NULL AND (typeof(${column}) <> 'text' OR NOT ${reads}(${column}))`),
        'text',
      ],
    ];
  }
  return type.startsWith('TEXT') ? [[writeAny(`typeof(${column}) = 'blob'`), 'base64']] : [];
}

/** Gives columns of a copy the types of their values. */
function retype(path: string, tables: readonly MisfitTable[]): void {
  const db = connect(path, false);
  try {
    db.pragma('journal_mode = MEMORY');
    db.pragma('synchronous = OFF');
    db.pragma('foreign_keys = OFF');
    db.pragma('legacy_alter_table = ON');
    db.function('gr_as_text', { deterministic: true, safeIntegers: true }, asText);
    for (const table of tables) rebuild(db, table);
  } finally {
    db.close();
  }
}

/** A value as features show it. */
const asText = (value: unknown) =>
  value === null ? null : value instanceof Uint8Array ? Buffer.from(value).toString('base64') : String(value);

const REBUILT = 'graticule_rebuilt';

function rebuild(db: Database.Database, { name, columns, forms }: MisfitTable): void {
  const definitions = columns.map(({ name: column, type, notnull, pk }) => {
    const form = forms.get(column);
    const declared = form === undefined ? type : FORMS[form].type;
    return `${quote(column)} ${declared}${pk > 0 ? ' PRIMARY KEY' : ''}${notnull ? ' NOT NULL' : ''}`;
  });
  const values = columns.map(({ name: column }) => {
    const form = forms.get(column);
    return form === undefined ? quote(column) : FORMS[form].value(quote(column));
  });
  db.transaction(() => {
    db.exec(`CREATE TABLE ${REBUILT} (${definitions.join(', ')});
      INSERT INTO ${REBUILT} SELECT ${values.join(', ')} FROM ${quote(name)};
      DROP TABLE ${quote(name)};
      ALTER TABLE ${REBUILT} RENAME TO ${quote(name)}`);
  })();
}

const FORMS: Readonly<Record<Form, { type: string; value: (column: string) => string }>> = {
  text: { type: 'TEXT', value: (column) => `gr_as_text(${column})` },
  'boolean text': {
    type: 'TEXT',
    value: (column) =>
      `CASE WHEN typeof(${column}) = 'integer' THEN iif(${column}, 'true', 'false') ELSE gr_as_text(${column}) END`,
  },
  decimal: { type: 'REAL', value: (column) => column },
  'wide integer': { type: 'INTEGER', value: (column) => column },
  'wide decimal': { type: 'REAL', value: (column) => column },
  base64: { type: 'TEXT', value: (column) => `gr_as_text(${column})` },
};

function listNotes(tables: readonly MisfitTable[]): string[] {
  const named = (...wanted: Form[]) =>
    tables.flatMap(({ forms }) =>
      [...forms].flatMap(([name, form]) => (wanted.includes(form) ? [name] : [])),
    );
  return [
    ...noteMisfitText(named('text', 'boolean text')),
    ...noteDecimalIntegers(named('decimal')),
    ...noteBase64Values(named('base64')),
  ];
}
