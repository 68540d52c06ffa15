import type { Field, PostgisSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { maskedSql } from '../queries/masks.js';
import { column, shownArray, writeGeometrySql } from './names.js';

/**
 * Types that `readPgValue` of the native part knows. The server spells out all others: of `character(n)` without the blanks
 * at the end, which PostgreSQL does not compare.
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

/** `exact` keeps every digit of a numeric, as text; `number` makes it a double. */
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

/** Id, geometry and values: what the rows of a page, a tile or a computation begin with. */
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

/** The id of a row as it is shown, compared and ordered; a key of `character(n)` has no blanks at the end. */
function writeIdSql({ idColumn, idType }: PostgisSource): string {
  return `${column(idColumn)}${idType === 'string' ? '::text' : ''}`;
}
