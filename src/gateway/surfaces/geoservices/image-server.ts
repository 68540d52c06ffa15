import type { Position } from 'geojson';
import { type Box, envelope } from '../../../core/box.js';
import type { RasterCollection } from '../../../core/collection.js';
import { CRS84, type Crs } from '../../../core/crs.js';
import { badParameter } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import type { Exchange, Operation } from '../../../core/operation.js';
import { pathString } from '../../../core/params.js';
import { transformPoints } from '../../../native/index.js';
import { geometryLiteral, spatialReference } from '../../../services/geoservices/geometry.js';
import { timeRange } from '../../../services/geoservices/time.js';
import { granulesOf } from '../../../services/rasters/granules.js';
import { valuesByTime } from '../../../services/rasters/position.js';
import type { TilesDeps } from '../tiles/params.js';
import { common, documentFormat, readingOperation } from './feature-server.js';
import {
  catalogItem,
  FIELDS,
  imageServiceDocument,
  keyProperties,
  statisticsDocument,
} from './image-documents.js';
import { exportImageOperations } from './image-export.js';
import { requireImage, ruled } from './image-layers.js';
import { jsonReply } from './in-band.js';
import { layerCrs, spatialReferenceOf } from './layer-documents.js';
import { legendOf } from './map-legend.js';
import { tileOperation } from './map-tiles.js';
import { boxOf, referenceOf } from './map-window.js';
import { flagOf, type Members, numberOf, numbersOf, textOf } from './members.js';
import { member } from './query-members.js';

const SERVER = 'ImageServer';
const PATH = `/rest/services/{serviceId}/${SERVER}`;
const serviceId = pathString('serviceId', 'Identifier of a collection of rasters.');
const about = (verb: string) => common(SERVER, verb, SERVER);

/** Points of one answer. */
const MOST_SAMPLES = 100;
const MOST_TEXT = 1000;

const place = {
  geometry: member('geometry', 'Where to look: x,y, or a geometry as JSON.'),
  geometryType: member('geometryType', 'esriGeometryPoint when absent.'),
  time: member('time', 'Milliseconds since 1970, or start,end.'),
  mosaicRule: member('mosaicRule', 'esriMosaicNone or esriMosaicLockRaster, as JSON.'),
};

