import { editSuite } from './suite.js';
import { geoPackageStore } from './support.js';

editSuite('GeoPackage', async () => geoPackageStore());
