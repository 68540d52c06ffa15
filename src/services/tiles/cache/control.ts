import { SERVICE } from '../../../core/access/access.js';
import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { layerFailure } from '../../../core/catalog/unread.js';
import type { CacheScope } from '../../../core/cluster/notes.js';
import { ApiError } from '../../../core/errors/errors.js';
import type { CacheControl } from './cache-control.js';
import type { TileLevels } from './levels.js';
import type { TileCache } from './tile-cache.js';

export interface CacheParts {
  readonly tiles: TileCache;
  readonly levels: TileLevels;
  catalog(): CatalogSnapshot;
}

/** Stars in a pattern; each of them multiplies the work of a look-up in Redis. */
const MAX_STARS = 8;

/**
 * Status and operations of the tile cache for the management API. `announce` makes all other processes drop the same
 * tiles.
 */
export function cacheControl(
  parts: CacheParts,
  announce: (scope: CacheScope) => Promise<void>,
): CacheControl {
  const { tiles, levels, catalog } = parts;
  return {
    status() {
      const statistics = tiles.statistics();
      return { ...statistics, enabled: statistics.maxBytes > 0, ttlSeconds: 0 };
    },
    uses: () => tiles.uses(),
    levels: () => levels.status(),
    collections() {
      const byLayer = tiles.byCollection();
      return catalog().collections.flatMap(({ id, layerId }) => {
        const usage = byLayer.get(layerId);
        return usage ? [{ id, ...usage }] : [];
      });
    },
    async invalidate(scope) {
      requireLayerInService(scope, catalog());
      const dropped = await evictTiles(scope, parts);
      await announce(scope);
      return dropped;
    },
  };
}

/** Throws `not-found` if the layer of a scope is not in the service that the scope names. */
function requireLayerInService(scope: CacheScope, catalog: CatalogSnapshot): void {
  if (scope.kind !== 'layer' || scope.serviceId === undefined) return;
  const layer = catalog.byLayerId(scope.layerId);
  if (!layer) throw layerFailure(catalog, scope.layerId);
  if (!isInService(layer, scope.serviceId))
    throw new ApiError('not-found', `The service '${scope.serviceId}' has no layer ${scope.layerId}.`);
}

const isInService = ({ service = SERVICE }: Collection, name: string) => service === name;

/** Drops what a scope covers from every level; resolves with the number of tiles. Rejects with an `ApiError`. */
export async function evictTiles(scope: CacheScope, parts: CacheParts): Promise<number> {
  const { tiles, levels, catalog } = parts;
  switch (scope.kind) {
    case 'all':
      return tiles.invalidate(() => true) + (await levels.drop('*'));
    case 'metadata':
      // Documents are created from the catalog on each request and are not cached.
      return 0;
    case 'collection':
    case 'layer': {
      const current = catalog();
      const collection =
        scope.kind === 'layer' ? current.byLayerId(scope.layerId) : current.byId(scope.collectionId);
      return collection ? dropCollection(collection, parts) : 0;
    }
    case 'service': {
      const counts = catalog()
        .collections.filter((collection) => isInService(collection, scope.serviceId))
        .map((collection) => dropCollection(collection, parts));
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    }
    case 'pattern': {
      const pattern = scope.pattern.slice(0, 256).replace(/\*+/g, '*');
      const texts = pattern.split('*');
      if (texts.length > MAX_STARS + 1)
        throw new ApiError('invalid-body', `keyPattern: must have at most ${MAX_STARS} asterisks.`);
      return tiles.invalidate((key) => fits(key, texts)) + (await levels.drop(pattern));
    }
  }
}

async function dropCollection({ id, layerId }: Collection, { tiles, levels }: CacheParts): Promise<number> {
  return tiles.dropCollection(layerId) + (await levels.drop(`*/${id}@*`));
}

/**
 * Whether a key consists of these parts in this order, with any text between them. Checks each character once per
 * part.
 */
function fits(key: string, parts: readonly string[]): boolean {
  const first = parts[0]!;
  if (parts.length === 1) return key === first;
  const last = parts[parts.length - 1]!;
  if (!key.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const start = key.indexOf(part, at);
    if (start < 0) return false;
    at = start + part.length;
  }
  return key.length - last.length >= at && key.endsWith(last);
}
