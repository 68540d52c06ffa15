/** Values of a band, as processes read them. */

import type { RasterBand } from 'gdal-async';
import { ALL_VALID } from '../../gdal/gdal.js';
import { nodataIn } from './nodata.js';

/** A rectangle of pixels. */
export interface PixelBox {
  column: number;
  row: number;
  width: number;
  height: number;
}

/** The values of a window, with scale and offset applied; NaN for pixels without one. */
export async function readWindowValues(
  band: RasterBand,
  { column, row, width, height }: PixelBox,
): Promise<Float64Array> {
  const values = await band.pixels.readAsync(
    column,
    row,
    width,
    height,
    undefined as Float64Array | undefined,
    {
      data_type: 'Float64',
    },
  );
  const { scale, offset } = band;
  const nodata = nodataIn(band);
  if (nodata !== null) blank(values, (i) => values[i] === nodata);
  else {
    const mask = (band.getMaskFlags() & ALL_VALID) === 0 ? band.getMaskBand() : null;
    const valid = await mask?.pixels.readAsync(column, row, width, height);
    if (valid) blank(values, (i) => valid[i] === 0);
  }
  if (hasScaledValues(band))
    for (let i = 0; i < values.length; i++) values[i] = values[i]! * (scale ?? 1) + (offset ?? 0);
  return values;
}

/** Whether the values differ from the stored numbers. */
export const hasScaledValues = ({ scale, offset }: Pick<RasterBand, 'scale' | 'offset'>) =>
  (scale ?? 1) !== 1 || (offset ?? 0) !== 0;

/** Types with values that a Float32 does not have. */
const DOUBLES: ReadonlySet<string> = new Set(['Int32', 'UInt32', 'Int64', 'UInt64', 'Float64']);

export const needsDoubles = (band: RasterBand) => DOUBLES.has(band.dataType ?? '');

function blank(values: Float64Array, isMissing: (i: number) => boolean): void {
  for (let i = 0; i < values.length; i++) if (isMissing(i)) values[i] = Number.NaN;
}
