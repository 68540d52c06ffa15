import { isUndefinedCrs } from '../../../../core/geometry/crs.js';
import { describeCrs } from '../../../../native/index.js';
import type Database from '../../../../native/sqlite.js';
import { quote } from '../connection.js';

type Db = Database.Database;

/** 'GPKG' and version 1.3 (OGC 12-128r18, 1.1.1.1). */
const APPLICATION_ID = 0x47504b47;
const USER_VERSION = 10300;

const CORE_TABLES = `
CREATE TABLE IF NOT EXISTS gpkg_spatial_ref_sys (
  srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
  organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
CREATE TABLE IF NOT EXISTS gpkg_contents (
  table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE, description TEXT DEFAULT '',
  last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER,
  CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
CREATE TABLE IF NOT EXISTS gpkg_geometry_columns (
  table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL,
  srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
  CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name),
  CONSTRAINT uk_gc_table_name UNIQUE (table_name),
  CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
  CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
CREATE TABLE IF NOT EXISTS gpkg_extensions (
  table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL, definition TEXT NOT NULL, scope TEXT NOT NULL,
  CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name));
INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES
  ('Undefined cartesian SRS', -1, 'NONE', -1, 'undefined', NULL),
  ('Undefined geographic SRS', 0, 'NONE', 0, 'undefined', NULL),
  ('WGS 84 geodetic', 4326, 'EPSG', 4326,
   'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]',
   'longitude/latitude');`;

/** Primary key of tables in copies, whose rows are stored in another order than their ids. */
export const ROW_COLUMN = 'graticule_row';

const STORE_TABLES = `
CREATE TABLE IF NOT EXISTS graticule_loads (
  token TEXT PRIMARY KEY, table_name TEXT NOT NULL, features INTEGER NOT NULL,
  loaded_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')));`;

/**
 * Makes an empty or existing SQLite file a GeoPackage store with a write-ahead log and core tables. An `unpublished`
 * store is written without a log and without waits for the disk, because no program needs it after a crash.
 */
export function prepareStore(db: Db, { unpublished = false } = {}): void {
  db.pragma(`journal_mode = ${unpublished ? 'MEMORY' : 'WAL'}`);
  db.pragma(`synchronous = ${unpublished ? 'OFF' : 'FULL'}`);
  if (unpublished) db.pragma('locking_mode = EXCLUSIVE');
  // Each of these statements would wait for the disk, though the file has it all.
  if (hasLoads(db)) return;
  createCore(db);
  db.exec(STORE_TABLES);
}

/** Whether a file is a store into which data was imported. */
export function hasLoads(db: Db): boolean {
  const sql = "SELECT count(*) FROM sqlite_master WHERE name = 'graticule_loads'";
  return db.prepare(sql).pluck().get() === 1;
}

