/** Pixel functions of virtual rasters that merge the values of several rasters. GDAL has none of them before 3.8. */

import { ALL_MERGES, type Merge } from '../../../../core/rasters.js';
import { mergeFunction } from '../../../../native/index.js';
import { gdal } from '../../gdal.js';
import { numberText } from '../vrt-text.js';

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

const STATISTICS: ReadonlySet<Merge> = new Set<Merge>(['standard-deviation', 'count']);

/** What becomes of bands of a type, in which `noData` is no value. */
export function mergedBand(merge: Merge, type: string, noData: number): MergedBand {
  // Any number may be a count or a deviation: what is none has to be something else.
  return STATISTICS.has(merge) ? { type: floatOf(type), absent: Number.NaN } : { type, absent: noData };
}

/** Holds all values of a type. */
const floatOf = (type: string) => (/^(U?Int32|Float64)$/.test(type) ? 'Float64' : 'Float32');

/**
 * What makes a band of a virtual raster one that merges its sources. They are read as values of its type: GDAL fills what a
 * source does not cover with the no data of the band.
 */
export function mergeElements(merge: Merge, { type, absent }: MergedBand, noData: number): string {
  const isWhole = type.startsWith('Float') ? 0 : 1;
  return (
    `<PixelFunctionType>${PREFIX}${merge}</PixelFunctionType>` +
    `<PixelFunctionArguments noData="${numberText(noData)}" absent="${numberText(absent)}" isWhole="${isWhole}"/>` +
    `<SourceTransferType>${type}</SourceTransferType>`
  );
}
