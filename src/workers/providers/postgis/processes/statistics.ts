import type { Statistic } from '../../../../core/analytics.js';
import { fieldOf } from '../../../../core/features.js';
import type { PostgisSource } from '../../../../core/vector-source.js';
import { columnsOf } from '../columns.js';
import { column } from '../names.js';
import type { SqlParams } from '../params.js';

/** Aggregates over the rows `t` of a source: doubles, as the statistics of `workers/vector/analytics` are. */

export function statisticSql(source: PostgisSource, { type, field }: Statistic, params: SqlParams): string {
  const { type: fieldType } = fieldOf(source, field)!;
  const number = numberSql(source, field);
  switch (type) {
    case 'count':
      return `count(${column(field)})`;
    case 'min':
    case 'max': {
      const value = valueSql(source, field, params);
      return `${type}(${fieldType === 'string' ? `${value} COLLATE "C"` : value})`;
    }
    case 'sum':
    case 'avg':
    case 'stddev':
      return `${type}(${number})`;
    case 'var':
      return `variance(${number})`;
  }
}

/** The number of a field as a double: of a `real` that of its shortest digits, which is the one that is read. */
export function numberSql(source: PostgisSource, field: string): string {
  const isReal = fieldOf(source, field)!.sqlType === 'real';
  return `${column(field)}${isReal ? '::text' : ''}::float8`;
}

/** The value of a field, as a query selects it. */
export function valueSql(source: PostgisSource, field: string, params: SqlParams): string {
  return columnsOf(source, [fieldOf(source, field)!], 'number', params, false)[2]!;
}