/** Makes a SQLite file a GeoPackage: application id and core tables. */
export function createCore(db: Db): void {
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${USER_VERSION}`);
  db.exec(CORE_TABLES);
}

/** Id of the undefined CRS, for data without a georeference (OGC 12-128r18, 1.1.2.1.2). */
const UNDEFINED_CRS = -1;
/** Id of a CRS without a code in EPSG. */
const OWN_CRS = 100_000;

/** The id of a CRS in a file that `addCrs` adds it to. */
export function getSrsId(crs: string): number {
  // CRS84 and EPSG:4326 are the same in a GeoPackage, where x comes first in every CRS.
  if (crs === 'OGC:CRS84') return 4326;
  if (isUndefinedCrs(crs)) return UNDEFINED_CRS;
  const { authority, code } = describeCrs(crs);
  return authority === 'EPSG' ? Number(code) : OWN_CRS;
}

/** Makes a CRS known to the file; its id there. */
export function addCrs(db: Db, crs: string): number {
  const id = getSrsId(crs);
  // The core tables have both.
  if (crs === 'OGC:CRS84' || id === UNDEFINED_CRS) return id;
  const { name, authority, wkt1, wkt } = describeCrs(crs);
  const organization = authority === 'EPSG' ? 'EPSG' : 'NONE';
  db.prepare('INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, NULL)').run(
    ...[name, id, organization, id, wkt1 ?? wkt],
  );
  return id;
}

const RTREE_DEFINITION = 'http://www.geopackage.org/spec120/#extension_rtree';

/** Builds the rtree index of a filled table, with the triggers that keep it true (OGC 12-128r18, F.3). */
export function createSpatialIndex(db: Db, table: string, column: string, id: string): void {
  const name = `rtree_${table}_${column}`;
  const rtree = quote(name);
  const t = quote(table);
  const c = quote(column);
  const i = quote(id);
  db.exec(`CREATE VIRTUAL TABLE ${rtree} USING rtree(id, minx, maxx, miny, maxy);
    INSERT INTO ${rtree} SELECT ${i}, ST_MinX(${c}), ST_MaxX(${c}), ST_MinY(${c}), ST_MaxY(${c})
      FROM ${t} WHERE ${c} NOTNULL AND NOT ST_IsEmpty(${c});`);
  const insert = (row: string) =>
    `INSERT OR REPLACE INTO ${rtree} VALUES (${row}.${i}, ST_MinX(${row}.${c}), ST_MaxX(${row}.${c}), ST_MinY(${row}.${c}), ST_MaxY(${row}.${c}));`;
  const filled = `(NEW.${c} NOTNULL AND NOT ST_IsEmpty(NEW.${c}))`;
  const bare = `(NEW.${c} ISNULL OR ST_IsEmpty(NEW.${c}))`;
  const trigger = (suffix: string) => quote(`${name}_${suffix}`);
  db.exec(`
    CREATE TRIGGER ${trigger('insert')} AFTER INSERT ON ${t} WHEN ${filled}
      BEGIN ${insert('NEW')} END;
    CREATE TRIGGER ${trigger('update6')} AFTER UPDATE OF ${c} ON ${t}
      WHEN OLD.${i} = NEW.${i} AND ${filled} AND (OLD.${c} NOTNULL AND NOT ST_IsEmpty(OLD.${c}))
      BEGIN UPDATE ${rtree} SET minx = ST_MinX(NEW.${c}), maxx = ST_MaxX(NEW.${c}),
        miny = ST_MinY(NEW.${c}), maxy = ST_MaxY(NEW.${c}) WHERE id = NEW.${i}; END;
    CREATE TRIGGER ${trigger('update7')} AFTER UPDATE OF ${c} ON ${t}
      WHEN OLD.${i} = NEW.${i} AND ${filled} AND (OLD.${c} ISNULL OR ST_IsEmpty(OLD.${c}))
      BEGIN ${insert('NEW')} END;
    CREATE TRIGGER ${trigger('update2')} AFTER UPDATE OF ${c} ON ${t}
      WHEN OLD.${i} = NEW.${i} AND ${bare}
      BEGIN DELETE FROM ${rtree} WHERE id = OLD.${i}; END;
    CREATE TRIGGER ${trigger('update5')} AFTER UPDATE ON ${t}
      WHEN OLD.${i} != NEW.${i} AND ${filled}
      BEGIN DELETE FROM ${rtree} WHERE id = OLD.${i}; ${insert('NEW')} END;
    CREATE TRIGGER ${trigger('update4')} AFTER UPDATE ON ${t}
      WHEN OLD.${i} != NEW.${i} AND ${bare}
      BEGIN DELETE FROM ${rtree} WHERE id IN (OLD.${i}, NEW.${i}); END;
    CREATE TRIGGER ${trigger('delete')} AFTER DELETE ON ${t} WHEN OLD.${c} NOTNULL
      BEGIN DELETE FROM ${rtree} WHERE id = OLD.${i}; END;`);
  db.prepare('INSERT OR IGNORE INTO gpkg_extensions VALUES (?, ?, ?, ?, ?)').run(
    table,
    column,
    'gpkg_rtree_index',
    RTREE_DEFINITION,
    'write-only',
  );
}

/**
 * Tables of GeoPackage and its extensions that describe other tables, and the column that names the described table.
 */
const REFERENCES = [
  ['gpkg_extensions', 'table_name'],
  ['gpkg_data_columns', 'table_name'],
  ['gpkg_metadata_reference', 'table_name'],
  ['gpkg_ogr_contents', 'table_name'],
  ['gpkg_geometry_columns', 'table_name'],
  ['gpkg_contents', 'table_name'],
] as const;

/**
 * Removes a feature table with its index and its metadata, except its styles. Returns false for other tables, which
 * remain.
 */
export function dropTable(db: Db, table: string): boolean {
  const column = db
    .prepare('SELECT column_name FROM gpkg_geometry_columns WHERE table_name = ?')
    .pluck()
    .get(table) as string | undefined;
  if (column === undefined) return false;
  db.exec(`DROP TABLE IF EXISTS ${quote(`rtree_${table}_${column}`)}`);
  db.exec(`DROP TABLE ${quote(table)}`);
  const exists = db.prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?").pluck();
  for (const [name, key] of REFERENCES)
    if (exists.get(name)) db.prepare(`DELETE FROM ${name} WHERE ${key} = ?`).run(table);
  return true;
}

/** The title as an identifier that no other table has (OGC 12-128r18, table 4: they are unique). */
export function identifierFor(db: Db, table: string, title = table): string {
  const count = db.prepare('SELECT count(*) FROM gpkg_contents WHERE identifier = ?').pluck();
  let identifier = title;
  for (let n = 1; count.get(identifier); n++)
    identifier = n === 1 ? `${title} (${table})` : `${title} (${table} ${n})`;
  return identifier;
}
