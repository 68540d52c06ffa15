import { readdirSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import { sqliteState } from '../../../core/files/file-state.js';
import type { LoadedTable } from '../../../core/tasks/vector-tasks.js';
import { seriesFile, seriesFiles, seriesNumber } from '../../../core/tiles/store-series.js';
import Database from '../../../native/sqlite.js';
import { removeDatabaseFiles } from '../../files/database-files.js';
import { connect } from './connection.js';
import { hasLoads, prepareStore } from './schema/create.js';

type Db = Database.Database;

/** Names of the tables of a store, in lower case, because SQLite names are case-insensitive. */
type TableNames = ReadonlySet<string>;

/** Milliseconds after a write in which a further one may leave the times of the files unchanged. */
const UNSURE_MS = 50;
/** Milliseconds that an import waits for other commits. */
const LOCK_MS = 10_000;

/** Names that were read of files, and the states of these files then. A load opens no store for names that it knows. */
const known = new Map<string, { readonly state: string; readonly names: TableNames }>();

/** Connections for writing, by the files that had to be opened. */
type Connections = Map<string, Db>;

/** The store of a load. */
export interface ChosenStore {
  readonly path: string;
  readonly db: Db;
}

/**
 * Opens the file of a series that has a table; for a new one, the first file with fewer tables than `maxTables`, which
 * may be a new file. SQLite reads the definitions of all tables whenever it opens a file: without a limit, each load
 * would take longer than the one before. Opening a file of 475 tables took 160 ms, and the last 50 of 500 migrated
 * layers took 3.24 times as long as the first 50. A table that is replaced stays in its file, and a file whose tables
 * were deleted takes new ones.
 */
export function openSeries(first: string, table: string, maxTables: number): ChosenStore {
  const chosen = openExisting(first, table, maxTables);
  if (chosen) return chosen;
  return commitAlone(first, () => {
    // Another import may have created the file in the meantime.
    const other = openExisting(first, table, maxTables);
    if (other) return other;
    const path = newFile(first);
    createStore(path);
    return { path, db: connect(path, false) };
  });
}

function openExisting(first: string, table: string, maxTables: number): ChosenStore | undefined {
  const opened: Connections = new Map();
  try {
    const stores = readStores(first, opened);
    const holder = stores.find(({ names }) => names.has(table.toLowerCase()));
    const path = (holder ?? stores.find(({ names }) => names.size < maxTables))?.path;
    if (path === undefined) return undefined;
    const db = opened.get(path) ?? connect(path, false);
    opened.delete(path);
    return { path, db };
  } finally {
    for (const db of opened.values()) db.close();
  }
}

/** Creates a store without tables in one step, because other processes can open it immediately. */
function createStore(path: string): void {
  const part = join(dirname(path), `.${basename(path)}.new`);
  removeDatabaseFiles(part);
  const db = new Database(part);
  try {
    prepareStore(db);
  } finally {
    db.close();
  }
  renameSync(part, path);
}

function newFile(first: string): string {
  const numbers = new Set(listFiles(first).map((path) => seriesNumber(first, path)));
  let number = 1;
  while (numbers.has(number)) number++;
  return seriesFile(first, number);
}

function listFiles(first: string): string[] {
  return seriesFiles(first, readdirSync(dirname(first)));
}

interface Store {
  readonly path: string;
  readonly names: TableNames;
}

/**
 * Reads the names in the stores of a series, except one store. Omits files that were not made by a load, or that
 * cannot be read.
 */
function readStores(first: string, opened: Connections, except?: string): Store[] {
  const paths = listFiles(first).filter((path) => path !== except);
  return paths.flatMap((path): Store[] => {
    const names = findNames(path, path === first, opened);
    return names === undefined ? [] : [{ path, names }];
  });
}

function findNames(path: string, isFirst: boolean, opened: Connections): TableNames | undefined {
  const state = sqliteState(path);
  const kept = known.get(path);
  if (kept !== undefined && kept.state === state) return kept.names;
  try {
    const db = connect(path, false);
    opened.set(path, db);
    const names = readNames(db, isFirst);
    if (names === undefined) return undefined;
    if (state !== undefined && isSettled(path)) known.set(path, { state, names });
    return names;
  } catch (error) {
    const isUnreadable = error instanceof TaskFailure && error.code === 'source-unreadable';
    if (isFirst || !isUnreadable) throw error;
    return undefined;
  }
}

/**
 * Reads the names of the tables of a store; undefined for a further file that no load made. A load that was killed may have
 * left a store without tables.
 */
function readNames(db: Db, isFirst: boolean): TableNames | undefined {
  const others =
    "SELECT count(*) FROM sqlite_master WHERE name NOT GLOB 'gpkg_*' AND name NOT GLOB 'sqlite_*'";
  const isOurs = isFirst || hasLoads(db) || db.prepare(others).pluck().get() === 0;
  if (!isOurs) return undefined;
  const contents = "SELECT count(*) FROM sqlite_master WHERE name = 'gpkg_contents'";
  if (db.prepare(contents).pluck().get() === 0) return new Set();
  return new Set(db.prepare('SELECT lower(table_name) FROM gpkg_contents').pluck().all() as string[]);
}

/** Whether a further write will show in the state of a file. */
function isSettled(path: string): boolean {
  const times = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Date.now() - Math.max(...times) > UNSURE_MS;
}

/** The table of a name in another file of a series than the one at `path`. */
export function findElsewhere(first: string, path: string, table: string): LoadedTable | undefined {
  const opened: Connections = new Map();
  try {
    const stores = readStores(first, opened, path);
    const holder = stores.find(({ names }) => names.has(table.toLowerCase()));
    if (!holder) return undefined;
    const db = opened.get(holder.path) ?? connect(holder.path, false);
    opened.set(holder.path, db);
    return { token: newestToken(db, table) };
  } finally {
    for (const db of opened.values()) db.close();
  }
}

/** The token of the newest load of a table; null where no load made it. */
export function newestToken(db: Db, table: string): string | null {
  const newest =
    'SELECT token FROM graticule_loads WHERE table_name = ? COLLATE NOCASE ORDER BY rowid DESC LIMIT 1';
  return (db.prepare(newest).pluck().get(table) as string | undefined) ?? null;
}

/** The load of this token that a run before has committed to one of the files. */
export function findLoad(first: string, token: string): { features: number; store: string } | undefined {
  for (const store of listFiles(first)) {
    const db = connect(store, true);
    try {
      const features = hasLoads(db) ? countLoaded(db, token) : undefined;
      if (features !== undefined) return { features, store };
    } finally {
      db.close();
    }
  }
  return undefined;
}

/** The number of features that a load put into a store; undefined if it did not. */
export function countLoaded(db: Db, token: string): number | undefined {
  const sql = 'SELECT features FROM graticule_loads WHERE token = ?';
  return db.prepare(sql).pluck().get(token) as number | undefined;
}

/** Calls `commit` while no other import, in any process, commits to a file of the series. */
export function commitAlone<T>(first: string, commit: () => T): T {
  const path = join(dirname(first), `.${basename(first)}.lock`);
  const lock = new Database(path, { timeout: LOCK_MS });
  try {
    lock.exec('BEGIN IMMEDIATE');
    return commit();
  } finally {
    lock.close();
  }
}
