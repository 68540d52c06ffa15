import { editSuite } from './suite.js';
import { postgisStore } from './support.js';

editSuite('PostGIS', () => postgisStore());
