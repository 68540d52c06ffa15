import { hasFeatures, hasStoredTiles } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import {
  type Format,
  JPEG_FORMAT,
  MLT_FORMAT,
  MVT_FORMAT,
  PNG_FORMAT,
  WEBP_FORMAT,
} from '../../core/http/media.js';
import type { ArchiveFormat } from '../../core/tiles/archives.js';
import { type MatrixSets, type TileMatrixSet, WEB_MERCATOR_QUAD } from '../../core/tiles/tile-matrix.js';

/** Formats of tiles that are rendered on request. */
export const MADE_FORMATS: readonly Format[] = [MVT_FORMAT, MLT_FORMAT, PNG_FORMAT, WEBP_FORMAT];

/** Formats of the tiles of one collection. Archives can contain further formats. */
export const TILE_FORMATS: readonly Format[] = [...MADE_FORMATS, JPEG_FORMAT];

const STORED: Record<ArchiveFormat, readonly Format[]> = {
  mvt: [MVT_FORMAT, MLT_FORMAT],
  mlt: [MLT_FORMAT, MVT_FORMAT],
  png: [PNG_FORMAT],
  jpeg: [JPEG_FORMAT],
  webp: [WEBP_FORMAT],
};

const IMAGES: readonly Format[] = [PNG_FORMAT, WEBP_FORMAT];
const ARCHIVE_SETS: readonly TileMatrixSet[] = [WEB_MERCATOR_QUAD];

/**
 * Tile formats of these collections. Vector formats if any collection has features, image formats always. An archive
 * has only its format.
 */
export function tileFormats(collections: readonly Collection[]): readonly Format[] {
  const [first] = collections;
  if (hasStoredTiles(first)) return STORED[first.format];
  return collections.some(hasFeatures) ? MADE_FORMATS : IMAGES;
}

/** Tile matrix sets that a collection has tiles in. */
export function listMatrixSets(collection: Collection, { all }: MatrixSets): readonly TileMatrixSet[] {
  return hasStoredTiles(collection) ? ARCHIVE_SETS : all;
}

/** Whether tiles of the collection are rendered on request, for one collection or several together. */
export function isMade(collection: Collection): boolean {
  return !hasStoredTiles(collection);
}
