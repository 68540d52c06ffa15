import { LIMITS } from '../../../../core/kit/limits.js';
import type { ArchiveFormat, WrittenTile } from '../../../../core/tiles/archives.js';
import { TILE_LIMITS } from '../../../../core/tiles/limits.js';
import type { PackagePart, TilePackage } from '../../../../core/tiles/tile-packages.js';
import { sqliteExtensionPath } from '../../../../native/index.js';
import Database from '../../../../native/sqlite.js';
import {
  createArchiveFailure,
  detectImageFormat,
  MAX_TILE_BYTES,
  metadataTexts,
  unsupported,
} from '../../../providers/archive/archive-tile.js';
import { inspectMBTiles } from '../../../providers/archive/mbtiles.js';
import { quote } from '../../../providers/geopackage/connection.js';
import { createTimeoutFailure, isOver, withinTime } from '../../../providers/time-limit.js';
import { Coverage, computeLevelZooms, declaredExtent } from './tiling.js';

/** Archives that are databases: MBTiles, and tiles of a GeoPackage (OGC 12-128r18, 2.2). */

type Db = Database.Database;

/** Columns of a part. */
const PART_COLUMNS = 128;

const MBTILES = 'mbtiles';
const GEOPACKAGE = 'geopackage';

/** `limitMs`: see `withinTime`. */
export function describeDatabase(path: string, limitMs: number = TILE_LIMITS.packageReadMs): TilePackage {
  return path.endsWith('.gpkg') ? describeGeoPackage(path, limitMs) : describeMBTiles(path, limitMs);
}

function describeMBTiles(path: string, limitMs: number): TilePackage {
  const { format, extent84, title, description, attribution, vectorLayers } = inspectMBTiles(
    path,
    (db, work) => withinTime(db, limitMs, work),
  );
  return reading(path, limitMs, (db) => ({
    format,
    storageFormat: MBTILES,
    extent84,
    ...metadataTexts({ title, description, attribution }),
    vectorLayers,
    parts: listParts(db, 'tiles', (zoom) => zoom),
  }));
}

interface TileTable {
  table_name: string;
  identifier: string | null;
  description: string | null;
  min_x: number | null;
  min_y: number | null;
  max_x: number | null;
  max_y: number | null;
  srid: number;
}

function describeGeoPackage(path: string, limitMs: number): TilePackage {
  return reading(path, limitMs, (db) => {
    const table = buildTileTable(db);
    const zooms = matrixZooms(db, table);
    const name = table.table_name;
    const parts = listParts(db, name, (level) => zooms.get(level));
    if (parts.length === 0) throw unsupported('it has no tiles');
    return {
      format: buildFormat(db, name),
      storageFormat: GEOPACKAGE,
      extent84: declared(table) ?? computeCoverage(db, name, parts.at(-1)!.zoom, zooms),
      ...metadataTexts({ title: table.identifier, description: table.description }),
      vectorLayers: [],
      parts,
    };
  });
}

function buildTileTable(db: Db): TileTable {
  const sql = `SELECT c.table_name, c.identifier, c.description, c.min_x, c.min_y, c.max_x, c.max_y,
      s.organization_coordsys_id AS srid
    FROM gpkg_contents c JOIN gpkg_tile_matrix_set m ON m.table_name = c.table_name
    JOIN gpkg_spatial_ref_sys s ON s.srs_id = m.srs_id WHERE c.data_type = 'tiles' ORDER BY c.table_name`;
  const tables = db.prepare(sql).all() as TileTable[];
  if (tables.length !== 1) throw unsupported(`it has ${tables.length} tables of tiles, and not one`);
  return tables[0]!;
}

function matrixZooms(db: Db, { table_name, srid }: TileTable): Map<number, number> {
  const set = db
    .prepare('SELECT min_x, max_y FROM gpkg_tile_matrix_set WHERE table_name = ?')
    .get(table_name) as { min_x: number; max_y: number };
  const matrices = db
    .prepare('SELECT zoom_level, tile_width, pixel_x_size FROM gpkg_tile_matrix WHERE table_name = ?')
    .all(table_name) as { zoom_level: number; tile_width: number; pixel_x_size: number }[];
  const size = matrices[0]?.tile_width ?? 256;
  if (matrices.some(({ tile_width }) => tile_width !== size))
    throw unsupported('its tiles have several sizes');
  return computeLevelZooms({
    wkid: srid,
    origin: { x: set.min_x, y: set.max_y },
    size,
    resolutions: new Map(matrices.map(({ zoom_level, pixel_x_size }) => [zoom_level, pixel_x_size])),
  });
}

