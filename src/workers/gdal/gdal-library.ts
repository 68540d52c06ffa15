/** GDAL, after the library that keeps PROJ within its own folders: GDAL is linked with what was loaded before it. */

import './proj-guard.js';
import gdal from 'gdal-async';

export default gdal;
