import { geoPackageStore } from '../edits/support.js';
import { conflictSuite } from './conflict-suite.js';

conflictSuite('GeoPackage', async () => geoPackageStore());
