/** Pixel functions of virtual rasters that merge the values of several rasters. GDAL has none of them before 3.8. */

import { MERGES, type Merge } from '../../../../core/rasters.js';
import { mergeFunction } from '../../../../native/index.js';
import { gdal } from '../../gdal.js';
import { numberText } from '../vrt-text.js';

const PREFIX = 'graticule_';

/** Rasters that are read at once for one window: each has memory of its own while they are merged. */
export const MAX_MERGED = 64;

for (const merge of MERGES) gdal.addPixelFunc(PREFIX + merge, mergeFunction(merge));

/** What makes a band of a virtual raster one that merges its sources, read as values of its own type. */
export function mergeElements(merge: Merge, type: string, noData: number): string {
  const isWhole = type.startsWith('Float') ? 0 : 1;
  return (
    `<PixelFunctionType>${PREFIX}${merge}</PixelFunctionType>` +
    `<PixelFunctionArguments noData="${numberText(noData)}" isWhole="${isWhole}"/>` +
    `<SourceTransferType>${type}</SourceTransferType>`
  );
}
