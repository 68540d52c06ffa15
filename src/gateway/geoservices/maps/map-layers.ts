import { SERVICE } from '../../../core/access/access.js';
import { byData, hasFeatures, isDrawable } from '../../../core/catalog/abilities.js';
import type {
  CatalogSnapshot,
  Collection,
  RasterCollection,
  VectorCollection,
} from '../../../core/catalog/collection.js';
import { useGeneratedCollectionIds } from '../../../core/catalog/generated-ids.js';
import { layerFailure } from '../../../core/catalog/unread.js';
import type { Principal } from '../../../core/http/operation.js';
import { isInService, requireVisibleService } from '../../../services/replicas/layer-view.js';
import type { SurfaceDeps } from '../../surface/common.js';

/** Layers of a MapServer: everything of a service that is drawn. */

export type MapDeps = Pick<SurfaceDeps, 'catalog' | 'visible' | 'pools' | 'access' | 'licensing' | 'places'>;
export type DrawnLayer = VectorCollection | RasterCollection;

/** Layers of a service for this principal, the one on top first. Throws 404 for a service that does not exist, 401. */
export function listMapLayers(deps: MapDeps, principal: Principal, service: string): DrawnLayer[] {
  requireVisibleService(deps, principal, service);
  const { collections } = deps.visible(principal);
  return topFirst(collections.filter(isDrawable).filter((one) => isInService(one, service)));
}

/** Collections in the drawing order of all servers of a service. Collections of the same kind keep their order. */
export function topFirst<T extends Collection>(collections: readonly T[]): T[] {
  return collections.toSorted((a, b) => rank(a) - rank(b));
}

/** Layers with numeric feature ids. */
export function numberedLayers(layers: readonly DrawnLayer[]): DrawnLayer[] {
  return layers.map((layer) => (hasFeatures(layer) ? useGeneratedCollectionIds(layer) : layer));
}

/** Points are above lines, lines above polygons, and polygons above images. */
function rank(collection: Collection): number {
  return byData(collection, {
    features: ({ source: { geometryType } }) => {
      if (geometryType.endsWith('Point')) return 0;
      return geometryType.endsWith('LineString') ? 1 : 2;
    },
    coverage: () => 3,
    storedTiles: () => 3,
  });
}

/** Throws 404, and 503 while the source of the layer could not be read. */
export function requireMapLayer(
  layers: readonly DrawnLayer[],
  layerId: number,
  catalog: CatalogSnapshot,
): DrawnLayer {
  const layer = layers.find((one) => one.layerId === layerId);
  if (!layer) throw layerFailure(catalog, layerId);
  return layer;
}

/** Names of services that have something to draw. */
export function mapServices({ collections }: CatalogSnapshot): string[] {
  return serviceNames(collections.filter(isDrawable));
}

/** Names of the services of collections, each once. */
export function serviceNames(collections: readonly Collection[]): string[] {
  return [...new Set(collections.map(({ service = SERVICE }) => service))].sort();
}
