import { addNarrowTable } from './capacity.js';
import { editSuite } from './suite.js';
import { postgisStore } from './support.js';
import { addFineTables } from './unchanged-rows.js';

editSuite('PostGIS', async () => addNarrowTable(await addFineTables(await postgisStore())));
