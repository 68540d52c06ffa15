import { inspectTables, registerStore } from '../../../src/workers/providers/store.js';
import { COLUMNS, collection } from '../data.js';
import { memoryStore } from '../memory-store.js';
import { storeSuite } from '../suite.js';

/** A store that src does not know: its own file, one registration. */
const fields = COLUMNS.map((column) => ({ ...column, nullable: true }));
registerStore('memory', memoryStore(new Map([['rows', { fields, features: collection.features }]])));

storeSuite('in memory', async () => inspectTables({ kind: 'memory', path: '' })[0]!);
