import { type Insertable, type Selectable, type SqlBool, sql } from 'kysely';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { LatencyTable, VitalsTable } from '../schema/observability-tables.js';
import { getVocabulary } from '../schema/vocabulary.js';

export type LatencyRow = Selectable<LatencyTable>;
export type VitalsRow = Selectable<VitalsTable>;

/** Milliseconds for which the periods of a resolution are kept, by the seconds of the resolution. */
export const KEPT_MS: ReadonlyMap<number, number> = new Map([
  [60, 48 * 3_600_000],
  [300, 14 * 86_400_000],
  [3600, 400 * 86_400_000],
]);

export interface PeriodRange {
  /** Seconds of the periods. */
  readonly resolution: number;
  /** Start of the first period, in milliseconds since 1970. */
  readonly from: number;
  /** End of the last period. */
  readonly to: number;
}

const ROWS_PER_STATEMENT = 500;

/**
 * Latency and condition of processes by period. Each process writes the complete sums of its periods. A repeated write
 * changes nothing, and a late write does not replace a later one.
 */
export class HealthPeriodStore {
  constructor(private readonly db: StateDb) {}

  write(latency: readonly Insertable<LatencyTable>[], vitals: readonly VitalsRow[]): Promise<void> {
    return runInTransaction(this.db, async (trx) => {
      for (const rows of divide(latency))
        await trx
          .insertInto('latency_periods')
          .values(rows)
          .onConflict((c) =>
            c
              .columns(['resolution', 'bucket_start', 'replica', 'protocol'])
              .doUpdateSet((e) => ({
                requests: e.ref('excluded.requests'),
                errors: e.ref('excluded.errors'),
                max_ms: e.ref('excluded.max_ms'),
                counts_json: e.ref('excluded.counts_json'),
              }))
              .whereRef('excluded.requests', '>', 'latency_periods.requests'),
          )
          .execute();
      for (const rows of divide(vitals))
        await trx
          .insertInto('vital_periods')
          .values(rows)
          .onConflict((c) =>
            c
              .columns(['resolution', 'bucket_start', 'replica'])
              .doUpdateSet((e) => ({
                samples: e.ref('excluded.samples'),
                status: e.ref('excluded.status'),
                cache_hits: e.ref('excluded.cache_hits'),
                cache_lookups: e.ref('excluded.cache_lookups'),
                requests: e.ref('excluded.requests'),
                errors: e.ref('excluded.errors'),
                db_active: e.ref('excluded.db_active'),
                db_capacity: e.ref('excluded.db_capacity'),
                queue_json: e.ref('excluded.queue_json'),
                alert_pending: e.ref('excluded.alert_pending'),
                alert_dead: e.ref('excluded.alert_dead'),
              }))
              .whereRef('excluded.samples', '>', 'vital_periods.samples'),
          )
          .execute();
    });
  }

  /** Latency by period, replica and protocol. */
  latency(range: PeriodRange): Promise<LatencyRow[]> {
    return this.db
      .selectFrom('latency_periods')
      .selectAll()
      .where(isIn(range))
      .orderBy('bucket_start')
      .execute();
  }

  vitals(range: PeriodRange): Promise<VitalsRow[]> {
    return this.db
      .selectFrom('vital_periods')
      .selectAll()
      .where(isIn(range))
      .orderBy('bucket_start')
      .execute();
  }

  /** Removes the periods that ended before they are kept. Several processes can do so at the same time. */
  async prune(): Promise<void> {
    const { now } = getVocabulary(this.db);
    for (const [resolution, ms] of KEPT_MS)
      for (const table of ['latency_periods', 'vital_periods'] as const)
        await this.db
          .deleteFrom(table)
          .where('resolution', '=', resolution)
          .where('bucket_start', '<', sql<number>`${now()} - ${ms}`)
          .execute();
  }
}

const isIn = ({ resolution, from, to }: PeriodRange) =>
  sql<SqlBool>`resolution = ${resolution} AND bucket_start >= ${from} AND bucket_start < ${to}`;

function divide<T>(rows: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT)
    parts.push(rows.slice(at, at + ROWS_PER_STATEMENT));
  return parts;
}
