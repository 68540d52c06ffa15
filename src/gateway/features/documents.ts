import { isServed } from '../../core/catalog/abilities.js';
import { describeAssumedCrs, findAssumedCrs } from '../../core/catalog/assumed-crs.js';
import type { Collection, VectorCollection } from '../../core/catalog/collection.js';
import { buildCrsUri, buildCrsUris, CRS84 } from '../../core/geometry/crs.js';
import { GEOJSON_FORMAT, linkType } from '../../core/http/media.js';
import type { Exchange } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { WEB_MERCATOR_QUAD } from '../../core/tiles/tile-matrix.js';
import { aboutLinks, aboutMembers, formatLinks, type Link, mapLinks } from '../surface/common.js';
import { DOCUMENT_FORMATS, ITEM_FORMATS } from './formats.js';

/** Extent member of a collection document (OGC 17-069r4, 7.13). */
function extentDocument(collection: Collection) {
  const bbox = collection.extent84 ?? [-180, -90, 180, 90];
  return {
    // Nowhere on Earth, where the CRS is a plane without a place.
    ...(collection.storageCrs.isPlane ? {} : { spatial: { bbox: [bbox], crs: CRS84.uri } }),
    temporal: { interval: [[null, null]], trs: 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian' },
  };
}

/** Links from a vector collection to its other representations on this server. */
function representationLinks(x: Exchange, collection: Collection): Link[] {
  const maps = mapLinks(x.baseUrl, collection);
  if (collection.storageCrs.isPlane || !isServed(collection, 'OgcTiles')) return maps;
  const tiles = `${x.baseUrl}/ogc/tiles/collections/${collection.layerId}/tiles`;
  return [
    {
      href: `${tiles}`,
      rel: 'http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector',
      type: 'application/json',
      title: 'Vector tilesets',
    },
    {
      href: `${tiles}/${WEB_MERCATOR_QUAD.id}/{tileMatrix}/{tileRow}/{tileCol}?f=mvt`,
      rel: 'item',
      type: 'application/vnd.mapbox-vector-tile',
      title: 'Vector tiles (WebMercatorQuad)',
      templated: true,
    },
    ...maps,
  ];
}

export function collectionDocument(x: Exchange, collection: VectorCollection) {
  const path = `${FEATURES_PATH}/collections/${collection.id}`;
  return {
    id: collection.id,
    title: collection.title,
    description: describedWith(collection),
    ...aboutMembers(collection),
    itemType: 'feature',
    extent: extentDocument(collection),
    crs: buildCrsUris(collection.crs, x.baseUrl),
    storageCrs: buildCrsUri(collection.storageCrs, x.baseUrl),
    links: [
      ...formatLinks(x, path, DOCUMENT_FORMATS),
      ...ITEM_FORMATS.map((format) => ({
        href: `${x.baseUrl}${path}/items?f=${format.name}`,
        rel: 'items',
        type: linkType(format),
        title: `Features as ${format === GEOJSON_FORMAT ? 'GeoJSON' : format.name.toUpperCase()}`,
      })),
      {
        href: `${x.baseUrl}${path}/queryables?f=json`,
        rel: 'http://www.opengis.net/def/rel/ogc/1.0/queryables',
        type: 'application/schema+json',
        title: 'Properties that filters may name',
      },
      {
        href: `${x.baseUrl}${path}/schema?f=json`,
        rel: 'http://www.opengis.net/def/rel/ogc/1.0/schema',
        type: 'application/schema+json',
        title: 'Schema of the features',
      },
      {
        href: `${x.baseUrl}${path}/statistics?f=json`,
        rel: 'related',
        type: 'application/json',
        title: 'Statistics of the attributes',
      },
      {
        href: `${x.baseUrl}${FEATURES_PATH}/schemas/svc-ogcapi-features.xsd`,
        rel: 'describedby',
        type: 'application/xml',
        title: 'GML application schema',
      },
      // Relations are compared without regard to case (RFC 8288, 2.1.1), but by GDAL up to 3.6; of several it takes the last.
      {
        href: `${x.baseUrl}${path}/schema?f=xsd`,
        rel: 'describedBy',
        type: 'application/xml',
        title: 'Schema of the features as XML Schema',
      },
      ...representationLinks(x, collection),
      ...aboutLinks(x.baseUrl, collection),
    ] as Link[],
  };
}

/** The description, and what readers of the data should know of it. */
function describedWith(collection: Collection): string {
  const { description, warning } = collection;
  const assumed = findAssumedCrs(collection);
  return [description, assumed && describeAssumedCrs(assumed), warning].filter(Boolean).join(' ');
}

export type CollectionDocument = ReturnType<typeof collectionDocument>;

export const listLinks = (x: Exchange): Link[] =>
  formatLinks(x, `${FEATURES_PATH}/collections`, DOCUMENT_FORMATS);
