import { TaskFailure } from '../../../../core/errors/failure.js';
import type { Field, FieldType } from '../../../../core/sources/vector-source.js';
import type Database from '../../../../native/sqlite.js';
import { quote } from '../connection.js';
import { ROW_COLUMN } from './create.js';
import { addFieldDescriptions } from './data-columns.js';

/** Columns of a feature table, and which of them identifies its rows. */
export interface TableColumns {
  idColumn: string;
  /** Column of the row numbers, if the ids are in another column. */
  rowColumn?: string;
  isView: boolean;
  fields: Field[];
}

interface ColumnRow {
  cid: number;
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

/** Throws `source-unreadable` for a table without a column that identifies its rows. */
export function readTableColumns(db: Database.Database, table: string, geometryColumn: string): TableColumns {
  const rows = db
    .prepare(`SELECT cid, name, type, "notnull", pk FROM pragma_table_info(?)`)
    .all(table) as ColumnRow[];
  if (rows.length === 0) throw unreadable('The file registers the table, but does not contain it.');
  const isView = isViewName(db, table);
  const key = isView ? keyOfView(db, table, geometryColumn, rows) : keyOfTable(rows);
  // Copies keep the ids of their file in addition to the order of their rows.
  const id = key.name === ROW_COLUMN ? rows[key.cid + 1]! : key;
  const fields = rows
    .filter((row) => row !== key && row !== id && row.name.toLowerCase() !== geometryColumn.toLowerCase())
    .map((row): Field => {
      const field: Field = { name: row.name, type: fieldType(row.type), nullable: row.notnull === 0 };
      const bits = declaredBits(row.type);
      if (bits !== undefined) field.bits = bits;
      const maxLength = /^TEXT\s*\((\d+)\)$/i.exec(row.type)?.[1];
      return maxLength ? { ...field, maxLength: Number(maxLength) } : field;
    });
  return {
    idColumn: id.name,
    ...(id === key ? {} : { rowColumn: key.name }),
    isView,
    fields: addFieldDescriptions(db, table, fields),
  };
}

export function isViewName(db: Database.Database, name: string): boolean {
  const sql = "SELECT count(*) FROM sqlite_master WHERE type = 'view' AND name = ? COLLATE NOCASE";
  return db.prepare(sql).pluck().get(name) === 1;
}

function keyOfTable(rows: readonly ColumnRow[]): ColumnRow {
  const keys = rows.filter(({ pk }) => pk > 0);
  const [key] = keys;
  if (key && keys.length === 1 && /^INT/i.test(key.type)) return key;
  const found =
    keys.length === 0 ? 'no primary key' : `the primary key ${keys.map(({ name }) => name).join(', ')}`;
  throw unreadable(
    `The table has ${found}; features need a single column that is INTEGER PRIMARY KEY. Add one to publish the table.`,
  );
}

/** Column names that views can use for ids, by preference. */
const KEY_NAMES = ['ogc_fid', 'fid', 'id', 'gid', 'objectid'];
/** Number of rows of a view whose ids are checked. */
const SAMPLE = 10_000;

/** A column of integers none of which repeats: by its name, or the first one (OGC 12-128r18, 2.1.6). */
function keyOfView(
  db: Database.Database,
  view: string,
  geometryColumn: string,
  rows: readonly ColumnRow[],
): ColumnRow {
  const named = KEY_NAMES.flatMap((key) => rows.filter(({ name }) => name.toLowerCase() === key));
  const candidates = [...new Set([...named, ...rows.slice(0, 1)])].filter(
    ({ name }) => name.toLowerCase() !== geometryColumn.toLowerCase(),
  );
  const key = candidates.find(({ name }) => isKey(db, view, name));
  if (key) return key;
  throw unreadable(
    `No column identifies the rows of the view. Its first column, or one named ${KEY_NAMES.join(', ')}, must have integers that do not repeat.`,
  );
}

function isKey(db: Database.Database, view: string, column: string): boolean {
  const sql = `SELECT count(*) = count(DISTINCT v) AND coalesce(min(typeof(v) = 'integer'), 1)
    FROM (SELECT ${quote(column)} AS v FROM ${quote(view)} LIMIT ${SAMPLE})`;
  return db.prepare(sql).pluck().get() === 1;
}

const unreadable = (message: string) => new TaskFailure('source-unreadable', message);

/** Widths of the column types of OGC 12-128r18, table 1. */
const BITS: readonly [RegExp, Field['bits']][] = [
  [/^TINYINT\b/i, 8],
  [/^SMALLINT\b/i, 16],
  [/^(MEDIUMINT|FLOAT)\b/i, 32],
];

/** Width in bits of the numbers of a column type; undefined for 64, and for types of other values. */
export const declaredBits = (type: string): Field['bits'] =>
  BITS.find(([pattern]) => pattern.test(type))?.[1];

/** Column types of OGC 12-128r18, table 1. */
function fieldType(declared: string): FieldType {
  const type = declared.toUpperCase();
  if (type.startsWith('BOOL')) return 'boolean';
  if (/^(TINYINT|SMALLINT|MEDIUMINT|INT|INTEGER|BIGINT)/.test(type)) return 'integer';
  if (/^(FLOAT|DOUBLE|REAL|NUMERIC|DECIMAL)/.test(type)) return 'number';
  if (type.startsWith('DATETIME')) return 'date-time';
  if (type.startsWith('DATE')) return 'date';
  if (type.startsWith('BLOB')) return 'binary';
  if (type.startsWith('JSON')) return 'json';
  return 'string';
}
