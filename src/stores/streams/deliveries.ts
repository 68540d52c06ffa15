import { type Selectable, sql } from 'kysely';
import { FEED_AGE_MS } from '../../core/kit/limits.js';
import { isHeldByAnother } from '../database/instance.js';
import { getSignals, signalAll } from '../database/signals.js';
import type { StateDb } from '../schema/database.js';
import type { DeliveryTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

export type DeliveryRow = Selectable<DeliveryTable>;

export interface NewDelivery {
  readonly eventId: string;
  readonly body: string;
}

/** Results of deliveries that were taken. */
export interface Settlement {
  readonly dispatched: readonly number[];
  /** The failed delivery. It is retried after `afterMs` milliseconds, or dropped if that is undefined. */
  readonly failed?: { id: number; error: string; afterMs: number | undefined };
}

/** Claimed deliveries, and the milliseconds until the first waiting one is due. Undefined if none waits. */
export interface TakenDeliveries {
  readonly deliveries: readonly DeliveryRow[];
  readonly dueMs: number | undefined;
}

export interface DeliveryCounts {
  readonly pending: number;
  readonly dead: number;
  /** Creation time of the oldest waiting delivery, in milliseconds since 1970. */
  readonly oldest: number | undefined;
}

/** Number of completed deliveries that are kept for inspection. */
const KEPT_DISPATCHED = 1000;
const CHUNK = 500;
const OPEN = sql<boolean>`state IN ('pending', 'claimed', 'failed')`;

/**
 * Events on their way to receivers. A receiver's position in the feed and its deliveries change in one transaction, by
 * the process that holds its lease: every event is delivered at least once, in order.
 */
export class DeliveryStore {
  constructor(private readonly db: StateDb) {}

  /**
   * Leases a receiver, or prolongs the lease. Undefined while another process has it. A new receiver starts after
   * `start`. Deliveries that a former owner had claimed become free.
   */
  claim(sink: string, instance: string, start: number, leaseMs: number) {
    return this.db.transaction().execute(async (db) => {
      const { now, forUpdate } = getVocabulary(db);
      const lease = { owner: instance, lease_expires_at: sql<number>`${now()} + ${leaseMs}` };
      const find = () =>
        forUpdate(db.selectFrom('sinks').selectAll().where('name', '=', sink))
          .select(sql<number>`lease_expires_at - ${now()}`.as('left_ms'))
          .executeTakeFirst();
      let sinkRow = await find();
      if (!sinkRow) {
        const { numInsertedOrUpdatedRows } = await db
          .insertInto('sinks')
          .values({ name: sink, position: start, ...lease })
          .onConflict((c) => c.doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows) return { position: start, recovered: 0 };
        // Another server was quicker.
        sinkRow = (await find())!;
      }
      if (isHeldByAnother(sinkRow, instance)) return undefined;
      await db.updateTable('sinks').set(lease).where('name', '=', sink).execute();
      const recovered = sinkRow.owner === instance ? 0 : await freeClaimed(db, sink);
      return { position: sinkRow.position, recovered };
    });
  }

  /**
   * Prolongs the lease. Returns false if another process has, or had, the lease in between. Then cached data about
   * the receiver is no longer valid.
   */
  async prolong(sink: string, instance: string, leaseMs: number): Promise<boolean> {
    const { now } = getVocabulary(this.db);
    const { numUpdatedRows } = await this.db
      .updateTable('sinks')
      .set({ lease_expires_at: sql<number>`${now()} + ${leaseMs}` })
      .where('name', '=', sink)
      .where('owner', '=', instance)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async release(sink: string, instance: string): Promise<void> {
    await this.db
      .updateTable('sinks')
      .set({ owner: null, lease_expires_at: 0 })
      .where('name', '=', sink)
      .where('owner', '=', instance)
      .execute();
  }

  /** Records the deliveries for a receiver from the feed up to `position`. Returns false if the lease is lost. */
  add(
    sink: string,
    instance: string,
    deliveries: readonly NewDelivery[],
    position: number,
  ): Promise<boolean> {
    return this.db.transaction().execute(async (db) => {
      const moved = await db
        .updateTable('sinks')
        .set({ position })
        .where('name', '=', sink)
        .where('owner', '=', instance)
        .executeTakeFirst();
      if (moved.numUpdatedRows === 0n) return false;
      const { now } = getVocabulary(db);
      const rows = deliveries.map(({ eventId, body }) => ({
        sink,
        event_id: eventId,
        body,
        attempt: 0,
        error: null,
        state: 'pending' as const,
        created_at: Date.now(),
        due_at: now(),
      }));
      for (let i = 0; i < rows.length; i += CHUNK)
        await db
          .insertInto('deliveries')
          .values(rows.slice(i, i + CHUNK))
          .execute();
      return true;
    });
  }

  /** Claims the next deliveries of a receiver, in order; none before the first of them is due. Undefined: the lease is lost. */
  take(sink: string, instance: string, limit: number): Promise<TakenDeliveries | undefined> {
    return this.db.transaction().execute(async (db) => {
      if (!(await isOwner(db, sink, instance))) return undefined;
      const open = await db
        .selectFrom('deliveries')
        .selectAll()
        .select(sql<number>`due_at - ${getVocabulary(db).now()}`.as('due_ms'))
        .where('sink', '=', sink)
        .where(OPEN)
        .orderBy('id')
        .limit(limit)
        .execute();
      const dueMs = open[0]?.due_ms;
      if (dueMs === undefined || dueMs > 0) return { deliveries: [], dueMs };
      const ids = open.map(({ id }) => id);
      await db.updateTable('deliveries').set({ state: 'claimed' }).where('id', 'in', ids).execute();
      return { deliveries: open, dueMs };
    });
  }

  /**
   * Records the results of deliveries. Other claimed deliveries wait again. Returns false if the lease is lost. Then
   * only completed deliveries are recorded.
   */
  settle(sink: string, instance: string, { dispatched, failed }: Settlement): Promise<boolean> {
    return this.db.transaction().execute(async (db) => {
      const isHeld = await isOwner(db, sink, instance);
      if (dispatched.length > 0) {
        const done = { state: 'dispatched', body: '', error: null } as const;
        await db.updateTable('deliveries').set(done).where('id', 'in', dispatched).execute();
      }
      if (!isHeld) return false;
      if (failed) {
        const { id, error, afterMs } = failed;
        const { now } = getVocabulary(db);
        await db
          .updateTable('deliveries')
          .set((e) => ({
            attempt: e('attempt', '+', 1),
            error,
            ...(afterMs === undefined
              ? { state: 'dead_lettered' }
              : { state: 'failed', due_at: sql<number>`${now()} + ${afterMs}` }),
          }))
          .where('id', '=', id)
          .execute();
      }
      await freeClaimed(db, sink);
      const last = Math.max(0, ...dispatched, failed?.id ?? 0);
      await sql`
        DELETE FROM deliveries WHERE sink = ${sink} AND state IN ('dispatched', 'dead_lettered') AND
          ((state = 'dispatched' AND id <= ${last - KEPT_DISPATCHED}) OR created_at < ${Date.now() - FEED_AGE_MS})
      `.execute(db);
      return true;
    });
  }

  /** Calls back when dead letters may be delivered again. Returns how to stop that. */
  follow(listener: () => void): () => void {
    return getSignals(this.db).on('deliveries', listener);
  }

  /** Deliveries of a receiver that wait. */
  async backlog(sink: string): Promise<number> {
    const { n } = await this.db
      .selectFrom('deliveries')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('sink', '=', sink)
      .where(OPEN)
      .executeTakeFirstOrThrow();
    return n;
  }

  async counts(sinks: readonly string[]): Promise<DeliveryCounts> {
    const total = { pending: 0, dead: 0, oldest: undefined as number | undefined };
    for (const sink of sinks) {
      const { rows } = await sql<{ pending: number; oldest: number | null; dead: number }>`
        SELECT count(*) AS pending,
          (SELECT created_at FROM deliveries WHERE sink = ${sink} AND ${OPEN} ORDER BY id LIMIT 1) AS oldest,
          (SELECT count(*) FROM deliveries WHERE sink = ${sink} AND state = 'dead_lettered') AS dead
        FROM deliveries WHERE sink = ${sink} AND ${OPEN}
      `.execute(this.db);
      const { pending, oldest, dead } = rows[0]!;
      total.pending += pending;
      total.dead += dead;
      if (oldest !== null) total.oldest = Math.min(total.oldest ?? oldest, oldest);
    }
    return total;
  }

  /** Lets dead letters be delivered again, the oldest first; of all receivers when `sink` is absent. Returns how many. */
  async redrive(sink: string | undefined, most: number): Promise<number> {
    const { now } = getVocabulary(this.db);
    const { numUpdatedRows } = await this.db
      .updateTable('deliveries')
      .set({ state: 'pending', attempt: 0, due_at: now() })
      .where('id', 'in', (db) => {
        const dead = db.selectFrom('deliveries').select('id').where('state', '=', 'dead_lettered');
        return (sink === undefined ? dead : dead.where('sink', '=', sink)).orderBy('id').limit(most);
      })
      .executeTakeFirst();
    await signalAll(this.db, 'deliveries');
    return Number(numUpdatedRows);
  }
}

/** Whether a process has a receiver's lease. No other process gets it before the transaction ends. */
async function isOwner(db: StateDb, sink: string, instance: string): Promise<boolean> {
  const rows = db.selectFrom('sinks').select('owner').where('name', '=', sink);
  return (await getVocabulary(db).forUpdate(rows).executeTakeFirst())?.owner === instance;
}

/**
 * Makes the claimed deliveries wait again. Returns their number. The condition OPEN makes the database use its index.
 */
async function freeClaimed(db: StateDb, sink: string): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ state: 'pending' })
    .where('sink', '=', sink)
    .where(OPEN)
    .where('state', '=', 'claimed')
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
