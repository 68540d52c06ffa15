import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderSync } from '../../core/files/own-folder.js';
import type { Field, GeoPackageSource } from '../../core/sources/vector-source.js';
import { GEOMETRY_COLUMN, HIDDEN } from '../../core/stac/stac.js';
import type Database from '../../native/sqlite.js';
import { connect, quote } from '../providers/geopackage/connection.js';
import { createCore, createSpatialIndex } from '../providers/geopackage/schema/create.js';

type Db = Database.Database;

/**
 * Index of all STAC items: one table of a GeoPackage, so that the feature store handles filters, boxes, orders and
 * pages. The items are in a separate table, so that scans of the index do not read them. The index can be deleted: it
 * is rebuilt from the catalog.
 */
const TABLE = 'items';
/**
 * Table of the indexed state of each collection, in the layout of this release. An index of another layout is
 * rebuilt.
 */
export const PARTS = 'graticule_parts_1';

/** Milliseconds that one gateway waits while another adds a large collection to the index. */
const BUSY_MS = 300_000;

/** Opens the index for writing, after making it when there is none. */
export function openIndex(path: string): Db {
  makeFolderSync(dirname(path));
  const db = connect(path, false);
  if (isMade(db) !== 'otherwise') return prepared(db);
  db.close();
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
  return prepared(connect(path, false));
}

function prepared(db: Db): Db {
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.pragma(`busy_timeout = ${BUSY_MS}`);
  if (isMade(db) !== 'here') db.transaction(() => isMade(db) === 'here' || create(db)).immediate();
  return db;
}

function isMade(db: Db): 'here' | 'otherwise' | 'not' {
  const has = (name: string) =>
    db.prepare('SELECT count(*) FROM sqlite_master WHERE name = ?').pluck().get(name) === 1;
  if (has(PARTS)) return 'here';
  return has(TABLE) ? 'otherwise' : 'not';
}

export function indexExists(path: string): boolean {
  return existsSync(path);
}

function create(db: Db): void {
  createCore(db);
  db.exec(`
    CREATE TABLE ${PARTS} (collection TEXT PRIMARY KEY, stamp TEXT NOT NULL, fields TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE ${TABLE} (
      ${quote(HIDDEN.row)} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
      ${GEOMETRY_COLUMN} GEOMETRY,
      collection TEXT NOT NULL,
      id TEXT NOT NULL,
      datetime DATETIME,
      ${quote(HIDDEN.start)} INTEGER,
      ${quote(HIDDEN.end)} INTEGER,
      UNIQUE (collection, id));
    CREATE TABLE item_texts (row INTEGER PRIMARY KEY, item TEXT NOT NULL, files TEXT);
    CREATE TRIGGER items_text AFTER DELETE ON ${TABLE}
      BEGIN DELETE FROM item_texts WHERE row = OLD.${quote(HIDDEN.row)}; END;
    CREATE INDEX items_datetime ON ${TABLE} (datetime);
    CREATE INDEX items_end ON ${TABLE} (${quote(HIDDEN.end)});
    CREATE INDEX items_id ON ${TABLE} (id);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${TABLE}', 'features', 'STAC items', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('${TABLE}', '${GEOMETRY_COLUMN}', 'GEOMETRY', 4326, 2, 0);`);
  createSpatialIndex(db, TABLE, GEOMETRY_COLUMN, HIDDEN.row);
}

/** The index as a source of the feature store. */
export function indexSource(path: string, fields: readonly Field[]): GeoPackageSource {
  return {
    kind: 'geopackage',
    path,
    table: TABLE,
    geometryColumn: GEOMETRY_COLUMN,
    geometryType: 'Geometry',
    hasZ: true,
    idColumn: HIDDEN.row,
    hasIndex: true,
    crs: 'OGC:CRS84',
    fields: [...fields],
    writable: false,
  };
}
