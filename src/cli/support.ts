import { GROUPS } from '../gateway/admin/index.js';
import { supportTable } from '../gateway/admin/support-table.js';

/** Writes docs/support.md to standard output. */
process.stdout.write(supportTable(GROUPS));
