import { TaskFailure } from '../../../core/errors/failure.js';
import type { Box } from '../../../core/geometry/box.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type {
  ArchiveFormat,
  ArchiveInfo,
  ArchiveTile,
  ArchiveTileAddress,
} from '../../../core/tiles/archives.js';
import type Database from '../../../native/sqlite.js';
import { keptSqlite, openDatabase } from '../kept-sqlite.js';
import {
  createArchiveFailure,
  detectImageFormat,
  KEEP_OPEN,
  MAX_TILE_BYTES,
  metadataText,
  NO_TILE,
  storedTile,
  tileRangeBounds,
  unsupported,
  validBounds,
  vectorFormat,
  vectorLayers,
} from './archive-tile.js';

type Db = Database.Database;

interface MBTiles {
  db: Db;
  /** Columns `size` and `data` by zoom level, column and TMS row. */
  lookup: Database.Statement;
}

const CACHE_KIB = 4096;
/** Number of tiles that are inspected for the format. */
const SAMPLES = 8;
/** Metadata rows read; the standard defines a dozen. */
const MAX_METADATA = 200;
const MAX_METADATA_BYTES = 16_777_216;

const FORMATS: Record<string, ArchiveFormat> = {
  pbf: 'mvt',
  'application/vnd.mapbox-vector-tile': 'mvt',
  mlt: 'mlt',
  'application/vnd.maplibre-tile': 'mlt',
  png: 'png',
  'image/png': 'png',
  jpg: 'jpeg',
  jpeg: 'jpeg',
  'image/jpeg': 'jpeg',
  webp: 'webp',
  'image/webp': 'webp',
};

const opened = keptSqlite(openArchive, ({ db }) => db, KEEP_OPEN.max);

/** Returns the metadata of an archive (MBTiles 1.3). Missing entries are derived from the tiles. */
export function inspectMBTiles(path: string, within: Within = (_db, work) => work()): ArchiveInfo {
  return guarded(() => {
    const { db } = opened.get(path);
    return within(db, () => describe(path, db));
  });
}

/** Runs work on a database, in a time that the caller gives it. */
type Within = <T>(db: Db, work: () => T) => T;

function describe(path: string, db: Db): ArchiveInfo {
  const metadata = buildMetadata(db);
  const format = buildFormat(db, metadata.get('format'));
  const { minZoom, maxZoom } = buildZooms(db, metadata);
  const bounds = validBounds((metadata.get('bounds') ?? '').split(',').map(Number));
  return {
    path,
    container: 'mbtiles',
    format,
    minZoom,
    maxZoom,
    extent84: bounds ?? boundsOfTiles(db),
    title: metadataText(metadata.get('name')),
    description: metadataText(metadata.get('description')),
    attribution: metadataText(metadata.get('attribution')),
    vectorLayers: vectorLayers(parseJson(metadata.get('json'))),
  };
}

/**
 * Returns a function that reads stored tiles. The data has length 0 if there is no tile. The file counts rows from
 * the south.
 */
export function mbtilesTiles(path: string): (at: ArchiveTileAddress) => ArchiveTile {
  const { lookup } = guarded(() => opened.get(path));
  return ({ zoom, row, column }) =>
    guarded(() => {
      const hit = lookup.get(zoom, column, 2 ** zoom - 1 - row) as
        | { size: number | null; data: unknown }
        | undefined;
      if (!hit || hit.size === null) return NO_TILE;
      if (hit.size > MAX_TILE_BYTES) throw unsupported('a tile is larger than 32 MiB');
      if (!(hit.data instanceof Uint8Array)) throw createArchiveFailure('a tile is not a blob');
      return storedTile(hit.data);
    });
}

function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    throw createArchiveFailure((error as Error).message, (error as Error).stack);
  }
}

function openArchive(path: string): MBTiles {
  const db = openDatabase(path, { readonly: true, fileMustExist: true, timeout: 10_000 });
  try {
    db.pragma('trusted_schema = OFF');
    db.pragma(`cache_size = -${CACHE_KIB}`);
    const names = db.prepare("SELECT name FROM sqlite_master WHERE name IN ('tiles', 'metadata')").all();
    if (names.length < 2) throw unsupported('it has no tables named tiles and metadata');
    return { db, lookup: db.prepare(lookupSql(db)) };
  } catch (error) {
    db.close();
    throw error;
  }
}

const CELL = `length(tile_data) AS size, CASE WHEN length(tile_data) <= ${MAX_TILE_BYTES} THEN tile_data END AS data`;
const BY_ADDRESS = `SELECT ${CELL} FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?`;

