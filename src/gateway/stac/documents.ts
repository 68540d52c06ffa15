import { hasCoverage, hasFeatures, hasStoredTiles, isServed } from '../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../core/catalog/collection.js';
import { findSceneSearch } from '../../core/catalog/raster-sources.js';
import type { Exchange } from '../../core/http/operation.js';
import { listInstants } from '../../services/rasters/granules.js';
import { eoBands, metresPerPixel, rasterBands } from '../../services/stac/bands.js';
import { hasItems } from '../../services/stac/footprints.js';
import { getAssetMediaType } from '../../services/stac/raster-items.js';
import type { Asset } from '../pages/stac/model.js';
import { aboutLinks, type Link } from '../surface/common.js';
import { STAC_CONFORMANCE } from './conformance.js';
import { STAC_PATH } from './params.js';

const STAC_VERSION = '1.0.0';
const WORLD = [-180, -90, 180, 90] as const;
const QUERYABLES = 'http://www.opengis.net/def/rel/ogc/1.0/queryables';
const JSON_TYPE = 'application/json';
const GEOJSON_TYPE = 'application/geo+json';

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
      { href: url, rel: 'self', type: JSON_TYPE, title: 'This catalog' },
      { href: url, rel: 'root', type: JSON_TYPE },
      {
        href: `${url}/openapi.json`,
        rel: 'service-desc',
        type: 'application/vnd.oai.openapi+json;version=3.0',
      },
      { href: `${x.baseUrl}/docs/stac`, rel: 'service-doc', type: 'text/html' },
      { href: `${url}/conformance`, rel: 'conformance', type: JSON_TYPE },
      { href: `${url}/collections`, rel: 'data', type: JSON_TYPE },
      ...['GET', 'POST'].map((method) => ({
        href: `${url}/search`,
        rel: 'search',
        type: GEOJSON_TYPE,
        method,
      })),
      { href: `${url}/queryables`, rel: QUERYABLES, type: 'application/schema+json' },
      ...collections.map((c) => ({
        href: `${url}/collections/${c.id}`,
        rel: 'child',
        type: JSON_TYPE,
        title: c.title,
      })),
    ] as Link[],
  };
}

export function stacCollectionDocument(x: Exchange, collection: Collection) {
  const url = `${x.baseUrl}${STAC_PATH}`;
  const self = `${url}/collections/${collection.id}`;
  return {
    type: 'Collection',
    id: collection.id,
    stac_version: STAC_VERSION,
    ...(hasCoverage(collection) ? described(collection) : { stac_extensions: [] }),
    title: collection.title,
    description: collection.description || collection.title,
    // STAC requires a licence even if it is unknown.
    license: collection.about?.license ?? 'proprietary',
    ...(collection.about?.keywords ? { keywords: collection.about.keywords } : {}),
    providers: listProviders(x, collection),
    extent: {
      spatial: { bbox: [collection.extent84 ?? WORLD] },
      temporal: { interval: [hasCoverage(collection) ? findInterval(collection) : [null, null]] },
    },
    ...(hasFeatures(collection) && collection.stac ? ownWords(collection.stac) : {}),
    links: [
      { href: self, rel: 'self', type: JSON_TYPE },
      { href: url, rel: 'root', type: JSON_TYPE },
      { href: url, rel: 'parent', type: JSON_TYPE },
      { href: `${self}/items`, rel: 'items', type: GEOJSON_TYPE },
      { href: `${self}/queryables`, rel: QUERYABLES, type: 'application/schema+json' },
      ...dataLinks(x, collection),
      ...searchedLinks(collection),
      ...aboutLinks(x.baseUrl, collection),
    ] as Link[],
    assets: buildAssets(x, collection),
  };
}

function listProviders({ baseUrl }: Exchange, { about = {} }: Collection) {
  const { publisher, sourceUrl } = about;
  const url = sourceUrl ? { url: sourceUrl } : {};
  return [
    ...(publisher ? [{ name: publisher, roles: ['producer', 'licensor'], ...url }] : []),
    { name: 'Graticule', roles: ['host'], url: baseUrl },
  ];
}

/** Members from the collection document of a static catalog, if they have the form that STAC requires. */
function ownWords(document: Readonly<Record<string, unknown>>) {
  const words = Object.entries(OWN_WORDS).flatMap(([name, fits]) => {
    const value = document[name];
    return value !== undefined && fits(value) ? [[name, value] as const] : [];
  });
  return Object.fromEntries(words);
}

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isList = (value: unknown) => Array.isArray(value);
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

const OWN_WORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  title: isText,
  description: isText,
  license: isText,
  keywords: isList,
  providers: isList,
  summaries: isObject,
  item_assets: isObject,
  stac_extensions: isList,
  extent: (value) => {
    if (!isObject(value)) return false;
    const { spatial, temporal } = value as {
      spatial?: { bbox?: unknown };
      temporal?: { interval?: unknown };
    };
    return isList(spatial?.bbox) && isList(temporal?.interval);
  },
};

