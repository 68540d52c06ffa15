import { findField, type Losses, type LossesTask, readLosses } from '../../../../core/features/features.js';
import type { Field, PostgisSource } from '../../../../core/sources/vector-source.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { areFinite, column, writeTableSql } from '../schema/names.js';
import { buildWhere } from './filter.js';

/** Counts the rows of which features of GeoJSON have null, or another geometry. */
export async function losses(task: LossesTask, cancellation?: Cancellation): Promise<Losses> {
  const source = task.source as PostgisSource;
  const fields = task.fields.map((name) => findField(source, name)!).filter(({ mask }) => !mask);
  const conditions = fields.flatMap((field) => {
    const isLost = isNotFinite(field);
    return isLost === undefined ? [] : [{ field, isLost }];
  });
  const params = new SqlParams();
  const counts = [...conditions.map(({ isLost }) => isLost), ...geometryLosses(source)].map(
    (condition) => `count(*) FILTER (WHERE ${condition})`,
  );
  const sql = `SELECT ${counts.join(', ')} FROM ${writeTableSql(source)} WHERE ${buildWhere(source, task.filter, params)}`;
  const [row] = await withConnection(source.database, (connection) => connection.query(sql, params.values), {
    cancellation,
  });
  return readLosses(
    conditions.map(({ field }) => field),
    row!,
  );
}

/** The condition that a value is not finite; undefined for types without such values. */
function isNotFinite({ name, type, sqlType = '' }: Field): string | undefined {
  const value = column(name);
  if (type === 'date' || type === 'date-time') return `NOT isfinite(${value})`;
  if (type !== 'number') return undefined;
  // PostgreSQL 13 has no infinite numeric: a comparison with one fails.
  const compared = /^(real|double precision)$/.test(sqlType) ? value : `${value}::text`;
  return `${compared} IN ('NaN', 'Infinity', '-Infinity')`;
}

const SURFACES = "'POLYHEDRALSURFACE', 'TIN', 'TRIANGLE'";

/** Conditions in the order of `LOSS_KINDS`. Every geometry of a database can be read. */
function geometryLosses({ geometryColumn, geography, geometryType, mayHoldSurfaces }: PostgisSource) {
  const geometry = `${column(geometryColumn)}${geography ? '::geometry' : ''}`;
  return [
    `ST_HasArc(${geometry})`,
    `GeometryType(${geometry}) IN (${SURFACES})`,
    `ST_Zmflag(${geometry}) IN (1, 3)`,
    isBroken(mayHoldSurfaces ? 'Geometry' : geometryType, geometry),
    'FALSE',
  ];
}

/** The condition that a position is infinite or NaN. Points of multi points and collections show that in their text only. */
function isBroken(type: string, geometry: string): string {
  const isMeasured = `NOT ${areFinite(type, geometry)}`;
  if (!/^(MultiPoint|Geometry)/.test(type)) return isMeasured;
  return `CASE WHEN GeometryType(${geometry}) LIKE 'MULTIPOINT%' OR GeometryType(${geometry}) LIKE 'GEOMETRYCOLLECTION%'
    THEN ST_AsText(${geometry}, 0) ~* 'nan|inf' ELSE ${isMeasured} END`;
}
