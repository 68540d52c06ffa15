import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { GEOMETRY_COLUMN, HIDDEN } from '../../core/stac.js';
import type { Field, GeoPackageSource } from '../../core/tasks.js';
import { connect, quote } from '../providers/geopackage/connection.js';
import { createCore, createSpatialIndex } from '../providers/geopackage/create.js';

type Db = Database.Database;

/**
 * The index of all STAC items: one table of a GeoPackage, so that filters, boxes, orders and pages are those of the
 * feature store. It can be deleted: it is made again from the catalog.
 */
const TABLE = 'items';
/** Of the layout; an index of another one is made again. */
const LAYOUT = 1;

/** Opens the index for writing, after making it when there is none. */
export function openIndex(path: string): Db {
  mkdirSync(dirname(path), { recursive: true });
  const db = connect(path, false);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.transaction(() => create(db)).immediate();
  return db;
}

export function indexExists(path: string): boolean {
  return existsSync(path);
}

function create(db: Db): void {
  const made = db.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'graticule_parts'").pluck().get();
  if (made === 1) return;
  createCore(db);
  db.exec(`
    CREATE TABLE graticule_parts (collection TEXT PRIMARY KEY, stamp TEXT NOT NULL, fields TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE ${TABLE} (
      ${quote(HIDDEN.row)} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
      ${GEOMETRY_COLUMN} GEOMETRY,
      collection TEXT NOT NULL,
      id TEXT NOT NULL,
      datetime DATETIME,
      ${quote(HIDDEN.start)} INTEGER,
      ${quote(HIDDEN.end)} INTEGER,
      ${quote(HIDDEN.item)} JSON NOT NULL,
      ${quote(HIDDEN.files)} JSON,
      UNIQUE (collection, id));
    CREATE INDEX items_datetime ON ${TABLE} (datetime);
    CREATE INDEX items_end ON ${TABLE} (${quote(HIDDEN.end)});
    CREATE INDEX items_id ON ${TABLE} (id);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('${TABLE}', 'features', 'STAC items', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('${TABLE}', '${GEOMETRY_COLUMN}', 'GEOMETRY', 4326, 2, 0);`);
  createSpatialIndex(db, TABLE, GEOMETRY_COLUMN, HIDDEN.row);
}

/** Stamps carry the layout, so that an index of another one is stale. */
export const stamped = (stamp: string) => `${LAYOUT} ${stamp}`;

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
