import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { around, imageWithin } from '../../../core/box.js';
import { STAC_COLUMNS, STAC_TABLE } from '../../../core/stac.js';
import type { Box, Field, FieldType, GeometryType, VectorLayerInfo } from '../../../core/tasks.js';
import { TaskFailure } from '../../../core/tasks.js';
import { connect, quote } from './connection.js';
import { described } from './data-columns.js';
import { layerStyles } from './layer-styles.js';
import { newestCursor } from './outbox.js';

interface ContentsRow {
  table_name: string;
  identifier: string | null;
  description: string | null;
  min_x: number | null;
  min_y: number | null;
  max_x: number | null;
  max_y: number | null;
  column_name: string;
  geometry_type_name: string;
  z: number;
  srs_id: number;
  organization: string | null;
  organization_coordsys_id: number | null;
  definition: string | null;
}

const CONTENTS = `
  SELECT c.table_name, c.identifier, c.description, c.min_x, c.min_y, c.max_x, c.max_y,
         g.column_name, g.geometry_type_name, g.z, g.srs_id,
         s.organization, s.organization_coordsys_id, s.definition
  FROM gpkg_contents c
  JOIN gpkg_geometry_columns g ON g.table_name = c.table_name
  LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = g.srs_id
  WHERE c.data_type = 'features'
  ORDER BY c.table_name`;

/** Lists the feature tables of a GeoPackage (OGC 12-128r18, 2.1). */
export function inspect(path: string): VectorLayerInfo[] {
  // One transaction: counts, extents and the cursor are of one moment.
  return reading(path, (db) => db.transaction(() => contents(db).map((row) => layer(db, path, row)))());
}

/** Names of the tables of tiles of a GeoPackage (OGC 12-128r18, 2.2), grids of values among them. */
export function tileTables(path: string): string[] {
  const sql =
    "SELECT table_name FROM gpkg_contents WHERE data_type IN ('tiles', '2d-gridded-coverage') ORDER BY 1";
  return reading(path, (db) => db.prepare(sql).pluck().all() as string[]);
}

function reading<T>(path: string, read: (db: Database.Database) => T): T {
  const db = connect(path, true);
  try {
    return read(db);
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    throw new TaskFailure('source-unreadable', `The GeoPackage is damaged: ${(error as Error).message}`);
  } finally {
    db.close();
  }
}

function contents(db: Database.Database): ContentsRow[] {
  const isGeoPackage = db
    .prepare("SELECT count(*) FROM sqlite_master WHERE name IN ('gpkg_contents', 'gpkg_geometry_columns')")
    .pluck()
    .get() as number;
  if (isGeoPackage < 2)
    throw new TaskFailure('source-unreadable', 'The file has no GeoPackage feature tables.');
  return db.prepare(CONTENTS).all() as ContentsRow[];
}

function layer(db: Database.Database, path: string, row: ContentsRow): VectorLayerInfo {
  const table = row.table_name;
  const { idColumn, fields } = columns(db, table, row.column_name);
  const crs = crsOf(row);
  const hasIndex = indexExists(db, table, row.column_name);
  const featureCount = countOf(db, table);
  const extent = extentOf(db, row, hasIndex, featureCount);
  const stac = stacDocument(db, table);
  const type = geometryType(row.geometry_type_name);
  const styles = layerStyles(db, table, { geometryType: type, fields });
  return {
    source: {
      kind: 'geopackage',
      path,
      table,
      geometryColumn: row.column_name,
      geometryType: type,
      hasZ: row.z > 0,
      idColumn,
      hasIndex,
      crs,
      fields: stac ? fields.filter(({ name }) => !STAC_COLUMNS.some((column) => column === name)) : fields,
      // Items are what their catalog says.
      writable: !stac && isWritable(path),
    },
    title: row.identifier ?? undefined,
    description: row.description ?? undefined,
    extent,
    extent84: extent && toCrs84(db, extent, crs),
    featureCount,
    cursor: newestCursor(db),
    ...(styles.length > 0 ? { styles } : {}),
    ...(stac ? { stac } : {}),
  };
}

