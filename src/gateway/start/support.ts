import { supportTable } from '../operations/admin/support-table.js';
import { GROUPS } from './management-groups.js';

/** Writes docs/reference/apis/operations.md to standard output. */
process.stdout.write(supportTable(GROUPS));
