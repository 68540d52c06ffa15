import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Notice } from '../../src/core/cluster/notes.js';
import { DeliveryDispatcher } from '../../src/services/deliveries/dispatcher.js';
import { FailureNotices } from '../../src/services/deliveries/failure-notices.js';
import type { LaneMeter, Sender } from '../../src/services/deliveries/lane.js';
import { type Outcome, readRetryAfter, readStatus, retry } from '../../src/services/deliveries/outcome.js';
import { planRetry } from '../../src/services/deliveries/schedule.js';
import type { Log } from '../../src/services/telemetry/log.js';
import type { RateCap } from '../../src/stores/streams/deliveries.js';
import { isFullRun } from '../support/soak.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { until } from '../webhooks/receiver.js';

const LANE = ':alert:slack';
const QUIET = { write() {} } as unknown as Log;
const IS_FULL = isFullRun(import.meta.url);

describeStates('lanes', (open, database) => {
  const full = it.runIf(IS_FULL || database === 'SQLite');
  let temporary: TemporaryState;
  let running: DeliveryDispatcher[];
  let sent: { lane: string; eventId: string; body: string }[];
  let answer: (eventId: string, lane: string) => Outcome | Promise<Outcome>;
  const notices: Notice[] = [];
  const count = { sent: 0, failed: 0, dead: 0, joined: 0, deferred: 0 };

  beforeEach(async () => {
    temporary = await open();
    running = [];
    sent = [];
    answer = () => ({ kind: 'accepted' });
    notices.length = 0;
    Object.assign(count, { sent: 0, failed: 0, dead: 0, joined: 0, deferred: 0 });
  });
  afterEach(async () => {
    await Promise.all(running.map((one) => one.close()));
    await temporary.close();
  });

  const meter: LaneMeter = {
    sent: (_age, n) => void (count.sent += n),
    failed: () => void count.failed++,
    dead: (n) => void (count.dead += n),
    joined: (n) => void (count.joined += n),
    deferred: () => void count.deferred++,
  };
  const deliveries = () => temporary.state.deliveries;

  function start({ lanes = [LANE], cap, batch = 20, firstBackoffMs = 1 }: StartOptions = {}): void {
    const sender = (lane: string): Sender => ({
      batch,
      async send(eventId, body) {
        sent.push({ lane, eventId, body });
        return answer(eventId, lane);
      },
    });
    const join = (bodies: readonly string[], n: number) => JSON.stringify({ joined: n, first: bodies[0] });
    const options = {
      ...{ store: deliveries(), log: QUIET, instance: randomUUID(), firstBackoffMs, random: () => 0 },
      notices: { notify: (notice: Notice) => void notices.push(notice) },
      counted() {},
    };
    const all = lanes.map((name) => ({ name, sender: sender(name), meter, join, ...(cap ? { cap } : {}) }));
    const dispatcher = new DeliveryDispatcher(options, all);
    running.push(dispatcher);
    dispatcher.start();
  }
  const enqueue = (ids: readonly string[], sink = LANE) =>
    deliveries().record(
      ids.map((eventId, i) => ({ sink, eventId, body: `{"n":${i}}`, ruleId: 7, alertId: i })),
    );
  const ids = (lane = LANE) => sent.filter((one) => one.lane === lane).map(({ eventId }) => eventId);
  /** Changes rows as time would. */
  const change = (statement: string) => sql.raw(statement).execute(temporary.state.jobs.db);
  const counts = (lane = LANE) => deliveries().counts([lane]);

  it('sends rows of a transaction in order, after its commit only', async () => {
    start();
    const { db } = temporary.state.jobs;
    await db
      .transaction()
      .execute(async (trx) => {
        await deliveries().enqueue(trx, [{ sink: LANE, eventId: 'lost', body: '{}' }]);
        throw new Error('rolled back');
      })
      .catch(() => {});
    await db.transaction().execute((trx) =>
      deliveries().enqueue(
        trx,
        ['a', 'b'].map((eventId) => ({ sink: LANE, eventId, body: '{}', ruleId: 1, alertId: 2 })),
      ),
    );
    await until(async () => sent.length === 2 && (await counts()).pending === 0);
    expect(ids()).toEqual(['a', 'b']);
    const row = await db.selectFrom('deliveries').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ state: 'dispatched', rule_id: 1, alert_id: 2 });
    expect(row.attempted_at).toBeGreaterThan(0);
  });

  full('makes a refused message a dead letter at once, and does not delay the next', async () => {
    answer = (id) => readStatus(id === 'bad' ? 400 : 204);
    await enqueue(['bad', 'good']);
    start({ firstBackoffMs: 60_000 });
    await until(async () => (await counts()).dead === 1 && sent.length === 2);
    expect(ids()).toEqual(['bad', 'good']);
    expect(notices).toMatchObject([{ kind: 'delivery-failing', subject: LANE }]);
  });

  full('waits as long as the receiver says, and does not count that', async () => {
    const times: number[] = [];
    answer = () => {
      times.push(performance.now());
      return times.length < 7 ? { ...retry('busy'), afterMs: 20 } : { kind: 'accepted' };
    };
    await enqueue(['a']);
    start({ firstBackoffMs: 60_000 });
    await until(() => times.length === 7);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(19);
    expect(count.deferred).toBe(0);
  });

  full('loses nothing in an outage, and delivers in order after it', async () => {
    let isDown = true;
    answer = () => (isDown ? retry('no connection') : { kind: 'accepted' });
    await enqueue(['a', 'b', 'c']);
    start();
    await until(() => count.deferred >= 2);
    expect(new Set(ids())).toEqual(new Set(['a']));
    expect((await counts()).dead).toBe(0);
    isDown = false;
    const attempts = sent.length;
    await until(async () => (await counts()).pending === 0);
    expect(ids().slice(attempts)).toEqual(['a', 'b', 'c']);
    expect(notices).toHaveLength(1);
  });

  full('shares an open circuit with other servers', async () => {
    answer = () => retry('no connection');
    await enqueue(['a']);
    start();
    await until(() => count.deferred >= 1);
    await change(`UPDATE sinks SET opens_at = opens_at + 600000`);
    await Promise.all(running.splice(0).map((one) => one.close()));
    await change(`UPDATE deliveries SET due_at = 0`);
    const attempts = sent.length;
    start();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(sent).toHaveLength(attempts);
    answer = () => ({ kind: 'accepted' });
    await deliveries().setPaused(LANE, false);
    await until(() => sent.length === attempts + 1);
  });

  full('drops a message that fails while a later one is accepted, and keeps both if both fail', async () => {
    let isDown = true;
    answer = (id) => (isDown || id === 'bad' ? readStatus(500) : { kind: 'accepted' });
    await enqueue(['bad', 'good', 'last']);
    start();
    await until(() => count.deferred >= 3);
    expect(await counts()).toMatchObject({ pending: 3, dead: 0 });
    expect(ids().filter((id) => id === 'good')).toHaveLength(1);
    await Promise.all(running.splice(0).map((one) => one.close()));
    isDown = false;
    await change(`UPDATE deliveries SET attempt = 5 WHERE event_id = 'bad'`);
    await change(`UPDATE deliveries SET attempt = 0 WHERE event_id = 'good'`);
    start();
    await until(async () => (await counts()).pending === 0);
    expect(await counts()).toMatchObject({ dead: 1 });
    expect(ids().slice(-2)).toEqual(['good', 'last']);
  });

  it('does not let a failing lane delay another', async () => {
    answer = (_id, lane) => (lane === LANE ? new Promise(() => {}) : { kind: 'accepted' });
    await enqueue(['a']);
    await enqueue(['b'], ':alert:email');
    start({ lanes: [LANE, ':alert:email'] });
    await until(() => ids(':alert:email').length === 1);
  });

  full('joins what exceeds the rate cap into one message', async () => {
    await enqueue(Array.from({ length: 1000 }, (_, i) => `e${i}`));
    start({ cap: { count: 5, periodMs: 60_000 }, batch: 2 });
    await until(async () => (await counts()).pending === 0);
    expect(sent).toHaveLength(5);
    expect(ids().slice(0, 4)).toEqual(['e0', 'e1', 'e2', 'e3']);
    expect(JSON.parse(sent[4]!.body)).toMatchObject({ joined: 996 });
    expect(count).toMatchObject({ sent: 1000, joined: 996 });
    await enqueue(['later']);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sent).toHaveLength(5);
    await change('UPDATE sinks SET sent_since = sent_since - 60000');
    await enqueue(['wakes']);
    await until(() => sent.length === 7);
    expect(ids().slice(5)).toEqual(['later', 'wakes']);
  });

  it('holds deliveries of a paused lane, and sends them after it is resumed', async () => {
    await deliveries().setPaused(LANE, true);
    start();
    await enqueue(['a', 'b']);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sent).toHaveLength(0);
    expect(await deliveries().laneStates([LANE])).toEqual([
      {
        ...{ name: LANE, isPaused: true, failures: 0, opensAt: null, pending: 2, failed: 0, dead: 0 },
        oldestMs: expect.any(Number),
      },
    ]);
    await deliveries().setPaused(LANE, false);
    await until(() => sent.length === 2);
    expect(ids()).toEqual(['a', 'b']);
  });

  it('ignores results of a process that lost the lease, but not what it sent', async () => {
    await enqueue(['a', 'b', 'c']);
    const bounds = { limit: 2, probesAfter: 5, cap: undefined };
    await deliveries().claim(LANE, 'former', 0, 60_000);
    const taken = await deliveries().take(LANE, 'former', bounds);
    await change('UPDATE sinks SET lease_expires_at = 0');
    await deliveries().claim(LANE, 'next', 0, 60_000);
    await deliveries().take(LANE, 'next', bounds);
    const [a, b] = taken!.deliveries;
    const failed = {
      id: b!.id,
      error: 'late',
      afterMs: 1,
      isAttempt: true,
      failures: 3,
      opensAfterMs: 60_000,
    };
    const result = await deliveries().settle(LANE, 'former', { dispatched: [a!.id], failed });
    expect(result).toEqual({ isHeld: false, deadLettered: [] });
    const { db } = temporary.state.jobs;
    const rows = await db
      .selectFrom('deliveries')
      .select(['event_id', 'state', 'attempt'])
      .orderBy('id')
      .execute();
    expect(rows.map((row) => Object.values(row).join(' '))).toEqual([
      'a dispatched 0',
      'b claimed 0',
      'c pending 0',
    ]);
    const lane = await db.selectFrom('sinks').select(['failures', 'opens_at']).executeTakeFirstOrThrow();
    expect(lane).toEqual({ failures: 0, opens_at: 0 });
    expect(await deliveries().take(LANE, 'former', bounds)).toBeUndefined();
  });

  it('redrives each dead letter once for two callers', async () => {
    answer = () => readStatus(404);
    await enqueue(Array.from({ length: 501 }, (_, i) => `e${i}`));
    start();
    await until(async () => (await counts()).dead === 501);
    await Promise.all(running.splice(0).map((one) => one.close()));
    const other = (await temporary.again()).deliveries;
    const redriven = await Promise.all([deliveries().redrive([LANE], 500), other.redrive([LANE], 500)]);
    expect(redriven.sort()).toEqual([1, 500]);
    expect(await counts()).toMatchObject({ pending: 501, dead: 0 });
  });

  full('makes dead letters of deliveries that wait too long or behind too many', async () => {
    await enqueue(['a', 'b', 'c', 'd']);
    await change(`UPDATE deliveries SET created_at = created_at - 90000000 WHERE event_id = 'a'`);
    const bounds = { ageMs: 86_400_000, count: 2, error: 'waited' };
    expect(await deliveries().expire(LANE, bounds)).toBe(1);
    await deliveries().setPaused(LANE, true);
    expect(await deliveries().expire(LANE, bounds)).toBe(1);
    expect(await counts()).toMatchObject({ pending: 2, dead: 2 });
    await deliveries().setPaused(LANE, false);
    start();
    await until(() => sent.length === 2);
    expect(ids()).toEqual(['c', 'd']);
  });
});

