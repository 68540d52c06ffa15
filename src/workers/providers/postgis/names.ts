import { isNumbered } from '../../../core/numbered.js';
import type { Field, KeyNumbers, PostgisSource } from '../../../core/vector-source.js';

/** Quotes an SQL identifier. */
export function quote(identifier: string): string {
  return `"${identifier.replace(/"/g, '""')}"`;
}

/** A column of the source's row. In every statement the table is called `t`. */
export function column(name: string): string {
  return `t.${quote(name)}`;
}

/** The table of a source with its schema, called `t`; of one with numbered keys the rows that have a number. */
export function tableOf(source: PostgisSource): string {
  const table = `${quote(source.schema)}.${quote(source.table)} t`;
  return isNumbered(source) ? `(${numberedRows(source, table)}) t` : table;
}

/** PostgreSQL plans it as a join: the numbers serve conditions on the id, the indexes of the table all others. */
function numberedRows({ numbers, geometryColumn, fields }: PostgisSource, table: string): string {
  const columns = [geometryColumn, ...fields.map(({ name }) => name)].map(column);
  return `SELECT n.number AS ${quote(numbers!.column)}, ${columns.join(', ')}
    FROM ${table} JOIN ${numbersOf(numbers!)} n ON n.key = ${keyOf(numbers!.key)}`;
}

/** The table of the numbers of keys. */
export function numbersOf({ table }: KeyNumbers): string {
  return `${SCHEMA}.${quote(table)}`;
}

/** A key as the table of numbers has it, which an index on the column serves. */
export function keyOf(key: Field): string {
  return `${column(key.name)}::${keyTypeOf(key)}`;
}

export function keyTypeOf({ sqlType }: Field): string {
  return sqlType === 'uuid' ? 'uuid' : 'text';
}

/** Holds the tables of the server. Not called after a likely user: a schema of the user's own name would become the place of new tables. */
export const SCHEMA = 'graticule_events';

/** The geometry of a row as PostGIS `geometry`, in the source's CRS. An index on the column serves it. */
export function geometryOf(source: PostgisSource): string {
  const geometry = column(source.geometryColumn);
  return source.geography ? `${geometry}::geometry` : geometry;
}
