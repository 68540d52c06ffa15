import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { storageFailure } from '../../core/errors/storage-faults.js';
import { LOGS_FOLDER } from '../../core/files/data-folder.js';
import { keepOwnFolder, makeFolderSync } from '../../core/files/own-folder.js';
import type { FileFinding } from '../../core/sources/file-findings.js';
import Database from '../../native/sqlite.js';
import { requirePlainPath } from './plain-path.js';
import { useWal } from './wal-mode.js';
import {
  discardLog,
  hasKnownFirstPage,
  hasSharedMemory,
  keepLogAside,
  logBytes,
  markWalMode,
  pageOneHash,
  removeLog,
} from './write-ahead-log.js';

/** Current state of a SQLite file on the disk. */
export interface SettledFile {
  /** Device and inode. */
  readonly inode: string;
  /** Changes with every write to the file itself; writes to its log leave it. */
  readonly state: string;
  /** Raised each time the file turned out to be another one. */
  readonly generation: number;
  /** 1 while the content is another program's that wrote over the file; 0 once the server has written to it. */
  readonly overwritten: 0 | 1;
}

interface Row extends SettledFile {
  /** Hash of the first page; empty for a file without a log. */
  readonly page_one: string;
}

/** Entry of a file in the ledger, in addition to the state on the disk. */
interface Known extends Pick<Row, 'generation' | 'overwritten'> {
  hasLog: boolean;
}

const FILE = 'ledger.db';
const TABLES = `
  CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, inode TEXT NOT NULL, state TEXT NOT NULL, page_one TEXT NOT NULL, generation INTEGER NOT NULL,
    overwritten INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS findings (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, bytes INTEGER NOT NULL, kept TEXT
  );`;
const INSERT_FINDING = 'INSERT INTO findings (path, kind, bytes, kept) VALUES (@path, @kind, @bytes, @kept)';
/** Milliseconds for which another thread or process is waited for. */
const BUSY_MS = 10_000;
const LONG_LOG = 1 << 20;
/** Placeholder for the generation of a file that could not be determined. */
const UNSETTLED = 'unsettled';
/** Generation of a file that differs from the ledger's entry, while the disk is too full for a new entry. */
const UNNOTED = -1;
/**
 * Bytes of the ledger and of its log that are allocated while the disk has space, so that later entries do not need
 * more.
 */
const RESERVE_BYTES = 1 << 19;
/** Pages of the ledger's log after which it restarts: far fewer than the reserve. */
const LEDGER_LOG_PAGES = 32;

/**
 * Records which SQLite files have a write-ahead log, and to which inode and content the log belongs. SQLite finds a
 * log only by its name: it would apply the log of a replaced file to the new file.
 */
export class FileLedger {
  readonly #db: Database.Database;
  readonly #folder: string;
  /** Found while the ledger had no room for it. */
  readonly #unnoted: FileFinding[] = [];

  /** `busyMs`: milliseconds to wait for another thread. Throws when the folder cannot be written. */
  constructor(dataDir: string, busyMs = BUSY_MS) {
    keepOwnFolder(dataDir);
    this.#folder = join(dataDir, LOGS_FOLDER);
    makeFolderSync(this.#folder, 0o700);
    this.#db = new Database(join(this.#folder, FILE), { timeout: busyMs });
    useWal(this.#db, busyMs);
    this.#db.pragma('synchronous = FULL');
    this.#db.pragma(`wal_autocheckpoint = ${LEDGER_LOG_PAGES}`);
    this.#db.exec(TABLES);
    this.#reserve();
  }

  /**
   * Returns the state of a file. Call it before a file is opened, and when its state has changed. Removes the log of
   * another file under this name. `isOurs`: no other program can have written to the log since the last update of the
   * ledger.
   */
  settle(path: string, isOurs = false): SettledFile {
    const current = describeFile(path);
    const row = this.#row(path);
    if (!row) return { ...current, generation: 0, overwritten: 0 };
    if (row.state === current.state) return row;
    try {
      return this.#locked(() => this.#settle(path, isOurs));
    } catch (error) {
      // Readers need no note: the file can be read although the disk is full.
      if (!isFull(error)) throw error;
      const { generation, overwritten } = row;
      if (isSameFile(path, row, current, isOurs)) return { ...current, generation, overwritten };
      if (logBytes(path) > 0) throw error;
      return { ...describeFile(path), generation: UNNOTED, overwritten: 1 };
    }
  }

  /** Call when a file is open: from now on its log is known to be its own. */
  claim(path: string, hasLog: boolean): SettledFile {
    const isKnown = (row: Row | undefined) => row && (!hasLog || row.page_one !== '');
    const former = this.#row(path);
    if (isKnown(former)) return this.settle(path);
    try {
      return this.#locked(() => {
        const row = this.#row(path);
        const settled = row && this.#settle(path, false);
        if (settled && isKnown(this.#row(path))) return settled;
        return this.#note(path, { generation: 0, overwritten: 0, ...settled, hasLog });
      });
    } catch (error) {
      // A file can be read although the disk is full. Whoever writes to it claims it again.
      if (!isFull(error)) throw error;
      return former ? this.settle(path) : { ...describeFile(path), generation: 0, overwritten: 0 };
    }
  }

  /** Gives a file a write-ahead log, which changes its first page. */
  addLog(path: string, db: Database.Database): void {
    this.#locked(() => {
      const { generation, overwritten } = this.#settle(path, false);
      // The file was incomplete when it was settled. Programs that have the former file open would block SQLite.
      const isMarked = overwritten === 1 && hasSharedMemory(path);
      if (isMarked) markWalMode(path);
      db.pragma('journal_mode = WAL');
      this.#note(path, { generation: generation + (isMarked ? 1 : 0), overwritten: 0, hasLog: true });
    });
  }