interface StartOptions {
  lanes?: string[];
  cap?: RateCap;
  batch?: number;
  firstBackoffMs?: number;
}

it('reports failures of a receiver once an hour', () => {
  let now = 0;
  const notices: Notice[] = [];
  const failures = new FailureNotices({ notify: (notice) => void notices.push(notice) }, () => now);
  for (now = 0; now <= 3_600_000; now += 600_000) {
    failures.report('a', 'down');
    if (now === 0) failures.report('b', 'down');
  }
  expect(notices.map(({ subject }) => subject)).toEqual(['a', 'b', 'a']);
});

it.each([
  [200, 'accepted'],
  [400, 'refused'],
  [404, 'refused'],
  [408, 'retry'],
  [425, 'retry'],
  [429, 'retry'],
  [302, 'retry'],
  [500, 'retry'],
])('reads status %s as %s', (status, kind) => {
  expect(readStatus(status).kind).toBe(kind);
});

it('reads Retry-After as seconds and as a date, within fifteen minutes', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(readRetryAfter('3', now)).toBe(3000);
  expect(readRetryAfter('Thu, 01 Jan 2026 00:00:05 GMT', now)).toBe(5000);
  expect(readRetryAfter('Wed, 31 Dec 2025 00:00:05 GMT', now)).toBe(0);
  expect(readRetryAfter('99999999', now)).toBe(900_000);
  for (const wrong of ['', '-1', '1e3', 'soon', '0x10', undefined])
    expect(readRetryAfter(wrong, now)).toBeUndefined();
  expect(readStatus(500, '3')).not.toHaveProperty('afterMs', 3000);
});

it('waits 1, 4, 16 and 64 seconds, then up to five minutes, with jitter', () => {
  const waits = (random: () => number) =>
    Array.from({ length: 9 }, (_, i) => planRetry(i + 1, { random }).afterMs / 1000);
  expect(waits(() => 0)).toEqual([1, 4, 16, 64, 60, 120, 240, 300, 300]);
  expect(waits(() => 1)[0]).toBe(1.25);
  expect(planRetry(4, {}).opensAfterMs).toBe(0);
  expect(planRetry(5, {}).opensAfterMs).toBeGreaterThanOrEqual(60_000);
});
