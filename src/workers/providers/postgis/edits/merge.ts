import type { MergeResult, MergeTask } from '../../../../core/edits/merges.js';
import type { PostgisSource } from '../../../../core/sources/vector-source.js';
import type { PgValue, PostgresConnection } from '../../../../native/postgres.js';
import { runMerge } from '../../../edits/merges/run.js';
import type { MergeSession } from '../../../edits/merges/session.js';
import type { EditSession } from '../../../edits/session.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { PROVIDER_LIMITS } from '../../limits.js';
import { withConnection } from '../connections/database.js';
import { SqlParams } from '../connections/params.js';
import { buildWhere } from '../queries/filter.js';
import { keyType } from '../queries/order.js';
import { column, writeTableSql } from '../schema/names.js';
import { PostgisSession } from './edit.js';
import { guarded, guardedWrite } from './edit-errors.js';
import { ensureReceipts, recordGap } from './outbox.js';

/** Writes the rows of a merge in one transaction, which is never tried twice. */
export function merge(task: MergeTask, cancellation?: Cancellation): Promise<MergeResult> {
  const { database } = task.source as PostgisSource;
  let hasBegun = false;
  const work = (connection: PostgresConnection) =>
    runMerge(
      task,
      async () => {
        await ensureReceipts(connection);
        const edits = await PostgisSession.begin(connection, task, false);
        hasBegun = true;
        return new PostgisMerge(edits, connection, task);
      },
      cancellation,
    );
  return withConnection(database, work, { cancellation, hasBegun: () => hasBegun });
}

class PostgisMerge implements MergeSession {
  readonly #source: PostgisSource;

  constructor(
    readonly edits: EditSession,
    private readonly connection: PostgresConnection,
    private readonly task: MergeTask,
  ) {
    this.#source = task.source as PostgisSource;
  }

  /**
   * Returns the receipt of an earlier run. The timeout is long because the thread can be busy; the lock for which
   * other edits wait is acquired only at the end.
   */
  async receipt(): Promise<string | undefined> {
    await this.#query("SELECT set_config('idle_in_transaction_session_timeout', $1::text, true)", [
      String(PROVIDER_LIMITS.mergeIdleMs),
    ]);
    const { token } = this.task;
    // If another transaction runs the same merge, this statement waits for its end.
    const claim = `INSERT INTO graticule_events.merges (token) VALUES ($1) ON CONFLICT DO NOTHING RETURNING token`;
    if ((await this.#query(claim, [token])).length > 0) return undefined;
    const sql = 'SELECT answer::text FROM graticule_events.merges WHERE token = $1';
    return String((await this.#query(sql, [token]))[0]![0]);
  }

  async keepReceipt(text: string): Promise<void> {
    const sql = 'UPDATE graticule_events.merges SET answer = $2::json WHERE token = $1';
    await this.#query(sql, [this.task.token, text]);
    await this.#query(
      `DELETE FROM graticule_events.merges WHERE time < now() - $1::int4 * interval '1 day'`,
      [String(PROVIDER_LIMITS.mergeReceiptDays)],
    );
  }

  async lock(): Promise<void> {
    const table = writeTableSql(this.#source).replace(/ t$/, '');
    await this.#query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
    // Some of the following statements read the complete table.
    await this.#query("SELECT set_config('statement_timeout', $1::text, true)", [
      String(PROVIDER_LIMITS.mergeStatementMs),
    ]);
  }

  async find(field: string, keys: readonly string[]): Promise<[key: string, id: string][]> {
    const source = this.#source;
    const texts = keys.map((key) => (key.startsWith('"') ? (JSON.parse(key) as string) : key));
    const params = new SqlParams();
    const list = params.add(JSON.stringify(texts), 'json');
    const rows = await this.#query(
      `SELECT k.n, ${column(source.idColumn)}::text
       FROM json_array_elements_text(${list}) WITH ORDINALITY AS k(value, n)
       JOIN ${writeTableSql(source)} ON ${column(field)} = k.value::${keyType(source, field)}`,
      params.values,
    );
    return rows.map(([n, id]) => [keys[Number(n) - 1]!, String(id)]);
  }

  async some(most: number): Promise<string[]> {
    const { from, params } = this.#passing();
    const limit = params.add(most, 'int8');
    const sql = `SELECT ${column(this.#source.idColumn)}::text ${from} LIMIT ${limit}`;
    return (await this.#query(sql, params.values)).map(([id]) => String(id));
  }

  async count(atMost: number): Promise<number> {
    const { from, params } = this.#passing();
    const limit = params.add(atMost, 'int8');
    const [row] = await this.#query(
      `SELECT count(*) FROM (SELECT ${from} LIMIT ${limit}) AS r`,
      params.values,
    );
    return Number(row![0]);
  }

  async clear(): Promise<number> {
    const { from, params } = this.#passing();
    const sql = `WITH gone AS (DELETE ${from} RETURNING 1) SELECT count(*) FROM gone`;
    const [row] = await guardedWrite(this.connection.query(sql, params.values));
    return Number(row![0]);
  }

  recordGap(): Promise<number> {
    const { schema, table } = this.#source;
    return guarded(recordGap(this.connection, `${schema}.${table}`, this.task.origin));
  }

  /** Rows that are visible to the caller. */
  #passing(): { from: string; params: SqlParams } {
    const params = new SqlParams();
    const where = buildWhere(this.#source, this.task.filter, params);
    return { from: `FROM ${writeTableSql(this.#source)} WHERE ${where}`, params };
  }

  #query(sql: string, values?: readonly (string | null)[]): Promise<PgValue[][]> {
    return guarded(this.connection.query(sql, values));
  }
}
