import type { FeatureProcess, ProcessFeatures } from '../../../../core/processes/feature-processes.js';
import type { PostgisSource, VectorSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { writeGeometrySql } from '../schema/names.js';
import { inputColumns, inputRows, isSomewhere, listSelectedColumns, writeRowsClause } from './sides.js';
import { statisticSql } from './statistics.js';

type Join = Extract<FeatureProcess, { kind: 'join' }>;

/** SQL for features of the input with the features that they meet. `LATERAL` allows the use of the spatial index. */
export function joinSql(
  join: Join,
  input: ProcessFeatures,
  others: ProcessFeatures,
  params: SqlParams,
): string {
  const left = inputRows(input, params);
  const { sql, columns } =
    join.mode === 'count' ? counts(join, input, others, params) : partners(join, input, others, params);
  const values = [...inputColumns(input), ...columns];
  if (join.mode !== 'count')
    return `SELECT ${values.join(', ')} FROM ${left} ${join.innerOnly ? 'CROSS' : 'LEFT'} JOIN LATERAL (${sql}) b
      ${join.innerOnly ? '' : 'ON TRUE'}`;
  return `SELECT ${values.join(', ')} FROM ${left} CROSS JOIN LATERAL (${sql}) b ${join.innerOnly ? 'WHERE b.v0 > 0' : ''}`;
}

interface Part {
  sql: string;
  columns: string[];
}

const buildPart = (values: readonly string[], rest: string): Part => ({
  sql: `SELECT ${values.map((value, i) => `${value} AS v${i}`).join(', ') || 'NULL'} FROM ${rest}`,
  columns: values.map((_, i) => `b.v${i}`),
});

/** SQL for the number of join features that a row `a` meets, and their statistics. */
function counts(join: Join, input: ProcessFeatures, others: ProcessFeatures, params: SqlParams): Part {
  const source = others.source as PostgisSource;
  const numbers = join.statistics.map((statistic) => statisticSql(source, statistic, params));
  return buildPart(
    ['count(*)', ...numbers],
    writeRowsClause(others, params, ...meets(join, input, others, params)),
  );
}

/** SQL for the values of the join features that a row `a` meets. With a distance, the nearest come first. */
function partners(join: Join, input: ProcessFeatures, others: ProcessFeatures, params: SqlParams): Part {
  const [, , ...values] = listSelectedColumns(others, params, false);
  const rest = writeRowsClause(others, params, ...meets(join, input, others, params));
  if (join.predicate !== 'dwithin') return buildPart(values, rest);
  const distance = `ST_Distance(a.geom, ${writeGeometrySql(others.source as PostgisSource)})`;
  return buildPart(values, `${rest} ORDER BY ${distance}${join.mode === 'first' ? ' LIMIT 1' : ''}`);
}

function meets(
  { predicate, reach }: Join,
  input: ProcessFeatures,
  others: ProcessFeatures,
  params: SqlParams,
): string[] {
  const geometry = writeGeometrySql(others.source as PostgisSource);
  const somewhere = isSomewhere(others);
  switch (predicate) {
    case 'dwithin':
      return [somewhere, `ST_DWithin(a.geom, ${geometry}, ${params.add(reach!.distance, 'float8')})`];
    case 'contains':
      return [somewhere, `ST_Contains(a.geom, ${geometry})`];
    case 'within':
      return [somewhere, `ST_Within(a.geom, ${geometry})`];
    case 'intersects':
      // ST_Intersects uses prepared geometries. A prepared line of GEOS ignores the points of a geometry collection.
      return mayBeCollections(input.source) || mayBeCollections(others.source)
        ? [somewhere, `a.geom && ${geometry}`, `NOT ST_Disjoint(a.geom, ${geometry})`]
        : [somewhere, `ST_Intersects(a.geom, ${geometry})`];
  }
}

const mayBeCollections = ({ geometryType }: VectorSource) =>
  geometryType === 'Geometry' || geometryType === 'GeometryCollection';