/** Views have no key and are refused before; here only the file counts. */
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

interface ColumnRow {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

function columns(db: Database.Database, table: string, geometryColumn: string) {
  const rows = db
    .prepare(`SELECT name, type, "notnull", pk FROM pragma_table_info(?)`)
    .all(table) as ColumnRow[];
  const id = rows.find((row) => row.pk === 1 && /^INT/i.test(row.type));
  if (!id) throw new TaskFailure('source-unreadable', `The table ${table} has no INTEGER PRIMARY KEY.`);
  const fields = rows
    .filter((row) => row !== id && row.name.toLowerCase() !== geometryColumn.toLowerCase())
    .map((row): Field => {
      const field: Field = { name: row.name, type: fieldType(row.type), nullable: row.notnull === 0 };
      const maxLength = /^TEXT\s*\((\d+)\)$/i.exec(row.type)?.[1];
      return maxLength ? { ...field, maxLength: Number(maxLength) } : field;
    });
  return { idColumn: id.name, fields: described(db, table, fields) };
}

/** Column types of OGC 12-128r18, table 1. */
function fieldType(declared: string): FieldType {
  const type = declared.toUpperCase();
  if (type.startsWith('BOOL')) return 'boolean';
  if (/^(TINYINT|SMALLINT|MEDIUMINT|INT|INTEGER|BIGINT)/.test(type)) return 'integer';
  if (/^(FLOAT|DOUBLE|REAL|NUMERIC|DECIMAL)/.test(type)) return 'number';
  if (type.startsWith('DATETIME')) return 'date-time';
  if (type.startsWith('DATE')) return 'date';
  if (type.startsWith('BLOB')) return 'binary';
  if (type.startsWith('JSON')) return 'json';
  return 'string';
}

const GEOMETRY_TYPES: Record<string, GeometryType> = {
  POINT: 'Point',
  LINESTRING: 'LineString',
  POLYGON: 'Polygon',
  MULTIPOINT: 'MultiPoint',
  MULTILINESTRING: 'MultiLineString',
  MULTIPOLYGON: 'MultiPolygon',
  GEOMETRYCOLLECTION: 'GeometryCollection',
};

function geometryType(name: string): GeometryType {
  return GEOMETRY_TYPES[name.toUpperCase()] ?? 'Geometry';
}

function crsOf(row: ContentsRow): string {
  if (row.organization?.toUpperCase() === 'EPSG' && row.organization_coordsys_id) {
    return `EPSG:${row.organization_coordsys_id}`;
  }
  // srs_id 0 means "undefined geographic": longitude and latitude of an unnamed datum.
  if (row.srs_id === 0) return 'OGC:CRS84';
  if (row.srs_id > 0 && row.definition && row.definition !== 'undefined') return row.definition;
  throw new TaskFailure(
    'source-unreadable',
    `The table ${row.table_name} has no coordinate reference system.`,
  );
}

function indexExists(db: Database.Database, table: string, column: string): boolean {
  const sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?";
  return db.prepare(sql).pluck().get(`rtree_${table}_${column}`) === 1;
}

function countOf(db: Database.Database, table: string): number {
  return db
    .prepare(`SELECT count(*) FROM ${quote(table)}`)
    .pluck()
    .get() as number;
}

function extentOf(
  db: Database.Database,
  row: ContentsRow,
  hasIndex: boolean,
  count: number,
): Box | undefined {
  if (count === 0) return undefined;
  const stated = [row.min_x, row.min_y, row.max_x, row.max_y];
  if (
    stated.every((n) => n !== null && Number.isFinite(n)) &&
    stated[0]! <= stated[2]! &&
    stated[1]! <= stated[3]!
  ) {
    return hasIndex ? widened(db, row, stated as unknown as Box) : (stated as unknown as Box);
  }
  const column = quote(row.column_name);
  const sql = hasIndex
    ? `SELECT min(minx), min(miny), max(maxx), max(maxy) FROM ${quote(`rtree_${row.table_name}_${row.column_name}`)}`
    : `SELECT min(ST_MinX(${column})), min(ST_MinY(${column})), max(ST_MaxX(${column})), max(ST_MaxY(${column}))
       FROM ${quote(row.table_name)}`;
  const found = db.prepare(sql).raw().get() as (number | null)[];
  return found.every((n) => n !== null) ? (found as unknown as Box) : undefined;
}

function toCrs84(db: Database.Database, box: Box, crs: string): Box {
  if (crs === 'EPSG:4326' || crs === 'OGC:CRS84') return box;
  const statement = db.prepare('SELECT gr_transform_box(?, ?, ?, ?, ?, ?)').pluck();
  return imageWithin(box, (part) => JSON.parse(statement.get(...part, crs, 'OGC:CRS84') as string) as Box);
}

/** Part of a number by which the index, in single precision, may be beyond it. */
const SINGLE = 2 ** -22;

/**
 * The stated extent of a table and what lies beyond it: the standard lets it be out of date. Only rows at the edge are
 * read, where the index reaches no farther than its precision explains; else the index tells enough.
 */
function widened(db: Database.Database, row: ContentsRow, stated: Box): Box {
  const index = `rtree_${row.table_name}_${row.column_name}`;
  const root = rootBox(db, index);
  if (!root) return stated;
  const side = (
    i: 0 | 1 | 2 | 3,
    bound: string,
    extreme: string,
    beyond: string,
    farther: typeof Math.min,
  ) => {
    if (farther(stated[i], root[i]) === stated[i]) return stated[i];
    if (Math.abs(root[i] - stated[i]) > SINGLE * Math.max(Math.abs(root[i]), Math.abs(stated[i])))
      return root[i];
    const sql = `SELECT ${farther === Math.min ? 'min' : 'max'}(${extreme}(${quote(row.column_name)}))
      FROM ${quote(row.table_name)} WHERE rowid IN (SELECT id FROM ${quote(index)} WHERE ${bound} ${beyond} ?)`;
    const exact = db.prepare(sql).pluck().get(stated[i]) as number | null;
    return exact === null ? stated[i] : farther(stated[i], exact);
  };
  return [
    side(0, 'minx', 'ST_MinX', '<', Math.min),
    side(1, 'miny', 'ST_MinY', '<', Math.min),
    side(2, 'maxx', 'ST_MaxX', '>', Math.max),
    side(3, 'maxy', 'ST_MaxY', '>', Math.max),
  ];
}

const CELL_BYTES = 24;

/** The box around all that an R-tree holds, out of its root node: 4 bytes, then cells of an id and minx, maxx, miny, maxy. */
function rootBox(db: Database.Database, index: string): Box | undefined {
  const sql = `SELECT data FROM ${quote(`${index}_node`)} WHERE nodeno = 1`;
  const node = db.prepare(sql).pluck().get() as Buffer | undefined;
  if (!node || node.length < 4 + CELL_BYTES) return undefined;
  const cells = Array.from({ length: node.readUInt16BE(2) }, (_, i): Box => {
    const at = 4 + i * CELL_BYTES + 8;
    const [minx, maxx, miny, maxy] = [0, 4, 8, 12].map((offset) => node.readFloatBE(at + offset));
    return [minx!, miny!, maxx!, maxy!];
  });
  const box = cells.length > 0 ? cells.reduce(around) : undefined;
  return box?.every(Number.isFinite) ? box : undefined;
}

/** The document of the STAC collection whose items a table holds. */
function stacDocument(db: Database.Database, table: string): Record<string, unknown> | undefined {
  const exists = db.prepare('SELECT count(*) FROM sqlite_master WHERE name = ?').pluck().get(STAC_TABLE);
  if (exists !== 1) return undefined;
  const sql = `SELECT document FROM ${STAC_TABLE} WHERE table_name = ?`;
  const text = db.prepare(sql).pluck().get(table) as string | undefined;
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
}
