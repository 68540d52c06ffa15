/** Nodata values. */

import type { RasterBand } from 'gdal-async';

/** Default nodata value of 32-bit floats: their minimum. */
export const FLOAT_NODATA = -3.4028234663852886e38;

/** Minimum and maximum of the integer types. */
const BOUNDS: Readonly<Record<string, readonly [number, number]>> = {
  Byte: [0, 255],
  Int8: [-128, 127],
  UInt16: [0, 65_535],
  Int16: [-32_768, 32_767],
  UInt32: [0, 4_294_967_295],
  Int32: [-2_147_483_648, 2_147_483_647],
};

/** Returns the minimum and maximum of an integer type. */
export const getTypeBounds = (type: string | null) => BOUNDS[type ?? ''];

/** The nodata value of a band; null where there is none, or none that its type has: no pixel is without a value by it. */
export function nodataIn({ dataType, noDataValue }: Pick<RasterBand, 'dataType' | 'noDataValue'>) {
  const bounds = getTypeBounds(dataType);
  if (noDataValue === null || !bounds) return noDataValue;
  const [least, most] = bounds;
  return Number.isInteger(noDataValue) && noDataValue >= least && noDataValue <= most ? noDataValue : null;
}
