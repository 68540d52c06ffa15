import { existsSync, statSync } from 'node:fs';
import { TaskFailure } from '../../core/errors/failure.js';
import { heldResources } from '../../core/observability/held.js';
import type { FileFinding } from '../../core/sources/file-findings.js';
import Database from '../../native/sqlite.js';
import {
  describeFile,
  emptyLog,
  FileLedger,
  formatFileState,
  isUnnoted,
  type SettledFile,
} from '../files/file-ledger.js';
import { discardLog, logBytes } from '../files/write-ahead-log.js';
import { requireFileStats } from './kept-open.js';

interface Entry<T> {
  file: T;
  settled: SettledFile;
}

export interface KeptSqlite<T> {
  /** The open file; opened again when it was replaced. Throws `source-missing` when there is none. */
  get(path: string): T;
  /** Whether the file has not been written to since `get`. */
  isUntouched(path: string): boolean;
  /** Whether the open file still is the one under its name: call after a commit. */
  isCurrent(path: string): boolean;
  /** Returns the known state of an open file. */
  settled(path: string): SettledFile | undefined;
  /** The open files. */
  list(): T[];
  /** Closes every file of this thread. */
  closeAll(): void;
}

/** Maximum attempts to open a file that is replaced repeatedly. */
const MAX_ATTEMPTS = 5;

let folder: string | undefined;
let opened: FileLedger | undefined;

/**
 * From now on this thread opens SQLite files by the ledger of a data folder; without a folder it keeps none. Files are
 * read without mmap: a file that is truncated under a mapping would end the process.
 */
export function keepLedgerIn(dataDir: string | undefined): void {
  folder = dataDir;
  opened = undefined;
  findLedger();
}

/**
 * Returns the ledger of this thread. Undefined in a thread that started while the data folder was missing, because
 * files can be read without it.
 */
function findLedger(): FileLedger | undefined {
  if (opened || folder === undefined) return opened;
  try {
    opened = new FileLedger(folder);
  } catch (error) {
    if (existsSync(folder)) throw error;
  }
  return opened;
}

/** Logs that did not belong to their files, since the last call. */
export function takeFindings(): FileFinding[] {
  return findLedger()?.takeFindings() ?? [];
}

/**
 * Opens SQLite files once per thread and keeps the most recently used ones. A file that is written to remains open. A
 * file that was replaced, by a rename or in place, is opened again, without the log of the former file.
 */
export function keptSqlite<T>(
  open: (path: string) => T,
  databaseOf: (file: T) => Database.Database,
  max: number,
): KeptSqlite<T> {
  const files = new Map<string, Entry<T>>();
  const drop = (path: string) => {
    const entry = files.get(path);
    files.delete(path);
    if (!entry) return;
    heldResources.closed(databaseOf(entry.file));
    databaseOf(entry.file).close();
  };
  const get = (path: string): T => {
    const entry = files.get(path);
    if (entry && isUnchanged(path, entry)) {
      // Re-inserting keeps the map in order of use.
      files.delete(path);
      files.set(path, entry);
      return entry.file;
    }
    drop(path);
    const opened = openSettled(path, open, databaseOf);
    heldResources.opened('sqlite-file', path, databaseOf(opened.file)).keep('open files');
    files.set(path, opened);
    while (files.size > max) drop(files.keys().next().value!);
    return opened.file;
  };
  return {
    get,
    isUntouched: (path) => files.get(path)?.settled.state === formatFileState(requireFileStats(path)).state,
    isCurrent: (path) => {
      const entry = files.get(path);
      return entry !== undefined && isUnchanged(path, entry, true);
    },
    settled: (path) => files.get(path)?.settled,
    list: () => [...files.values()].map(({ file }) => file),
    closeAll: () => {
      for (const path of [...files.keys()]) drop(path);
    },
  };
}

/** Whether an open file is the one under its name. A file that was only written to is. */
function isUnchanged<T>(path: string, entry: Entry<T>, isOurs = false): boolean {
  const { state } = formatFileState(requireFileStats(path));
  if (state === entry.settled.state && !isUnnoted(entry.settled)) return true;
  const settled = settleFile(path, isOurs);
  // The server cannot know whether such a file still has its former content.
  if (isUnnoted(settled)) return isUnnoted(entry.settled) && settled.state === entry.settled.state;
  if (settled.inode !== entry.settled.inode || settled.generation !== entry.settled.generation) return false;
  entry.settled = settled;
  return true;
}

