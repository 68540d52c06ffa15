import { rmSync } from 'node:fs';
import Database from '../../../native/sqlite.js';
import { useWal } from '../../files/wal-mode.js';
import type { TileStoreCount } from './protocol.js';

/** Bytes of a row in addition to key and tile. */
const ROW_BYTES = 64;
/** Number of rows that are deleted in one step to free space. */
const EVICTED_ROWS = 256;
/** Maximum number of noted use times. They are written with the next write, so that reads do not write. */
const MAX_NOTED = 4096;
/**
 * Ratio of the file size to the maximum above which the file is recreated. Free pages are reused, but the file may
 * have been much larger.
 */
const SLACK = 1.5;

const TABLE = `CREATE TABLE IF NOT EXISTS tile (
  key TEXT PRIMARY KEY, bytes INTEGER NOT NULL, used INTEGER NOT NULL, tile BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS tile_used ON tile (used);
CREATE TABLE IF NOT EXISTS total (
  one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT OR IGNORE INTO total VALUES (1, 0, 0);
CREATE TRIGGER IF NOT EXISTS tile_in AFTER INSERT ON tile BEGIN
  UPDATE total SET entries = entries + 1, bytes = bytes + new.bytes; END;
CREATE TRIGGER IF NOT EXISTS tile_out AFTER DELETE ON tile BEGIN
  UPDATE total SET entries = entries - 1, bytes = bytes - old.bytes; END;`;

type Row = [key: string, tile: Uint8Array];

/**
 * Tiles in one SQLite file with a maximum size in bytes; the least recently used tiles are evicted first. Tiles lost
 * in a power failure are generated again, so writes do not wait for the disk. A damaged file is recreated. Several
 * processes can share the file. One file is better than a file for each tile: triggers count the bytes, an index
 * finds tiles to evict, and a transaction contains 50 tiles.
 */
export class TileStore {
  #db: Database.Database;
  readonly #used = new Set<string>();

  constructor(
    private readonly file: string,
    private readonly maxBytes: number,
  ) {
    try {
      this.#db = open(file);
      if (bytesOfFile(this.#db) > maxBytes * SLACK + 1_048_576) this.#db = this.#anew();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#db = this.#anew();
    }
  }

  read(key: string): Uint8Array | undefined {
    return this.#whole(() => {
      const tile = this.#db.prepare('SELECT tile FROM tile WHERE key = ?').pluck().get(key);
      if (tile && this.#used.size < MAX_NOTED) this.#used.add(key);
      return tile as Uint8Array | undefined;
    });
  }

  write(tiles: readonly Row[]): void {
    this.#whole(() => this.#db.transaction(() => this.#put(tiles))());
  }

  #put(tiles: readonly Row[]): void {
    const now = Date.now();
    const use = this.#db.prepare('UPDATE tile SET used = ? WHERE key = ?');
    for (const key of this.#used) use.run(now, key);
    this.#used.clear();
    const put = this.#db.prepare('INSERT OR REPLACE INTO tile (key, bytes, used, tile) VALUES (?, ?, ?, ?)');
    for (const [key, tile] of tiles) put.run(key, key.length + tile.byteLength + ROW_BYTES, now, tile);
    this.#makeRoom();
  }

  #makeRoom(): void {
    let { bytes } = this.#counted();
    const evict = this.#db.prepare(
      'DELETE FROM tile WHERE key IN (SELECT key FROM tile ORDER BY used LIMIT ?) RETURNING bytes',
    );
    while (bytes > this.maxBytes) {
      const sizes = evict.pluck().all(EVICTED_ROWS) as number[];
      if (sizes.length === 0) return;
      bytes -= sizes.reduce((sum, one) => sum + one, 0);
    }
  }

  /** Drops the tiles whose key fits a GLOB; returns how many. */
  drop(pattern: string): number {
    return this.#whole(() => this.#db.prepare('DELETE FROM tile WHERE key GLOB ?').run(pattern).changes) ?? 0;
  }

  count(): TileStoreCount {
    return this.#whole(() => this.#counted()) ?? { entries: 0, bytes: 0 };
  }

  #counted(): TileStoreCount {
    return this.#db.prepare('SELECT entries, bytes FROM total').get() as TileStoreCount;
  }

  close(): void {
    this.#db.close();
  }

  /** Runs `work`. If the file is damaged, it is recreated. */
  #whole<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#db = this.#anew();
      return undefined;
    }
  }

  #anew(): Database.Database {
    this.#db?.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.file + suffix, { force: true });
    return open(this.file);
  }
}

/** Milliseconds for which another process is waited for. */
const BUSY_MS = 5000;

function open(file: string): Database.Database {
  const db = new Database(file, { timeout: BUSY_MS });
  try {
    useWal(db, BUSY_MS);
    db.pragma('synchronous = OFF');
    db.pragma('journal_size_limit = 16777216');
    // Replaced rows must also be removed from the totals.
    db.pragma('recursive_triggers = ON');
    db.exec(TABLE);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function bytesOfFile(db: Database.Database): number {
  const pages = db.pragma('page_count', { simple: true }) as number;
  return pages * (db.pragma('page_size', { simple: true }) as number);
}

function isDamage(error: unknown): boolean {
  const code = error instanceof Database.SqliteError ? error.code : '';
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB';
}