function declared({ min_x, min_y, max_x, max_y, srid }: TileTable) {
  const sides = [min_x, min_y, max_x, max_y];
  if (sides.includes(null)) return undefined;
  return declaredExtent({ xmin: min_x, ymin: min_y, xmax: max_x, ymax: max_y }, srid);
}

function computeCoverage(db: Db, table: string, zoom: number, zooms: ReadonlyMap<number, number>) {
  const level = [...zooms].find(([, one]) => one === zoom)![0];
  const sql = `SELECT min(tile_row) AS top, max(tile_row) AS bottom, min(tile_column) AS west,
    max(tile_column) AS east FROM ${quote(table)} WHERE zoom_level = ?`;
  const { top, bottom, west, east } = db.prepare(sql).get(level) as Record<string, number>;
  const coverage = new Coverage(zoom);
  coverage.add({ row: top!, column: west! });
  coverage.add({ row: bottom!, column: east! });
  return coverage.box;
}

function buildFormat(db: Db, table: string): ArchiveFormat {
  const sample = db
    .prepare(`SELECT substr(tile_data, 1, 16) FROM ${quote(table)} LIMIT 1`)
    .pluck()
    .get();
  const format = detectImageFormat(sample);
  if (!format) throw unsupported('its tiles are of a format that is not served');
  return format;
}

/** Levels without a zoom are omitted, because clients cannot request their tiles. */
function listParts(db: Db, table: string, zoomOf: (level: number) => number | undefined): PackagePart[] {
  // Columns can be declared without a type, and contain numbers in the type in which they were written.
  const sql = `SELECT CAST(zoom_level AS INTEGER) AS level, CAST(tile_column AS INTEGER) / ${PART_COLUMNS} AS block, count(*) AS tiles FROM ${quote(table)}
    WHERE zoom_level >= 0 AND tile_column >= 0 AND length(tile_data) > 0 GROUP BY 1, 2 ORDER BY 1, 2`;
  const rows = db.prepare(sql).all() as { level: number; block: number; tiles: number }[];
  return rows.flatMap(({ level, block, tiles }) => {
    const zoom = zoomOf(level);
    const side = 2 ** (zoom ?? 0);
    if (zoom === undefined || block * PART_COLUMNS >= side) return [];
    return [{ name: table, level, zoom, row: 0, column: block * PART_COLUMNS, tiles }];
  });
}

/** Tiles of a part, one after the other; rows are counted from the top. */
export function* databaseTiles(
  path: string,
  { name, level, zoom, column }: PackagePart,
  storageFormat: string,
): Iterable<WrittenTile> {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    db.pragma('trusted_schema = OFF');
    db.loadExtension(sqliteExtensionPath());
    // Closing takes it back.
    db.prepare('SELECT gr_end_in(?)').get(LIMITS.importReadMs);
    const sql = `SELECT tile_column, tile_row, tile_data FROM ${quote(name)}
      WHERE zoom_level = ? AND tile_column >= ? AND tile_column < ? AND length(tile_data) > 0`;
    const rows = db
      .prepare(sql)
      .raw()
      .iterate(level, column, column + PART_COLUMNS);
    const top = 2 ** zoom - 1;
    for (const [at, row, data] of rows as Iterable<[number, number, unknown]>) {
      if (!(data instanceof Uint8Array)) throw createArchiveFailure('a tile is not a blob');
      if (data.byteLength > MAX_TILE_BYTES) throw unsupported('a tile is larger than 32 MiB');
      const fromTop = storageFormat === MBTILES ? top - row : row;
      if (fromTop < 0 || fromTop > top || at > top)
        throw createArchiveFailure('it has tiles outside the tile matrix');
      yield { zoom, row: fromTop, column: at, data };
    }
  } catch (error) {
    throw isOver(error) ? createTimeoutFailure(LIMITS.importReadMs) : error;
  } finally {
    db.close();
  }
}

function reading<T>(path: string, limitMs: number, read: (db: Db) => T): T {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    db.pragma('trusted_schema = OFF');
    return withinTime(db, limitMs, () => read(db));
  } finally {
    db.close();
  }
}
