import type { Box } from '../../../core/geometry/box.js';

/** What is asked of a seed or an export. */
export interface TileJobRequest {
  /** Identifiers of the collections, bottom first. */
  collections: string[];
  tileMatrixSetId: string;
  minZoom: number;
  maxZoom: number;
  /** CRS84; the extent of the collections when absent. */
  bbox?: Box;
  /** Name of the format: `mvt`, `png`; what the collections are usually made in when empty. */
  format: string;
  /** Tiles that are made before the work ends early. */
  maxTiles?: number;
  /** Tiles made at a time. */
  concurrency?: number;
}

/** How far the work is. */
export interface TileTally {
  /** Addresses in the area, at all zooms. */
  total: number;
  /** Addresses that are done: made, found empty, or passed over because nothing lies there. */
  processed: number;
  /** Tiles that hold something. */
  tiles: number;
  bytes: number;
  failed: number;
  /** Tiles that lack rasters which could not be read. */
  lossy: number;
}

/** Where work goes on: a zoom, and a place of its walk. */
export interface Position {
  zoom: number;
  next: number;
}

export function newTally(total: number): TileTally {
  return { total, processed: 0, tiles: 0, bytes: 0, failed: 0, lossy: 0 };
}
