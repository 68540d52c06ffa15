import { TaskFailure } from '../../../../core/errors/failure.js';
import type { GeometryOperation } from '../../../../core/geometry/geometry-operations.js';
import type { FeatureProcess, ProcessFeatures } from '../../../../core/processes/feature-processes.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { SqlParams } from '../connections/params.js';
import { column, writeGeometrySql } from '../schema/names.js';
import { listSelectedColumns, writeRowsClause } from './sides.js';

type MapProcess = Extract<FeatureProcess, { kind: 'map' }>;

const CAPS = ['round', 'flat', 'square'];
const JOINS = ['round', 'mitre', 'bevel'];

/** Each feature for itself, in the order of the ids. */
export function mapSql({ operation }: MapProcess, input: ProcessFeatures, params: SqlParams): string {
  const source = input.source as PostgisSource;
  const [id, , ...values] = listSelectedColumns(input, params, false);
  const geometry = operationSql(operation, writeGeometrySql(source), params);
  return `SELECT ${[id, geometry, ...values].join(', ')} FROM ${writeRowsClause(input, params)}
    ORDER BY ${column(source.idColumn)}`;
}

/** Throws `invalid-input` for an operation that PostGIS does in another way. */
function operationSql(operation: GeometryOperation, geometry: string, params: SqlParams): string {
  const { name, distance = 0 } = operation;
  if (name === 'convex-hull') return `ST_ConvexHull(${geometry})`;
  if (name === 'centroid') return `ST_Centroid(${valid(geometry)})`;
  if (name === 'simplify-topology')
    return `ST_SimplifyPreserveTopology(${geometry}, ${params.add(distance, 'float8')})`;
  if (name === 'buffer' && !operation.ground)
    return `ST_Buffer(${valid(geometry)}, ${params.add(distance, 'float8')}, ${params.add(formatStyle(operation), 'text')})`;
  throw new TaskFailure('invalid-input', `The operation '${name}' has no statement.`);
}

/** GEOS misinterprets an invalid area there without an error. */
const valid = (geometry: string) =>
  `CASE WHEN ST_IsValid(${geometry}) THEN ${geometry} ELSE ST_MakeValid(${geometry}, 'method=structure keepcollapsed=false') END`;

function formatStyle({
  segments = 8,
  cap = 1,
  join = 1,
  mitreLimit = 5,
  singleSided,
}: GeometryOperation): string {
  const style = `quad_segs=${segments} endcap=${CAPS[cap - 1]} join=${JOINS[join - 1]} mitre_limit=${mitreLimit}`;
  return singleSided ? `${style} side=left` : style;
}
