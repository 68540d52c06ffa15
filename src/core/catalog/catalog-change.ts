import type { CatalogSnapshot, Collection } from './collection.js';

/** A collection that was added, changed or removed. */
export interface ChangedCollection {
  /** Undefined if the collection was added. */
  readonly before: Collection | undefined;
  /** Undefined if the collection was removed. */
  readonly after: Collection | undefined;
}

/** A snapshot that replaced another one. Followers of the catalog read `changed` instead of all collections. */
export interface CatalogChange {
  readonly before: CatalogSnapshot;
  readonly after: CatalogSnapshot;
  readonly changed: readonly ChangedCollection[];
}

/** Finds the collections that are other objects in `after` than in `before`. */
export function compareSnapshots(before: CatalogSnapshot, after: CatalogSnapshot): CatalogChange {
  const changed: ChangedCollection[] = [];
  for (const one of after.collections) {
    const former = before.byId(one.id);
    if (former !== one) changed.push({ before: former, after: one });
  }
  for (const one of before.collections)
    if (after.byId(one.id) === undefined) changed.push({ before: one, after: undefined });
  return { before, after, changed };
}
