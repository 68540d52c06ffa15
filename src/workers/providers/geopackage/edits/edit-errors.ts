import { TaskFailure } from '../../../../core/errors/failure.js';
import { EditRefusal } from '../../../edits/session.js';
import { isOver } from '../../time-limit.js';

/** Runs a step of an edit. SQLite errors become an `EditRefusal` or a `TaskFailure`. */
export function guarded<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw convertError(error as Error & { code?: string });
  }
}

/** Refusals for client errors, by extended result code. */
const REFUSALS: Record<string, (message: string) => EditRefusal> = {
  SQLITE_CONSTRAINT_NOTNULL: (message) => EditRefusal.member(formatMember(message), 'must not be null'),
  SQLITE_CONSTRAINT_UNIQUE: (message) => conflict(message),
  SQLITE_CONSTRAINT_PRIMARYKEY: (message) => conflict(message),
  SQLITE_CONSTRAINT_ROWID: (message) => conflict(message),
  SQLITE_CONSTRAINT_FOREIGNKEY: () =>
    new EditRefusal('conflict', 'Other rows refer to this one, or it to a missing one.'),
  SQLITE_CONSTRAINT_CHECK: (message) =>
    new EditRefusal('invalid', `A value is not allowed: ${afterColon(message)}.`),
  SQLITE_CONSTRAINT_TRIGGER: (message) =>
    new EditRefusal('invalid', `The store rejected the row: ${message}.`),
  SQLITE_CONSTRAINT_DATATYPE: () =>
    new EditRefusal('invalid', 'A value does not fit the type of its column.'),
  SQLITE_MISMATCH: () => new EditRefusal('invalid', 'A value does not fit the type of its column.'),
  SQLITE_TOOBIG: () => new EditRefusal('invalid', 'The feature is too large for the store.'),
};

/** Result codes of temporary problems: another program writes, or the file has become read-only. */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|READONLY|CANTOPEN|IOERR)/;

function convertError(error: Error & { code?: string }): Error {
  const { code = '', message } = error;
  if (isOver(error))
    return new TaskFailure(
      'deadline-exceeded',
      'The file did not store the edit in time. A trigger of its tables may not end.',
    );
  const refusal = REFUSALS[code];
  if (refusal) return refusal(message);
  if (!UNAVAILABLE.test(code)) return error;
  return new TaskFailure(
    'store-unavailable',
    'The store cannot be written now. Retry later.',
    `${code}: ${message}`,
  );
}

/** The column of `NOT NULL constraint failed: table.column` as a JSON pointer. */
function formatMember(message: string): string {
  return `/properties/${message.slice(message.lastIndexOf('.') + 1)}`;
}

function conflict(message: string): EditRefusal {
  const columns = afterColon(message)
    .split(', ')
    .map((column) => column.slice(column.lastIndexOf('.') + 1));
  return new EditRefusal('conflict', `Another feature has the same ${columns.join(' and ')}.`);
}

function afterColon(message: string): string {
  return message.slice(message.indexOf(': ') + 2);
}
