import { TaskFailure } from '../../core/errors/failure.js';
import { sqliteExtensionPath } from '../../native/index.js';
import type Database from '../../native/sqlite.js';

/**
 * Runs work on a foreign file, whose views may have no end: its statements are interrupted when the time is over. Fails
 * with `too-large` then. The connection can be used afterwards.
 */
export function withinTime<T>(db: Database.Database, limitMs: number, work: () => T): T {
  db.loadExtension(sqliteExtensionPath());
  return withinMs(db.prepare(END_IN), limitMs, work);
}

/** Statement that limits the time of the following statements, in milliseconds. It requires the native functions. */
export const END_IN = 'SELECT gr_end_in(?)';

/** Same as `withinTime`, with a prepared statement `END_IN` of the connection. */
export function withinMs<T>(end: Database.Statement, limitMs: number, work: () => T): T {
  end.get(limitMs);
  try {
    return work();
  } catch (error) {
    throw isOver(error) ? createTimeoutFailure(limitMs) : error;
  } finally {
    endTimeLimit(end);
  }
}

export function isOver(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'SQLITE_INTERRUPT';
}

export function createTimeoutFailure(limitMs: number): TaskFailure {
  return new TaskFailure('too-large', `Reading the file takes longer than ${limitMs / 1000} seconds.`);
}

/** Ends a time limit. After the deadline, this statement can be interrupted as well. */
export function endTimeLimit(end: Database.Statement): void {
  for (;;) {
    try {
      end.get(null);
      return;
    } catch (error) {
      if (!isOver(error)) throw error;
    }
  }
}
