import { supportTable } from '../operations/admin/support-table.js';
import { GROUPS } from './management-groups.js';

/** Writes docs/support.md to standard output. */
process.stdout.write(supportTable(GROUPS));
