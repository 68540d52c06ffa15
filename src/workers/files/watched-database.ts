import { heldResources } from '../../core/observability/held.js';
import { statements, type WatchedStatement } from '../../core/observability/statements.js';
import type Database from '../../native/sqlite.js';

type Statement = Database.Statement;

/**
 * Times the statements of a connection to a file of layers, and tracks the connection until it is closed. Statements
 * that are prepared count as misses of the cache of prepared statements until they run again.
 */
export function watchDatabase<D extends Database.Database>(db: D, path: string): D {
  const { prepare, exec, close } = db;
  db.prepare = ((sql: string) => watchStatement(prepare.call(db, sql) as Statement, sql)) as typeof prepare;
  db.exec = ((sql: string) =>
    timed(statements.find('sqlite', sql), undefined, () => exec.call(db, sql))) as typeof exec;
  db.close = (() => {
    heldResources.closed(db);
    return close.call(db);
  }) as typeof close;
  heldResources.opened('sqlite-file', path, db);
  return db;
}

function watchStatement(statement: Statement, sql: string): Statement {
  const watched = statements.find('sqlite', sql);
  const { get, all, run, iterate } = statement;
  let isUsed = false;
  const isReused = () => {
    const before = isUsed;
    isUsed = true;
    return before;
  };
  return Object.assign(statement, {
    get: (...values: unknown[]) => timed(watched, isReused(), () => get.apply(statement, values)),
    all: (...values: unknown[]) => timed(watched, isReused(), () => all.apply(statement, values)),
    run: (...values: unknown[]) => timed(watched, isReused(), () => run.apply(statement, values)),
    iterate: (...values: unknown[]) =>
      timedRows(watched, isReused(), iterate.apply(statement, values) as IterableIterator<unknown>),
  });
}

function timed<T>(statement: WatchedStatement, reused: boolean | undefined, work: () => T): T {
  const started = performance.now();
  try {
    const result = work();
    const rows = Array.isArray(result) ? result.length : undefined;
    statements.ended(statement, performance.now() - started, { rows, reused });
    return result;
  } catch (error) {
    statements.ended(statement, performance.now() - started, { error, reused });
    throw error;
  }
}

/** Rows of a statement, whose time is that of its steps without the time of the reader. */
function timedRows<T>(
  statement: WatchedStatement,
  reused: boolean,
  rows: IterableIterator<T>,
): IterableIterator<T> {
  let ms = 0;
  let count = 0;
  let isOver = false;
  const end = (error?: unknown) => {
    if (!isOver) statements.ended(statement, ms, { rows: count, reused, error });
    isOver = true;
  };
  return {
    next() {
      const started = performance.now();
      try {
        const step = rows.next();
        ms += performance.now() - started;
        if (step.done) end();
        else count += 1;
        return step;
      } catch (error) {
        ms += performance.now() - started;
        end(error);
        throw error;
      }
    },
    return(value?: unknown) {
      end();
      return rows.return?.(value) ?? { done: true, value: undefined as never };
    },
    [Symbol.iterator]() {
      return this;
    },
  };
}
