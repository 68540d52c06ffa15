import type { VectorSource } from '../../core/vector-source.js';
import type { FeatureStore } from './feature-store.js';
import { geopackageStore } from './geopackage/store.js';
import { postgisStore } from './postgis/store.js';

/** The store that a source lies in. */
export function storeOf(source: Pick<VectorSource, 'kind'>): FeatureStore {
  switch (source.kind) {
    case 'geopackage':
      return geopackageStore;
    case 'postgis':
      return postgisStore;
  }
}