/** Rasters as image services: pictures, values, statistics, and the rasters that they are made of. */
export function imageServerOperations(deps: TilesDeps): Operation[] {
  type Answer = (x: Exchange, collection: RasterCollection, members: Members) => unknown;
  const document = (
    name: string,
    path: string,
    summary: string,
    answer: Answer,
    params: Parameters<typeof readingOperation>[0]['params'] = {},
  ) =>
    readingOperation({
      ...{ about: about(path || 'service'), name, path: path ? `${PATH}/${path}` : PATH },
      ...{ pathParams: { serviceId }, params, summary },
      async run(x, { serviceId: id }, members) {
        const format = documentFormat(members);
        return jsonReply(await answer(x, requireImage(deps, x.principal, id!), members), format);
      },
    });
  return [
    ...document('imageService', '', 'An image service', (_x, one) => imageServiceDocument(one)),
    ...document('imageStatistics', 'statistics', 'Statistics of bands', (_x, one) => statisticsDocument(one)),
    ...document('imageProperties', 'keyProperties', 'Names and units of bands', (_x, one) =>
      keyProperties(one),
    ),
    ...document('imageLegend', 'legend', 'Legend of an image service', async (x, one) => ({
      layers: [{ ...(await legendOf(x, deps, one)), layerId: 0 }],
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
        ...{
          objectIds: member('objectIds', 'Numbers of rasters, from 1.'),
          outSR: member('outSR', 'Spatial reference.'),
        },
        ...{ time: place.time, returnGeometry: member('returnGeometry', 'true when absent.') },
        ...{ returnCountOnly: member('returnCountOnly', ''), returnIdsOnly: member('returnIdsOnly', '') },
        ...{ resultOffset: member('resultOffset', ''), resultRecordCount: member('resultRecordCount', '') },
      },
    ),
    ...exportImageOperations(deps),
    tileOperation(deps, SERVER, (principal, id) => [requireImage(deps, principal, id)]),
  ];
}

interface Places {
  /** x,y ordered, in `crs`. */
  readonly positions: readonly (readonly [number, number])[];
  readonly crs: Crs;
}

/** The corners of a geometry; the middle of an envelope. Throws 400 naming `geometry`. */
function placesOf(collection: RasterCollection, members: Members): Places {
  const { geometry } = members;
  if (geometry === undefined || geometry === '') throw badParameter('geometry', 'is missing');
  let crs = referenceOf(members, 'sr') ?? layerCrs(collection);
  const isText = typeof geometry === 'string' && !geometry.trim().startsWith('{');
  const type = textOf(members, 'geometryType', MOST_TEXT) ?? (isText ? 'esriGeometryPoint' : undefined);
  const literal = geometryLiteral(geometry, type, (own) => {
    if (own !== undefined && own !== null) crs = spatialReference('geometry', own);
    return crs;
  });
  if (!('type' in literal)) return { positions: [middleOf(boxOf('geometry', geometry)!.bbox)], crs };
  const { type: kind } = literal;
  if (kind === 'Point') return { positions: [literal.coordinates as [number, number]], crs };
  if (kind === 'MultiPoint') return { positions: literal.coordinates as [number, number][], crs };
  if (kind === 'MultiLineString')
    return { positions: literal.coordinates.flat() as Position[] as [number, number][], crs };
  return { positions: [middleOf(envelope(literal)!)], crs };
}

const middleOf = ([minx, miny, maxx, maxy]: Box) => [(minx + maxx) / 2, (miny + maxy) / 2] as const;

async function identify(x: Exchange, deps: TilesDeps, collection: RasterCollection, members: Members) {
  const { positions, crs } = placesOf(collection, members);
  const [at] = positions;
  const value = await pixelAt(x, deps, ruled(collection, members), { at: at!, crs, members });
  return {
    ...{ objectId: 0, name: 'Pixel', value: value ?? 'NoData' },
    location: { x: at![0], y: at![1], spatialReference: spatialReferenceOf(crs) },
    ...{ properties: null, catalogItems: null, catalogItemVisibilities: [] },
  };
}

async function samples(x: Exchange, deps: TilesDeps, collection: RasterCollection, members: Members) {
  const { positions, crs } = placesOf(collection, members);
  if (positions.length > MOST_SAMPLES) throw badParameter('geometry', `has more than ${MOST_SAMPLES} points`);
  const source = ruled(collection, members);
  const all: object[] = [];
  for (const [locationId, at] of positions.entries()) {
    const value = await pixelAt(x, deps, source, { at, crs, members });
    if (value === undefined) continue;
    const location = { x: at[0], y: at[1], spatialReference: spatialReferenceOf(crs) };
    all.push({ location, locationId, value, rasterId: 1, resolution: 0 });
  }
  return { samples: all };
}

/** Values of all bands, of the newest time; undefined where the raster does not lie. */
async function pixelAt(
  x: Exchange,
  { pools }: TilesDeps,
  collection: RasterCollection,
  { at, crs, members }: { at: readonly [number, number]; crs: Crs; members: Members },
): Promise<string | undefined> {
  const point = new Float64Array(at);
  transformPoints(point, crs.proj, CRS84.proj);
  const [longitude, latitude] = [point[0]!, point[1]!];
  if (!Number.isFinite(longitude) || !Number.isFinite(latitude)) return undefined;
  const datetime = timeRange(textOf(members, 'time', MOST_TEXT));
  const choice = { place: [longitude, latitude] as const, datetime, most: 1 };
  const { steps = [] } = (await valuesByTime(x, pools, collection, choice)) ?? {};
  return steps
    .at(-1)
    ?.values.map((value) => value ?? 'NoData')
    .join(', ');
}

/** The rasters that a service is made of, as features. */
function catalog(collection: RasterCollection, members: Members) {
  const { where } = members;
  for (const name of ['geometry', 'orderByFields', 'outStatistics', 'groupByFieldsForStatistics'])
    if (members[name]) throw badParameter(name, 'is not supported of image services');
  if (where && !/^\s*1\s*=\s*1\s*$/.test(textOf(members, 'where', MOST_TEXT)!))
    throw badParameter('where', 'must be 1=1 of image services');
  const ids = numbersOf(members, 'objectIds', MOST_TEXT);
  const time = timeRange(textOf(members, 'time', MOST_TEXT));
  const { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY } = time ?? {};
  const items = granulesOf(collection)
    .map((granule, i) => ({ granule, id: i + 1 }))
    .filter(({ id }) => !ids || ids.includes(id))
    .filter(
      ({ granule: { acquired } }) =>
        !time || (acquired !== undefined && acquired >= start && acquired <= end),
    );
  if (flagOf(members, 'returnCountOnly', false)) return { count: items.length };
  if (flagOf(members, 'returnIdsOnly', false))
    return { objectIdFieldName: 'OBJECTID', objectIds: items.map(({ id }) => id) };
  const crs = referenceOf(members, 'outSR') ?? layerCrs(collection);
  const offset = numberOf(members, 'resultOffset') ?? 0;
  const limit = Math.min(
    numberOf(members, 'resultRecordCount') || LIMITS.geoServicesRecords,
    LIMITS.geoServicesRecordsMax,
  );
  const page = items.slice(offset, offset + limit);
  const shape = flagOf(members, 'returnGeometry', true) ? crs : undefined;
  return {
    ...{ objectIdFieldName: 'OBJECTID', fields: FIELDS, geometryType: 'esriGeometryPolygon' },
    spatialReference: spatialReferenceOf(crs),
    ...(offset + page.length < items.length ? { exceededTransferLimit: true } : {}),
    features: page.map(({ granule, id }) => catalogItem(granule, id, shape)),
  };
}
