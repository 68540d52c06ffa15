import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import {
  type Field,
  formatSourceLocation,
  type GeoPackageSource,
  hasIntegerIds,
  type VectorSource,
} from '../../../core/sources/vector-source.js';
import type { TileLayer } from '../../../core/tasks/vector-tasks.js';
import { reader, statement } from '../geopackage/connection.js';
import { listTileFields } from '../tile-fields.js';

/**
 * Overview of a table: a SQLite file next to the store with a few coarser tables, of which `level_0` is the coarsest.
 * Each table contains the geometries generalised to its resolution. If geometries are too close, it contains only the
 * most important. All attributes are included, so tiles are read from it as from any GeoPackage table.
 */

export const FID = 'graticule_fid';
export const GEOMETRY = 'graticule_geometry';

export interface OverviewLevel {
  level: number;
  /** Details below it, in units of the source's CRS, are not kept. */
  resolution: number;
}

export interface Overview {
  path: string;
  /** Coarsest first. Empty when tiles of the table itself are never too much. */
  levels: OverviewLevel[];
  /** The square that levels divide: level n into 4^n tiles. */
  minx: number;
  miny: number;
  side: number;
  /** When it was built, milliseconds since 1970. */
  built: number;
}

/** State of an overview that changes while it follows edits. */
export interface OverviewState {
  /** Cursor of the newest event that is included. */
  cursor: number;
  /** Events that were followed since it was built. */
  changes: number;
  /** The store's write counter before the rows were read. Null if the store does not count writes. */
  writes: string | null;
}

export const OVERVIEW_SCHEMA = `
  CREATE TABLE graticule_overview (minx REAL, miny REAL, side REAL, built REAL, cursor INTEGER, changes INTEGER,
    writes TEXT);
  CREATE TABLE graticule_levels (level INTEGER PRIMARY KEY, resolution REAL NOT NULL);
  CREATE TABLE graticule_left_out (level INTEGER, x INTEGER, y INTEGER, features INTEGER NOT NULL,
    PRIMARY KEY (level, x, y)) WITHOUT ROWID;`;

let folder: string | undefined;

/** Sets the folder of the overviews of this thread's sources. Default: no overviews. */
export function keepOverviewsIn(path: string | undefined): void {
  folder = path;
}

/** Path of a source's overview, which depends on the source and on the version of its collection. */
export function overviewPath(source: VectorSource, version: string): string | undefined {
  if (folder === undefined) return undefined;
  const name = computeHash(
    JSON.stringify([formatSourceLocation(source), source.table, source.geometryColumn]),
  );
  return join(folder, `${name}-${computeHash(version)}.overview`);
}

const computeHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 24);

/** Number of overviews whose description each thread caches. */
const KEPT = 1000;
const overviews = new LRUCache<string, { inode: number; overview: Overview }>({ max: KEPT });

/** The overview of a layer, when it has been built. */
export function findOverview(layer: TileLayer): Overview | undefined {
  const path = layer.version === undefined ? undefined : overviewPath(layer.source, layer.version);
  const stats = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path === undefined || !stats) return undefined;
  const hit = overviews.get(path);
  if (hit?.inode === stats.ino) return hit.overview;
  const overview = described(path);
  overviews.set(path, { inode: stats.ino, overview });
  return overview;
}

function described(path: string): Overview {
  const db = reader(path);
  const levels = db
    .prepare('SELECT level, resolution FROM graticule_levels ORDER BY level')
    .all() as OverviewLevel[];
  const row = db.prepare('SELECT minx, miny, side, built FROM graticule_overview').get();
  return { path, levels, ...(row as Omit<Overview, 'path' | 'levels'>) };
}

export function readOverviewState(path: string): OverviewState {
  return statement(path, 'SELECT cursor, changes, writes FROM graticule_overview').get() as OverviewState;
}

export const getLevelTable = (level: number): string => `level_${level}`;

/** The attributes that levels carry: with the id, where FID is not that. */
export function levelFields(source: VectorSource): Field[] {
  if (!source.rowColumn) return listTileFields(source);
  return [...source.fields, { name: source.idColumn, type: 'integer', nullable: false }];
}

/** The layer as read from a level of its overview. */
export function levelLayer(layer: TileLayer, path: string, level: number): TileLayer {
  const { source, fields } = layer;
  const names = hasIntegerIds(source) ? fields : listTileFields(source, fields).map(({ name }) => name);
  return { ...layer, source: levelSource(source, path, level), fields: names };
}

function levelSource(source: VectorSource, path: string, level: number): GeoPackageSource {
  return {
    kind: 'geopackage',
    path,
    table: getLevelTable(level),
    geometryColumn: GEOMETRY,
    geometryType: source.geometryType,
    hasZ: false,
    ...keyColumns(source),
    hasIndex: true,
    crs: source.crs,
    fields: hasIntegerIds(source) ? source.fields : levelFields(source),
    writable: false,
  };
}

function keyColumns(source: VectorSource): Pick<GeoPackageSource, 'idColumn' | 'rowColumn'> {
  return source.rowColumn !== undefined ? { idColumn: source.idColumn, rowColumn: FID } : { idColumn: FID };
}
