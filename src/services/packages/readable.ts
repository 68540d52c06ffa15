import type { Collection } from '../../core/catalog/collection.js';
import { findCollection } from '../../core/catalog/find.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import { type Catalogs, type CollectionView, findView } from '../features/view.js';

/**
 * A collection that the caller can read. Throws the same error for hidden and missing collections, because a review
 * must not reveal which collections exist.
 */
export function requireReadable(deps: Catalogs, principal: Principal, id: string): Collection {
  try {
    return findCollection(deps.visible(principal), id);
  } catch (error) {
    const isHidden = error instanceof ApiError && [401, 403, 404].includes(error.status);
    if (!isHidden) throw error;
    throw new ApiError('not-found', `There is no collection '${id.slice(0, 100)}' that the caller can read.`);
  }
}

/** The view of a collection that the caller can read. */
export function readView(deps: Catalogs, principal: Principal, id: string): CollectionView {
  requireReadable(deps, principal, id);
  return findView(deps, principal, id);
}
