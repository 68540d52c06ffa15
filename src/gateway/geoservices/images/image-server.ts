import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { PNG_FORMAT } from '../../../core/http/media.js';
import type { Exchange, Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { timeRange } from '../../../services/geoservices/time.js';
import { listGranules } from '../../../services/rasters/granules.js';
import type { TilesDeps } from '../../surface/tile-reply.js';
import { common, documentFormat, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { PROJECT_PARAMS, projectGeometries } from '../geometry/geometry-server.js';
import { createSpatialReference, layerCrs } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import { createLegendDocument } from '../maps/map-legend.js';
import { tileOperation } from '../maps/map-tiles.js';
import { readSpatialReference } from '../maps/map-window.js';
import {
  type Members,
  readFlagMember,
  readIntegerMember,
  readIntegersMember,
  readTextMember,
} from '../members.js';
import { wcsOperation } from '../ogc/wcs-server.js';
import {
  catalogItem,
  dimensionsDocument,
  FIELDS,
  FUNCTION_INFOS,
  imageServiceDocument,
  keyProperties,
  statisticsDocument,
} from './image-documents.js';
import { exportImageOperations } from './image-export.js';
import { FIND_PARAMS, findImages } from './image-find.js';
import { AREA_PARAMS, countsWithin, wholeHistograms } from './image-histograms.js';
import { requireFirstImage, requireImage, ruled } from './image-layers.js';
import { MEASURE_PARAMS, measureImage } from './image-measure.js';
import { jsonReply } from './in-band.js';
import { type PlaceGeometry, type PlacePosition, placeGeometry, readPixel } from './pixels.js';

const SERVER = 'ImageServer';
const PATH = `/rest/services/{serviceId}/${SERVER}`;
const serviceId = pathString('serviceId', 'Identifier of a collection of rasters.');
/** Clients without a service name use this path, which leads to the first image service. */
const ROOT = `/rest/services/${SERVER}`;
const about = (verb: string) => common(SERVER, verb, SERVER);

/** Maximum number of points in one response. */
const MAX_SAMPLES = 100;
const MAX_TEXT = 1000;

const place = {
  geometry: member('geometry', 'Position or area: x,y, or a geometry as JSON.'),
  geometryType: member('geometryType', 'Type of geometry. Default: esriGeometryPoint.'),
  time: member('time', 'Milliseconds since 1970, or start,end.'),
  mosaicRule: member('mosaicRule', 'esriMosaicNone or esriMosaicLockRaster, as JSON.'),
};

/** Rasters as image services: images, values, statistics, and the rasters of a mosaic. */
export function imageServerOperations(deps: TilesDeps): Operation[] {
  type Answer = (x: Exchange, collection: RasterCollection, members: Members) => unknown;
  const document = (
    name: string,
    path: string,
    summary: string,
    answer: Answer,
    params: Parameters<typeof readingOperation>[0]['params'] = {},
  ) =>
    [PATH, ROOT].flatMap((base) =>
      readingOperation({
        about: about(path || 'service'),
        name: base === ROOT ? `${name}OfRoot` : name,
        path: path ? `${base}/${path}` : base,
        params,
        summary,
        pathParams: base === ROOT ? {} : { serviceId },
        async run(x, { serviceId: id }, members) {
          const format = documentFormat(members);
          const collection =
            id === undefined ? requireFirstImage(deps, x.principal) : requireImage(deps, x.principal, id);
          return jsonReply(await answer(x, collection, members), format);
        },
      }),
    );
  return [
    ...document('imageService', '', 'An image service', (_x, one) => imageServiceDocument(one)),
    ...document('imageStatistics', 'statistics', 'Statistics of bands', (_x, one) => statisticsDocument(one)),
    ...document('imageProperties', 'keyProperties', 'Names and units of bands', (_x, one) =>
      keyProperties(one),
    ),
    ...document('imageLegend', 'legend', 'Legend of an image service', async (x, one) => ({
      layers: [{ ...(await createLegendDocument(x, deps, one)), layerId: 0 }],
    })),
    ...document(
      'imageIdentify',
      'identify',
      'The pixel at a place',
      (x, one, members) => identify(x, deps, one, members),
      place,
    ),
    ...document(
      'imageSamples',
      'getSamples',
      'Pixels at several places',
      (x, one, members) => samples(x, deps, one, members),
      place,
    ),
    ...document(
      'imageQuery',
      'query',
      'Rasters of an image service',
      (_x, one, members) => catalog(one, members),
      {
        objectIds: member('objectIds', 'Numbers of rasters, from 1.'),
        outSR: member('outSR', 'Spatial reference.'),
        time: place.time,
        returnGeometry: member('returnGeometry', 'Default: true.'),
        returnCountOnly: member('returnCountOnly', ''),
        returnIdsOnly: member('returnIdsOnly', ''),
        resultOffset: member('resultOffset', ''),
        resultRecordCount: member('resultRecordCount', ''),
      },
    ),
    ...document('imageHistograms', 'histograms', 'Histograms of bands', (x, one) =>
      wholeHistograms(x, deps, one),
    ),
    ...document(
      'imageComputeHistograms',
      'computeHistograms',
      'Histograms of bands within an area',
      async (x, one, members) => ({ histograms: (await countsWithin(x, deps, one, members)).histograms }),
      AREA_PARAMS,
    ),
    ...document(
      'imageComputeStatisticsHistograms',
      'computeStatisticsHistograms',
      'Statistics and histograms of bands within an area',
      (x, one, members) => countsWithin(x, deps, one, members),
      AREA_PARAMS,
    ),
    ...document(
      'imageMeasure',
      'measure',
      'Distances and areas on the ground',
      (x, one, members) => measureImage(x, deps, one, members),
      MEASURE_PARAMS,
    ),
    ...document(
      'imageFind',
      'find',
      'Images that show a position',
      (_x, one, members) => findImages(one, members),
      FIND_PARAMS,
    ),
    ...document(
      'imageProject',
      'project',
      'Geometries in another spatial reference',
      (x, _one, members) => projectGeometries(x, deps.pools, members),
      PROJECT_PARAMS,
    ),
    ...document('imageDimensions', 'multidimensionalInfo', 'Axes of times and levels', (_x, one) =>
      dimensionsDocument(one),
    ),
    ...document('imageFunctions', 'rasterFunctionInfos', 'Raster functions by their names', () => ({
      rasterFunctionInfos: FUNCTION_INFOS,
    })),
    ...exportImageOperations(deps),
    wcsOperation(deps),
    tileOperation(deps, {
      id: 'tileImageServer',
      server: SERVER,
      format: PNG_FORMAT,
      layersOf: (principal, id) => [requireImage(deps, principal, id)],
    }),
  ];
}

/** The corners of a geometry of points or lines; the middle of any other. */
function listPositions({ literal, middle }: PlaceGeometry): readonly PlacePosition[] {
  if (!('type' in literal)) return [middle];
  if (literal.type === 'MultiPoint') return literal.coordinates as [number, number][];
  if (literal.type === 'MultiLineString') return literal.coordinates.flat() as [number, number][];
  return [middle];
}

const readTime = (members: Members) => timeRange(readTextMember(members, 'time', MAX_TEXT));

async function identify(x: Exchange, deps: TilesDeps, collection: RasterCollection, members: Members) {
  const place = placeGeometry(members, layerCrs(collection));
  const [[east, north]] = listPositions(place) as [PlacePosition];
  const choice = { at: [east, north] as const, crs: place.crs, datetime: readTime(members) };
  const value = await readPixel(x, deps.pools, ruled(collection, members), choice);
  return {
    objectId: 0,
    name: 'Pixel',
    value: value ?? 'NoData',
    location: { x: east, y: north, spatialReference: createSpatialReference(place.crs) },
    properties: null,
    catalogItems: null,
    catalogItemVisibilities: [],
  };
}

async function samples(x: Exchange, deps: TilesDeps, collection: RasterCollection, members: Members) {
  const place = placeGeometry(members, layerCrs(collection));
  const [positions, { crs }, datetime] = [listPositions(place), place, readTime(members)];
  if (positions.length > MAX_SAMPLES)
    throw badParameter('geometry', `must have at most ${MAX_SAMPLES} points`);
  const source = ruled(collection, members);
  const all: object[] = [];
  for (const [locationId, at] of positions.entries()) {
    const value = await readPixel(x, deps.pools, source, { at, crs, datetime });
    if (value === undefined) continue;
    const location = { x: at[0], y: at[1], spatialReference: createSpatialReference(crs) };
    all.push({ location, locationId, value, rasterId: 1, resolution: 0 });
  }
  return { samples: all };
}

/** The rasters that a service is made of, as features. */
function catalog(collection: RasterCollection, members: Members) {
  const { where } = members;
  for (const name of ['geometry', 'orderByFields', 'outStatistics', 'groupByFieldsForStatistics'])
    if (members[name]) throw badParameter(name, 'is not supported for image services');
  if (where && !/^\s*1\s*=\s*1\s*$/.test(readTextMember(members, 'where', MAX_TEXT)!))
    throw badParameter('where', 'must be 1=1 for image services');
  const ids = readIntegersMember(members, 'objectIds', MAX_TEXT);
  const time = readTime(members);
  const { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY } = time ?? {};
  const items = listGranules(collection)
    .map((granule, i) => ({ granule, id: i + 1 }))
    .filter(({ id }) => !ids || ids.includes(id))
    .filter(
      ({ granule: { acquired } }) =>
        !time || (acquired !== undefined && acquired >= start && acquired <= end),
    );
  if (readFlagMember(members, 'returnCountOnly', false)) return { count: items.length };
  if (readFlagMember(members, 'returnIdsOnly', false))
    return { objectIdFieldName: 'OBJECTID', objectIds: items.map(({ id }) => id) };
  const crs = readSpatialReference(members, 'outSR') ?? layerCrs(collection);
  const offset = readIntegerMember(members, 'resultOffset') ?? 0;
  const limit = Math.min(
    readIntegerMember(members, 'resultRecordCount') || GEOSERVICES_LIMITS.geoServicesRecords,
    GEOSERVICES_LIMITS.geoServicesRecordsMax,
  );
  const page = items.slice(offset, offset + limit);
  const shape = readFlagMember(members, 'returnGeometry', true) ? crs : undefined;
  return {
    objectIdFieldName: 'OBJECTID',
    fields: FIELDS,
    geometryType: 'esriGeometryPolygon',
    spatialReference: createSpatialReference(crs),
    ...(offset + page.length < items.length ? { exceededTransferLimit: true } : {}),
    features: page.map(({ granule, id }) => catalogItem(granule, id, shape)),
  };
}
