import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { AuditRow } from '../audit/audit.js';
import type { JobRow } from '../jobs/jobs.js';
import { type Conflict, parseConflict } from '../replicas/replica-conflicts.js';
import type { AlertEventTable } from '../schema/alert-tables.js';
import type { StateDb } from '../schema/database.js';
import type { ReplicaConflictTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

/** A page of records, newest first. Times are milliseconds since 1970. */
export interface RecordQuery {
  /** Inclusive. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** The last record of the page before. */
  readonly after: { readonly at: number; readonly id: string | number } | undefined;
  readonly limit: number;
}

/** A record, and when it was made or changed last. */
export interface TimedRecord<T> {
  readonly at: number;
  readonly id: string | number;
  readonly record: T;
}

type Page<T> = Promise<TimedRecord<T>[]>;
type AlertRecord = Selectable<AlertEventTable>;

/** Records of several kinds in the order of time. */
export class RecentRecordStore {
  constructor(private readonly db: StateDb) {}

  /** `layers`: only alert events of these layers. */
  alerts(query: RecordQuery, layers: readonly number[] | undefined): Page<AlertRecord> {
    const ofLayers = layers && getVocabulary(this.db).isOneOf('layer_id', layers);
    return this.#read<AlertRecord>('alert_events', sql`occurred_at`, query, ofLayers);
  }

  audit(query: RecordQuery): Page<AuditRow> {
    return this.#read<AuditRow>('audit', sql`at`, query);
  }

  /** The time of a job is when it ended, or else when it started, or else when it was created. */
  jobs(query: RecordQuery): Page<JobRow> {
    return this.#read<JobRow>('jobs', sql`coalesce(completed_at, started_at, created_at)`, query);
  }

  async conflicts(query: RecordQuery): Page<Conflict> {
    type Row = Selectable<ReplicaConflictTable>;
    const rows = await this.#read<Row>('replica_conflicts', sql`detected_at`, query);
    return rows.map(({ record, ...row }) => ({ ...row, record: parseConflict(record) }));
  }

  async #read<T>(
    table: string,
    at: Expression<unknown>,
    { from, to, after, limit }: RecordQuery,
    condition: Expression<SqlBool> = sql<SqlBool>`1 = 1`,
  ): Page<T> {
    const conditions = [condition];
    if (from !== undefined) conditions.push(sql<SqlBool>`${at} >= ${from}`);
    if (to !== undefined) conditions.push(sql<SqlBool>`${at} <= ${to}`);
    if (after)
      conditions.push(sql<SqlBool>`(${at} < ${after.at} OR (${at} = ${after.at} AND id < ${after.id}))`);
    const { rows } = await sql<T & { id: string | number; record_at: number }>`
      SELECT ${sql.table(table)}.*, ${at} AS record_at FROM ${sql.table(table)}
      WHERE ${sql.join(conditions, sql` AND `)} ORDER BY ${at} DESC, id DESC LIMIT ${limit}
    `.execute(this.db);
    return rows.map((row) => ({ at: row.record_at, id: row.id, record: row }));
  }
}
