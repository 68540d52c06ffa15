import { statSync } from 'node:fs';
import Database from 'better-sqlite3';

interface Watched {
  readonly db: Database.Database;
  readonly version: Database.Statement;
  readonly inode: number;
  /** When the path was last seen to lead to this inode, by `performance.now()`. */
  seen: number;
}

/** Files watched at once; each costs a connection. */
const MAX_FILES = 32;
/** A file that is put in the place of another is noticed this late. */
const INODE_MS = 100;

/**
 * Tells whether SQLite files have changed, in microseconds and on the event loop: `PRAGMA data_version` reads one number
 * of shared memory, or of a cached page where the file has no write-ahead log.
 */
export class FileVersions {
  readonly #files = new Map<string, Watched>();

  /** Two equal answers mean that nobody committed to the file in between. Undefined when that cannot be known. */
  of(path: string): number | undefined {
    try {
      const file = this.#current(path);
      return (file.version.get() as { data_version: number }).data_version;
    } catch {
      // Locked, gone, or on a file system without shared memory.
      this.#forget(path);
      return undefined;
    }
  }

  close(): void {
    for (const path of [...this.#files.keys()]) this.#forget(path);
  }

  #current(path: string): Watched {
    const now = performance.now();
    const known = this.#files.get(path);
    if (known && now - known.seen < INODE_MS) return known;
    const inode = statSync(path).ino;
    if (known?.inode === inode) {
      known.seen = now;
      return known;
    }
    this.#forget(path);
    if (this.#files.size >= MAX_FILES) this.close();
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 0 });
    const file = { db, version: db.prepare('PRAGMA data_version'), inode, seen: now };
    this.#files.set(path, file);
    return file;
  }

  #forget(path: string): void {
    this.#files.get(path)?.db.close();
    this.#files.delete(path);
  }
}
