import { afterEach, beforeEach, expect, it } from 'vitest';
import { CatalogSnapshot } from '../../src/core/catalog/collection.js';
import { collectEvents, type EventQuery } from '../../src/gateway/observability/admin/event-sources.js';
import type { OperateEvent } from '../../src/gateway/observability/admin/event-views.js';
import type { SevereLine } from '../../src/services/observability/observer.js';
import { randomNumbers } from '../support/random.js';
import { describeStates, type TemporaryState } from '../support/state.js';

const ALL: EventQuery = { kinds: undefined, from: undefined, to: undefined, limit: 50, matches: () => true };
const catalog = new CatalogSnapshot([], [], 1);

describeStates('events of all sources', (open) => {
  let temporary: TemporaryState;
  /** Kind, time and id of each record. */
  let oracle: { kind: string; at: number; id: string }[];
  beforeEach(async () => {
    temporary = await open();
    oracle = await plant(temporary);
  });
  afterEach(() => temporary.close());

  const lines = (missing: string[] = []) => ({
    lines: async () => ({
      items: oracle.flatMap(({ kind, at, id }) =>
        kind === 'log' ? [{ ...LINE, at, number: Number(id.split('/')[1]) }] : [],
      ),
      missing,
    }),
  });
  const collect = (query: Partial<EventQuery>, permissions = ['admin:*'], observer = lines()) =>
    collectEvents(
      { ...ALL, ...query },
      { kind: 'user', id: 'ann', permissions } as never,
      {
        ...{ state: temporary.state, observer, alerts: { viewOf: () => 'all' } },
        ...{ catalog: () => catalog, visible: () => ({ collections: [{ layerId: 3 }] }) },
      } as never,
    );
  const sortOracle = () => {
    const order = ['alert', 'audit', 'job', 'release', 'syncConflict', 'log'];
    return [...oracle].sort((a, b) => b.at - a.at || order.indexOf(a.kind) - order.indexOf(b.kind));
  };
  const brief = (events: readonly OperateEvent[]) => events.map(({ kind, at }) => `${kind} ${at}`);

  it('are merged in the order of time', async () => {
    for (const limit of [1, 7, 50, 500, 5000]) {
      const { events, sourceErrors } = await collect({ limit });
      expect(brief(events)).toEqual(brief(sortOracle().slice(0, limit) as never));
      expect(sourceErrors).toEqual({});
    }
    const { events } = await collect({ limit: 5000 });
    expect(new Set(events.map(({ kind, id }) => `${kind} ${id}`))).toEqual(
      new Set(oracle.map(({ kind, id }) => `${kind} ${id}`)),
    );
  });

  it('are limited to a time range and to kinds', async () => {
    const [from, to] = [1_000_000_400, 1_000_000_600];
    const inRange = sortOracle().filter(({ at }) => at >= from && at <= to);
    expect(brief((await collect({ from, to, limit: 5000 })).events)).toEqual(brief(inRange as never));
    const { events } = await collect({ kinds: ['job', 'log'], limit: 5000 });
    expect(brief(events)).toEqual(
      brief(sortOracle().filter(({ kind }) => kind === 'job' || kind === 'log') as never),
    );
  });

  it('that match are found behind any number of others', async () => {
    const rare = oracle.filter(({ kind, id }) => kind === 'audit' && Number(id) % 400 === 0);
    const matches = ({ kind, id }: OperateEvent) => kind === 'audit' && Number(id) % 400 === 0;
    const { events } = await collect({ matches });
    expect(rare.length).toBeGreaterThan(1);
    expect(events.map(({ id }) => id).sort()).toEqual(rare.map(({ id }) => id).sort());
  });

  it('are left out by name where the caller cannot read them, or a source fails', async () => {
    const { events, sourceErrors } = await collect({ limit: 5000 }, [
      'admin:observability:read',
      'admin:jobs:read',
    ]);
    expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(['alert', 'job', 'log']));
    expect(sourceErrors).toEqual({
      audit: 'The permission admin:audit:read is required.',
      release: 'The permission admin:releases:read is required.',
      syncConflict: 'The permission admin:replicas:read is required.',
    });
    const silent = await collect({ limit: 5000 }, undefined, lines(['box-2']));
    expect(silent.sourceErrors).toEqual({ log: 'Processes that did not respond: box-2.' });
    expect(silent.events.length).toBe(oracle.length);
    const broken = { lines: () => Promise.reject(new Error('The channel is closed.')) };
    const rest = await collect({ limit: 5000 }, undefined, broken as never);
    expect(rest.sourceErrors).toEqual({ log: 'The channel is closed.' });
    expect(brief(rest.events)).toEqual(brief(sortOracle().filter(({ kind }) => kind !== 'log') as never));
    expect((await collect({ kinds: ['temporalOp'] })).sourceErrors).toEqual({
      temporalOp: 'The server has no temporal operations.',
    });
  });
});

