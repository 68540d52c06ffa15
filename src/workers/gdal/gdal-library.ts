/**
 * Loads GDAL after the library that restricts PROJ to its own folders, because GDAL is linked with the libraries that
 * were loaded before it.
 */

import './proj-guard.js';
import gdal from 'gdal-async';
import { watchDatasets } from './watched-datasets.js';

watchDatasets(gdal);

export default gdal;
