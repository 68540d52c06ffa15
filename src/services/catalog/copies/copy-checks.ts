import type { TableCheck } from '../../../core/tasks/table-tasks.js';

/** Check result for a table that can be copied. */

export const READABLE: TableCheck = { code: 'table-missing', severity: 'pass', message: 'It can be copied.' };

export const UNREAD_OBJECT: TableCheck = {
  code: 'table-unread',
  severity: 'warning',
  message: 'Whether the object is there, and holds what its name says, is seen when it is copied.',
};
