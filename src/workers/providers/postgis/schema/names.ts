import { usesGeneratedIds } from '../../../../core/catalog/generated-ids.js';
import type {
  CompositeKey,
  Field,
  GeneratedIds,
  PostgisSource,
} from '../../../../core/sources/vector-source.js';
import { cutAtAntimeridian } from '../antimeridian.js';

/** Quotes an SQL identifier. */
export function quote(identifier: string): string {
  return `"${identifier.replace(/"/g, '""')}"`;
}

/** A column of the source's row. In every statement the table is called `t`. */
export function column(name: string): string {
  return `t.${quote(name)}`;
}

/** The table of a source with its schema, called `t`; of one with numbered keys the rows that have a number. */
export function writeTableSql(source: PostgisSource): string {
  const table = writeKeyedTable(source);
  return usesGeneratedIds(source) ? `(${numberedRows(source, table)}) t` : table;
}

/** The table of a source, called `t`, in which one column is the key. */
export function writeKeyedTable({
  schema,
  table,
  geometryColumn,
  compositeKey,
  fields,
}: PostgisSource): string {
  const stored = `${quote(schema)}.${quote(table)} t`;
  if (!compositeKey) return stored;
  const { name: key, parts } = compositeKey;
  const names = new Set([geometryColumn, ...[...parts, ...fields].map(({ name }) => name)]);
  names.delete(key);
  const columns = [...names].map(column).join(', ');
  return `(SELECT ${partsSql(compositeKey)} AS ${quote(key)}, ${columns} FROM ${stored}) t`;
}

/** SQL for the id of a row of `t` from the columns of its key. Commas separate the parts. */
export function partsSql({ parts }: CompositeKey): string {
  const texts = parts.map(({ name, type, sqlType }) => {
    const text = `${column(name)}::text`;
    return type === 'integer' || sqlType === 'uuid'
      ? text
      : `replace(replace(replace(${text}, '%', '%25'), ':', '%3A'), ',', '%2C')`;
  });
  return `(${texts.join(` || ':' || `)})`;
}

/**
 * SQL for a table with its key numbers. PostgreSQL plans it as a join: the numbers are used for conditions on the id,
 * the indexes of the table for all other conditions.
 */
function numberedRows({ generatedIds, geometryColumn, fields }: PostgisSource, table: string): string {
  const columns = [geometryColumn, ...fields.map(({ name }) => name)].map(column);
  return `SELECT n.number AS ${quote(generatedIds!.column)}, ${columns.join(', ')}
    FROM ${table} JOIN ${quoteNumbersTable(generatedIds!)} n ON n.key = ${writeKeySql(generatedIds!.key)}`;
}

/** Quoted name of the table that assigns a number to each key. */
export function quoteNumbersTable({ table }: GeneratedIds): string {
  return `${EVENTS_SCHEMA}.${quote(table)}`;
}

/** A key as the table of numbers has it, which an index on the column serves. */
export function writeKeySql(key: Field): string {
  return `${column(key.name)}::${getKeySqlType(key)}`;
}

export function getKeySqlType({ sqlType }: Field): string {
  return sqlType === 'uuid' ? 'uuid' : 'text';
}

/**
 * Schema of the server's tables. Its name is not that of a likely user, because new tables of a user go into the
 * schema with the user's name.
 */
export const EVENTS_SCHEMA = 'graticule_events';

/** The geometry of a row as PostGIS `geometry`, in the source's CRS. An index on the column serves it. */
export function writeGeometrySql(source: PostgisSource): string {
  const geometry = column(source.geometryColumn);
  if (!source.geography) return geometry;
  const planar = `${geometry}::geometry`;
  return source.geometryType.endsWith('Point') ? planar : cutAtAntimeridian(planar);
}

/** Same as writeGeometrySql(), with surfaces converted to polygons for GEOS functions. No index is used for it. */
export function writePolygonsSql(source: PostgisSource): string {
  const geometry = writeGeometrySql(source);
  return source.mayHoldSurfaces ? flatSurfaces(geometry) : geometry;
}

/**
 * SQL for a geometry whose surfaces, also within a collection, are converted to polygons. Other geometries are
 * unchanged.
 */
export function flatSurfaces(geometry: string): string {
  const face = `CASE GeometryType(d.geom) WHEN 'TRIANGLE' THEN ST_MakePolygon(ST_ExteriorRing(d.geom)) ELSE d.geom END`;
  // Text shows the members of a collection without a subquery, because a filter can contain thousands of these
  // conditions.
  const hasSurfaces = `CASE GeometryType(${geometry}) WHEN 'POLYHEDRALSURFACE' THEN TRUE WHEN 'TIN' THEN TRUE WHEN 'TRIANGLE' THEN TRUE
    WHEN 'GEOMETRYCOLLECTION' THEN ST_AsText(${geometry}, 0) ~ 'SURFACE|TIN|TRIANGLE' ELSE FALSE END`;
  return `CASE WHEN ${hasSurfaces} THEN (SELECT ST_Collect(${face} ORDER BY d.path) FROM ST_Dump(${geometry}) AS d)
    ELSE ${geometry} END`;
}

/**
 * SQL for writePolygonsSql() without parts that have NaN or infinity, because GEOS fails on those. The result is NULL if no part
 * is left. Splitting a geometry into its parts takes a subquery; without `splits`, NULL takes the place of each geometry
 * with such a part. An envelope cannot show such parts: PostGIS forgets the positions in front of a NaN.
 */
export function keepFinite(source: PostgisSource, splits = true): string {
  const { geography, mayHoldSurfaces } = source;
  // A column of any geometries may be published with a type.
  const type = mayHoldSurfaces ? 'Geometry' : source.geometryType;
  const geometry = column(source.geometryColumn) + (geography ? '::geometry' : '');
  const rest = splits && /^Multi|^Geometry/.test(type) ? ` ELSE ${finiteParts(source, type, geometry)}` : '';
  return `CASE WHEN ${areFinite(type, geometry)} THEN ${writePolygonsSql(source)}${rest} END`;
}

/** SQL for the finite parts of a geometry, as writePolygonsSql() would have them. */
function finiteParts({ geography, mayHoldSurfaces }: PostgisSource, type: string, geometry: string): string {
  const flat = mayHoldSurfaces ? flatSurfaces('f.g') : geography ? cutAtAntimeridian('f.g') : 'f.g';
  return `(SELECT ${flat} FROM (SELECT ST_Collect(d.geom ORDER BY d.path) AS g FROM ST_Dump(${geometry}) AS d
    WHERE ${areFinite(type, 'd.geom')}) AS f)`;
}

/** SQL that returns whether all positions of a geometry of this type are finite. Multi points are not checked. */
export function areFinite(type: string, geometry: string): string {
  // An empty point has neither x nor y.
  const isPlace = `coalesce(greatest(abs(ST_X(${geometry})), abs(ST_Y(${geometry}))) < 'Infinity', TRUE)`;
  const isMeasured = `(ST_Perimeter(${geometry}) < 'Infinity' AND ST_Length(${geometry}) < 'Infinity')`;
  if (type === 'Point') return isPlace;
  if (!type.startsWith('Geometry')) return isMeasured;
  return `CASE GeometryType(${geometry}) WHEN 'POINT' THEN ${isPlace} ELSE ${isMeasured} END`;
}

/** SQL for an array as shown: members of `character(n)` do not have blanks at the end, like single values. */
export function shownArray(value: string, sqlType: string | undefined): string {
  return /^character(\(\d+\))?\[\]/.test(sqlType ?? '') ? `${value}::text[]` : value;
}
