/** Parameters of coverage requests. */

import type { RasterCollection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import { CRS84, type Crs, normaliseBox } from '../../core/geometry/crs.js';
import type { TimeRange } from '../../core/http/params.js';
import type { Resampling } from '../../core/rasters/rasters.js';
import { findBand } from './bands.js';
import type { CoverageRequest } from './read.js';
import { parseScaling, type ScalingParams } from './scaling.js';
import { parseSubset, type Subset } from './subset.js';

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

/** The reading for the parameters. Throws 400 with the name of the wrong parameter. */
export function coverageRequest(
  collection: RasterCollection,
  params: CoverageParams,
  format: CoverageRequest['format'],
): CoverageRequest {
  const crs = advertisedCrs(collection, 'crs', params.crs) ?? collection.storageCrs;
  const { bbox, bboxCrs, sliced, ...narrowing } = parseSelection(collection, params);
  return {
    ...narrowing,
    place: bbox && { bbox, bboxCrs },
    crs,
    bands: listBands(collection, params),
    scaling: parseScaling(collection, params, { bbox, bboxCrs, crs, sliced }),
    resampling: params.resampling,
    format,
  };
}

/** The selection by `bbox` and `datetime`, or by `subset`. Throws 400 if both restrict the same axis. */
function parseSelection(collection: RasterCollection, params: CoverageParams) {
  const named = params.subset;
  const subset: Subset =
    named === undefined
      ? { sliced: [] }
      : parseSubset(collection, named, advertisedCrs(collection, 'subset-crs', params.subsetCrs));
  if (subset.bbox && params.bbox)
    throw badParameter('bbox', 'cannot be combined with a subset of the same axes');
  if (subset.datetime && params.datetime)
    throw badParameter('datetime', 'cannot be combined with a subset of time');
  const { sliced, heights } = subset;
  const datetime = subset.datetime ?? params.datetime;
  if (subset.bbox)
    return { bbox: subset.bbox, bboxCrs: params.subsetCrs ?? CRS84, sliced, heights, datetime };
  const bboxCrs = advertisedCrs(collection, 'bbox-crs', params.bboxCrs) ?? CRS84;
  return { bbox: params.bbox && computeWindow(params.bbox, bboxCrs), bboxCrs, sliced, heights, datetime };
}

function advertisedCrs(collection: RasterCollection, name: string, choice: Crs | undefined): Crs | undefined {
  if (!choice || collection.crs.some((crs) => crs.uri === choice.uri)) return choice;
  throw badParameter(name, 'is not supported by this coverage. Use a CRS of its crs list');
}

function computeWindow(box: Box, crs: Crs): Box {
  const bbox = normaliseBox('bbox', box, crs);
  if (bbox[0] === bbox[2] || bbox[1] === bbox[3])
    throw badParameter('bbox', 'must have a width and a height greater than 0');
  return bbox;
}

/**
 * The bands of the response: the requested ones in their order, or all except the excluded ones. Undefined for all.
 */
function listBands(
  collection: RasterCollection,
  { properties, excludeProperties }: CoverageParams,
): number[] | undefined {
  if (excludeProperties === undefined) {
    return properties === undefined ? undefined : bandsNamed(collection, 'properties', properties);
  }
  if (properties !== undefined)
    throw badParameter('exclude-properties', 'cannot be combined with properties');
  if (excludeProperties === '') return undefined;
  const excluded = bandsNamed(collection, 'exclude-properties', excludeProperties);
  const bands = collection.bands.map(({ band }) => band).filter((band) => !excluded.includes(band));
  if (bands.length === 0) throw badParameter('exclude-properties', 'must leave at least one band');
  return bands;
}

/** Band numbers in the requested order: `band_1,band_3` or `tas,pr` -> [1, 3]. A repeated band is an error. */
function bandsNamed(collection: RasterCollection, parameter: string, names: string): number[] {
  const bands = names.split(',').map((name) => findBand(collection, parameter, name.trim()));
  if (new Set(bands).size !== bands.length) throw badParameter(parameter, 'must name each band once');
  return bands;
}
