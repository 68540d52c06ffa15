import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import { quote, reader, statement } from '../connection.js';

const DAY = '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]';
/** Forms whose texts sort in the order of time. */
const FORMS = {
  'date-time': `${DAY}T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9][0-9]Z`,
  date: DAY,
} as const;

interface Finding {
  /** Changes with every commit to the file. */
  readonly version: number;
  readonly isUniform: boolean;
}

/** By connection, and by table, column and type. */
const findings = new WeakMap<object, Map<string, Finding>>();

/**
 * Whether a column of times or dates has an index, and values of one form only, so that their order as text is the order of
 * time. The values are read again after the file has changed.
 */
export function isUniform(source: GeoPackageSource, column: string, type: keyof typeof FORMS): boolean {
  const { path, table } = source;
  if (!hasIndex(source, column)) return false;
  const db = reader(path);
  const known = findings.get(db) ?? new Map<string, Finding>();
  findings.set(db, known);
  const name = JSON.stringify([table, column, type]);
  const version = db.pragma('data_version', { simple: true }) as number;
  const before = known.get(name);
  if (before?.version === version) return before.isUniform;
  const value = quote(column);
  const other = `SELECT 1 FROM ${quote(table)} WHERE ${value} IS NOT NULL AND ${value} NOT GLOB '${FORMS[type]}'`;
  const isUniform = statement(path, `SELECT NOT EXISTS (${other})`).pluck().get() === 1;
  known.set(name, { version, isUniform });
  return isUniform;
}

/** Whether an index of all rows starts with a column. */
function hasIndex({ path, table }: GeoPackageSource, column: string): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM pragma_index_list(?) AS l, pragma_index_info(l.name) AS i
    WHERE l.partial = 0 AND i.seqno = 0 AND i.name = ? COLLATE NOCASE)`;
  return statement(path, sql).pluck().get(table, column) === 1;
}
