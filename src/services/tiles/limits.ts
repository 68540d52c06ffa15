import { hasVectorTiles } from '../../core/catalog/abilities.js';
import {
  type CatalogSnapshot,
  type Collection,
  jointExtent,
  tileLevels,
} from '../../core/catalog/collection.js';
import { notFound } from '../../core/errors/errors.js';
import { lastColumn, type TileLimits, type TileMatrixSet } from '../../core/tiles/tile-matrix.js';
import { limitsIn } from './extent.js';
import { listMatrixSets } from './formats.js';
import type { TileAddress } from './request.js';

/** A tile matrix set by its id. Throws 404 for an unknown one. */
export function findMatrixSet({ matrixSets }: CatalogSnapshot, id: string): TileMatrixSet {
  const set = matrixSets.byId(id);
  if (!set)
    throw notFound(
      'tile matrix set',
      id.slice(0, 100),
      matrixSets.all.map((one) => one.id),
    );
  return set;
}

/** Limits of the tiles of collections in matrices. Empty if the location of the data is unknown. */
export function findLimits(
  set: TileMatrixSet,
  collections: readonly Collection[],
  zooms: readonly number[],
): TileLimits[] {
  const extent = jointExtent(collections);
  return extent ? limitsIn(set, zooms, extent, collections.some(hasVectorTiles)) : [];
}

/** Whether a tile is outside the limits in the tileset metadata of the collections. */
export function isOutside(
  { set, zoom, row, column }: TileAddress,
  collections: readonly Collection[],
): boolean {
  if (!jointExtent(collections)) return false;
  if (!listZooms(set, collections).includes(zoom)) return true;
  const [limits] = findLimits(set, collections, [zoom]);
  if (!limits) return false;
  const { minTileRow, maxTileRow, minTileCol, maxTileCol } = limits;
  const last = lastColumn(set.matrices[zoom]!, row, column);
  return row < minTileRow || row > maxTileRow || last < minTileCol || column > maxTileCol;
}

/** Indexes of the matrices that have tiles of any of the collections. */
export function listZooms(set: TileMatrixSet, collections: readonly Collection[]): number[] {
  const ranges = collections.map(tileLevels);
  return set.matrices.flatMap(({ level }, zoom) =>
    ranges.some(({ first, last }) => level >= first && level <= last) ? [zoom] : [],
  );
}

/** Throws 404 if the collection has no tiles in the set. */
export function requireTileset(
  { matrixSets }: CatalogSnapshot,
  collection: Collection,
  set: TileMatrixSet,
): void {
  if (!listMatrixSets(collection, matrixSets).includes(set))
    throw notFound(`tileset of ${collection.id}`, set.id);
}
