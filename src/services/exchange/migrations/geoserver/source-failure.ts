import { TaskFailure } from '../../../../core/errors/failure.js';

const OF_SOURCE: ReadonlySet<string> = new Set([
  'invalid-input',
  'source-unreadable',
  'source-missing',
  'access-denied',
  'store-unavailable',
  'deadline-exceeded',
  'too-large',
]);

/** Whether the source of a migration caused an error. Other failures concern this server. */
export function isSourceFailure(error: unknown): error is TaskFailure {
  return error instanceof TaskFailure && OF_SOURCE.has(error.code);
}
