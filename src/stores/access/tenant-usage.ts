import { sql } from 'kysely';
import type { StateDb } from '../schema/database.js';

export interface TenantUsage {
  readonly tenantId: string;
  /** UTC, `2026-11-24`. */
  readonly day: string;
  readonly requests: number;
  /** Milliseconds since 1970. */
  readonly countedAt: number;
}

/** Requests of tenants by day, which all processes add to. */
export class TenantUsageStore {
  constructor(private readonly db: StateDb) {}

  /** Adds requests of a day, by tenant; resolves with the sums. */
  add(day: string, counts: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    return this.db.transaction().execute(async (trx) => {
      const sums = new Map<string, number>();
      // In one order, so that two processes do not wait for each other.
      for (const [tenantId, requests] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const row = await trx
          .insertInto('tenant_usage')
          .values({ tenant_id: tenantId, day, requests, counted_at: Date.now() })
          .onConflict((c) =>
            c.columns(['tenant_id', 'day']).doUpdateSet({
              requests: sql<number>`tenant_usage.requests + ${requests}`,
              counted_at: Date.now(),
            }),
          )
          .returning('requests')
          .executeTakeFirstOrThrow();
        sums.set(tenantId, Number(row.requests));
      }
      return sums;
    });
  }

  /** Usage of all tenants, on one day. Default: on all days. */
  async list(day?: string): Promise<TenantUsage[]> {
    const rows = await this.db
      .selectFrom('tenant_usage')
      .selectAll()
      .$if(day !== undefined, (q) => q.where('day', '=', day!))
      .orderBy('tenant_id')
      .orderBy('day')
      .execute();
    return rows.map((row) => ({
      tenantId: row.tenant_id,
      day: row.day,
      requests: Number(row.requests),
      countedAt: row.counted_at,
    }));
  }
}
