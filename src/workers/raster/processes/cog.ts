/** Arguments of GDAL's utilities for results: cloud optimized GeoTIFF. Differences of neighbours at the least effort are smaller than values at the usual one, and faster. */
export const COG: string[] = [
  ...[
    '-of',
    'COG',
    '-co',
    'COMPRESS=DEFLATE',
    '-co',
    'LEVEL=1',
    '-co',
    'PREDICTOR=YES',
    '-co',
    'BIGTIFF=IF_SAFER',
    '-co',
    'NUM_THREADS=1',
  ],
];
