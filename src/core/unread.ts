import type { AwaitedCollection, CatalogSnapshot } from './collection.js';
import { ApiError, notFound } from './errors.js';

/** Collections that were published once, and whose source could not be read since the server started. */

const RETRY_SECONDS = 5;

type Known = Pick<CatalogSnapshot, 'quarantined'>;

/** 503 for a collection that comes back once its source can be read; undefined where no such collection is known. */
export function unreadFailure(
  { quarantined }: Known,
  is: (collection: AwaitedCollection) => boolean,
): ApiError | undefined {
  const unread = quarantined.flatMap(({ awaited = [] }) => awaited).find(is);
  return (
    unread &&
    new ApiError('unavailable', `The source of collection '${unread.id}' could not be read yet. Try again.`, {
      headers: { 'retry-after': String(RETRY_SECONDS) },
    })
  );
}

/** What is wrong with a layer that is not in the catalog: 503 while its source could not be read, else 404. */
export function layerFailure(catalog: Known, layerId: number): ApiError {
  return unreadFailure(catalog, (one) => one.layerId === layerId) ?? notFound('layer', `${layerId}`);
}
