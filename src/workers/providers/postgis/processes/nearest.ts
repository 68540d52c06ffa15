import type { FeatureProcess, ProcessFeatures } from '../../../../core/processes/feature-processes.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { writeGeometrySql } from '../schema/names.js';
import { inputColumns, inputRows, isSomewhere, listSelectedColumns, writeRowsClause } from './sides.js';

type Nearest = Extract<FeatureProcess, { kind: 'nearest' }>;

/**
 * SQL that returns a row for each of the nearest features, with distance and rank. The index returns them in the
 * order of `<->`.
 */
export function nearestSql(
  { count, measure, reach, innerOnly }: Nearest,
  input: ProcessFeatures,
  others: ProcessFeatures,
  params: SqlParams,
): string {
  const left = inputRows(input, params);
  const geometry = writeGeometrySql(others.source as PostgisSource);
  const [, , ...values] = listSelectedColumns(others, params, false);
  const within =
    reach === undefined ? [] : [`ST_DWithin(a.geom, ${geometry}, ${params.add(reach, 'float8')})`];
  const named = values.map((value, i) => `${value} AS v${i}`);
  const near = `SELECT ${[...named, `ST_Distance(a.geom, ${geometry}) AS d`].join(', ')}
    FROM ${writeRowsClause(others, params, isSomewhere(others), ...within)}
    ORDER BY ${geometry} <-> a.geom LIMIT ${params.add(count, 'int8')}`;
  const columns = [
    ...inputColumns(input),
    ...values.map((_, i) => `b.v${i}`),
    `b.d / ${params.add(measure.perUnit, 'float8')}`,
    'b.rank',
  ];
  return `SELECT ${columns.join(', ')} FROM ${left} ${innerOnly ? 'CROSS' : 'LEFT'} JOIN LATERAL
    (SELECT n.*, row_number() OVER (ORDER BY n.d) AS rank FROM (${near}) n) b ${innerOnly ? '' : 'ON TRUE'}`;
}
