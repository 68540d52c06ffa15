/** Arguments of GDAL's utilities for results: cloud optimized GeoTIFF. */
export const COG: string[] = [
  ...['-of', 'COG', '-co', 'COMPRESS=DEFLATE', '-co', 'BIGTIFF=IF_SAFER', '-co', 'NUM_THREADS=1'],
];
