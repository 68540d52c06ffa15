import { cursorOf } from '../../core/abilities.js';
import type { CatalogSnapshot, Collection } from '../../core/collection.js';
import type { TileCache } from './tile-cache.js';

/**
 * Drops the tiles of collections that a reload took away or found changed: their keys are not asked for again. Tiles of
 * collections that became private, or open to everybody, say to caches what does not hold any more.
 */
export function dropReplaced(tiles: TileCache, before: CatalogSnapshot, after: CatalogSnapshot): void {
  for (const collection of before.collections) {
    if (!isSame(collection, after.byLayerId(collection.layerId))) tiles.dropCollection(collection.layerId);
  }
}

/** Edits that the reload found, but that nobody told of, may lie anywhere. */
function isSame(before: Collection, after: Collection | undefined): boolean {
  if (after?.version !== before.version || after.isPrivate !== before.isPrivate) return false;
  return cursorOf(before) === cursorOf(after);
}
