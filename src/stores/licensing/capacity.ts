import { type Selectable, sql } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { CapacitySurgeTable } from '../schema/licence-tables.js';
import { acquireLock } from '../schema/vocabulary.js';

export type SurgeRow = Selectable<CapacitySurgeTable>;

/** Measured minutes of a time range. */
export interface MeteredMinutes {
  readonly counts: readonly { readonly units: number; readonly minutes: number }[];
  /** Start of the first and of the last measured minute. */
  readonly first: number | null;
  readonly last: number | null;
}

const GRACE = 'grace-started';

/** Serving units by minute, the grace period, and surge mode. */
export class CapacityStore {
  constructor(private readonly db: StateDb) {}

  /** Stores the units of a minute. Several processes measure the same minute; the highest value remains. */
  async meter(minute: number, units: number): Promise<void> {
    await this.db
      .insertInto('capacity_minutes')
      .values({ minute, serving_units: units })
      .onConflict((c) =>
        c
          .column('minute')
          .doUpdateSet((e) => ({ serving_units: e.ref('excluded.serving_units') }))
          .whereRef('excluded.serving_units', '>', 'capacity_minutes.serving_units'),
      )
      .execute();
  }

  /** Minutes that start at `since` or later. */
  async minutes(since: number): Promise<MeteredMinutes> {
    const rows = await this.db
      .selectFrom('capacity_minutes')
      .select((e) => [
        e.ref('serving_units').as('units'),
        e.fn.countAll<number>().as('minutes'),
        e.fn.min('minute').as('first'),
        e.fn.max('minute').as('last'),
      ])
      .where('minute', '>=', since)
      .groupBy('serving_units')
      .execute();
    const counts = rows.map(({ units, minutes }) => ({ units: Number(units), minutes: Number(minutes) }));
    if (rows.length === 0) return { counts, first: null, last: null };
    return {
      counts,
      first: Math.min(...rows.map(({ first }) => Number(first))),
      last: Math.max(...rows.map(({ last }) => Number(last))),
    };
  }

  async prune(before: number): Promise<void> {
    await this.db.deleteFrom('capacity_minutes').where('minute', '<', before).execute();
  }

  async graceStartedAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('licence_marks')
      .select('value')
      .where('name', '=', GRACE)
      .executeTakeFirst();
    return row?.value ?? null;
  }

  /** Starts the grace period unless it runs already. Returns its start. */
  async startGrace(at: number): Promise<number> {
    await this.db
      .insertInto('licence_marks')
      .values({ name: GRACE, value: at })
      .onConflict((c) => c.doNothing())
      .execute();
    return (await this.graceStartedAt()) ?? at;
  }

  async endGrace(): Promise<void> {
    await this.db.deleteFrom('licence_marks').where('name', '=', GRACE).execute();
  }

  /** Periods with surge mode that end at `since` or later, oldest first. */
  surges(since: number): Promise<SurgeRow[]> {
    return this.db
      .selectFrom('capacity_surges')
      .selectAll()
      .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>=', since)]))
      .orderBy('id')
      .execute();
  }

  /** Starts or ends surge mode. Returns whether that changed anything. */
  setSurge(enabled: boolean, at: number, by: string, reason: string | null): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'capacity-surge');
      auditResource('surge', { enabled, reason });
      const open = await trx
        .selectFrom('capacity_surges')
        .select('id')
        .where('ended_at', 'is', null)
        .executeTakeFirst();
      if (enabled === (open !== undefined)) return false;
      if (enabled)
        await trx
          .insertInto('capacity_surges')
          .values({ started_at: at, started_by: by, reason, ended_at: null, ended_by: null })
          .execute();
      else
        await trx
          .updateTable('capacity_surges')
          .set({
            ended_at: sql<number>`CASE WHEN started_at > ${at} THEN started_at ELSE ${at} END`,
            ended_by: by,
          })
          .where('id', '=', open!.id)
          .execute();
      return true;
    });
  }
}
