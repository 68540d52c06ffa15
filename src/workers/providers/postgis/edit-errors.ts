import { TaskFailure } from '../../../core/failure.js';
import type { PgError } from '../../../native/postgres.js';
import { isPgError } from '../../../native/postgres.js';
import { Refusal } from '../../edits/session.js';

/** What clients did wrong, by SQLSTATE. No text of the database reaches them but names, and what a trigger says. */
const REFUSALS: Record<string, (message: string) => Refusal> = {
  '23502': (message) => Refusal.member(`/properties/${quoted(message)}`, 'must not be null'),
  '23503': (message) => new Refusal('conflict', `Other rows are in the way: ${quoted(message, -1)}.`),
  '23505': (message) => new Refusal('conflict', `Another feature has the same value: ${quoted(message)}.`),
  '23P01': (message) => new Refusal('conflict', `Another feature is in the way: ${quoted(message)}.`),
  '23514': (message) =>
    new Refusal('invalid', `A value breaks the rule ${quoted(message, -1)} of the table.`),
  '428C9': (message) =>
    Refusal.member(`/properties/${quoted(message)}`, 'is set by the database: leave it out'),
  // RAISE EXCEPTION of a trigger.
  P0001: (message) => new Refusal('invalid', `The database refuses the row: ${message}.`),
  '42501': () => new Refusal('forbidden', 'The database user may not do this.'),
};

/** A value that does not fit its column, by SQLSTATE. */
const BAD_VALUES: Record<string, string> = {
  '22001': 'A text is longer than its column allows.',
  '22003': 'A number is out of the range of its column.',
  '22007': 'A date or time is not one that its column takes.',
  '22008': 'A date or time is out of the range of its column.',
  '22P02': 'A value is not one that the type of its column takes.',
  // PostGIS.
  '22023': 'geometry: the column does not take a geometry of this type or these dimensions.',
};
const BAD_VALUE = /^22/;
/** Another transaction is in the way, or this is a standby that cannot be written to. */
const TRANSIENT = /^(40001|40P01|55P03|25006)$/;

const MAX_TEXT = 300;

/** Runs a step of an edit; what PostgreSQL says against it becomes a `Refusal`, or a `TaskFailure` where it may pass. */
export async function guarded<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    throw isPgError(error) ? meaningOf(error) : error;
  }
}

function meaningOf(error: PgError): Error {
  const { code } = error;
  const message = firstMessage(error).slice(0, MAX_TEXT);
  const refusal = REFUSALS[code];
  if (refusal) return refusal(message);
  if (BAD_VALUE.test(code)) {
    return new Refusal('invalid', BAD_VALUES[code] ?? 'A value does not fit its column.');
  }
  if (!TRANSIENT.test(code)) return error;
  return new TaskFailure(
    'store-unavailable',
    'Another edit was in the way; try again.',
    `${code}: ${message}`,
  );
}

/** The message without its severity, and without the lines after it: these hold values that clients may not see. */
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
