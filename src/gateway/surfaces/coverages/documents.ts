import type { RasterCollection } from '../../../core/collection.js';
import { CRS84 } from '../../../core/crs.js';
import type { Exchange } from '../../../core/operation.js';
import { formatLinks, type Link, META_FORMATS } from '../common.js';

export const COVERAGES_PATH = '/ogc/coverages';

export function bandName(band: number): string {
  return `band_${band}`;
}

export function coverageDocument(x: Exchange, collection: RasterCollection) {
  const path = `${COVERAGES_PATH}/collections/${collection.id}`;
  const { raster } = collection;
  const url = `${x.baseUrl}${path}`;
  return {
    id: collection.id,
    title: collection.title,
    description: collection.description,
    itemType: 'coverage',
    extent: {
      spatial: { bbox: [raster.extent84], storageCrsBbox: [raster.extent], crs: CRS84.uri },
    },
    crs: collection.crs.map((crs) => crs.uri),
    // A CRS without a code has no URI that clients could send.
    storageCrs: collection.storageCrs.epsg > 0 ? collection.storageCrs.uri : undefined,
    grid: gridDocument(collection),
    domain: {
      type: 'Grid',
      axes: {
        x: { start: raster.extent[0], stop: raster.extent[2], num: raster.width },
        y: { start: raster.extent[3], stop: raster.extent[1], num: raster.height },
      },
    },
    defaultFields: raster.bands.map((band) => bandName(band.band)),
    links: [
      ...formatLinks(x, path, META_FORMATS),
      {
        href: `${url}/schema`,
        rel: 'http://www.opengis.net/def/rel/ogc/1.0/schema',
        type: 'application/schema+json',
        title: 'Bands',
      },
      {
        href: `${url}/coverage?f=geotiff`,
        rel: 'http://www.opengis.net/def/rel/ogc/1.0/coverage',
        type: 'image/tiff; application=geotiff',
        title: 'Coverage as GeoTIFF',
      },
      {
        href: `${url}/coverage?f=png`,
        rel: 'http://www.opengis.net/def/rel/ogc/1.0/coverage',
        type: 'image/png',
        title: 'Coverage as PNG',
      },
      {
        href: `${x.baseUrl}/ogc/maps/collections/${collection.layerId}/map`,
        rel: 'http://www.opengis.net/def/rel/ogc/1.0/map',
        type: 'image/png',
        title: 'Map',
      },
      {
        href: `${x.baseUrl}/stac/collections/${collection.id}`,
        rel: 'related',
        type: 'application/json',
        title: 'STAC collection',
      },
    ] as Link[],
  };
}

function gridDocument({ raster }: RasterCollection) {
  const [, resolutionX, , , , resolutionY] = raster.geoTransform;
  return {
    type: 'RegularGrid',
    width: raster.width,
    height: raster.height,
    resolution: [resolutionX, Math.abs(resolutionY)],
    geoTransform: raster.geoTransform,
  };
}

export function coveragesDocument(x: Exchange, collections: readonly RasterCollection[]) {
  return {
    collections: collections.map((collection) => coverageDocument(x, collection)),
    links: formatLinks(x, `${COVERAGES_PATH}/collections`, META_FORMATS),
  };
}

/** JSON Schema of the bands, in file order. */
export function coverageSchema(x: Exchange, collection: RasterCollection) {
  const properties = collection.raster.bands.map((band, i) => [
    bandName(band.band),
    {
      title: band.description || `Band ${band.band}`,
      type: /Float/.test(band.type) ? 'number' : 'integer',
      'x-ogc-propertySeq': i + 1,
      'x-gdal-type': band.type,
      ...(band.unit ? { 'x-ogc-unit': band.unit } : {}),
      ...(band.noData === null ? {} : { 'x-ogc-nilValues': [band.noData] }),
      ...(band.statistics ? { minimum: band.statistics.min, maximum: band.statistics.max } : {}),
    },
  ]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${x.baseUrl}${COVERAGES_PATH}/collections/${collection.id}/schema`,
    type: 'object',
    title: collection.title,
    description: collection.description,
    properties: Object.fromEntries(properties),
  };
}
