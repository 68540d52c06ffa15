import type { Box } from '../../../core/geometry/box.js';

/** Parameters of a seed or an export. */
export interface TileJobRequest {
  /** Identifiers of the collections, bottom first. */
  collections: string[];
  tileMatrixSetId: string;
  minZoom: number;
  maxZoom: number;
  /** Bounding box in CRS84. Default: the extent of the collections. */
  bbox?: Box;
  /** Name of the format: `mvt`, `png`. Empty: the default format of the collections. */
  format: string;
  /** Maximum number of tiles, after which the work ends early. */
  maxTiles?: number;
  /** Number of tiles rendered at the same time. */
  concurrency?: number;
}

/** Progress of the work. */
export interface TileTally {
  /** Addresses in the area, at all zooms. */
  total: number;
  /** Processed addresses: rendered, found empty, or skipped because they contain no data. */
  processed: number;
  /** Tiles with content. */
  tiles: number;
  bytes: number;
  failed: number;
  /** Tiles that lack rasters which could not be read. */
  lossy: number;
}

/** Position at which work resumes: a zoom, and a position in its walk. */
export interface Position {
  zoom: number;
  next: number;
}

export function newTally(total: number): TileTally {
  return { total, processed: 0, tiles: 0, bytes: 0, failed: 0, lossy: 0 };
}
