import type { Collection } from '../../../core/collection.js';
import type { Exchange } from '../../../core/operation.js';
import type { Link } from '../common.js';

export const STAC_PATH = '/stac';

/** Only classes that are built; the list grows with the code. */
export const STAC_CONFORMANCE = [
  'https://api.stacspec.org/v1.0.0/core',
  'https://api.stacspec.org/v1.0.0/collections',
] as const;

const STAC_VERSION = '1.0.0';
const WORLD = [-180, -90, 180, 90] as const;

export function catalogDocument(x: Exchange, collections: readonly Collection[]) {
  const url = `${x.baseUrl}${STAC_PATH}`;
  return {
    type: 'Catalog',
    id: 'svc-stac-catalog',
    stac_version: STAC_VERSION,
    title: 'Graticule STAC',
    description: 'Catalog of the published data.',
    conformsTo: STAC_CONFORMANCE,
    links: [
      { href: url, rel: 'self', type: 'application/json', title: 'This catalog' },
      { href: url, rel: 'root', type: 'application/json' },
      {
        href: `${url}/openapi.json`,
        rel: 'service-desc',
        type: 'application/vnd.oai.openapi+json;version=3.0',
      },
      { href: `${x.baseUrl}/docs/stac`, rel: 'service-doc', type: 'text/html' },
      { href: `${url}/conformance`, rel: 'conformance', type: 'application/json' },
      { href: `${url}/collections`, rel: 'data', type: 'application/json' },
      ...collections.map((c) => ({
        href: `${url}/collections/${c.id}`,
        rel: 'child',
        type: 'application/json',
        title: c.title,
      })),
    ] as Link[],
  };
}

export function stacCollectionDocument(x: Exchange, collection: Collection) {
  const url = `${x.baseUrl}${STAC_PATH}`;
  return {
    type: 'Collection',
    id: collection.id,
    stac_version: STAC_VERSION,
    title: collection.title,
    description: collection.description || collection.title,
    // STAC wants a licence; nothing is known of the licence of a published file.
    license: 'proprietary',
    extent: {
      spatial: { bbox: [collection.extent84 ?? WORLD] },
      temporal: { interval: [[null, null]] },
    },
    links: [
      { href: `${url}/collections/${collection.id}`, rel: 'self', type: 'application/json' },
      { href: url, rel: 'root', type: 'application/json' },
      { href: url, rel: 'parent', type: 'application/json' },
      ...dataLinks(x, collection),
    ] as Link[],
    assets: assetsOf(x, collection),
  };
}

function dataLinks(x: Exchange, collection: Collection): Link[] {
  if (collection.kind === 'archive') {
    const href = `${x.baseUrl}/ogc/tiles/collections/${collection.layerId}`;
    return [{ href, rel: 'related', type: 'application/json', title: 'Tiles' }];
  }
  if (collection.kind !== 'vector') return [];
  const href = `${x.baseUrl}/ogc/features/collections/${collection.id}`;
  return [{ href, rel: 'related', type: 'application/json', title: 'Features' }];
}

function assetsOf(x: Exchange, collection: Collection) {
  if (collection.kind === 'archive') {
    const href = `${x.baseUrl}/ogc/tiles/collections/${collection.layerId}/tiles/WebMercatorQuad`;
    return { tiles: { href, type: 'application/json', title: 'Tileset', roles: ['metadata'] } };
  }
  const map = {
    href: `${x.baseUrl}/ogc/maps/collections/${collection.layerId}/map`,
    type: 'image/png',
    title: 'Map',
    roles: ['overview'],
  };
  if (collection.kind !== 'raster') return { map };
  const coverage = {
    href: `${x.baseUrl}/ogc/coverages/collections/${collection.id}/coverage?f=geotiff`,
    type: 'image/tiff; application=geotiff',
    title: 'Coverage',
    roles: ['data'],
  };
  return { coverage, map };
}

export function stacCollectionsDocument(x: Exchange, collections: readonly Collection[]) {
  const url = `${x.baseUrl}${STAC_PATH}`;
  return {
    collections: collections.map((c) => stacCollectionDocument(x, c)),
    links: [
      { href: `${url}/collections`, rel: 'self', type: 'application/json' },
      { href: url, rel: 'root', type: 'application/json' },
    ] as Link[],
  };
}
