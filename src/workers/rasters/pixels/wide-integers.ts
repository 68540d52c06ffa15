/** Bands of 64-bit integers, of which a double has those up to 2^53. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { ALL_VALID } from '../../gdal/gdal.js';
import { splitIntoBlocks } from './blocks.js';
import type { PixelBox } from './values.js';

export type WideType = 'Int64' | 'UInt64';

/** Whether the values of a band are integers of 64 bits. */
export const isWide = ({ dataType }: Pick<RasterBand, 'dataType'>): boolean =>
  dataType === 'Int64' || dataType === 'UInt64';

/** Nodata values: limits of the types that a double can represent. */
export const WIDE_NODATA: Readonly<Record<WideType, number>> = { Int64: -(2 ** 63), UInt64: 2 ** 64 - 2048 };

export type WideValues = BigInt64Array | BigUint64Array;

export async function readWide(
  band: RasterBand,
  { column, row, width, height }: PixelBox,
): Promise<WideValues> {
  return (await band.pixels.readAsync(column, row, width, height)) as unknown as WideValues;
}

const LIMIT = 2n ** 53n;

/** Whether a double may have been rounded to an integer, or may round it. */
export const isLarge = (value: bigint): boolean => value >= LIMIT || value <= -LIMIT;

/**
 * Whether a band contains integers that a double rounds, or that a double has rounded. Nodata values do not count.
 */
export async function isBeyondDoubles(band: RasterBand): Promise<boolean> {
  if (!isWide(band)) return false;
  for (const box of splitIntoBlocks({ width: band.size.x, height: band.size.y })) {
    const values = await readWide(band, box);
    if (!values.some(isLarge)) continue;
    const isValid = await validIn(band, box, values);
    if (values.some((value: bigint, i: number) => isLarge(value) && isValid(i))) return true;
  }
  return false;
}

/** The values of a window; null where there is none. */
export async function readIntegers(band: RasterBand, box: PixelBox): Promise<(bigint | null)[]> {
  const values = await readWide(band, box);
  const isValid = await validIn(band, box, values);
  return Array.from(values as Iterable<bigint>, (value, i) => (isValid(i) ? value : null));
}

export async function validIn(
  band: RasterBand,
  { column, row, width, height }: PixelBox,
  values: WideValues,
): Promise<(i: number) => boolean> {
  const nodata = band.noDataValue;
  if (nodata !== null) return (i) => Number(values[i]) !== nodata;
  const mask = (band.getMaskFlags() & ALL_VALID) === 0 ? band.getMaskBand() : null;
  const valid = await mask?.pixels.readAsync(column, row, width, height);
  return valid ? (i) => valid[i] !== 0 : () => true;
}

export const roundedByMosaic = () =>
  new TaskFailure(
    'invalid-input',
    'The mosaic has 64-bit integers beyond 2^53, which the server would round. Publish the rasters without the mosaic.',
  );
