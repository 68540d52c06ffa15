import { setTimeout as pause } from 'node:timers/promises';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { TaskFailure } from '../../../core/errors/failure.js';

/** Milliseconds until a collection must be shown, and between two looks. */
const SHOWN_MS = 60_000;
const LOOK_MS = 100;

/** A collection that was imported: this process may show it a little later than it was announced. */
export async function shownCollection<C extends Collection>(
  catalog: () => CatalogSnapshot,
  table: string,
  fits: (collection: Collection | undefined) => collection is C,
  signal: AbortSignal,
): Promise<C> {
  for (const late = Date.now() + SHOWN_MS; ; ) {
    const collection = catalog().byId(table.toLowerCase());
    if (fits(collection)) return collection;
    if (Date.now() > late)
      throw new TaskFailure('store-unavailable', 'The collection that was imported is not shown.');
    await pause(LOOK_MS, undefined, { signal });
  }
}
