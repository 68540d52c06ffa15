/** Tile archives while they are written: drafts, their contents, and the tasks that write them. */

import type { FailureMessage } from '../errors/failure.js';
import type { Box } from '../geometry/box.js';
import type { ContentCoding } from '../http/content-coding.js';

export type ArchiveContainer = 'mbtiles' | 'pmtiles';

export type ArchiveFormat = 'mvt' | 'mlt' | 'png' | 'jpeg' | 'webp';

/** Whether tiles of a format have features. */
export const isVectorArchive = (format: ArchiveFormat): format is 'mvt' | 'mlt' =>
  format === 'mvt' || format === 'mlt';

/** Result of the inspection of a tile archive. Its tiles are those of WebMercatorQuad. */
export interface ArchiveInfo {
  path: string;
  container: ArchiveContainer;
  format: ArchiveFormat;
  minZoom: number;
  maxZoom: number;
  /** Extent in CRS84, from the metadata or from the tiles. */
  extent84: Box;
  title?: string;
  description?: string;
  attribution?: string;
  /** The layers in vector tiles, as far as the metadata lists them. */
  vectorLayers: VectorLayerMetadata[];
  /** Identifies the version of a remote archive. */
  revision?: string;
}

/** A tile's place in an archive. */
export interface ArchiveTileAddress {
  zoom: number;
  /** Counted from the top, whatever the container does. */
  row: number;
  column: number;
}

/** Tiles of one archive, read together. Arrays of numbers change threads for less than objects do. */
export interface ArchiveTilesTask {
  path: string;
  container: ArchiveContainer;
  /** Zoom, row and column of each tile. */
  addresses: Int32Array;
}

/** Results for the tiles, in the order of the task. If all would take too long, only the first ones. */
export interface ArchiveTilesResult {
  /** The stored bytes of all tiles, end to end: one buffer moves for less than many are copied. */
  data: Uint8Array;
  /** End offset of each tile in these bytes. */
  ends: Int32Array;
  /** The content coding of each tile, by its place in `CONTENT_CODINGS`. */
  codings: Uint8Array;
  /** By place in the order: tiles that cannot be read. */
  failures: Record<number, FailureMessage>;
}

export interface ArchiveTile {
  /** The stored bytes; length 0 when the archive has no such tile. */
  data: Uint8Array;
  /** Content coding of the stored bytes, which has been checked. */
  encoding: ContentCoding;
}

export type WrittenContainer = 'mbtiles' | 'pmtiles' | 'gpkg';

export const ARCHIVE_MEDIA_TYPES: Readonly<Record<WrittenContainer, string>> = {
  pmtiles: 'application/vnd.pmtiles',
  mbtiles: 'application/vnd.mapbox-vector-tile-archive+sqlite3',
  gpkg: 'application/geopackage+sqlite3',
};

/** File name extensions and the archive formats they stand for. */
export const WRITTEN_CONTAINERS: ReadonlyMap<string, WrittenContainer> = new Map([
  ['.mbtiles', 'mbtiles'],
  ['.pmtiles', 'pmtiles'],
  ['.gpkg', 'gpkg'],
]);

/**
 * An archive that is being written. Until it is complete, it is stored next to `output` under other names, so a file
 * named `output` is always complete.
 */
export interface ArchiveDraft {
  /** Absolute path of the archive; must not exist. */
  output: string;
  container: WrittenContainer;
  format: ArchiveFormat;
  /** Identifies the contents of the archive. An unfinished draft is continued only if it has the same plan. */
  plan: string;
}

export interface WrittenTile {
  zoom: number;
  /** Counted from the top. */
  row: number;
  column: number;
  data: Uint8Array;
}

/** A layer of vector tiles (MBTiles 1.3, "Vector tileset metadata"). */
export interface VectorLayerMetadata {
  id: string;
  description?: string;
  minzoom?: number;
  maxzoom?: number;
  /** Attribute names and their types: `Number`, `Boolean` or `String`. */
  fields: Record<string, string>;
}

/** The matrices of a tile matrix set, as GeoPackage wants them. */
export interface TileGrid {
  id: string;
  /** Anything PROJ reads. */
  crs: string;
  /** Extent of the whole matrix, x,y ordered. */
  extent: Box;
  matrices: {
    zoom: number;
    columns: number;
    rows: number;
    /** Pixels of a tile. */
    tileWidth: number;
    tileHeight: number;
    /** Side of a pixel in units of the CRS. */
    cellSize: number;
  }[];
}

/** Metadata of an archive. */
export interface ArchiveDescription {
  /** Identifier; names the tables of a GeoPackage. */
  name: string;
  title: string;
  description?: string;
  attribution?: string;
  /** CRS84: west, south, east, north. */
  bounds: Box;
  minZoom: number;
  maxZoom: number;
  vectorLayers?: VectorLayerMetadata[];
  grid: TileGrid;
}

/** Result of finishing a draft. */
export interface WrittenArchive {
  bytes: number;
  /** Addresses that have a tile. */
  tiles: number;
  /** Tiles that differ. */
  contents: number;
}

/** Progress of a draft: the value that the writer passed with the last tiles. Undefined for a new draft. */
export type DraftCursor = string | undefined;

export interface ArchiveTasks {
  /** Starts a draft, or continues the existing one. */
  'archive.open': { input: { draft: ArchiveDraft }; output: { cursor: DraftCursor } };
  /**
   * Adds tiles, each once, and advances the cursor in the same transaction. Fails with `invalid-input` if the cursor
   * of the draft is not `from`, because another process writes to it.
   */
  'archive.append': {
    input: { draft: ArchiveDraft; tiles: WrittenTile[]; from: DraftCursor; to: string };
    output: null;
  };
  /** Completes the draft and gives it its name. */
  'archive.finish': {
    input: { draft: ArchiveDraft; description: ArchiveDescription };
    output: WrittenArchive;
  };
  /** Removes the draft; nothing happens when there is none. */
  'archive.discard': { input: { output: string }; output: null };
}
