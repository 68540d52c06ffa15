import { hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { jointExtent } from '../../core/catalog/collection.js';
import { buildCrsUri, buildCrsUris, CRS84, type Crs } from '../../core/geometry/crs.js';
import { JPEG_FORMAT, linkType, PNG_FORMAT, TIFF_FORMAT, WEBP_FORMAT } from '../../core/http/media.js';
import type { Exchange } from '../../core/http/operation.js';
import { inAxisOrder, storageExtent } from '../../services/features/storage-extent.js';
import { formatLinks, type Link, META_FORMATS, mapLink, stylesLink } from '../surface/common.js';
import { datasetInterval, temporalExtent } from '../surface/temporal-extent.js';
import { mapTilesetsPath, REL } from '../surface/tilesets.js';
import { MAPS_PATH } from './params.js';

/** Descriptions of the sources of maps (OGC 20-058, clauses 19 and 20). */

const IMAGES = [PNG_FORMAT, JPEG_FORMAT, TIFF_FORMAT, WEBP_FORMAT];
const WORLD = [-180, -90, 180, 90];

export function mapCollectionDocument(x: Exchange, collection: Collection) {
  const { layerId, storageCrs } = collection;
  const path = `${MAPS_PATH}/collections/${layerId}`;
  const stored = storageExtent(collection);
  return {
    id: String(layerId),
    name: collection.id,
    title: collection.title,
    description: collection.description,
    extent: {
      spatial: {
        ...(storageCrs.isPlane ? {} : { bbox: [collection.extent84 ?? WORLD], crs: CRS84.uri }),
        ...(stored ? { storageCrsBbox: [inAxisOrder(stored, storageCrs)] } : {}),
      },
      temporal: temporalExtent(collection),
    },
    crs: buildCrsUris(collection.crs, x.baseUrl),
    storageCrs: buildCrsUri(storageCrs, x.baseUrl),
    links: [
      ...formatLinks(x, path, META_FORMATS),
      ...mapLinks(x, path),
      mapLink(x.baseUrl, collection),
      ...(storageCrs.isPlane ? [] : [tilesetsLink(x, collection)]),
      stylesLink(x.baseUrl, layerId),
      { href: `${x.baseUrl}${path}/legend?f=svg`, rel: 'related', type: 'image/svg+xml', title: 'Legend' },
      dataLink(x, collection),
      {
        href: `${x.baseUrl}${MAPS_PATH}/collections`,
        rel: 'up',
        type: 'application/json',
        title: 'Collections',
      },
    ] as Link[],
  };
}

/** The same collection with its data. */
function dataLink(x: Exchange, collection: Collection): Link {
  const surface = hasFeatures(collection) ? 'features' : 'coverages';
  const href = `${x.baseUrl}/ogc/${surface}/collections/${collection.id}`;
  return { href, rel: `${REL}/geodata`, type: 'application/json', title: 'Data' };
}

function mapLinks(x: Exchange, path: string): Link[] {
  return IMAGES.map((format) => ({
    href: `${x.baseUrl}${path}/map?f=${format.name}`,
    rel: '[ogc-rel:map]',
    type: linkType(format),
    title: `Map as ${format.name.toUpperCase()}`,
  }));
}

function tilesetsLink(x: Exchange, collection: Collection | undefined): Link {
  const href = `${x.baseUrl}${mapTilesetsPath(collection)}`;
  return { href, rel: `${REL}/tilesets-map`, type: 'application/json', title: 'Map tilesets' };
}

export const mapListLinks = (x: Exchange): Link[] => [
  ...formatLinks(x, `${MAPS_PATH}/collections`, META_FORMATS),
  { href: `${x.baseUrl}${MAPS_PATH}`, rel: 'up', type: 'application/json', title: 'Maps' },
];

/** Members of the landing page about the whole dataset. Its maps are in CRS84 by default. */
export function datasetMembers(x: Exchange, collections: readonly Collection[]): Record<string, unknown> {
  const crs = new Map<string, Crs>(
    [CRS84, ...collections.flatMap((one) => one.crs)].map((one) => [one.uri, one]),
  );
  return {
    extent: {
      spatial: { bbox: [jointExtent(collections) ?? WORLD], crs: CRS84.uri },
      temporal: datasetInterval(collections),
    },
    crs: buildCrsUris([...crs.values()], x.baseUrl),
  };
}

/** Collections whose maps the landing page links to. */
const MAX_LANDING_MAPS = 50;

export function landingLinks(x: Exchange, collections: readonly Collection[]): Link[] {
  const url = `${x.baseUrl}${MAPS_PATH}`;
  const type = 'application/json';
  const [png] = IMAGES;
  // The list of collections has the maps of more collections.
  const each = (collections.length > MAX_LANDING_MAPS ? [] : collections).map((collection) => ({
    ...mapLink(x.baseUrl, collection),
    // The landing page's own map is that of the dataset.
    rel: 'related',
    title: `Map of ${collection.title}`,
  }));
  return [
    { href: `${url}/collections`, rel: 'data', type, title: 'Collections' },
    { href: `${url}/map`, rel: `${REL}/map`, type: linkType(png!), title: 'Map of all collections' },
    { href: `${url}/map`, rel: '[ogc-rel:map]', type: linkType(png!), title: 'Map of all collections' },
    tilesetsLink(x, undefined),
    { href: `${url}/styles`, rel: `${REL}/styles`, type, title: 'Styles of all collections' },
    {
      href: `${x.baseUrl}/ogc/tiles/tileMatrixSets`,
      rel: `${REL}/tiling-schemes`,
      type,
      title: 'Tile matrix sets',
    },
    ...each,
  ];
}
