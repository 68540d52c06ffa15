import { statSync } from 'node:fs';
import Database from '../../native/sqlite.js';

interface FileWatch {
  readonly db: Database.Database;
  readonly version: Database.Statement;
  readonly inode: string;
  /** Number that distinguishes connections, because data versions are comparable only within one connection. */
  readonly base: number;
  /** When the path was last seen to lead to this inode, by `performance.now()`. */
  lookedAt: number;
}

/** Maximum number of watched files. Each file needs a connection. */
const MAX_FILES = 256;
/** Room for the versions that one connection may count: those of different connections never meet. */
const CONNECTION_VERSIONS = 2 ** 32;
/** Maximum milliseconds before a file that replaced another one is noticed. */
const INODE_MS = 100;

/**
 * Detects changes of SQLite files in microseconds, on the event loop. `PRAGMA data_version` reads one number of
 * shared memory, or of a cached page if the file has no write-ahead log. A check takes 2 µs with a write-ahead log
 * and 6 µs without. Check before reading the row, so a response is never older than its version.
 */
export class DataVersions {
  readonly #files = new Map<string, FileWatch>();
  #opened = 0;

  constructor(
    private readonly maxFiles = MAX_FILES,
    /** Called before a file is opened: removes a log that is not its own. */
    private readonly settle: (path: string) => void = () => {},
  ) {}

  /**
   * Data version of a file. Two equal versions mean that no commit was made to the file in between. Undefined if the
   * version cannot be read.
   */
  of(path: string): number | undefined {
    try {
      const file = this.#current(path);
      return file.base + (file.version.get() as number);
    } catch {
      // The file is locked, deleted, replaced by a pipe or device, or on a file system without shared memory.
      this.#forget(path);
      return undefined;
    }
  }

  close(): void {
    for (const path of [...this.#files.keys()]) this.#forget(path);
  }

  #current(path: string): FileWatch {
    const now = performance.now();
    const current = this.#files.get(path);
    if (current && now - current.lookedAt < INODE_MS) return current;
    const stats = statSync(path);
    // To open a pipe would wait for its writer.
    if (!stats.isFile()) throw new Error(`${path} is not a file`);
    const { dev, ino } = stats;
    const inode = `${dev}/${ino}`;
    if (current?.inode === inode) {
      current.lookedAt = now;
      return current;
    }
    this.#forget(path);
    if (this.#files.size >= this.maxFiles) this.#forget(this.#files.keys().next().value!);
    this.settle(path);
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 0 });
    const version = db.prepare('PRAGMA data_version').pluck();
    const file = { db, version, inode, base: ++this.#opened * CONNECTION_VERSIONS, lookedAt: now };
    this.#files.set(path, file);
    return file;
  }

  #forget(path: string): void {
    this.#files.get(path)?.db.close();
    this.#files.delete(path);
  }
}
