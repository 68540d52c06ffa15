import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../core/catalog/collection.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import { listMosaicMembers } from '../../core/catalog/raster-sources.js';
import { buildCrsUri, buildCrsUris, CRS84 } from '../../core/geometry/crs.js';
import type { Exchange } from '../../core/http/operation.js';
import { COVERAGES_PATH } from '../../core/http/paths.js';
import type { RasterInfo } from '../../core/rasters/rasters.js';
import { formatBandName } from '../../services/rasters/bands.js';
import {
  aboutLinks,
  aboutMembers,
  formatLinks,
  type Link,
  META_FORMATS,
  mapLinks,
} from '../surface/common.js';

/** Only rasters have coverages. */
export function asRaster(collection: Collection): RasterCollection {
  if (!hasCoverage(collection)) throw withoutSurface('coverage', collection);
  return collection;
}

export function coverageDocument(x: Exchange, collection: RasterCollection) {
  const path = `${COVERAGES_PATH}/collections/${collection.id}`;
  const { raster } = collection;
  const url = `${x.baseUrl}${path}`;
  return {
    id: collection.id,
    title: collection.title,
    description: collection.description,
    ...aboutMembers(collection),
    itemType: 'coverage',
    extent: extentDocument(collection),
    crs: buildCrsUris(collection.crs, x.baseUrl),
    storageCrs: buildCrsUri(collection.storageCrs, x.baseUrl),
    grid: gridDocument(collection),
    domain: domainDocument(x, collection),
    defaultFields: raster.bands.map((band) => formatBandName(band.band)),
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
        href: `${url}/position?coords=POINT({lon}%20{lat})`,
        rel: 'data',
        type: 'application/prs.coverage+json',
        title: 'Values at a place, by time',
        templated: true,
      },
      ...mapLinks(x.baseUrl, collection),
      ...aboutLinks(x.baseUrl, collection),
      {
        href: `${x.baseUrl}/stac/collections/${collection.id}`,
        rel: 'related',
        type: 'application/json',
        title: 'STAC collection',
      },
    ] as Link[],
  };
}

const GREGORIAN = 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian';

function extentDocument({ raster }: RasterCollection) {
  const instants = listInstants(raster);
  const [, dx, , , , dy] = raster.geoTransform;
  return {
    spatial: {
      bbox: [raster.extent84],
      storageCrsBbox: [raster.extent],
      crs: CRS84.uri,
      grid: [
        { cellsCount: raster.width, resolution: Math.abs(dx) },
        { cellsCount: raster.height, resolution: Math.abs(dy) },
      ],
    },
    ...(instants.length > 0
      ? {
          temporal: {
            interval: [[instants[0], instants.at(-1)]],
            trs: GREGORIAN,
            grid: { cellsCount: instants.length, coordinates: instants },
          },
        }
      : {}),
  };
}

/** Instants of the time axis, or those at which the rasters of a mosaic were taken; oldest first. */
function listInstants({ times, acquired, source }: RasterInfo): string[] {
  if (times) return times;
  const members = listMosaicMembers(source) ?? [{ acquired }];
  const instants = new Set(members.flatMap((member) => member.acquired ?? []));
  return [...instants].sort((a, b) => Date.parse(a) - Date.parse(b));
}

/** The lattice of the cells: corners, as GDAL has them. */
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

/** The same as a domain of CoverageJSON, which speaks of the middles of cells. */
function domainDocument(x: Exchange, { raster, storageCrs }: RasterCollection) {
  const { width, height, times, levels } = raster;
  const [x0, dx, , y0, , dy] = raster.geoTransform;
  const axis = (start: number, step: number, num: number) => ({
    start: start + step / 2,
    stop: start + step * (num - 0.5),
    num,
  });
  return {
    type: 'Grid',
    axes: {
      x: axis(x0, dx, width),
      y: axis(y0, dy, height),
      ...(levels ? { z: { values: levels.values } } : {}),
      ...(times ? { t: { values: times } } : {}),
    },
    referencing: [
      {
        coordinates: ['x', 'y'],
        system: {
          type: storageCrs.geographic ? 'GeographicCRS' : 'ProjectedCRS',
          id: buildCrsUri(storageCrs, x.baseUrl),
        },
      },
      ...(levels
        ? [{ coordinates: ['z'], system: { type: 'VerticalCRS', name: levels.name, unit: levels.unit } }]
        : []),
      ...(times ? [{ coordinates: ['t'], system: { type: 'TemporalRS', calendar: 'Gregorian' } }] : []),
    ],
  };
}

export const coverageListLinks = (x: Exchange): Link[] =>
  formatLinks(x, `${COVERAGES_PATH}/collections`, META_FORMATS);

/** JSON Schema of the bands, in file order. */
export function coverageSchema(x: Exchange, collection: RasterCollection) {
  const properties = collection.raster.bands.map((band, i) => [
    formatBandName(band.band),
    {
      title: band.description || `Band ${band.band}`,
      type: /Float/.test(band.type) ? 'number' : 'integer',
      'x-ogc-propertySeq': i + 1,
      'x-gdal-type': band.type,
      ...(band.unit ? { 'x-ogc-unit': band.unit } : {}),
      ...(band.noData === null ? {} : { 'x-ogc-nilValues': [band.noData] }),
      // Statistics of a sample; values may lie outside them.
      ...(band.statistics ? { 'x-statistics': band.statistics } : {}),
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
