import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { TaskFailure } from '../../../core/errors/failure.js';
import { storageFailure } from '../../../core/errors/storage-faults.js';
import { sqliteExtensionPath } from '../../../native/index.js';
import Database from '../../../native/sqlite.js';
import { watchDatabase } from '../../files/watched-database.js';
import { keptSqlite, openDatabase } from '../kept-sqlite.js';
import { addMasks } from './queries/masks.js';

type Db = Database.Database;

interface Open {
  db: Db;
  statements: LRUCache<string, Database.Statement>;
}

/** Files kept open per thread; each costs a few MB of page cache. */
const MAX_OPEN = 24;
const MAX_STATEMENTS = 64;
const CACHE_KIB = 8192;

/** Read-only connections. A store that is written to stays open, a replaced file does not. */
const opened = keptSqlite<Open>(
  (path) => ({ db: connect(path, true), statements: new LRUCache({ max: MAX_STATEMENTS }) }),
  ({ db }) => db,
  MAX_OPEN,
);

/** Databases in memory, by the paths of their sources. */
const inMemory = new Map<string, Open>();

/** Lets sources with this path read a database in memory. */
export function keepInMemory(path: string, db: Db): void {
  inMemory.set(path, { db, statements: new LRUCache({ max: MAX_STATEMENTS }) });
}

const getOpen = (path: string): Open => inMemory.get(path) ?? opened.get(path);

/** A read-only connection to a GeoPackage, kept open; reopened when the file was replaced. */
export function reader(path: string): Db {
  return getOpen(path).db;
}

/** Closes every connection of this thread. */
export const { closeAll } = opened;

/** Prepared statements that this thread keeps, and the most that it can keep. */
export function countPreparedInFiles(): { prepared: number; capacity: number } {
  const files = opened.list();
  const prepared = files.reduce((sum, { statements }) => sum + statements.size, 0);
  return { prepared, capacity: files.length * MAX_STATEMENTS };
}

/** A prepared statement of a file, kept with its connection. */
export function statement(path: string, sql: string): Database.Statement {
  const entry = getOpen(path);
  let prepared = entry.statements.get(sql);
  if (!prepared) {
    prepared = entry.db.prepare(sql);
    entry.statements.set(sql, prepared);
  }
  return prepared;
}

/** Opens a GeoPackage with the native functions loaded. Schemas of foreign files are not trusted. */
export function connect(path: string, readonly: boolean): Db {
  try {
    const options = { readonly, fileMustExist: readonly, timeout: 10_000 };
    const db = existsSync(path) ? openDatabase(path, options) : new Database(path, options);
    db.pragma('trusted_schema = OFF');
    db.pragma(`cache_size = -${CACHE_KIB}`);
    db.loadExtension(sqliteExtensionPath());
    addMasks(db);
    return watchDatabase(db, path);
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    const failure = storageFailure(error);
    if (failure && failure.code !== 'source-unreadable') throw failure;
    throw new TaskFailure('source-unreadable', describeFault(path), `${path}: ${String(error)}`);
  }
}

const SQLITE_START = 'SQLite format 3\0';

function describeFault(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const head = Buffer.alloc(SQLITE_START.length);
      const bytes = readSync(file, head, 0, head.length, 0);
      if (head.subarray(0, bytes).toString('latin1') !== SQLITE_START)
        return 'The file is not a readable GeoPackage: it does not start as an SQLite database. Export it again.';
    } finally {
      closeSync(file);
    }
  } catch {
    // The general message is sent.
  }
  return 'The file is not a readable GeoPackage: the SQLite database is damaged or truncated. Copy it again.';
}

/** Quotes an SQL identifier. */
export function quote(identifier: string): string {
  return `"${identifier.replace(/"/g, '""')}"`;
}
