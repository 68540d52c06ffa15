import { TaskFailure } from '../../../../core/errors/failure.js';
import { readFileStart } from '../../../files/start-of-file.js';
import { withinTime } from '../../time-limit.js';
import { connect, quote } from '../connection.js';

/** Milliseconds for a view, and for all views of a file. */
const VIEW_MS = 1000;
const VIEWS_MS = 4000;
const SQLITE = 'SQLite format 3\0';

/**
 * Returns the names of the views of a foreign file that cannot be read completely in time. Empty for files without
 * tables.
 */
export async function findSlowViews({ path }: { path: string }): Promise<string[]> {
  if ((await readFileStart(path, SQLITE.length)).toString('latin1') !== SQLITE) return [];
  const db = connect(path, true);
  try {
    const views = db.prepare("SELECT name FROM sqlite_master WHERE type = 'view'").pluck().all() as string[];
    const end = performance.now() + VIEWS_MS;
    return views.filter((view) => {
      const limitMs = Math.min(VIEW_MS, end - performance.now());
      return limitMs > 0 && isSlow(() => withinTime(db, limitMs, () => count(view)));
    });
  } finally {
    db.close();
  }

  function count(view: string): void {
    db.prepare(`SELECT count(*) FROM ${quote(view)}`).get();
  }
}

/** A view that cannot be read at all is not slow. */
function isSlow(read: () => void): boolean {
  try {
    read();
    return false;
  } catch (error) {
    return error instanceof TaskFailure && error.code === 'too-large';
  }
}
