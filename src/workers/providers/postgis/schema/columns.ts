import type { Field, PostgisSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { maskedSql } from '../queries/masks.js';
import { column, shownArray, writeGeometrySql } from './names.js';

/**
 * Types that `readPgValue` of the native module can read. The database converts all other types to text:
 * `character(n)` without the blanks at the end, which PostgreSQL does not compare.
 */
const BINARY_TYPES = new Set([
  'boolean',
  'smallint',
  'integer',
  'bigint',
  'real',
  'double precision',
  'numeric',
  'text',
  'character varying',
  'name',
  'uuid',
  'json',
  'jsonb',
  'date',
  'timestamp without time zone',
  'timestamp with time zone',
  'bytea',
]);

/** `exact` keeps every digit of a numeric, as text; `number` converts it to a double. */
export type NumericForm = 'exact' | 'number';

/** The SQL of a field's value in a SELECT list, of a type that is read in binary. */
export function writeFieldSql(field: Field, form: NumericForm, params: SqlParams): string {
  if (field.mask) return maskedSql(field, field.mask, params);
  const value = column(field.name);
  const type = (field.sqlType ?? 'text').replace(/\(.*?\)/, '');
  if (type === 'numeric' && form === 'number') return `${value}::float8`;
  if (BINARY_TYPES.has(type)) return value;
  return field.type === 'json' || field.type === 'array'
    ? `to_jsonb(${shownArray(value, field.sqlType)})`
    : `${value}::text`;
}

/** First columns of the rows of a page, a tile or a computation: id, geometry and values. */
export function writeRowColumns(
  source: PostgisSource,
  fields: readonly Field[],
  form: NumericForm,
  params: SqlParams,
  geometry = true,
): string[] {
  return [
    writeIdSql(source),
    geometry ? writeGeometrySql(source) : 'NULL',
    ...fields.map((field) => writeFieldSql(field, form, params)),
  ];
}

/**
 * SQL for the id of a row as shown, compared and ordered. A key of `character(n)` does not have blanks at the end.
 */
function writeIdSql({ idColumn, idType }: PostgisSource): string {
  return `${column(idColumn)}${idType === 'string' ? '::text' : ''}`;
}