function openSettled<T>(
  path: string,
  open: (path: string) => T,
  databaseOf: (file: T) => Database.Database,
): Entry<T> {
  for (let attempt = 1; ; attempt++) {
    const { inode } = settleFile(path);
    const file = open(path);
    try {
      const settled = claimFile(path, databaseOf(file));
      if (settled.inode === inode || attempt === MAX_ATTEMPTS) return { file, settled };
    } catch (error) {
      databaseOf(file).close();
      throw error;
    }
    databaseOf(file).close();
  }
}

/** Removes a log that does not belong to the file. Call it before a foreign SQLite file is opened. */
export function settleFile(path: string, isOurs = false): SettledFile {
  requireFileStats(path);
  return findLedger()?.settle(path, isOurs) ?? { ...describeFile(path), generation: 0, overwritten: 0 };
}

function claimFile(path: string, db: Database.Database): SettledFile {
  return findLedger()?.claim(path, hasLog(db)) ?? settleFile(path);
}

function hasLog(db: Database.Database): boolean {
  return db.pragma('journal_mode', { simple: true }) === 'wal';
}

/** Opens a foreign SQLite file. If the file is replaced during that, it does not get the log of the former file. */
export function openDatabase(path: string, options: Database.Options): Database.Database {
  for (let attempt = 1; ; attempt++) {
    const { inode } = settleFile(path);
    const db = new Database(path, options);
    // SQLite searches for the log by name at its first read, so the file must still have that name then.
    if (describeFile(path).inode === inode) {
      try {
        db.pragma('data_version');
        return db;
      } catch (error) {
        db.close();
        if (attempt === MAX_ATTEMPTS || !mendIndex(path, error)) throw error;
        continue;
      }
    }
    db.close();
    if (attempt === MAX_ATTEMPTS)
      throw new TaskFailure('store-unavailable', 'Another program is replacing the file of this collection.');
  }
}

/** Clears shared memory that speaks of frames of a log which is empty: a writer may have ended while the log was dropped. */
function mendIndex(path: string, error: unknown): boolean {
  const { code } = error as { code?: string };
  if (!code?.startsWith('SQLITE_IOERR') || logBytes(path) > 0) return false;
  discardLog(path);
  return true;
}

/** Gives a file a write-ahead log, so that it is read while it is written. */
export function addWriteAheadLog(path: string, db: Database.Database): void {
  const ledger = findLedger();
  if (ledger && !hasLog(db)) ledger.addLog(path, db);
  else db.pragma('journal_mode = WAL');
}

/** Bytes of a log above which it is copied to its file, although edits continue. */
const MAX_LOG_BYTES = 4 << 20;

/** Moves the log of an edited file into the file; false when a reader or a writer is in the way. */
export function checkpointWriteAheadLog(path: string, db: Database.Database): boolean {
  return findLedger()?.checkpoint(path, db) ?? emptyLog(db);
}

/** Keeps the log of a file from growing. */
export function boundLog(path: string, db: Database.Database): void {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log && log.size > MAX_LOG_BYTES) checkpointWriteAheadLog(path, db);
}

/** Milliseconds without writes that a file must have before it is edited, if another program overwrote it. */
const QUIET_MS = 1000;

/** Throws while another program still rewrites a file, or if the disk is too full for the ledger's entry. */
export function requireQuiet(path: string, settled: SettledFile): void {
  if (isUnnoted(settled))
    throw new TaskFailure('storage-full', 'The disk of the data folder is full. The file can only be read.');
  if (!settled.overwritten || Date.now() - requireFileStats(path).mtimeMs > QUIET_MS) return;
  throw new TaskFailure(
    'store-unavailable',
    'Another program is replacing the file of this collection. Send the edit again.',
  );
}

/** Throws if a file was replaced after its edit started, because the commit was written to the former file. */
export function requireCurrent(files: KeptSqlite<unknown>, path: string): void {
  if (files.isCurrent(path)) return;
  throw new TaskFailure(
    'store-unavailable',
    'The file of this collection was replaced during the edit, and the new file does not have the edit. Send it again.',
  );
}
