import { getEditCursor } from '../../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../../core/catalog/catalog-change.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import type { TileCache } from './tile-cache.js';

/**
 * Drops the tiles of collections that a reload removed or changed, because their keys are no longer requested. If a
 * collection became private or public, the cache headers of its tiles are no longer valid.
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

/**
 * Whether the tiles of a collection are still valid. Edits that the reload found, but no event reported, can be
 * anywhere.
 */
function isSame(before: Collection, after: Collection | undefined): boolean {
  if (after?.version !== before.version || after.isPrivate !== before.isPrivate) return false;
  return getEditCursor(before) === getEditCursor(after);
}
