import { TaskFailure } from '../../../../core/errors/failure.js';
import type { PgError } from '../../../../native/postgres.js';
import { isPgError } from '../../../../native/postgres.js';
import { EditRefusal } from '../../../edits/session.js';
import { CANCELED, MISSING, TOO_MUCH, UNAVAILABLE } from '../connections/failure.js';

/**
 * Refusals for client errors, by SQLSTATE. They contain only names and the messages of triggers from the database's
 * texts.
 */
const REFUSALS: Record<string, (message: string) => EditRefusal> = {
  '23502': (message) => EditRefusal.member(`/properties/${quoted(message)}`, 'must not be null'),
  '23503': (message) =>
    new EditRefusal('conflict', `Other rows conflict with the edit: ${quoted(message, -1)}.`),
  '23505': (message) =>
    new EditRefusal('conflict', `Another feature has the same value: ${quoted(message)}.`),
  '23P01': (message) =>
    new EditRefusal('conflict', `Another feature conflicts with the edit: ${quoted(message)}.`),
  '23514': (message) =>
    new EditRefusal('invalid', `A value breaks the rule ${quoted(message, -1)} of the table.`),
  '428C9': (message) =>
    EditRefusal.member(`/properties/${quoted(message)}`, 'is set by the database. Omit it'),
  P0001: raised,
  '42501': () => new EditRefusal('forbidden', 'The database user may not do this.'),
};

/** A value that does not fit its column, by SQLSTATE. */
const BAD_VALUES: Record<string, string> = {
  '22001': 'A text is longer than its column allows.',
  '22003': 'A number is out of the range of its column.',
  '22007': 'A date or time is not one that its column takes.',
  '22008': 'A date or time is out of the range of its column.',
  '22P02': 'A value is not one that the type of its column takes.',
};
/** Syntax errors are of input functions, as of `tsquery`: statements have no text of clients. */
const BAD_VALUE = /^(22|42601$)/;
/** SQLSTATE of PostGIS for a geometry that its column does not take, and of other functions. */
const WRONG_PARAMETER = '22023';
const GEOMETRY = /geometry|dimension/i;
const WRONG_GEOMETRY = 'geometry: the column does not take a geometry of this type or these dimensions.';
/** Another transaction is in the way. */
const TRANSIENT = /^(40001|40P01|55P03)$/;
/** This is a standby, or a database that cannot be written to now. */
const READ_ONLY = '25006';
/** Context of a RAISE error in a function, which has its own SQLSTATE. */
const RAISED = /\bRAISE$/m;
const IN_FUNCTION = /function/;
const INDEX = /index/;

const MAX_TEXT = 300;

function raised(message: string): EditRefusal {
  return new EditRefusal('invalid', `The database rejected the row: ${message}.`);
}

/** Runs a step of an edit. PostgreSQL errors become an `EditRefusal`, or a `TaskFailure` if they are temporary. */
export async function guarded<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    throw isPgError(error) ? (convertError(error) ?? error) : error;
  }
}

/** Runs a statement that writes a row, or the commit: triggers, rules and types of the database may refuse it in any way. */
export async function guardedWrite<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    throw isPgError(error) ? (convertError(error) ?? findRefusal(error) ?? error) : error;
  }
}

function convertError(error: PgError): Error | undefined {
  const { code } = error;
  const message = firstMessage(error).slice(0, MAX_TEXT);
  const isConflict = TRANSIENT.test(code);
  if (RAISED.test(error.message) && !isConflict) return raised(message);
  if (code === READ_ONLY)
    return new TaskFailure(
      'store-unavailable',
      'The database is read-only now. Retry later.',
      `${code}: ${message}`,
    );
  const refusal = REFUSALS[code];
  if (refusal) return refusal(message);
  if (code === WRONG_PARAMETER && GEOMETRY.test(message)) return new EditRefusal('invalid', WRONG_GEOMETRY);
  if (BAD_VALUE.test(code)) {
    return new EditRefusal('invalid', BAD_VALUES[code] ?? 'A value does not fit its column.');
  }
  if (!isConflict) return undefined;
  return new TaskFailure(
    'store-unavailable',
    'Another edit changed the same features. Retry.',
    `${code}: ${message}`,
  );
}

/**
 * Returns the refusal for an error. Undefined for a database that is unavailable or too slow, and for a table that
 * has changed.
 */
function findRefusal(error: PgError): EditRefusal | undefined {
  const { code, alive, message } = error;
  if (!alive || code === CANCELED || UNAVAILABLE.test(code)) return undefined;
  if (code === TOO_MUCH && INDEX.test(message))
    return new EditRefusal('invalid', 'A value is too long for an index of the table.');
  if (MISSING.test(code) && !IN_FUNCTION.test(message)) return undefined;
  return new EditRefusal('conflict', `The database rejected the edit (SQLSTATE ${code}).`);
}

/** The message without its severity and without its other lines, which contain values that clients may not see. */
function firstMessage({ message }: PgError): string {
  return message
    .split('\n', 1)[0]!
    .replace(/^\S+:\s+/, '')
    .trim();
}

/** A quoted name in a message of the server: the first, or counted from the end. */
function quoted(message: string, index = 0): string {
  return [...message.matchAll(/"([^"]*)"/g)].at(index)?.[1] ?? 'unknown';
}