/** From the first to the last acquisition; open if no acquisition time is known. */
function findInterval(collection: RasterCollection): [string | null, string | null] {
  const instants = listInstants(collection);
  return [instants[0] ?? null, instants.at(-1) ?? null];
}

/** Properties that all items of a raster collection share. */
function described(collection: RasterCollection) {
  const { epsg } = collection.raster;
  const resolution = metresPerPixel(collection);
  return {
    stac_extensions: [
      'https://stac-extensions.github.io/item-assets/v1.0.0/schema.json',
      'https://stac-extensions.github.io/projection/v1.1.0/schema.json',
      'https://stac-extensions.github.io/raster/v1.1.0/schema.json',
      'https://stac-extensions.github.io/eo/v1.1.0/schema.json',
    ],
    summaries: {
      ...(epsg === null ? {} : { 'proj:epsg': [epsg] }),
      ...(resolution === undefined ? {} : { gsd: [resolution] }),
      'raster:bands': rasterBands(collection),
      'eo:bands': eoBands(collection),
    },
    item_assets: {
      data: {
        title: 'File',
        type: getAssetMediaType(collection),
        roles: ['data'],
        'raster:bands': rasterBands(collection).map(
          ({ statistics: _, ...band }: { statistics?: object }) => band,
        ),
        'eo:bands': eoBands(collection),
      },
      coverage: { title: 'Coverage', type: 'image/tiff; application=geotiff', roles: ['data'] },
      tiles: { title: 'Tiles (TileJSON)', type: 'application/vnd.mapbox.tile+json', roles: ['tiles'] },
      thumbnail: { title: 'Map', type: 'image/png', roles: ['thumbnail', 'overview'] },
    },
  };
}

function dataLinks(x: Exchange, collection: Collection): Link[] {
  if (hasStoredTiles(collection)) {
    if (!isServed(collection, 'OgcTiles')) return [];
    const href = `${x.baseUrl}/ogc/tiles/collections/${collection.layerId}`;
    return [{ href, rel: 'related', type: JSON_TYPE, title: 'Tiles' }];
  }
  if (!hasFeatures(collection) || !isServed(collection, 'OgcFeatures')) return [];
  const href = `${x.baseUrl}/ogc/features/collections/${collection.id}`;
  return [{ href, rel: 'related', type: JSON_TYPE, title: 'Features' }];
}

/** The collections of another STAC API in which scenes are searched for each window: their items are there. */
function searchedLinks(collection: Collection): Link[] {
  const source = hasCoverage(collection) ? findSceneSearch(collection.raster.source) : undefined;
  if (!source) return [];
  const root = source.url.replace(/\/$/, '');
  return source.collections.map((id) => ({
    href: `${root}/collections/${encodeURIComponent(id)}`,
    rel: 'via',
    type: JSON_TYPE,
    title: `Collection ${id}, whose items are the scenes`,
  }));
}

function buildAssets(x: Exchange, collection: Collection): Record<string, Asset> {
  if (hasStoredTiles(collection)) {
    if (!isServed(collection, 'OgcTiles')) return {};
    const href = `${x.baseUrl}/ogc/tiles/collections/${collection.layerId}/tiles/WebMercatorQuad`;
    return { tiles: { href, type: JSON_TYPE, title: 'Tileset', roles: ['metadata'] } };
  }
  const map = {
    href: `${x.baseUrl}/ogc/maps/collections/${collection.layerId}/map`,
    type: 'image/png',
    title: 'Map',
    roles: ['overview'],
  };
  const maps: Record<string, Asset> = isServed(collection, 'OgcMaps') ? { map } : {};
  if (!hasCoverage(collection) || !isServed(collection, 'OgcCoverages')) return maps;
  const coverage = {
    href: `${x.baseUrl}/ogc/coverages/collections/${collection.id}/coverage?f=geotiff`,
    type: 'image/tiff; application=geotiff',
    title: 'Coverage',
    roles: ['data'],
  };
  return { coverage, ...maps };
}

/** Collections without items are there too: clients find their other links here. */
export function stacCollectionsDocument(x: Exchange, collections: readonly Collection[]) {
  const url = `${x.baseUrl}${STAC_PATH}`;
  const withItemsFirst = [...collections].sort((a, b) => Number(hasItems(b)) - Number(hasItems(a)));
  return {
    collections: withItemsFirst.map((c) => stacCollectionDocument(x, c)),
    links: [
      { href: `${url}/collections`, rel: 'self', type: JSON_TYPE },
      { href: url, rel: 'root', type: JSON_TYPE },
    ] as Link[],
  };
}
