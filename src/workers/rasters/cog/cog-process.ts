import type { Dataset } from '../../gdal/gdal.js';

/** Method that combines pixels to one pixel of an overview. */
export type OverviewResampling = 'AVERAGE' | 'NEAREST';

/** Returns the method. Values between two classes, or between two indices of a colour table, have no meaning. */
export function chooseOverviewResampling({ bands }: Dataset): OverviewResampling {
  const { colorTable, categoryNames } = bands.get(1);
  return colorTable || categoryNames.length > 0 ? 'NEAREST' : 'AVERAGE';
}

/**
 * Arguments of GDAL's utilities that write results as cloud optimized GeoTIFF. Differences of neighbouring pixels at
 * the lowest compression level are smaller and faster than plain values at the default level.
 */
export const cogArguments = (overviews: OverviewResampling): string[] => [
  ...['-of', 'COG', '-co', 'COMPRESS=DEFLATE', '-co', 'LEVEL=1', '-co', 'PREDICTOR=YES'],
  ...['-co', 'BIGTIFF=IF_SAFER', '-co', 'NUM_THREADS=1', '-co', `OVERVIEW_RESAMPLING=${overviews}`],
];

/** The same for a file that is only read to write the result. */
export const PLAIN_ARGUMENTS: readonly string[] = [
  ...['-of', 'GTiff', '-co', 'TILED=YES', '-co', 'COMPRESS=DEFLATE', '-co', 'ZLEVEL=1'],
  ...['-co', 'BIGTIFF=IF_SAFER'],
];
