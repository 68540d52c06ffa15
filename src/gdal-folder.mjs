import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** Where gdal-async has its native part and its data, for the bundle of its JavaScript (bundle.mjs). */
export const GDAL_FOLDER = dirname(createRequire(import.meta.url).resolve('gdal-async'));
