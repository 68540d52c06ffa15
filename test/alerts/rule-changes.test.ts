import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { describeStates, type TemporaryState } from '../support/state.js';
import { openWorld, type Position, type World } from './world.js';

const DEPOT = 'POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))';
const ELSEWHERE = 'POLYGON ((50 50, 51 50, 51 51, 50 51, 50 50))';
const IN: Position = [10.5, 10.5];
const OUT: Position = [0, 0];
const READ_TOGETHER = 400;

describeStates('changes of alert rules', (open) => {
  let temporary: TemporaryState;
  let world: World;

  beforeEach(async () => {
    temporary = await open();
    world = await openWorld(temporary);
  });
  afterEach(async () => {
    await world.close();
    await temporary.close();
  });

  const events = async () => (await world.events()).map((row) => `${row.trigger_type}:${row.feature_id}`);

  it('cost what they change, and hold up no edit', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone });
    const store = temporary.state.alertEvaluation;
    let read = 0;
    const outcomes: string[] = [];
    const watched = new Proxy(store, {
      get(target, name: keyof typeof store) {
        const method = target[name] as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          const result = await method.apply(target, args);
          // After a change of the leader, all rules are read.
          if (name === 'changes' && args[0] !== -1) read += (result as { rules: unknown[] }).rules.length;
          const [, , changes] = args as [string, number, { position?: number }];
          if (name === 'commit' && changes.position !== undefined) outcomes.push(result as string);
          return result;
        };
      },
    });
    world.start(Object.create(temporary.state, { alertEvaluation: { value: watched } }));
    await world.settled();
    let isAdding = true;
    const others = await world.addZone(ELSEWHERE);
    const adding = (async () => {
      let count = 0;
      for (; isAdding; count++) await world.addRule({ trigger: 'exit', zone: others });
      return count;
    })();
    for (let i = 1; i <= 40; i++) for (const at of [OUT, IN]) await world.move(String(i), at);
    await vi.waitFor(async () => expect(await events()).toHaveLength(40), 20_000);
    isAdding = false;
    const added = await adding;
    await world.settled();
    expect(await events()).toEqual(Array.from({ length: 40 }, (_, i) => `enter:${i + 1}`));
    expect(read).toBeLessThanOrEqual(added);
    expect(added).toBeGreaterThan(0);
    // Only comparisons for rules that are still new can meet a change.
    expect(outcomes).not.toContain('stale');
    expect(outcomes).toContain('done');
  });

  it('are refused for the rules that an evaluation is about, and not for others', async () => {
    const store = temporary.state.alertEvaluation;
    const zone = await world.addZone(DEPOT);
    const [first, second] = [
      await world.addRule({ trigger: 'enter', zone }),
      await world.addRule({ trigger: 'exit', zone }),
    ];
    await temporary.state.deliveries.claim(':alerts', 'me', 0, 60_000);
    const revision = await store.revision();
    const state = {
      isInside: true,
      since: 1,
      incident: undefined,
      dueAt: undefined,
      due: undefined,
      coolsUntil: undefined,
      newest: undefined,
    };
    const commit = (ruleId: number) =>
      store.commit('me', revision, {
        states: [{ ruleId, featureId: '1', state }],
        started: [],
        ended: [],
        ongoing: [],
      });
    await temporary.state.alertRules.change(second, { name: 'other' });
    expect([await commit(first), await commit(second)]).toEqual(['done', 'stale']);
    await world.moveZone(zone, ELSEWHERE);
    expect(await commit(first)).toBe('stale');
    await temporary.state.alertRules.remove(second);
    expect(await commit(second)).toBe('stale');
  });

  it('are followed by a comparison that runs already', async () => {
    const zone = await world.addZone(DEPOT);
    const rule = await world.addRule({ trigger: 'enter', zone });
    world.start();
    for (let i = 1; i <= READ_TOGETHER * 3; i++)
      world.store.set(String(i), { geometry: null, attributes: {} });
    await world.settled();
    let pages = 0;
    let isDone = false;
    world.onRead = async () => {
      pages++;
      if (!isDone && pages < 50) await world.addRule({ trigger: 'exit', zone });
    };
    await world.lose(() =>
      world.store.set('7', { geometry: JSON.stringify({ type: 'Point', coordinates: IN }), attributes: {} }),
    );
    await vi.waitFor(async () => {
      expect(await events()).toEqual(['enter:7']);
      const row = await temporary.state.alertRules.get(rule, { tenant: undefined });
      expect(row!.scan).toBeNull();
    }, 20_000);
    isDone = true;
    expect(pages).toBeLessThan(20);
    await world.settled();
  });

  it('and gaps that come during a comparison make another one follow', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone });
    world.start();
    for (let i = 1; i <= READ_TOGETHER * 3; i++)
      world.store.set(String(i), { geometry: null, attributes: {} });
    await world.settled();
    const enter = (id: string) => () =>
      world.store.set(id, { geometry: JSON.stringify({ type: 'Point', coordinates: IN }), attributes: {} });
    let pages = 0;
    world.onRead = async () => {
      // The first page with feature 3 is compared when the second is read.
      if (++pages === 2) await world.lose(enter('3'));
    };
    await world.lose(enter('900'));
    await vi.waitFor(async () => expect(await events()).toHaveLength(2), 20_000);
    expect((await events()).sort()).toEqual(['enter:3', 'enter:900']);
    await world.settled();
  });

  it('leave earlier edits without alerts, also if there was no rule when they were made', async () => {
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    const zone = await world.addZone(DEPOT);
    const first = await world.addRule({ trigger: 'exit', zone });
    world.start();
    await world.settled();
    await temporary.state.alertRules.remove(first);
    await world.move('1', OUT);
    await world.move('1', IN);
    await pause();
    const rule = await world.addRule({ trigger: 'enter', zone });
    await world.settled();
    expect(await events()).toEqual([]);
    await temporary.state.alertRules.change(rule, { is_active: 0 });
    for (const at of [OUT, IN]) await world.move('1', at);
    await pause();
    await temporary.state.alertRules.change(rule, { is_active: 1 });
    await world.settled();
    expect(await events()).toEqual([]);
    for (const at of [OUT, IN]) await world.move('1', at);
    await world.settled();
    expect(await events()).toEqual(['enter:1']);
  });

  /** Starts an evaluator that receives no signals. Returns the numbers of its calls of the store. */
  const startDeaf = () => {
    const calls: Record<string, number> = {};
    const store = new Proxy(temporary.state.alertEvaluation, {
      get(target, name: keyof World['state']['alertEvaluation']) {
        const method = target[name] as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          calls[name] = (calls[name] ?? 0) + 1;
          return method.apply(target, args);
        };
      },
    });
    const members = { alertEvaluation: { value: store }, signals: { value: { on() {} } } };
    world.start(Object.create(temporary.state, members));
    return calls;
  };

  it('let edits of other layers pass without a read of the state', async () => {
    await world.addRule({
      trigger: 'threshold',
      layer: 7,
      conditions: { field: 'speed', operator: 'changed' },
    });
    const calls = startDeaf();
    await world.settled();
    const before = { ...calls };
    const begun = performance.now();
    for (let i = 1; i <= 60; i++) {
      world.replaceCatalog();
      await world.move(String(i), IN);
    }
    await world.settled();
    // Rules are read again every two seconds, and the position is written every five.
    const rounds = 2 + Math.ceil((performance.now() - begun) / 1000);
    for (const name of ['revision', 'states', 'due', 'commit'])
      expect([name, (calls[name] ?? 0) - (before[name] ?? 0) <= rounds]).toEqual([name, true]);
    expect(rounds).toBeLessThan(60);
  });

  it('are found without a signal, and the edits after them are then evaluated, each once', async () => {
    const zone = await world.addZone(DEPOT);
    const speed = { trigger: 'threshold', conditions: { field: 'speed', operator: 'changed' } } as const;
    await world.addRule({ ...speed, layer: 7 });
    startDeaf();
    await world.settled();
    for (let i = 1; i <= 3; i++) await world.move(String(i), OUT);
    await world.settled();
    await world.addRule({ trigger: 'enter', zone });
    for (let i = 1; i <= 3; i++) await world.move(String(i), IN);
    await vi.waitFor(async () => expect(await events()).toHaveLength(3), 20_000);
    await world.settled();
    const rows = await world.events();
    expect(rows.map((row) => [row.feature_id, row.detected_by])).toEqual(
      ['1', '2', '3'].map((id) => [id, 'event']),
    );
  });

  it('leave states of tens of thousands of rules readable', async () => {
    const ids = Array.from({ length: 70_000 }, (_, i) => i + 1);
    const store = temporary.state.alertEvaluation;
    await temporary.state.jobs.db
      .insertInto('alert_states')
      .values(
        [5, 40_000, 69_999].map((rule_id) => ({
          ...{ rule_id, feature_id: 'a', is_inside: 1, since: 0 },
          event_id: null,
          due_at: null,
          due: null,
          cools_until: null,
          newest: null,
        })),
      )
      .execute();
    const [first] = await store.statesOf(ids, undefined, 1);
    expect(first!.rule_id).toBe(5);
    const rest = await store.statesOf(ids, { ruleId: 5, featureId: 'a' }, 10);
    expect(rest.map(({ rule_id }) => rule_id)).toEqual([40_000, 69_999]);
  });
});
