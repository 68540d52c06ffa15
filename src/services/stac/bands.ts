import type { RasterCollection } from '../../core/catalog/collection.js';
import type { BandInfo } from '../../core/rasters/rasters.js';
import { describeCrs } from '../../native/index.js';

/** Bands of a raster as the Raster (1.1.0) and EO (1.1.0) extensions describe them. */

const DATA_TYPES: Readonly<Record<string, string>> = {
  Byte: 'uint8',
  Int8: 'int8',
  UInt16: 'uint16',
  Int16: 'int16',
  UInt32: 'uint32',
  Int32: 'int32',
  UInt64: 'uint64',
  Int64: 'int64',
  Float32: 'float32',
  Float64: 'float64',
  CInt16: 'cint16',
  CInt32: 'cint32',
  CFloat32: 'cfloat32',
  CFloat64: 'cfloat64',
};

/** Colours of bands that the EO extension has a common name for. */
const COMMON_NAMES: Readonly<Record<string, string>> = { Red: 'red', Green: 'green', Blue: 'blue' };

export function rasterBands(collection: RasterCollection): object[] {
  const resolution = metresPerPixel(collection);
  return collection.bands.map(({ type, noData, unit, statistics }) => ({
    data_type: DATA_TYPES[type] ?? 'other',
    ...(noData === null ? {} : { nodata: numberOrName(noData) }),
    ...(unit ? { unit } : {}),
    ...(resolution === undefined ? {} : { spatial_resolution: resolution }),
    ...(statistics ? { statistics: readStatistics(statistics) } : {}),
  }));
}

export function eoBands({ bands }: RasterCollection): object[] {
  return bands.map(({ band, description, colorInterpretation }) => {
    const common = COMMON_NAMES[colorInterpretation];
    return {
      name: `band_${band}`,
      ...(description ? { description } : {}),
      ...(common ? { common_name: common } : {}),
    };
  });
}

function readStatistics({ min, max, mean, stdDev }: NonNullable<BandInfo['statistics']>) {
  return { minimum: min, maximum: max, mean, stddev: stdDev };
}

/** JSON has no words for these. */
function numberOrName(value: number): number | string {
  if (Number.isNaN(value)) return 'nan';
  if (Number.isFinite(value)) return value;
  return value > 0 ? 'inf' : '-inf';
}

/** Mean of the pixel's sides in metres; of degrees in the middle of the raster. */
export function metresPerPixel({ raster, storageCrs }: RasterCollection): number | undefined {
  const [, width, , , , height] = raster.geoTransform;
  try {
    const metres = describeCrs(storageCrs.proj).metresPerUnit;
    const latitude = (raster.extent84[1] + raster.extent84[3]) / 2;
    const across = storageCrs.geographic ? Math.cos((latitude * Math.PI) / 180) : 1;
    const side = ((Math.abs(width) * across + Math.abs(height)) / 2) * metres;
    return side > 0 && Number.isFinite(side) ? Number(side.toPrecision(6)) : undefined;
  } catch {
    return undefined;
  }
}
