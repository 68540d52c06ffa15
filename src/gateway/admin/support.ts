import { GROUPS } from './index.js';
import { supportTable } from './support-table.js';

/** Writes docs/support.md to standard output. */
process.stdout.write(supportTable(GROUPS));
