import { findField } from '../../../../core/features/features.js';
import type { FeatureProcess, ProcessFeatures } from '../../../../core/processes/feature-processes.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { column } from '../schema/names.js';
import { writeRowsClause } from './sides.js';
import { decimalSql, numberSql, statisticSql, textOrder, writeFieldValue } from './statistics.js';

type Summarize = Extract<FeatureProcess, { kind: 'summarize' }>;

/** A row for each group of equal values, in the order of their first features: `GROUP BY`, `PERCENTILE_CONT`. */
export function summarySql(
  { by, statistics, percentiles }: Summarize,
  input: ProcessFeatures,
  params: SqlParams,
): string {
  const source = input.source as PostgisSource;
  const decimals = by.map((name) => decimalSql(source, name));
  const keys = by.map((name, i) => {
    if (decimals[i] !== undefined) return `(${decimals[i]})::text`;
    const value = writeFieldValue(source, name, params);
    const { type, sqlType } = findField(source, name)!;
    return type === 'string' ? textOrder(value, sqlType) : value;
  });
  const numbers = statistics.map((statistic) => statisticSql(source, statistic, params));
  const shares = percentiles.map(
    ({ share, field }) =>
      `percentile_cont(${params.add(share, 'float8')}) WITHIN GROUP (ORDER BY ${numberSql(source, field)})`,
  );
  const columns = ['NULL', 'NULL', ...keys, 'count(*)', ...numbers, ...shares];
  // Grouping uses column positions, because the parameters of a mask would make two different expressions. Equal
  // decimals form one group, with any number of final zeros.
  const groups = keys.map((_, i) => decimals[i] ?? i + 3);
  return `SELECT ${columns.join(', ')} FROM ${writeRowsClause(input, params)}
    ${groups.length > 0 ? `GROUP BY ${groups.join(', ')}` : ''} HAVING count(*) > 0
    ORDER BY min(${chooseOrder(source)})`;
}

/** PostgreSQL before 18 does not have min() of UUIDs. Their text has the same order. */
function chooseOrder({ idColumn, idType }: PostgisSource): string {
  return idType === 'uuid' ? textOrder(column(idColumn), idType) : column(idColumn);
}
