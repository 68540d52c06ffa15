import { TaskFailure } from '../../../../core/errors/failure.js';
import type { PgError } from '../../../../native/postgres.js';

/** SQLSTATE of a statement that was cancelled, by us or by `statement_timeout`. */
export const CANCELED = '57014';
export const TOO_MANY_CONNECTIONS = '53300';

/** SQLSTATE for results above the limit of a response, and for statements above a limit of PostgreSQL. */
export const TOO_MUCH = '54000';
/** Classes and codes of SQLSTATE that mean that the database is currently unavailable to the server. */
export const UNAVAILABLE = /^(08|57P|53|58|28|3D)/;
/** SQLSTATEs of a missing table, column, schema or read privilege. */
export const MISSING = /^(42P01|42703|42501|3F000)$/;
/** A value that an operator or function of the filter cannot work with; geometry functions raise XX000. */
const BAD_VALUE = /^(22|XX000$|42883$|42804$)/;
/** SQLSTATEs that another attempt on a new connection resolves: stale plans and statements, conflicts. */
const REPEATABLE = /^(0A000|26000|40001|40P01)$/;

/** True for a failure that the same read on a fresh connection may not meet. */
export function isRepeatable({ code, alive }: PgError): boolean {
  return !alive || REPEATABLE.test(code);
}

/** Classes of SQLSTATE whose messages name conditions and objects. Other messages can contain values of rows. */
const WITHOUT_VALUES = /^(08|0A|25|26|28|2B|3D|3F|40|42|53|55|57|58)/;

/** Describes an error for the log. Details, hints and contexts can contain values of rows as well. */
export function describePgError({ code, message }: PgError): string {
  const text = WITHOUT_VALUES.test(code) ? message.split('\n')[0] : 'the message can contain values';
  return `${code}: ${text}`;
}

/** Converts a database error to the failure that a client receives. */
export function convertPgError(error: PgError, cancelled: boolean): TaskFailure {
  const cause = describePgError(error);
  if (cancelled) return new TaskFailure('cancelled', 'The task was cancelled.');
  if (error.code === CANCELED)
    return new TaskFailure('deadline-exceeded', 'The database did not respond in time. Retry later.', cause);
  if (UNAVAILABLE.test(error.code) || !error.alive) return createUnavailableFailure(cause);
  if (MISSING.test(error.code))
    return new TaskFailure('source-missing', 'The table of this collection was changed or removed.', cause);
  if (error.code === TOO_MUCH)
    return new TaskFailure('too-large', 'The response is too large. Request less.', cause);
  if (BAD_VALUE.test(error.code))
    return new TaskFailure('invalid-input', 'The database cannot evaluate this request.', cause);
  return new TaskFailure('internal', 'The database reported an error.', cause);
}

export function createUnavailableFailure(cause: string): TaskFailure {
  return new TaskFailure(
    'store-unavailable',
    'The database of this collection does not respond. Retry in a few seconds.',
    cause,
  );
}
