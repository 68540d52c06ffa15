import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import Database from '../../native/sqlite.js';

type Bytes = Uint8Array | string;

/** File of digests and their first owners, because memory can be too small for them. */
export class KeyFile {
  readonly #db: Database.Database;
  readonly #insert: Database.Statement;
  readonly #select: Database.Statement;

  constructor(private readonly path: string) {
    rmSync(path, { force: true });
    this.#db = new Database(path);
    this.#db.pragma('journal_mode = MEMORY');
    this.#db.pragma('synchronous = OFF');
    this.#db.exec('CREATE TABLE keys (digest BLOB PRIMARY KEY, owner) WITHOUT ROWID; BEGIN');
    this.#insert = this.#db.prepare('INSERT OR IGNORE INTO keys VALUES (?, ?)');
    this.#select = this.#db.prepare('SELECT owner FROM keys WHERE digest = ?').pluck();
  }

  /** Returns the first owner of all of these parts. Undefined if they are new. */
  firstOf(parts: readonly Bytes[], owner: string): string | undefined {
    const hash = createHash('sha256');
    for (const part of parts) {
      // Their lengths keep them apart.
      hash.update(`${part.length} `);
      hash.update(part);
    }
    const digest = hash.digest();
    const isFirst = this.#insert.run(digest, owner).changes > 0;
    return isFirst ? undefined : (this.#select.get(digest) as string);
  }

  remove(): void {
    this.#db.close();
    rmSync(this.path, { force: true });
  }
}