  /**
   * Moves the log of a file into the file and empties it. False when a reader or a writer is in the way, or the file was
   * replaced.
   */
  checkpoint(path: string, db: Database.Database): boolean {
    // Most of a long log is copied while other threads can use the ledger.
    if (logBytes(path) > LONG_LOG) db.pragma('wal_checkpoint(PASSIVE)');
    return this.#locked(() => {
      const before = this.#row(path);
      const now = this.#settle(path, false);
      if (before && now.generation !== before.generation) return false;
      const isEmpty = emptyLog(db);
      this.#note(path, { generation: now.generation, overwritten: 0, hasLog: true });
      return isEmpty;
    });
  }

  /**
   * Returns a name for the content of a file. It changes when the file is replaced, and not when the file is written
   * to. While another thread settles the file, its identity is unknown, and its name differs from the names of all
   * settled files.
   */
  contentOf(path: string): string {
    try {
      return contentName(this.settle(path));
    } catch {
      return `${formatFileState(statSync(path)).inode}#${UNSETTLED}`;
    }
  }

  /** Whether threads or earlier servers noted findings that were not taken. */
  hasFindings(): boolean {
    return this.#db.prepare('SELECT 1 FROM findings LIMIT 1').get() !== undefined;
  }

  /** Returns the findings since the last call. */
  takeFindings(): FileFinding[] {
    const unnoted = this.#unnoted.splice(0);
    const columns = 'path, kind, bytes, kept';
    if (!this.hasFindings()) return unnoted;
    try {
      const noted = this.#db.prepare(`DELETE FROM findings RETURNING ${columns}`).all() as FileFinding[];
      return [...unnoted, ...noted];
    } catch (error) {
      if (!isFull(error)) throw error;
      return unnoted;
    }
  }

  close(): void {
    this.#db.close();
  }

  #settle(path: string, isOurs: boolean): SettledFile {
    const current = describeFile(path);
    const row = this.#row(path);
    if (!row) return { ...current, generation: 0, overwritten: 0 };
    if (row.state === current.state) return row;
    if (row.inode !== current.inode) return this.#drop(path, 'replaced', row);
    if (isSameFile(path, row, current, isOurs)) return this.#note(path, { ...row, hasLog: true });
    return this.#drop(path, 'overwritten', row);
  }

  #drop(path: string, kind: FileFinding['kind'], { generation, page_one }: Row): SettledFile {
    let [bytes, kept] = [0, null as string | null];
    const drop = () => {
      bytes = logBytes(path);
      if (bytes > 0) {
        kept = keepLogAside(path, this.#folder, kind === 'replaced');
        this.#unnoted.push({ path, kind, bytes, kept });
      }
      if (kind === 'replaced') removeLog(path);
      else discardLog(path);
    };
    if (kind === 'replaced') drop();
    else withoutWriters(path, drop);
    const isOverwritten = kind === 'overwritten';
    return this.#note(path, {
      generation: generation + 1,
      overwritten: isOverwritten ? 1 : 0,
      hasLog: isOverwritten && page_one !== '',
    });
  }

  #note(path: string, { generation, overwritten, hasLog }: Known): SettledFile {
    const { inode, state } = describeFile(path);
    this.#db
      .prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)')
      .run(path, inode, state, hasLog ? pageOneHash(path) : '', generation, overwritten);
    return { inode, state, generation, overwritten };
  }

  #row(path: string): Row | undefined {
    return this.#db
      .prepare('SELECT inode, state, page_one, generation, overwritten FROM files WHERE path = ?')
      .get(path) as Row | undefined;
  }

  /**
   * Runs `work` while no other thread or process does the same. Its findings are stored in the same transaction, or
   * later if that fails.
   */
  #locked<T>(work: () => T): T {
    let noted = 0;
    const result = this.#db
      .transaction(() => {
        const done = work();
        for (const finding of this.#unnoted) this.#db.prepare(INSERT_FINDING).run(finding);
        noted = this.#unnoted.length;
        return done;
      })
      .immediate();
    this.#unnoted.splice(0, noted);
    return result;
  }

  /**
   * Allocates space for later entries. SQLite overwrites the pages of the ledger, and its log from the start,
   * repeatedly. If the disk becomes full later, the blocks are already allocated. On a full disk there is no reserve.
   */
  #reserve(): void {
    if (logBytes(this.#db.name) >= RESERVE_BYTES) return;
    try {
      this.#db
        .transaction(() => {
          this.#db.exec('CREATE TABLE IF NOT EXISTS reserve (filler BLOB)');
          this.#db.prepare('INSERT INTO reserve VALUES (zeroblob(?))').run(RESERVE_BYTES);
        })
        .immediate();
      this.#db.exec('DROP TABLE IF EXISTS reserve');
      this.#db.pragma('wal_checkpoint(PASSIVE)');
    } catch (error) {
      if (storageFailure(error) === undefined) throw error;
    }
  }
}

