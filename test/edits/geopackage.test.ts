import { addNarrowRows } from './capacity.js';
import { editSuite } from './suite.js';
import { geoPackageStore } from './support.js';
import { addFineRows } from './unchanged-rows.js';

editSuite('GeoPackage', async () => addFineRows(addNarrowRows(geoPackageStore())));
