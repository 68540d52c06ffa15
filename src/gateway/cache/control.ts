import type { CacheControl, CacheScope } from '../admin/cache-control.js';
import type { Catalog } from '../services/catalog.js';
import type { TileCache } from './tile-cache.js';

/** What the management API sees of the tile cache, and may do to it. */
export function cacheControl(tiles: TileCache, catalog: Catalog): CacheControl {
  return {
    status() {
      const { entries, bytes, maxBytes, hits, misses, evictions } = tiles.statistics();
      return { enabled: maxBytes > 0, entries, bytes, maxBytes, hits, misses, evictions, ttlSeconds: 0 };
    },
    invalidate: (scope) => tiles.invalidate(keyFilter(scope, catalog)),
  };
}

/** Which cache keys a scope covers. Keys list their layers as `/layerId@version`. */
function keyFilter(scope: CacheScope, catalog: Catalog): (key: string) => boolean {
  const ofLayer = (layerId: number | undefined) => (key: string) =>
    layerId !== undefined && key.includes(`/${layerId}@`);
  switch (scope.kind) {
    case 'all':
    case 'service':
      return () => true;
    case 'metadata':
      // Documents are made from the catalog on each request: none is kept.
      return () => false;
    case 'collection':
      return ofLayer(catalog.current.byId(scope.collectionId)?.layerId);
    case 'layer':
      return ofLayer(scope.layerId);
    case 'pattern': {
      const escaped = scope.pattern
        .slice(0, 256)
        .split('*')
        .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
      const pattern = new RegExp(`^${escaped.join('[^]*')}$`);
      return (key) => pattern.test(key);
    }
  }
}
