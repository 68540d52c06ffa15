import { sql } from 'kysely';
import { LIMITS } from '../../core/kit/limits.js';
import { isHeldByAnother } from '../database/instance.js';
import { getSignals, signalAll } from '../database/signals.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import { getVocabulary } from '../schema/vocabulary.js';
import {
  addLanes,
  claimAll,
  type DeliveryRow,
  dropSuspects,
  findLane,
  freeClaimed,
  insertDeliveries,
  makeDue,
  OPEN,
  prune,
  readCap,
  recordLane,
  selectOpen,
} from './delivery-rows.js';

export interface NewDelivery {
  readonly eventId: string;
  readonly body: string;
}

/** A delivery for the lane of a receiver. */
export interface QueuedDelivery extends NewDelivery {
  readonly sink: string;
  /** Rule and alert event of an alert. */
  readonly ruleId?: number;
  readonly alertId?: number;
}

/** Maximum number of messages that a receiver gets in a period. Further ones are joined into the last of them. */
export interface RateCap {
  readonly count: number;
  readonly periodMs: number;
}

export interface TakeBounds {
  /** Maximum number of deliveries. */
  readonly limit: number;
  readonly cap?: RateCap | undefined;
  /** Failures in a row after which deliveries are sent one at a time. */
  readonly probesAfter: number;
}

/** A delivery that was claimed, with the milliseconds since it was recorded. */
export type TakenDelivery = DeliveryRow & { readonly age_ms: number };

/** Claimed deliveries of a lane. */
export interface TakenDeliveries {
  readonly deliveries: readonly TakenDelivery[];
  /** Milliseconds until the first waiting delivery can be sent. Undefined if none waits, or the lane is paused. */
  readonly dueMs: number | undefined;
  /** Failed attempts of the lane since its last success. */
  readonly failures: number;
  /** Whether the delivery is sent before an earlier one, whose attempts all failed. */
  readonly isTrial?: boolean;
  /**
   * Number of deliveries that one message must represent, because the rate cap does not permit one message for each.
   * `deliveries` has the first of them.
   */
  readonly joined?: number;
}

/** Results of deliveries that were taken. */
export interface Settlement {
  readonly dispatched: readonly number[];
  /** Whether the results apply to all claimed deliveries, which were sent as one message. */
  readonly isJoined?: boolean;
  /** Deliveries that the receiver refused for good. They become dead letters. */
  readonly refused?: readonly { id: number; error: string }[];
  /** The failed delivery. It is retried after `afterMs` milliseconds. */
  readonly failed?: FailedDelivery;
  readonly cap?: RateCap | undefined;
}

export interface FailedDelivery {
  readonly id: number;
  readonly error: string;
  readonly afterMs: number;
  /** Whether this delivery can be the reason of the error. */
  readonly isAttempt: boolean;
  /** Failed attempts of the lane since its last success. */
  readonly failures: number;
  /** Milliseconds for which the lane sends nothing. */
  readonly opensAfterMs: number;
}

export interface SettlementResult {
  /** False if the lease is lost. Then only completed deliveries are recorded. */
  readonly isHeld: boolean;
  /** Deliveries that became dead letters, because a later one succeeded after all their attempts had failed. */
  readonly deadLettered: readonly { event_id: string; error: string | null }[];
}

/** Bounds of waiting deliveries. Beyond them, the oldest become dead letters. */
export interface WaitBounds {
  readonly ageMs: number;
  /** Maximum number for lanes that are paused or fail. */
  readonly count: number;
  readonly error: string;
}

export interface DeliveryCounts {
  readonly pending: number;
  readonly dead: number;
  /** Creation time of the oldest waiting delivery, in milliseconds since 1970. */
  readonly oldest: number | undefined;
}

export interface LaneState {
  readonly name: string;
  readonly isPaused: boolean;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** When the next attempt is due, while the circuit is open. */
  readonly opensAt: number | null;
  readonly pending: number;
  /** Deliveries that failed and are retried. They are also pending. */
  readonly failed: number;
  readonly dead: number;
  /** Age of the oldest waiting delivery in milliseconds. Null if none waits. */
  readonly oldestMs: number | null;
}

