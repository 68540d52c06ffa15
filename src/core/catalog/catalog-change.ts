import type { CatalogSnapshot, Collection } from './collection.js';

/** A collection that was added, changed or taken away. */
export interface ChangedCollection {
  /** Undefined for one that was added. */
  readonly before: Collection | undefined;
  /** Undefined for one that was taken away. */
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