const isFull = (error: unknown) => storageFailure(error)?.code === 'storage-full';

/** Whether a file that changed has the log of its row: the server, or another program with the same log, wrote to it. */
function isSameFile(
  path: string,
  { inode, page_one }: Row,
  current: { inode: string },
  isOurs: boolean,
): boolean {
  return inode === current.inode && page_one !== '' && hasKnownFirstPage(path, page_one, isOurs);
}

/**
 * Runs `work` while no program writes to a file that other programs overwrote. Writers that have already started
 * finish first.
 */
function withoutWriters(path: string, work: () => void): void {
  if (!hasSharedMemory(path)) return work();
  // Programs that have the file open detect the mode by its log. In the other mode their locks and the server's locks
  // would be independent.
  markWalMode(path);
  const db = new Database(path, { timeout: BUSY_MS });
  try {
    // A partially written file does not have tables that can be locked. Its completion is another change.
    attempt(() => db.exec('BEGIN IMMEDIATE'));
    work();
  } finally {
    attempt(() => db.exec('ROLLBACK'));
    db.close();
  }
}

function attempt(step: () => void): void {
  try {
    step();
  } catch {}
}

/** Moves the log of the file of a connection into the file; false when a reader or a writer is in the way. */
export function emptyLog(db: Database.Database): boolean {
  const busyMs = db.pragma('busy_timeout', { simple: true }) as number;
  db.pragma('busy_timeout = 0');
  try {
    const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result!.busy === 0;
  } catch {
    return false;
  } finally {
    db.pragma(`busy_timeout = ${busyMs}`);
  }
}

/** Whether the ledger has no note of a file that it should have: the file can be read, and must not be written. */
export const isUnnoted = ({ generation }: Pick<SettledFile, 'generation'>): boolean => generation === UNNOTED;

/** See `FileLedger.contentOf`. */
export function contentName({ inode, generation }: Pick<SettledFile, 'inode' | 'generation'>): string {
  return `${inode}#${generation}`;
}

/** Inode and state of a file. Throws when there is none, and `source-missing` for a link. */
export function describeFile(path: string): Pick<SettledFile, 'inode' | 'state'> {
  requirePlainPath(path);
  return formatFileState(statSync(path));
}

export function formatFileState({ dev, ino, size, mtimeMs }: Stats): Pick<SettledFile, 'inode' | 'state'> {
  const inode = `${dev}/${ino}`;
  return { inode, state: `${inode}/${size}/${mtimeMs}` };
}
