import Database from '../../native/sqlite.js';

const RETRY_MS = 10;
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/**
 * Gives a database a write-ahead log. If several processes open a new file at the same time, SQLite refuses all but one
 * without waiting, so this waits for up to `patienceMs` milliseconds. Throws SQLITE_BUSY after that.
 */
export function useWal(db: Database.Database, patienceMs: number): void {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      db.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY';
      if (!isBusy || performance.now() > end) throw error;
      Atomics.wait(PAUSE, 0, 0, RETRY_MS);
    }
  }
}
