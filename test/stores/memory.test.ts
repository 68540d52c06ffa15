import { registerStore } from '../../src/workers/providers/store.js';
import { COLUMNS, collection } from './data.js';
import { memorySource, memoryStore } from './memory-store.js';
import { storeSuite } from './suite.js';

/** A store that src does not know: its own file, one registration. */
registerStore('memory', memoryStore(new Map([['rows', collection]])));
const fields = COLUMNS.map((column) => ({ ...column, nullable: true }));
storeSuite('in memory', async () => ({ source: memorySource('rows', fields) }));
