/**
 * Pixel functions of virtual rasters that merge the values of several rasters. GDAL has such functions only since
 * 3.8.
 */

import { ALL_MERGES, type Merge } from '../../../../core/rasters/rasters.js';
import { mergeFunction } from '../../../../native/index.js';
import { gdal } from '../../../gdal/gdal.js';
import { getTypeBounds } from '../../pixels/nodata.js';
import { formatVrtNumber } from '../vrt-text.js';

const PREFIX = 'graticule_';

/** Maximum rasters that are read for one window. Each needs separate memory while they are merged. */
export const MAX_MERGED = 64;

for (const merge of ALL_MERGES) gdal.addPixelFunc(PREFIX + merge, mergeFunction(merge));

/** Band that merges other bands. */
export interface MergedBand {
  type: string;
  /** Value where no source has a value. */
  absent: number;
}

/**
 * Returns the result of merging bands of a type with the nodata value `noData`. Null: every number can be a value. If
 * a result can equal the nodata value, the result is a float band, and NaN represents missing values.
 */
export function mergedBand(merge: Merge, type: string, noData: number | null): MergedBand {
  const isApart = noData !== null && resultsDiffer(merge, type, noData);
  return isApart ? { type, absent: noData } : { type: chooseFloat(type), absent: Number.NaN };
}

/** Whether no result can be the value of no data. */
function resultsDiffer(merge: Merge, type: string, noData: number): boolean {
  if (merge === 'max' || merge === 'min') return true;
  // A mean or median of values is inside the range of the type, like the values.
  return (merge === 'average' || merge === 'median') && getTypeBounds(type)?.includes(noData) === true;
}

/** Whether results have another meaning than the merged values. */
export const isDerivedStatistic = (merge: Merge): boolean =>
  merge === 'standard-deviation' || merge === 'count';

/** Floating point type that represents all values of a type. */
const chooseFloat = (type: string) => (/^(U?Int32|Float64)$/.test(type) ? 'Float64' : 'Float32');

/**
 * Returns the elements that make a virtual band merge its sources, which have values of a type. Sources are read in
 * the type of the band. GDAL fills areas outside a source and missing values with the nodata value of the band.
 */
export function mergeElements(merge: Merge, { type, absent }: MergedBand, of: string): string {
  const isWhole = of.startsWith('Float') ? 0 : 1;
  const none = formatVrtNumber(absent);
  return (
    `<PixelFunctionType>${PREFIX}${merge}</PixelFunctionType>` +
    `<PixelFunctionArguments noData="${none}" absent="${none}" isWhole="${isWhole}"/>` +
    `<SourceTransferType>${type}</SourceTransferType>`
  );
}
