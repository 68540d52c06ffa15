import type { MergeResult, MergeTask } from '../../../../core/edits/merges.js';
import type { GeoPackageSource } from '../../../../core/sources/vector-source.js';
import { canonicalDigits } from '../../../../core/values/exact-number.js';
import { runMerge } from '../../../edits/merges/run.js';
import type { MergeSession } from '../../../edits/merges/session.js';
import type { EditSession } from '../../../edits/session.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { PROVIDER_LIMITS } from '../../limits.js';
import { quote } from '../connection.js';
import { passingRows } from '../queries/filter.js';
import type { Query } from '../queries/window.js';
import { quoteIndexTable } from '../queries/window.js';
import { GeoPackageSession } from './edit.js';
import { guarded } from './edit-errors.js';
import { recordGap } from './outbox.js';
import type { Writer } from './writer.js';

/** Writes the rows of a merge in one transaction of the only writer of a GeoPackage. */
export function merge(task: MergeTask, cancellation?: Cancellation): Promise<MergeResult> {
  const begin = async () => {
    const edits = GeoPackageSession.begin(task, PROVIDER_LIMITS.mergeStatementMs);
    return new GeoPackageMerge(edits, edits.writer, task);
  };
  return runMerge(task, begin, cancellation);
}

/** Table of merge receipts. It is in the file that it describes, like the outbox. */
const RECEIPTS = `CREATE TABLE IF NOT EXISTS graticule_merges (
  token TEXT PRIMARY KEY, answer TEXT NOT NULL,
  merged_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')))`;

class GeoPackageMerge implements MergeSession {
  readonly #source: GeoPackageSource;
  readonly #table: string;
  readonly #id: string;

  constructor(
    readonly edits: EditSession,
    private readonly writer: Writer,
    private readonly task: MergeTask,
  ) {
    this.#source = task.source as GeoPackageSource;
    this.#table = quote(this.#source.table);
    this.#id = quote(this.#source.idColumn);
  }

  async receipt(): Promise<string | undefined> {
    return guarded(() => {
      this.writer.db.exec(RECEIPTS);
      const sql = 'SELECT answer FROM graticule_merges WHERE token = ?';
      return this.writer.db.prepare(sql).pluck().get(this.task.token) as string | undefined;
    });
  }

  async keepReceipt(text: string): Promise<void> {
    this.#run('INSERT INTO graticule_merges (token, answer) VALUES (?, ?)', this.task.token, text);
    const old = `DELETE FROM graticule_merges WHERE merged_at < strftime('%Y-%m-%dT%H:%M:%fZ','now', ?)`;
    this.#run(old, `-${PROVIDER_LIMITS.mergeReceiptDays} days`);
  }

  /** The transaction is the only one that writes to the file. */
  async lock(): Promise<void> {}

  async find(field: string, keys: readonly string[]): Promise<[key: string, id: string][]> {
    const column = quote(field);
    const rows = guarded(() =>
      this.writer.db
        .prepare(
          `SELECT ${column}, CAST(${this.#id} AS TEXT) FROM ${this.#table}
           WHERE ${column} IN (SELECT value FROM json_each(?))`,
        )
        .safeIntegers()
        .raw()
        .all(`[${keys.join(',')}]`),
    ) as [string | number | bigint, string][];
    return rows.map(([key, id]) => [
      typeof key === 'string' ? JSON.stringify(key) : canonicalDigits(String(key)),
      id,
    ]);
  }

  async some(most: number): Promise<string[]> {
    const { sql, values } = this.#passing();
    return guarded(() =>
      this.writer.db
        .prepare(`SELECT CAST(row AS TEXT) FROM (${sql}) LIMIT ?`)
        .pluck()
        .all(...values, most),
    ) as string[];
  }

  async count(atMost: number): Promise<number> {
    const { sql, values } = this.#passing();
    return guarded(() =>
      this.writer.db
        .prepare(`SELECT count(*) FROM (SELECT 1 FROM (${sql}) LIMIT ?)`)
        .pluck()
        .get(...values, atMost),
    ) as number;
  }

  async clear(): Promise<number> {
    const { sql, values } = this.#passing();
    const rows = `SELECT row FROM (${sql})`;
    if (this.writer.tableFacts(this.#source).tendsIndex)
      this.#run(`DELETE FROM ${quoteIndexTable(this.#source)} WHERE id IN (${rows})`, ...values);
    return this.#run(`DELETE FROM ${this.#table} WHERE ${this.#id} IN (${rows})`, ...values);
  }

  async recordGap(): Promise<number> {
    return guarded(() => recordGap(this.writer, this.#source.table, this.task.origin));
  }

  #passing(): Query {
    return passingRows(this.#source, this.task.filter);
  }

  #run(sql: string, ...values: unknown[]): number {
    this.writer.renewLimit();
    return guarded(() => this.writer.db.prepare(sql).run(...values).changes);
  }
}
