/** Pixel functions of virtual rasters that merge the values of several rasters. GDAL has none of them before 3.8. */

import { ALL_MERGES, type Merge } from '../../../../core/rasters/rasters.js';
import { mergeFunction } from '../../../../native/index.js';
import { gdal } from '../../../gdal/gdal.js';
import { getTypeBounds } from '../../pixels/nodata.js';
import { formatVrtNumber } from '../vrt-text.js';

const PREFIX = 'graticule_';

/** Rasters that are read at once for one window: each has memory of its own while they are merged. */
export const MAX_MERGED = 64;

for (const merge of ALL_MERGES) gdal.addPixelFunc(PREFIX + merge, mergeFunction(merge));

/** A band that merges others. */
export interface MergedBand {
  type: string;
  /** What stands where no source has a value. */
  absent: number;
}

/**
 * What becomes of bands of a type in which `noData` is no value; null where any may be one. Where a result may be what
 * stands for none, it is a float, and NaN is none.
 */
export function mergedBand(merge: Merge, type: string, noData: number | null): MergedBand {
  const isApart = noData !== null && resultsDiffer(merge, type, noData);
  return isApart ? { type, absent: noData } : { type: chooseFloat(type), absent: Number.NaN };
}

/** Whether no result can be the value of no data. */
function resultsDiffer(merge: Merge, type: string, noData: number): boolean {
  if (merge === 'max' || merge === 'min') return true;
  // A middle of values lies on one side of an end of the type, as they do.
  return (merge === 'average' || merge === 'median') && getTypeBounds(type)?.includes(noData) === true;
}

/** Whether results are not of the kind of what is merged. */
export const isDerivedStatistic = (merge: Merge): boolean =>
  merge === 'standard-deviation' || merge === 'count';

/** Holds all values of a type. */
const chooseFloat = (type: string) => (/^(U?Int32|Float64)$/.test(type) ? 'Float64' : 'Float32');

/**
 * What makes a band of a virtual raster one that merges its sources, which have values of a type. They are read as values
 * of the type of the band: GDAL fills what a source does not cover, and what it has no value for, with the no data of the
 * band.
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
