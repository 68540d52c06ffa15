import { editSuite } from './suite.js';
import { postgisStore } from './support.js';
import { addFineTables } from './unchanged.js';

editSuite('PostGIS', async () => addFineTables(await postgisStore()));
