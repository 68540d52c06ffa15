import type { VectorSource } from '../../core/vector-source.js';
import type { FeatureStore } from './feature-store.js';
import { geopackageStore } from './geopackage/store.js';
import { postgisStore } from './postgis/store.js';

/** Stores by the `kind` of their sources: each is registered here, and named nowhere else outside of its folder. */
const STORES = new Map<string, FeatureStore>([
  ['geopackage', geopackageStore],
  ['postgis', postgisStore],
]);

/** The store that a source lies in. */
export function storeOf({ kind }: Pick<VectorSource, 'kind'>): FeatureStore {
  const store = STORES.get(kind);
  if (!store) throw new Error(`there is no store '${kind}'`);
  return store;
}

/** Adds a store to those of this thread. */
export function registerStore(kind: string, store: FeatureStore): void {
  STORES.set(kind, store);
}
