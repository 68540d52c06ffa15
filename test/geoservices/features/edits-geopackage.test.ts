import { geoPackageStore } from '../../edits/support.js';
import { editSuite } from './edits.js';

editSuite(geoPackageStore);