/** The standard only recommends an index. Without one, every tile would require a scan of the entire file. */
function lookupSql(db: Db): string {
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${BY_ADDRESS}`).all(0, 0, 0) as { detail: string }[];
  if (!plan.some(({ detail }) => detail.startsWith('SCAN'))) return BY_ADDRESS;
  if (db.prepare("SELECT type FROM sqlite_master WHERE name = 'tiles'").pluck().get() !== 'table')
    throw unsupported('its tiles have no index on zoom_level, tile_column and tile_row');
  // Temporary tables are stored outside the file, which is never written.
  db.exec(`
    CREATE TEMP TABLE addresses (z INTEGER, x INTEGER, y INTEGER, tile INTEGER, PRIMARY KEY (z, x, y)) WITHOUT ROWID;
    INSERT OR IGNORE INTO temp.addresses
      SELECT zoom_level, tile_column, tile_row, rowid FROM tiles
      WHERE zoom_level IS NOT NULL AND tile_column IS NOT NULL AND tile_row IS NOT NULL;`);
  return `SELECT ${CELL} FROM temp.addresses a JOIN tiles t ON t.rowid = a.tile WHERE a.z = ? AND a.x = ? AND a.y = ?`;
}

function buildMetadata(db: Db): Map<string, string> {
  const sql = `SELECT name, value FROM metadata
    WHERE typeof(name) = 'text' AND length(value) <= ${MAX_METADATA_BYTES} LIMIT ${MAX_METADATA}`;
  const rows = db.prepare(sql).all() as { name: string; value: unknown }[];
  return new Map(rows.map(({ name, value }) => [name.toLowerCase(), String(value)]));
}

function buildFormat(db: Db, named: string | undefined): ArchiveFormat {
  if (!db.prepare('SELECT 1 FROM tiles LIMIT 1').get()) throw unsupported('it has no tiles');
  const stated = named === undefined ? undefined : FORMATS[named.trim().toLowerCase()];
  const found = formatOfTiles(db);
  // The first bytes identify images reliably, but not the encodings of vector tiles.
  const format =
    stated === undefined || isImage(found) || (found && isImage(stated)) ? (found ?? stated) : stated;
  if (!format) throw unsupported(`tiles of format ${(named ?? 'unknown').slice(0, 60)} are not known`);
  return format;
}

const isImage = (format: ArchiveFormat | undefined) =>
  format !== undefined && format !== 'mvt' && format !== 'mlt';

/** Returns the format of the first tiles. The metadata is ignored. */
function formatOfTiles(db: Db): ArchiveFormat | undefined {
  const sql = `SELECT tile_data FROM tiles WHERE length(tile_data) BETWEEN 1 AND ${MAX_TILE_BYTES} LIMIT ${SAMPLES}`;
  for (const tile of db.prepare(sql).pluck().iterate()) {
    const format = detectImageFormat(tile) ?? vectorFormat(tile);
    if (format) return format;
  }
  return undefined;
}

function buildZooms(db: Db, metadata: Map<string, string>): { minZoom: number; maxZoom: number } {
  const stated = (name: string) => {
    const value = metadata.get(name)?.trim() ?? '';
    return /^\d{1,2}$/.test(value) ? Number(value) : undefined;
  };
  const extreme = (side: 'min' | 'max') =>
    Number(db.prepare(`SELECT ${side}(zoom_level) FROM tiles`).pluck().get());
  const minZoom = stated('minzoom') ?? extreme('min');
  const maxZoom = Math.min(stated('maxzoom') ?? extreme('max'), LIMITS.tileZoom);
  if (!Number.isInteger(minZoom) || !Number.isInteger(maxZoom) || minZoom < 0 || minZoom > maxZoom)
    throw createArchiveFailure('its zoom levels make no range');
  return { minZoom, maxZoom };
}

/** Returns the extent of the tiles at the highest zoom level, which is the most precise extent in the file. */
function boundsOfTiles(db: Db): Box {
  const zoom = Number(db.prepare('SELECT max(zoom_level) FROM tiles').pluck().get());
  const [minColumn, maxColumn, south, north] = db
    .prepare(
      'SELECT min(tile_column), max(tile_column), min(tile_row), max(tile_row) FROM tiles WHERE zoom_level = ?',
    )
    .raw()
    .get(zoom) as [number, number, number, number];
  const top = 2 ** zoom - 1;
  return tileRangeBounds(zoom, { minColumn, maxColumn, minRow: top - north, maxRow: top - south });
}

function parseJson(json: string | undefined): unknown {
  try {
    return json === undefined ? undefined : JSON.parse(json);
  } catch {
    // Layer names are only shown; the tiles are complete without them.
    return undefined;
  }
}
