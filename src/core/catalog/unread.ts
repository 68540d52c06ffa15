import { listLayerNames } from '../access/access.js';
import { ApiError, notFound } from '../errors/errors.js';
import type { AwaitedCollection, CatalogSnapshot } from './collection.js';

/** Collections that were published once, and whose source could not be read since the server started. */

const RETRY_SECONDS = 5;

type Known = Pick<CatalogSnapshot, 'quarantined'>;

/** Returns 503 for a collection that comes back once its source can be read; undefined if no such collection is known. */
export function unreadFailure(
  { quarantined }: Known,
  is: (collection: AwaitedCollection) => boolean,
): ApiError | undefined {
  const unread = quarantined.flatMap(({ awaited = [] }) => awaited).find(is);
  return (
    unread &&
    new ApiError(
      'unavailable',
      `The source of collection '${unread.id}' could not be read yet. Retry later.`,
      {
        headers: { 'retry-after': String(RETRY_SECONDS) },
      },
    )
  );
}

/** Same as `unreadFailure` for the collection with this number. */
export const unreadLayer = (catalog: Known, layerId: number): ApiError | undefined =>
  unreadFailure(catalog, (one) => one.layerId === layerId);

/** Same as `unreadFailure` for the collection with this id or number. */
export const unreadNamed = (catalog: Known, name: string): ApiError | undefined =>
  unreadFailure(catalog, (one) => listLayerNames(one).includes(name));

/** Returns the error for a layer that is not in the catalog: 503 if its source could not be read yet, else 404. */
export const layerFailure = (catalog: Known, layerId: number): ApiError =>
  unreadLayer(catalog, layerId) ?? notFound('layer', `${layerId}`);
