import { type Selectable, sql } from 'kysely';
import { FEED_AGE_MS, LIMITS } from '../../core/kit/limits.js';
import type { StateDb } from '../schema/database.js';
import type { DeliveryTable, SinkTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';
import type { FailedDelivery, QueuedDelivery, RateCap, TakenDelivery } from './deliveries.js';

/** Statements about the rows of lanes and of their deliveries, within a transaction. */

/** Number of completed deliveries that are kept for inspection. */
const KEPT_DISPATCHED = 1000;
const CHUNK = 500;
/** Deliveries that a joined message can describe. */
const DESCRIBED = 20;
/** Condition of waiting deliveries. The database uses its index only if a statement contains it. */
export const OPEN = sql<boolean>`state IN ('pending', 'claimed', 'failed')`;

export type DeliveryRow = Selectable<DeliveryTable>;

/** Row of a lane, with the time of the database. */
export type LaneRow = Selectable<SinkTable> & { readonly now: number };

/** Row of a lane. No other process changes it before the transaction ends. */
export function findLane(db: StateDb, sink: string): Promise<LaneRow | undefined> {
  const { forUpdate, now } = getVocabulary(db);
  const rows = db.selectFrom('sinks').selectAll().where('name', '=', sink);
  return forUpdate(rows).select(now().as('now')).executeTakeFirst();
}

export async function addLanes(db: StateDb, names: readonly string[]): Promise<void> {
  const lanes = [...names].sort().map((name) => ({ name, position: 0, owner: null, lease_expires_at: 0 }));
  await db
    .insertInto('sinks')
    .values(lanes)
    .onConflict((c) => c.doNothing())
    .execute();
}

export async function insertDeliveries(db: StateDb, deliveries: readonly QueuedDelivery[]): Promise<void> {
  const { now } = getVocabulary(db);
  const rows = deliveries.map(({ sink, eventId, body, ruleId = null, alertId = null }) => ({
    ...{ sink, event_id: eventId, body, rule_id: ruleId, alert_id: alertId },
    ...{ attempt: 0, error: null, state: 'pending' as const, created_at: now(), due_at: now() },
  }));
  for (let i = 0; i < rows.length; i += CHUNK)
    await db
      .insertInto('deliveries')
      .values(rows.slice(i, i + CHUNK))
      .execute();
}

/** The next waiting deliveries of a lane, in order. */
export function selectOpen(
  db: StateDb,
  sink: string,
  limit: number,
): Promise<(TakenDelivery & { due_ms: number })[]> {
  const { now } = getVocabulary(db);
  return db
    .selectFrom('deliveries')
    .selectAll()
    .select([sql<number>`due_at - ${now()}`.as('due_ms'), sql<number>`${now()} - created_at`.as('age_ms')])
    .where('sink', '=', sink)
    .where(OPEN)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Claims all waiting deliveries, for one message. */
export async function claimAll(
  db: StateDb,
  sink: string,
): Promise<{ deliveries: TakenDelivery[]; joined: number }> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ state: 'claimed' })
    .where('sink', '=', sink)
    .where(OPEN)
    .executeTakeFirst();
  return { deliveries: await selectOpen(db, sink, DESCRIBED), joined: Number(numUpdatedRows) };
}

/** Messages that the cap of a lane permits now, and the milliseconds until it permits any. */
export function readCap(
  { sent, sent_since, now }: LaneRow,
  cap: RateCap | undefined,
): { left: number; waitMs: number } {
  if (!cap) return { left: Infinity, waitMs: 0 };
  const endMs = sent_since + cap.periodMs - now;
  const left = endMs <= 0 ? cap.count : cap.count - sent;
  return left > 0 ? { left, waitMs: 0 } : { left: 0, waitMs: endMs };
}

export interface LaneResult {
  /** Number of messages that were accepted. */
  readonly messages: number;
  /** Whether the receiver accepted or refused a message. */
  readonly hasAnswer: boolean;
  readonly failed: FailedDelivery | undefined;
  readonly cap: RateCap | undefined;
}

/** Records the failures of a lane, and the messages that count for its cap. */
export async function recordLane(
  db: StateDb,
  { name, sent, sent_since, failures, opens_at, now }: LaneRow,
  { messages, hasAnswer, failed, cap }: LaneResult,
): Promise<void> {
  const isNewPeriod = cap !== undefined && now - sent_since >= cap.periodMs;
  const state = {
    failures: failed ? failed.failures : hasAnswer ? 0 : failures,
    opens_at: failed ? (failed.opensAfterMs > 0 ? now + failed.opensAfterMs : 0) : hasAnswer ? 0 : opens_at,
    ...(cap && messages > 0
      ? { sent: isNewPeriod ? messages : sent + messages, sent_since: isNewPeriod ? now : sent_since }
      : {}),
  };
  await db.updateTable('sinks').set(state).where('name', '=', name).execute();
}

/** Makes dead letters of deliveries whose attempts all failed, though a later delivery was accepted. */
export async function dropSuspects(db: StateDb, sink: string, before: number) {
  if (before === 0) return [];
  return db
    .updateTable('deliveries')
    .set({ state: 'dead_lettered' })
    .where('sink', '=', sink)
    .where(OPEN)
    .where('attempt', '>=', LIMITS.webhookAttempts)
    .where('id', '<', before)
    .returning(['event_id', 'error'])
    .execute();
}

/** Deletes completed deliveries that are no longer kept. */
export async function prune(db: StateDb, sink: string, last: number): Promise<void> {
  const { now } = getVocabulary(db);
  await sql`
    DELETE FROM deliveries WHERE sink = ${sink} AND state IN ('dispatched', 'dead_lettered') AND
      ((state = 'dispatched' AND id <= ${last - KEPT_DISPATCHED}) OR created_at < ${now()} - ${FEED_AGE_MS})
  `.execute(db);
}

/** Lets failed deliveries be retried now. */
export async function makeDue(db: StateDb, sinks: readonly string[]): Promise<void> {
  const { now } = getVocabulary(db);
  await db
    .updateTable('deliveries')
    .set({ due_at: now() })
    .where('sink', 'in', sinks)
    .where(OPEN)
    .where('state', '=', 'failed')
    .execute();
}

/** Makes the claimed deliveries of a lane wait again. Returns their number. */
export async function freeClaimed(db: StateDb, sink: string): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ state: 'pending' })
    .where('sink', '=', sink)
    .where(OPEN)
    .where('state', '=', 'claimed')
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
