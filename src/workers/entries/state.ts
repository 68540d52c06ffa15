import { parentPort, workerData } from 'node:worker_threads';
import Database from '../../native/sqlite.js';
import { useWal } from '../files/wal-mode.js';
import {
  CHANGED,
  MAX_PREPARED,
  type StateFault,
  type StateReady,
  type StateReply,
  type StateRequest,
  type StateWorkerData,
} from '../state/protocol.js';

/**
 * Thread that owns the state database. Statements run in the order of their arrival, so a transaction consists of the
 * statements that its owner posts between BEGIN and COMMIT. The gateway thread only builds the SQL,
 * so its event loop never waits for a disk.
 */

/** Milliseconds between two checks for changes by other processes, which are detected within a second. */
const WATCH_MS = 400;
const port = parentPort!;
const statements = new Map<string, Database.Statement<unknown[]>>();

function open({ path, busyTimeout }: StateWorkerData): Database.Database {
  const db = new Database(path, { timeout: busyTimeout });
  useWal(db, busyTimeout);
  // Committed changes must survive a power failure, not only a killed process.
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  return db;
}

function prepare(db: Database.Database, sql: string): Database.Statement<unknown[]> {
  let statement = statements.get(sql);
  if (!statement) {
    statement = db.prepare<unknown[]>(sql);
    if (statements.size >= MAX_PREPARED) statements.delete(statements.keys().next().value!);
    statements.set(sql, statement);
  }
  return statement;
}

function run(db: Database.Database, { id, sql, parameters }: StateRequest): StateReply {
  try {
    // A full disk may have undone the transaction already.
    if (sql === 'rollback' && !db.inTransaction) return { id, rows: [] };
    const isKnown = statements.has(sql);
    const statement = prepare(db, sql);
    const fresh = isKnown ? {} : { prepared: statements.size };
    if (statement.reader)
      return { id, rows: statement.all(...parameters) as Record<string, unknown>[], ...fresh };
    const { changes, lastInsertRowid } = statement.run(...parameters);
    return { id, rows: [], changes, lastRowId: Number(lastInsertRowid), ...fresh };
  } catch (error) {
    return fault(id, error);
  }
}

function fault(id: number, error: unknown): StateFault {
  const code = error instanceof Database.SqliteError ? error.code : 'SQLITE_MISUSE';
  return { id, code, message: error instanceof Error ? error.message : String(error) };
}

/**
 * Reports writes of other connections. `PRAGMA data_version` reads a counter in shared memory, so it does not read
 * any table and does not wait.
 */
function watch(db: Database.Database): NodeJS.Timeout {
  const readVersion = () => db.pragma('data_version', { simple: true });
  let version = readVersion();
  return setInterval(() => {
    try {
      const former = version;
      version = readVersion();
      if (version !== former) port.postMessage(CHANGED);
    } catch {
      // Another process recovers the file: the next look sees it.
    }
  }, WATCH_MS);
}

function serve(db: Database.Database): void {
  const watching = watch(db);
  port.on('message', (request: StateRequest | 'close') => {
    if (request !== 'close') {
      port.postMessage(run(db, request));
      return;
    }
    clearInterval(watching);
    db.close();
    port.close();
  });
}

try {
  const db = open(workerData as StateWorkerData);
  serve(db);
  port.postMessage({ opened: true } satisfies StateReady);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  port.postMessage({ opened: false, message } satisfies StateReady);
  port.close();
}
