/** Tile archives as they are written: what a draft is, what goes into it, and the tasks that do it. */

import type { FailureMessage } from '../errors/failure.js';
import type { Box } from '../geometry/box.js';
import type { ContentCoding } from '../http/content-coding.js';

export type ArchiveContainer = 'mbtiles' | 'pmtiles';

export type ArchiveFormat = 'mvt' | 'mlt' | 'png' | 'jpeg' | 'webp';

/** Whether tiles of a format have features. */
export const isVectorArchive = (format: ArchiveFormat): format is 'mvt' | 'mlt' =>
  format === 'mvt' || format === 'mlt';

/** What inspection of a tile archive found. Its tiles are those of WebMercatorQuad. */
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
  /** What tells this state of a remote archive from others. */
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

/** What became of each tile, in the order of the task; of the first ones where all would take too long. */
export interface ArchiveTilesResult {
  /** The stored bytes of all tiles, end to end: one buffer moves for less than many are copied. */
  data: Uint8Array;
  /** Where each tile ends in them. */
  ends: Int32Array;
  /** The content coding of each tile, by its place in `CONTENT_CODINGS`. */
  codings: Uint8Array;
  /** By place in the order: tiles that cannot be read. */
  failures: Record<number, FailureMessage>;
}

export interface ArchiveTile {
  /** The stored bytes; length 0 when the archive has no such tile. */
  data: Uint8Array;
  /** That of the stored bytes, which has been checked. */
  encoding: ContentCoding;
}

export type WrittenContainer = 'mbtiles' | 'pmtiles' | 'gpkg';

export const ARCHIVE_MEDIA_TYPES: Readonly<Record<WrittenContainer, string>> = {
  pmtiles: 'application/vnd.pmtiles',
  mbtiles: 'application/vnd.mapbox-vector-tile-archive+sqlite3',
  gpkg: 'application/geopackage+sqlite3',
};

/** File name endings, and what they stand for. */
export const WRITTEN_CONTAINERS: ReadonlyMap<string, WrittenContainer> = new Map([
  ['.mbtiles', 'mbtiles'],
  ['.pmtiles', 'pmtiles'],
  ['.gpkg', 'gpkg'],
]);

/**
 * An archive that is being written. Until it is finished it lies beside `output` under other names, so a file called
 * `output` is always whole.
 */
export interface ArchiveDraft {
  /** Absolute path of the archive; must not exist. */
  output: string;
  container: WrittenContainer;
  format: ArchiveFormat;
  /** Names what goes into the archive. A draft that was left behind is gone on with only when it has the same plan. */
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
  /** Attribute names, and what they hold: `Number`, `Boolean` or `String`. */
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

/** What an archive says of itself. */
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

/** What became of the draft. */
export interface WrittenArchive {
  bytes: number;
  /** Addresses that have a tile. */
  tiles: number;
  /** Tiles that differ. */
  contents: number;
}

/** How far a draft is: whatever the writer of tiles said with the last ones. Undefined for a new draft. */
export type DraftCursor = string | undefined;

export interface ArchiveTasks {
  /** Begins a draft, or goes on with the one that is there. */
  'archive.open': { input: { draft: ArchiveDraft }; output: { cursor: DraftCursor } };
  /**
   * Adds tiles, each once, and moves the cursor in the same transaction. Fails with `invalid-input` when the draft is not
   * at `from`: somebody else writes to it.
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
