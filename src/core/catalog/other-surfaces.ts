import { ApiError, type ErrorLink } from '../errors/errors.js';
import { byData, hasCoverage, hasFeatures, isDrawable, isServed } from './abilities.js';
import type { Collection } from './collection.js';
import type { ServiceProtocol } from './layer-settings.js';

interface Surface extends ErrorLink {
  readonly protocol: ServiceProtocol;
  readonly isThere: boolean;
}

/** Resources of a collection in the APIs that serve it. */
function listSurfaces(collection: Collection): ErrorLink[] {
  const { layerId } = collection;
  const id = encodeURIComponent(collection.id);
  const isPlaced = !collection.storageCrs.isPlane;
  const surfaces: Surface[] = [
    {
      protocol: 'OgcFeatures',
      isThere: hasFeatures(collection),
      path: `/ogc/features/collections/${id}`,
      title: 'Features',
    },
    {
      protocol: 'OgcCoverages',
      isThere: hasCoverage(collection),
      path: `/ogc/coverages/collections/${id}`,
      title: 'Coverage',
    },
    {
      protocol: 'OgcMaps',
      isThere: isDrawable(collection),
      path: `/ogc/maps/collections/${layerId}`,
      title: 'Maps',
    },
    {
      protocol: 'OgcTiles',
      isThere: isPlaced,
      path: `/ogc/tiles/collections/${layerId}/tiles`,
      title: 'Tiles',
    },
    { protocol: 'Stac', isThere: isPlaced, path: `/stac/collections/${id}`, title: 'STAC collection' },
  ];
  return surfaces
    .filter(({ isThere, protocol }) => isThere && isServed(collection, protocol))
    .map(({ path, title }) => ({ path, title }));
}

/** 404 for a collection that exists, but has no `what`: the error names and links to what it has. */
export function withoutSurface(what: string, collection: Collection, reason?: string): ApiError {
  const links = listSurfaces(collection);
  const kind = byData(collection, {
    features: () => 'a layer of features',
    coverage: () => 'a raster',
    storedTiles: () => 'a tile archive',
  });
  const names = links.map(({ title }) => (title.startsWith('STAC') ? title : title.toLowerCase()));
  const list = names.length > 0 ? ` It has: ${names.join(', ')}.` : '';
  const detail = reason ?? `There is no ${what} '${collection.id}'. The collection is ${kind}.`;
  return new ApiError('not-found', `${detail}${list}`, { links });
}
