/** Finding collections that a caller names, with the reason where there is none. */

import { ApiError, notFound } from '../errors/errors.js';
import type { AwaitedCollection, CatalogSnapshot, Collection } from './collection.js';
import { withoutSurface } from './other-surfaces.js';
import { unreadFailure } from './unread.js';

function withoutPlace(collection: Collection): ApiError {
  return withoutSurface(
    '',
    collection,
    `The collection '${collection.id}' has no known coordinate reference system, so it has no tiles, cells or distances. An operator can assign a coordinate reference system to it.`,
  );
}

/** Throws 404 for a collection without a place on Earth, of which there can be no tiles, cells or distances. */
export function requirePlace(collection: Collection): void {
  if (collection.storageCrs.isPlane) throw withoutPlace(collection);
}

function* ids(collections: readonly Collection[]): Iterable<string> {
  for (const { id } of collections) yield id;
}

/**
 * Error for a missing collection: 401 or 403 if it cannot be read, 503 if its source could not be read yet, otherwise
 * 404. For a local CRS, the message says that its position on Earth is unknown.
 */
function missing(
  catalog: CatalogSnapshot,
  is: (collection: AwaitedCollection) => boolean,
  id: string,
): ApiError {
  const { refused, planes } = catalog;
  const plane = planes.find(is);
  if (plane) return withoutPlace(plane);
  const unread = unreadFailure(catalog, is);
  if (unread) return unread;
  if (!refused.collections.some(is))
    return notFound('collection', id.slice(0, 100), ids(catalog.collections));
  const detail = refused.why === 'forbidden' ? 'You may not read' : 'Credentials are required to read';
  return new ApiError(refused.why, `${detail} collection '${id}'.`);
}

/** A collection by its id. Throws 404, 401, 403 and 503. */
export function findCollection(catalog: CatalogSnapshot, id: string): Collection {
  const collection = catalog.byId(id);
  if (!collection) throw missing(catalog, (refused) => refused.id === id, id);
  return collection;
}

/** Finds a collection by its number or by its id, which can also consist of digits. */
export function findNumbered(catalog: CatalogSnapshot, key: number | string): Collection {
  const collection = typeof key === 'number' ? catalog.byLayerId(key) : undefined;
  if (collection) return collection;
  const match = catalog.byId(String(key));
  if (!match) throw missing(catalog, ({ layerId, id }) => layerId === key || id === String(key), String(key));
  return match;
}
