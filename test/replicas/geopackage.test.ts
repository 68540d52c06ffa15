import { geoPackageStore } from '../edits/support.js';
import { replicaSuite } from './suite.js';

replicaSuite('GeoPackage', async () => geoPackageStore());
