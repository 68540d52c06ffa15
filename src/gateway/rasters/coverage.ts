import type { RasterCollection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { Box } from '../../core/geometry/box.js';
import { CRS84, type Crs, normaliseBox, uriOf } from '../../core/geometry/crs.js';
import { linkType, PNG_FORMAT } from '../../core/http/media.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import type { TimeRange } from '../../core/http/params.js';
import type { Resampling } from '../../core/rasters/rasters.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { lossHeaders } from '../../services/rasters/source-items.js';
import { giveRoomBack } from '../../workers/engine/rooms.js';
import { withQuery } from '../surface/common.js';
import { bandName, COVERAGES_PATH } from './documents.js';
import { type CoverageReading, type CoverageRequest, isScaled, openCoverage, readCoverage } from './read.js';
import { type ScalingParams, scalingOf } from './scaling.js';
import { outside, type Subset, subsetOf } from './subset.js';

export interface CoverageParams extends ScalingParams {
  bbox: Box | undefined;
  bboxCrs: Crs | undefined;
  crs: Crs | undefined;
  datetime: TimeRange | undefined;
  subset: string | undefined;
  subsetCrs: Crs | undefined;
  properties: string | undefined;
  excludeProperties: string | undefined;
  resampling: Resampling | undefined;
}

/** Reads a window of a coverage (contract: coverage retrieval parameters). */
export async function coverage(
  x: Exchange,
  pools: Pools,
  collection: RasterCollection,
  params: CoverageParams,
): Promise<Reply> {
  const crs = advertisedCrs(collection, 'crs', params.crs) ?? collection.storageCrs;
  const { bbox, bboxCrs, sliced, ...narrowing } = selectionOf(collection, params);
  const request: CoverageRequest = {
    ...narrowing,
    place: bbox && { bbox, bboxCrs },
    crs,
    bands: bandsOf(collection, params),
    scaling: scalingOf(collection, params, { bbox, bboxCrs, crs, sliced }),
    resampling: params.resampling,
    format: x.format === PNG_FORMAT ? 'png' : 'geotiff',
  };
  const { result, time } = await read(x, pools, collection, request);
  return {
    status: 200,
    mediaType: result.mediaType,
    body: await openCoverage(result),
    etag: result.tag,
    cacheControl: 'no-cache',
    headers: {
      ...placeHeaders(x, crs, result.bbox),
      ...(time === undefined ? {} : { 'content-datetime': time }),
      ...lossHeaders(result),
      link: linkHeader(x, collection),
    },
    sent: () => giveRoomBack(result.data),
  };
}

/** What is asked for by `bbox` and `datetime`, or by `subset`. Throws 400 where both speak of the same axis. */
function selectionOf(collection: RasterCollection, params: CoverageParams) {
  const named = params.subset;
  const subset: Subset =
    named === undefined
      ? { sliced: [] }
      : subsetOf(collection, named, advertisedCrs(collection, 'subset-crs', params.subsetCrs));
  if (subset.bbox && params.bbox) throw badParameter('bbox', 'does not go with a subset of the same axes');
  if (subset.datetime && params.datetime) throw badParameter('datetime', 'does not go with a subset of time');
  const { sliced, heights } = subset;
  const datetime = subset.datetime ?? params.datetime;
  if (subset.bbox)
    return { bbox: subset.bbox, bboxCrs: params.subsetCrs ?? CRS84, sliced, heights, datetime };
  const bboxCrs = advertisedCrs(collection, 'bbox-crs', params.bboxCrs) ?? CRS84;
  return { bbox: params.bbox && windowOf(params.bbox, bboxCrs), bboxCrs, sliced, heights, datetime };
}

async function read(
  x: Exchange,
  pools: Pools,
  collection: RasterCollection,
  request: CoverageRequest,
): Promise<CoverageReading> {
  try {
    return await readCoverage(x, pools, collection, request);
  } catch (error) {
    if (!(error instanceof TaskFailure)) throw error;
    if (error.code === 'no-data') {
      // The contract has it so for bbox, the standard so for subset.
      if (x.query.includes('bbox=')) throw badParameter('bbox', 'does not touch the coverage');
      throw outside();
    }
    if (error.code === 'too-large' && !isScaled(request))
      throw badParameter('scale-size', `${error.message} Give a size, a resolution or a smaller bbox.`);
    throw error;
  }
}

/** Content-Crs only where the numbers are not longitudes and latitudes; those of Content-Bbox are in its axis order. */
function placeHeaders(x: Exchange, crs: Crs, [minx, miny, maxx, maxy]: Box): Record<string, string> {
  const wrap = (lon: number) => (crs.geographic && lon > 180 ? lon - 360 : lon);
  const [west, east] = [wrap(minx), wrap(maxx)];
  const uri = uriOf(crs, x.baseUrl);
  if (crs.epsg === 4326 || uri === undefined) return { 'content-bbox': [west, miny, east, maxy].join(',') };
  const box = crs.northFirst ? [miny, west, maxy, east] : [west, miny, east, maxy];
  return { 'content-bbox': box.join(','), 'content-crs': `<${uri}>` };
}

function linkHeader(x: Exchange, collection: RasterCollection): string {
  const path = `${x.baseUrl}${COVERAGES_PATH}/collections/${collection.id}/coverage`;
  return x.operation.formats
    .map((format) => {
      const rel = format === x.format ? 'self' : 'alternate';
      return `<${withQuery(path, x.query, format.name)}>; rel="${rel}"; type="${linkType(format)}"`;
    })
    .join(', ');
}

function advertisedCrs(collection: RasterCollection, name: string, choice: Crs | undefined): Crs | undefined {
  if (!choice || collection.crs.some((crs) => crs.uri === choice.uri)) return choice;
  throw badParameter(name, 'is not offered by this coverage; see its crs list');
}

function windowOf(box: Box, crs: Crs): Box {
  const bbox = normaliseBox('bbox', box, crs);
  if (bbox[0] === bbox[2] || bbox[1] === bbox[3]) throw badParameter('bbox', 'has no area');
  return bbox;
}

/** The bands of the answer: those named, in their order, or all but those left out. Undefined for all. */
function bandsOf(
  collection: RasterCollection,
  { properties, excludeProperties }: CoverageParams,
): number[] | undefined {
  if (excludeProperties === undefined) {
    return properties === undefined ? undefined : bandsNamed(collection, 'properties', properties);
  }
  if (properties !== undefined) throw badParameter('exclude-properties', 'does not go with properties');
  if (excludeProperties === '') return undefined;
  const excluded = bandsNamed(collection, 'exclude-properties', excludeProperties);
  const bands = collection.bands.map(({ band }) => band).filter((band) => !excluded.includes(band));
  if (bands.length === 0) throw badParameter('exclude-properties', 'leaves no band');
  return bands;
}

/** `band_1,band_3` or `tas,pr` -> [1, 3], in the order asked; a band twice is an error. */
function bandsNamed(collection: RasterCollection, parameter: string, names: string): number[] {
  const bands = names.split(',').map((name) => findBand(collection, parameter, name.trim()));
  if (new Set(bands).size !== bands.length) throw badParameter(parameter, 'names a band twice');
  return bands;
}

/** A band by its number, or by its title (the variable of a file with axes) where no other band has the same. */
export function findBand({ bands }: RasterCollection, parameter: string, name: string): number {
  const numbered = bands.find(({ band }) => name === bandName(band));
  if (numbered) return numbered.band;
  const [titled, ...others] = bands.filter(({ description }) => description === name && name !== '');
  if (!titled) throw badParameter(parameter, `there is no band '${name.slice(0, 40)}'`);
  if (others.length > 0)
    throw badParameter(
      parameter,
      `several bands are called '${name.slice(0, 40)}': name them by number, as band_1`,
    );
  return titled.band;
}
