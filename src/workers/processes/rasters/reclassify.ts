/** Classes of values. */

import type { RasterBand } from 'gdal-async';
import type { RasterClass, RasterProcess } from '../../../core/rasters/raster-processes.js';
import type { Dataset } from '../../gdal/gdal.js';
import { type BandShape, FLOAT_BANDS, getRasterShape, writeBlocks } from '../../rasters/pixels/blocks.js';
import { needsDoubles, readWindowValues } from '../../rasters/pixels/values.js';

/** Values of a band by the classes that they are in. */
export function reclassify(
  { dataset, band }: { dataset: Dataset; band: number },
  { classes, keepsOthers }: Extract<RasterProcess, { kind: 'reclassify' }>,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const source = dataset.bands.get(band);
  const bands = {
    count: 1,
    ...smallestBands(
      classes.map(({ value }) => value),
      keepsOthers ? source : undefined,
    ),
    overviews: 'NEAREST' as const,
  };
  const bounds = Float64Array.from(classes, ({ min }) => min);
  const classify = (value: number) => {
    const one = classes[lastAtMost(bounds, value)];
    if (one && value < one.max) return one.value;
    return keepsOthers ? value : Number.NaN;
  };
  const compute = async (box: Parameters<typeof readWindowValues>[1]) => {
    const values = await readWindowValues(source, box);
    for (let i = 0; i < values.length; i++) values[i] = classify(values[i]!);
    return [values];
  };
  return writeBlocks(getRasterShape(dataset), bands, part, compute, onProgress);
}

/** Place of the last bound that is not above a value; -1 when all are. */
function lastAtMost(bounds: Float64Array, value: number): number {
  let [low, high] = [0, bounds.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bounds[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the smallest type for these values, the values of a band that are kept, and one more value for nodata. */
function smallestBands(
  values: readonly RasterClass['value'][],
  kept: RasterBand | undefined,
): Pick<BandShape, 'type' | 'nodata'> {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isInteger = values.every(Number.isInteger) && least > -(2 ** 31) && most < 2 ** 31;
  if (!kept && isInteger)
    return least >= 0 && most < 255 ? { type: 'Byte', nodata: 255 } : { type: 'Int32', nodata: -(2 ** 31) };
  const isNarrow = values.every((value) => Math.fround(value) === value);
  return isNarrow && !(kept && needsDoubles(kept)) ? FLOAT_BANDS : { ...FLOAT_BANDS, type: 'Float64' };
}
