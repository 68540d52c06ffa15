/**
 * Loads a library that prevents PROJ (inside GDAL) from opening the files that are named in a CRS definition. GDAL has no setting
 * for that, and PROJ opens such a file while a driver opens its own.
 */

import { constants } from 'node:os';
import { builtFile } from '../../native/built.js';

const { RTLD_GLOBAL, RTLD_NOW } = constants.dlopen;

process.dlopen({ exports: {} }, builtFile('graticule_proj.node'), RTLD_NOW | RTLD_GLOBAL);
