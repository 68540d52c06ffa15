import type { RasterCollection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import { TaskFailure } from '../../core/errors/failure.js';
import type { Box } from '../../core/geometry/box.js';
import { buildCrsUri, type Crs } from '../../core/geometry/crs.js';
import { linkType, PNG_FORMAT } from '../../core/http/media.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { COVERAGES_PATH } from '../../core/http/paths.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { type CoverageParams, coverageRequest } from '../../services/rasters/coverage-request.js';
import {
  type CoverageRequest,
  hasScaling,
  readCoverage,
  type TimedCoverage,
} from '../../services/rasters/read.js';
import { outside } from '../../services/rasters/subset.js';
import { withQuery } from '../surface/common.js';
import { coverageReply } from '../surface/coverage-reply.js';
import { lossHeaders } from '../surface/source-item-headers.js';

/** Reads a window of a coverage (contract: coverage retrieval parameters). */
export async function createCoverageReply(
  x: Exchange,
  pools: Pools,
  collection: RasterCollection,
  params: CoverageParams,
): Promise<Reply> {
  const request = coverageRequest(collection, params, x.format === PNG_FORMAT ? 'png' : 'geotiff');
  const { result, time } = await read(x, pools, collection, request);
  return coverageReply(result, {
    ...placeHeaders(x, request.crs, result.bbox),
    ...(time === undefined ? {} : { 'content-datetime': time }),
    ...lossHeaders(result),
    link: linkHeader(x, collection),
  });
}

async function read(
  x: Exchange,
  pools: Pools,
  collection: RasterCollection,
  request: CoverageRequest,
): Promise<TimedCoverage> {
  try {
    return await readCoverage(x, pools, collection, request);
  } catch (error) {
    if (!(error instanceof TaskFailure)) throw error;
    if (error.code === 'no-data') {
      // The contract has it so for bbox, the standard so for subset.
      if (x.query.includes('bbox=')) throw badParameter('bbox', 'must intersect the coverage');
      throw outside();
    }
    if (error.code === 'too-large' && !hasScaling(request))
      throw badParameter('scale-size', `${error.message} Add a size or a resolution, or use a smaller bbox.`);
    throw error;
  }
}

/** Content-Crs only where the numbers are not longitudes and latitudes; those of Content-Bbox are in its axis order. */
function placeHeaders(x: Exchange, crs: Crs, [minx, miny, maxx, maxy]: Box): Record<string, string> {
  const wrap = (lon: number) => (crs.geographic && lon > 180 ? lon - 360 : lon);
  const [west, east] = [wrap(minx), wrap(maxx)];
  const uri = buildCrsUri(crs, x.baseUrl);
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
