import type { VectorSource } from '../../core/sources/vector-source.js';
import type { TaskInput } from '../../core/tasks/tasks.js';
import type { InspectTask, VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import type { FeatureStore, OtherTables } from './feature-store.js';
import { geopackageStore } from './geopackage/store.js';
import { postgisStore } from './postgis/store.js';

/**
 * Stores by the `kind` of their sources. Each is registered here, and is not named anywhere else outside its folder.
 */
const STORES = new Map<string, FeatureStore>([
  ['geopackage', geopackageStore],
  ['postgis', postgisStore],
]);

/** Returns the store of a source. */
export function getFeatureStore({ kind }: Pick<VectorSource, 'kind'>): FeatureStore {
  const store = STORES.get(kind);
  if (!store) throw new Error(`there is no store '${kind}'`);
  return store;
}

/** Registers a store in this thread. */
export function registerStore(kind: string, store: FeatureStore): void {
  STORES.set(kind, store);
}

/** Returns the tables of a file. */
export function inspectTables({ kind, path, ...named }: InspectTask): VectorLayerInfo[] {
  return getFeatureStore({ kind }).inspect?.(path, named) ?? [];
}

/** Returns the other tables of such a file. */
export function listOtherTables({ kind, path, inspected }: TaskInput<'vector.otherTables'>): OtherTables {
  return getFeatureStore({ kind }).otherTables?.(path, inspected) ?? { tiles: [], plain: [], problems: [] };
}
