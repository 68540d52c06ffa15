import { getEditCursor } from '../../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../../core/catalog/catalog-change.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import type { TileCache } from './tile-cache.js';

/**
 * Drops the tiles of collections that a reload took away or found changed: their keys are not asked for again. Tiles of
 * collections that became private, or open to everybody, say to caches what does not hold any more.
 */
export function dropReplaced(
  tiles: TileCache,
  changed: readonly ChangedCollection[],
  after: CatalogSnapshot,
): void {
  for (const { before } of changed) {
    if (before && !isSame(before, after.byLayerId(before.layerId))) tiles.dropCollection(before.layerId);
  }
}

/** Edits that the reload found, but that nobody told of, may lie anywhere. */
function isSame(before: Collection, after: Collection | undefined): boolean {
  if (after?.version !== before.version || after.isPrivate !== before.isPrivate) return false;
  return getEditCursor(before) === getEditCursor(after);
}
