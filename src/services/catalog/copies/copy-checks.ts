import type { TableCheck } from '../../../core/tasks/table-tasks.js';

/** Check result for a table that can be copied. */

export const READABLE: TableCheck = { code: 'table-missing', severity: 'pass', message: 'It can be copied.' };

export const UNREAD_OBJECT: TableCheck = {
  code: 'table-unread',
  severity: 'warning',
  message:
    'The object is not opened before it is copied, so a missing object or a wrong format is found then.',
};
