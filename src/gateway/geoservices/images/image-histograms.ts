import type { Position } from 'geojson';
import type { RasterCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { type Box, computeEnvelope } from '../../../core/geometry/box.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import type { Exchange } from '../../../core/http/operation.js';
import type { BandHistogram, HistogramTask } from '../../../core/rasters/rasters.js';
import { timeRange } from '../../../services/geoservices/time.js';
import { runTask } from '../../../services/kit/run-task.js';
import { findSource } from '../../../services/rasters/read.js';
import { member } from '../features/query-members.js';
import { layerCrs } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import type { MapDeps } from '../maps/map-layers.js';
import { type Members, readObjectMember, readTextMember } from '../members.js';
import { ruled } from './image-layers.js';
import { placeGeometry } from './pixels.js';
import { parseRenderingRule } from './rendering-rule.js';

/** Histograms of the bands of image services. */

const MAX_TEXT = 1000;

export const AREA_PARAMS = {
  geometry: member('geometry', 'An envelope or a polygon, as JSON.'),
  geometryType: member('geometryType', 'esriGeometryEnvelope or esriGeometryPolygon.'),
  pixelSize: member(
    'pixelSize',
    'Size of the pixels that are read: x,y, or JSON. Default: those of the raster.',
  ),
  time: member('time', 'Milliseconds since 1970, or start,end.'),
  mosaicRule: member('mosaicRule', 'esriMosaicNone or esriMosaicLockRaster, as JSON.'),
  renderingRule: member('renderingRule', 'None or ExtractBand, as JSON.'),
};

/** Computed from the same sample as the statistics of the service. */
export async function wholeHistograms(x: Exchange, deps: MapDeps, collection: RasterCollection) {
  const { source, at } = await findSource(x, deps.pools, collection, { place: undefined });
  return { histograms: (await counted(x, deps, collection, { source, ...(at ? { at } : {}) })).histograms };
}

/** Throws 400 naming the parameter. */
export async function countsWithin(
  x: Exchange,
  deps: MapDeps,
  collection: RasterCollection,
  members: Members,
) {
  const { bbox, polygons, crs } = readArea(members, collection);
  const pixel = readPixelSize(members);
  const bands = listBands(collection, members);
  const datetime = timeRange(readTextMember(members, 'time', MAX_TEXT));
  const place = { bbox, bboxCrs: crs };
  const { source, at } = await findSource(x, deps.pools, ruled(collection, members), { datetime, place });
  const area = { bbox, crs: crs.proj, maxPixels: GEOSERVICES_LIMITS.histogramPixels };
  return counted(x, deps, collection, {
    source,
    ...(at ? { at } : {}),
    ...(bands ? { bands } : {}),
    area: { ...area, ...(polygons ? { polygons } : {}), ...(pixel ? { pixel } : {}) },
  });
}

async function counted(x: Exchange, { pools }: MapDeps, { layerId }: RasterCollection, task: HistogramTask) {
  try {
    const { bands } = await runTask(x, pools, 'raster.histograms', task, { layerId });
    return { statistics: bands.map(buildStatistics), histograms: bands.map(buildHistogram) };
  } catch (error) {
    if (!(error instanceof TaskFailure)) throw error;
    if (error.code === 'no-data') throw badParameter('geometry', 'must intersect the raster');
    if (error.code === 'too-large')
      throw badParameter('pixelSize', `must be larger, or the geometry smaller: ${error.message}`);
    throw error;
  }
}

function buildStatistics(band: BandHistogram | null) {
  if (!band) return { min: null, max: null, mean: null, standardDeviation: null, count: 0 };
  const { min, max, mean, stdDev, count } = band;
  return { min, max, mean, standardDeviation: stdDev, count };
}

function buildHistogram(band: BandHistogram | null) {
  if (!band) return { size: 0, min: 0, max: 0, counts: [] };
  const { from, to, counts } = band.histogram;
  return { size: counts.length, min: from, max: to, counts };
}

/** The area of a request: a box, and the polygon that it is around. */
function readArea(members: Members, collection: RasterCollection) {
  const { literal, crs } = placeGeometry(members, layerCrs(collection));
  // An envelope across the antimeridian is in degrees.
  if (!('type' in literal))
    return { bbox: literal.bbox as Box, crs: literal.crs === crs.proj ? crs : CRS84, polygons: undefined };
  if (literal.type !== 'MultiPolygon') throw badParameter('geometry', 'must be an envelope or a polygon');
  const bbox = computeEnvelope(literal)!;
  if (!(bbox[0] < bbox[2] && bbox[1] < bbox[3]))
    throw badParameter('geometry', 'must have a width and a height greater than 0');
  return { bbox, crs, polygons: literal.coordinates as Position[][][] };
}

/** `x,y`, one number for both, or a point as JSON. */
function readPixelSize(members: Members): [number, number] | undefined {
  const value = members['pixelSize'];
  if (value === undefined || value === '') return undefined;
  const isJson = typeof value === 'object' || /^\s*\{/.test(String(value));
  const json = isJson ? readObjectMember(members, 'pixelSize')! : {};
  const [x, y = x] = isJson
    ? [Number(json['x']), Number(json['y'])]
    : readTextMember(members, 'pixelSize', MAX_TEXT)!.split(',').map(Number);
  if (!(x! > 0 && y! > 0 && Number.isFinite(x) && Number.isFinite(y)))
    throw badParameter('pixelSize', 'must be x,y, both above 0');
  return [x!, y!];
}

/** The bands that a rendering rule extracts; values that it makes are not counted. */
function listBands(collection: RasterCollection, members: Members): number[] | undefined {
  const { look, style } = parseRenderingRule(collection, members);
  const { bands, ...others } = look;
  if (style || Object.keys(others).length > 0)
    throw badParameter('renderingRule', 'must be None or ExtractBand, because stored values are counted');
  return bands && [...bands];
}