const CHUNK = 500;

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
      await insertDeliveries(
        db,
        deliveries.map((delivery) => ({ sink, ...delivery })),
      );
      return true;
    });
  }

  /**
   * Records deliveries in a transaction of the caller, and wakes the lanes at its commit. Lanes that do not exist are
   * created.
   */
  async enqueue(trx: StateDb, deliveries: readonly QueuedDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    await addLanes(trx, [...new Set(deliveries.map(({ sink }) => sink))]);
    await insertDeliveries(trx, deliveries);
    await signalAll(trx, 'deliveries');
  }

  /** Records deliveries in a new transaction. */
  record(deliveries: readonly QueuedDelivery[]): Promise<void> {
    return this.db.transaction().execute((db) => this.enqueue(db, deliveries));
  }

  /** Claims the next deliveries of a lane, in order; none before the first of them is due. Undefined: the lease is lost. */
  take(sink: string, instance: string, options: TakeBounds): Promise<TakenDeliveries | undefined> {
    return this.db.transaction().execute(async (db) => {
      const lane = await findLane(db, sink);
      if (lane?.owner !== instance) return undefined;
      const { failures, now } = lane;
      const none = (dueMs?: number) => ({ deliveries: [], dueMs, failures });
      if (lane.is_paused !== 0) return none();
      const { left, waitMs } = readCap(lane, options.cap);
      const isProbe = failures >= options.probesAfter;
      const most = isProbe ? 1 : Math.min(options.limit, Math.max(left, 1));
      const open = await selectOpen(db, sink, Math.min(most, options.limit) + 1);
      const [first, second] = open;
      if (!first) return none();
      // If the first of several deliveries failed at all its attempts, the next one shows whether the receiver works.
      const isSuspect = isProbe && first.attempt >= LIMITS.webhookAttempts && second?.attempt === 0;
      const waits = [isSuspect ? 0 : first.due_ms, lane.opens_at - now, waitMs];
      const dueMs = Math.max(...waits);
      if (dueMs > 0) return none(dueMs);
      if (left === 1 && second && !isProbe) return { ...(await claimAll(db, sink)), dueMs, failures };
      const room = open.length > left ? left - 1 : left;
      const deliveries = isSuspect ? [second!] : open.slice(0, Math.min(most, Math.max(room, 1)));
      const ids = deliveries.map(({ id }) => id);
      await db.updateTable('deliveries').set({ state: 'claimed' }).where('id', 'in', ids).execute();
      return { deliveries, dueMs, failures, isTrial: isSuspect };
    });
  }

  /** Records the results of deliveries. Other claimed deliveries wait again. */
  settle(sink: string, instance: string, settlement: Settlement): Promise<SettlementResult> {
    const { dispatched, isJoined, refused = [], failed, cap } = settlement;
    return this.db.transaction().execute(async (db) => {
      const lane = await findLane(db, sink);
      const isHeld = lane?.owner === instance;
      const { now } = getVocabulary(db);
      const attempted_at = now();
      // After the lease is lost, another process can have claimed the rest of a joined message.
      const choose = (ids: readonly number[]) => {
        const rows = db.updateTable('deliveries');
        if (!isJoined || !isHeld) return rows.where('id', 'in', ids);
        return rows.where('sink', '=', sink).where(OPEN).where('state', '=', 'claimed');
      };
      if (dispatched.length > 0)
        await choose(dispatched).set({ state: 'dispatched', body: '', error: null, attempted_at }).execute();
      if (!lane || !isHeld) return { isHeld: false, deadLettered: [] };
      for (const { id, error } of refused)
        await choose([id])
          .set((e) => ({ state: 'dead_lettered', attempt: e('attempt', '+', 1), error, attempted_at }))
          .execute();
      if (failed) {
        const { id, error, afterMs, isAttempt } = failed;
        await db
          .updateTable('deliveries')
          .set((e) => ({
            attempt: e('attempt', '+', isAttempt ? 1 : 0),
            ...{ error, attempted_at, state: 'failed', due_at: sql<number>`${now()} + ${afterMs}` },
          }))
          .where('id', '=', id)
          .execute();
      }
      const messages = isJoined ? Math.min(1, dispatched.length) : dispatched.length;
      await recordLane(db, lane, { messages, failed, hasAnswer: messages + refused.length > 0, cap });
      await freeClaimed(db, sink);
      const deadLettered = await dropSuspects(db, sink, Math.max(0, ...dispatched));
      await prune(db, sink, Math.max(0, ...dispatched, failed?.id ?? 0));
      return { isHeld: true, deadLettered };
    });
  }

  /** Calls back when deliveries may wait that this process did not record. Returns how to stop that. */
  follow(listener: () => void): () => void {
    return getSignals(this.db).on('deliveries', listener);
  }

  /** The lanes with waiting deliveries, by default without paused ones. */
  async waiting(sinks: readonly string[], withPaused = false): Promise<string[]> {
    if (sinks.length === 0) return [];
    const rows = await this.db
      .selectFrom('sinks')
      .select('name')
      .where('name', 'in', sinks)
      .where('is_paused', '<=', withPaused ? 1 : 0)
      .where(sql<boolean>`EXISTS (SELECT 1 FROM deliveries WHERE sink = sinks.name AND ${OPEN})`)
      .execute();
    return rows.map(({ name }) => name);
  }

  /** Lets the deliveries of a lane wait, or sends them again from now on. */
  async setPaused(sink: string, isPaused: boolean): Promise<void> {
    await runInTransaction(this.db, async (db) => {
      await addLanes(db, [sink]);
      const paused = isPaused ? { is_paused: 1 } : { is_paused: 0, opens_at: 0 };
      await db.updateTable('sinks').set(paused).where('name', '=', sink).execute();
      if (!isPaused) await makeDue(db, [sink]);
      await signalAll(db, 'deliveries');
    });
  }

  /** States of lanes. Lanes that never had a delivery are absent. */
  async laneStates(sinks: readonly string[]): Promise<LaneState[]> {
    const { rows } = await sql<Omit<LaneState, 'isPaused'> & { is_paused: number }>`
      SELECT name, is_paused, failures,
        CASE WHEN opens_at > ${getVocabulary(this.db).now()} THEN opens_at END AS ${sql.ref('opensAt')},
        (SELECT count(*) FROM deliveries WHERE sink = name AND ${OPEN}) AS pending,
        (SELECT count(*) FROM deliveries WHERE sink = name AND state = 'failed') AS failed,
        (SELECT count(*) FROM deliveries WHERE sink = name AND state = 'dead_lettered') AS dead,
        (SELECT ${getVocabulary(this.db).now()} - created_at FROM deliveries
          WHERE sink = name AND ${OPEN} ORDER BY id LIMIT 1) AS ${sql.ref('oldestMs')}
      FROM sinks WHERE name IN (${sql.join(sinks)})
    `.execute(this.db);
    return rows.map(({ is_paused, ...lane }) => ({ ...lane, isPaused: is_paused === 1 }));
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

  /**
   * Lets dead letters be delivered again, the oldest first, of some lanes or of all. Each is counted for one caller.
   * Their age starts again. Returns their number.
   */
  async redrive(sinks: readonly string[] | undefined, most: number): Promise<number> {
    const { forUpdate, now } = getVocabulary(this.db);
    return runInTransaction(this.db, async (db) => {
      // In the order of all transactions: lanes before deliveries.
      const names = db.selectFrom('sinks').select('name');
      await forUpdate(
        (sinks === undefined ? names : names.where('name', 'in', sinks)).orderBy('name'),
      ).execute();
      const dead = db.selectFrom('deliveries').select(['id', 'sink']).where('state', '=', 'dead_lettered');
      const chosen = (sinks === undefined ? dead : dead.where('sink', 'in', sinks)).orderBy('id').limit(most);
      const rows = await chosen.execute();
      for (let i = 0; i < rows.length; i += CHUNK)
        await db
          .updateTable('deliveries')
          .set({ state: 'pending', attempt: 0, created_at: now(), due_at: now() })
          .where(
            'id',
            'in',
            rows.slice(i, i + CHUNK).map(({ id }) => id),
          )
          .execute();
      const lanes = [...new Set(rows.map(({ sink }) => sink))];
      if (lanes.length > 0) {
        await db.updateTable('sinks').set({ opens_at: 0 }).where('name', 'in', lanes).execute();
        await makeDue(db, lanes);
      }
      await signalAll(db, 'deliveries');
      return rows.length;
    });
  }

  /** Makes dead letters of deliveries that exceed the bounds of a lane. Returns their number. */
  expire(sink: string, { ageMs, count, error }: WaitBounds): Promise<number> {
    return this.db.transaction().execute(async (db) => {
      const lane = await findLane(db, sink);
      if (!lane) return 0;
      const { now } = getVocabulary(db);
      const isHeldUp = lane.is_paused !== 0 || lane.opens_at > 0;
      const most = sql`id <= (SELECT id FROM deliveries WHERE sink = ${sink} AND ${OPEN}
        ORDER BY id DESC LIMIT 1 OFFSET ${count})`;
      const { numAffectedRows } = await sql`
        UPDATE deliveries SET state = 'dead_lettered', error = coalesce(error, ${error})
        WHERE sink = ${sink} AND ${OPEN} AND state <> 'claimed'
          AND (created_at < ${now()} - ${ageMs}${isHeldUp ? sql` OR ${most}` : sql``})
      `.execute(db);
      return Number(numAffectedRows ?? 0);
    });
  }
}
