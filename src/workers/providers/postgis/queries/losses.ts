import { findField, type Losses, type LossesTask, readLosses } from '../../../../core/features/features.js';
import type { Field, PostgisSource } from '../../../../core/sources/vector-source.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { areFinite, column, writeTableSql } from '../schema/names.js';
import { buildWhere } from './filter.js';

/**
 * Counts the rows with values or geometries that GeoJSON cannot represent, by field and by kind of loss. Masked fields
 * are omitted: clients receive no stored value of them.
 */
export async function losses(task: LossesTask, cancellation?: Cancellation): Promise<Losses> {
  const source = task.source as PostgisSource;
  const fields = task.fields.map((name) => findField(source, name)!).filter(({ mask }) => !mask);
  const conditions = fields.flatMap((field) => {
    const lostCondition = writeNotFinite(field);
    return lostCondition === undefined ? [] : [{ field, lostCondition }];
  });
  const params = new SqlParams();
  const counts = [
    ...conditions.map(({ lostCondition }) => lostCondition),
    ...writeGeometryLosses(source),
  ].map((condition) => `count(*) FILTER (WHERE ${condition})`);
  const sql = `SELECT ${counts.join(', ')} FROM ${writeTableSql(source)} WHERE ${buildWhere(source, task.filter, params)}`;
  const [row] = await withConnection(source.database, (connection) => connection.query(sql, params.values), {
    cancellation,
  });
  return readLosses(
    conditions.map(({ field }) => field),
    row!,
  );
}

/** SQL condition for a value that is not finite. Undefined for types without such values. */
function writeNotFinite({ name, type, sqlType = '' }: Field): string | undefined {
  const value = column(name);
  if (type === 'date' || type === 'date-time') return `NOT isfinite(${value})`;
  if (type !== 'number') return undefined;
  // PostgreSQL 13 has no infinite numeric: a comparison with one fails.
  const compared = /^(real|double precision)$/.test(sqlType) ? value : `${value}::text`;
  return `${compared} IN ('NaN', 'Infinity', '-Infinity')`;
}

const SURFACES = "'POLYHEDRALSURFACE', 'TIN', 'TRIANGLE'";

/** SQL conditions in the order of `LOSS_KINDS`. */
function writeGeometryLosses({ geometryColumn, geography, geometryType, mayHoldSurfaces }: PostgisSource) {
  const geometry = `${column(geometryColumn)}${geography ? '::geometry' : ''}`;
  return [
    `ST_HasArc(${geometry})`,
    `GeometryType(${geometry}) IN (${SURFACES})`,
    // 1 is M, and 3 is Z and M.
    `ST_Zmflag(${geometry}) IN (1, 3)`,
    // PostGIS stores surfaces in columns of the type Geometry.
    writeBroken(mayHoldSurfaces ? 'Geometry' : geometryType, geometry),
    // PostGIS stores no unreadable geometry.
    'FALSE',
  ];
}

/**
 * SQL condition for a geometry with an infinite ordinate or NaN. The bounding box in PostGIS ignores NaN in points of
 * multipoints and collections, so their text is searched.
 */
function writeBroken(type: string, geometry: string): string {
  const notFinite = `NOT ${areFinite(type, geometry)}`;
  if (!/^(MultiPoint|Geometry|GeometryCollection)$/.test(type)) return notFinite;
  return `CASE WHEN GeometryType(${geometry}) LIKE 'MULTIPOINT%' OR GeometryType(${geometry}) LIKE 'GEOMETRYCOLLECTION%'
    THEN ST_AsText(${geometry}, 0) ~* 'nan|inf' ELSE ${notFinite} END`;
}