const LINE: SevereLine = {
  ...{ at: 0, instance: 'box-1', number: 0, level: 'error', statusCode: 500, message: 'broken' },
  ...{ path: '/tiles', correlationId: 'abc', traceId: undefined },
};

/** Records of each kind at random times, many of them at the same. */
async function plant({ state }: TemporaryState) {
  const random = randomNumbers(4711);
  const time = () => 1_000_000_000 + Math.floor(random() * 1000);
  const oracle: { kind: string; at: number; id: string }[] = [];
  const { db } = state.documents;
  const entries = Array.from({ length: 1200 }, (_, i) => {
    const at = time();
    oracle.push({ kind: 'audit', at, id: String(i + 1) });
    return state.audit.append({
      ...{
        at,
        event_type: 'AdminAction',
        action: 'x.y',
        actor: 'ann',
        actor_type: 'UserId',
        outcome: 'Success',
      },
      ...{ resource_type: 'things', resource_id: null, correlation_id: `c${i}`, remote_ip: null },
      ...{ user_agent: null, details: null },
    });
  });
  await Promise.all(entries);
  for (let i = 0; i < 120; i++) {
    const { job } = await state.jobs.add({
      ...{ kind: 'process', input: {}, owner: 'ann', maxAttempts: 1, resources: ['collection:none'] },
    });
    const [created_at, started, completed] = [time(), time(), time()];
    const started_at = i % 3 > 0 ? started : null;
    const completed_at = i % 3 > 1 ? completed : null;
    await db
      .updateTable('jobs')
      .set({ created_at, started_at, completed_at })
      .where('id', '=', job.id)
      .execute();
    oracle.push({ kind: 'job', at: completed_at ?? started_at ?? created_at, id: job.id });
  }
  await db
    .insertInto('replicas')
    .values({
      ...{ id: 'replica', name: 'r', service: 'default', owner: 'ann', counted_for: null, epsg: 4326 },
      ...{ sync_model: 'perReplica', layers_json: '[]', generation: 1, created_at: 1, synced_at: 1 },
      ended_at: null,
    })
    .execute();
  for (let i = 0; i < 60; i++) {
    const [row] = (await state.replicaConflicts.add('replica', [
      {
        ...{ layerId: 3, objectId: i },
        body: {
          ...{ type: 'attribute', collection: 'none', featureId: String(i), generation: 1 },
          ...{ base: null, client: null, server: null, fieldChanges: [], geometryChanged: false },
          ...{ userId: 'ann', syncId: 's', edit: { type: 'delete', crs: 'EPSG:4326' } },
        },
      },
    ]))!;
    const detected_at = time();
    await db.updateTable('replica_conflicts').set({ detected_at }).where('id', '=', row!.id).execute();
    oracle.push({ kind: 'syncConflict', at: detected_at, id: `replica/${row!.id}` });
  }
  for (let i = 1; i <= 90; i++) {
    const occurred_at = time();
    await db
      .insertInto('alert_events')
      .values({
        ...{ id: i, rule_id: null, rule_name: 'gate', zone_id: null, service: 'default', layer_id: 3 },
        ...{ collection: 'none', feature_id: String(i), object_id: String(i), trigger_type: 'enter' },
        ...{ severity: 'warning', incident_status: 'started', lifecycle: 'open', detected_by: 'event' },
        ...{ occurred_at, started_at: time(), ended_at: null, ended_by: null, acknowledged_at: null },
        ...{
          acknowledged_by: null,
          resolved_at: null,
          resolved_by: null,
          suppressed_until: null,
          note: null,
        },
        ...{ message_json: '{}', tenant: null, change_number: i },
      })
      .execute();
    oracle.push({ kind: 'alert', at: occurred_at, id: String(i) });
  }
  for (let i = 1; i <= 40; i++) oracle.push({ kind: 'log', at: time(), id: `box-1/${i}` });
  return oracle;
}
