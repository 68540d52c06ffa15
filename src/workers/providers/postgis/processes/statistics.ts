import type { Statistic } from '../../../../core/features/analytics.js';
import { findField } from '../../../../core/features/features.js';
import { isDecimal, type PostgisSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { writeRowColumns } from '../schema/columns.js';
import { column } from '../schema/names.js';

/** Aggregates over the rows `t` of a source: the numbers that the statistics of `workers/vector/analytics` are. */

export function statisticSql(source: PostgisSource, { type, field }: Statistic, params: SqlParams): string {
  const { type: fieldType, sqlType } = findField(source, field)!;
  const number = numberSql(source, field);
  switch (type) {
    case 'count':
      return `count(${numberOrNull(source, field, column(field))})`;
    case 'min':
    case 'max': {
      const value = writeFieldValue(source, field, params);
      return `${type}(${fieldType === 'string' ? textOrder(value, sqlType) : value})`;
    }
    case 'sum':
      // A number with all its digits; sums beyond 64 bits become doubles in the result.
      return fieldType === 'integer' ? `sum(${column(field)}::int8)::numeric` : `sum(${number})`;
    case 'avg':
      return `avg(${number})`;
    case 'stddev':
    case 'var': {
      // PostgreSQL computes deviations of integers and decimals with all their digits.
      const isExact = fieldType === 'integer' || isDecimal(findField(source, field)!);
      const value = isExact ? numberOrNull(source, field, column(field)) : number;
      return `${type === 'var' ? 'variance' : type}(${value})${isExact ? '::float8' : ''}`;
    }
  }
}

/** SQL for a field as a double. A `real` is read through its shortest digits, as features show it. */
export function numberSql(source: PostgisSource, field: string): string {
  const isReal = findField(source, field)!.sqlType === 'real';
  return numberOrNull(source, field, `${column(field)}${isReal ? '::text' : ''}::float8`);
}

/** SQL that orders text by its bytes. A UUID also counts as text. */
export const textOrder = (value: string, sqlType: string | undefined) =>
  `${value}${sqlType === 'uuid' ? '::text' : ''} COLLATE "C"`;

/** SQL that returns null for numbers that are not finite and for infinite instants. */
function numberOrNull(source: PostgisSource, field: string, value: string): string {
  const { type } = findField(source, field)!;
  const name = column(field);
  if (type === 'date' || type === 'date-time') return `CASE WHEN isfinite(${name}) THEN ${value} END`;
  if (type !== 'number') return value;
  return `CASE WHEN ${name}::float8 NOT IN ('NaN', 'Infinity', '-Infinity') THEN ${value} END`;
}

/** SQL for a decimal field with all its digits. Undefined for fields of other types and for masked fields. */
export function decimalSql(source: PostgisSource, name: string): string | undefined {
  const field = findField(source, name)!;
  return isDecimal(field) && !field.mask ? numberOrNull(source, name, column(name)) : undefined;
}

/** The value of a field, as a query selects it. */
export function writeFieldValue(source: PostgisSource, field: string, params: SqlParams): string {
  const value = writeRowColumns(source, [findField(source, field)!], 'number', params, false)[2]!;
  return numberOrNull(source, field, value);
}
