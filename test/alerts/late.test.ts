import { afterEach, beforeEach, expect, it } from 'vitest';
import { Feed } from '../../src/services/streams/feed.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { openWorld, type Position, type World, waitFor } from './world.js';

/** Changes, timers and edits that reach the evaluator in the middle of other work, late, or not at all. */

const DEPOT = 'POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))';
const ISLAND = 'POLYGON ((20 20, 21 20, 21 21, 20 21, 20 20))';
const [IN, OUT]: Position[] = [
  [10.5, 10.5],
  [0, 0],
];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describeStates('late alerts', (open) => {
  let temporary: TemporaryState;
  let world: World;
  beforeEach(async () => {
    temporary = await open();
    world = await openWorld(temporary, () => {});
  });
  afterEach(async () => {
    await world.close();
    await temporary.close();
  });

  const events = async () =>
    (await world.events())
      .map((row) => `${row.trigger_type}:${row.feature_id}:${row.incident_status}:${row.detected_by}`)
      .sort();

  it('are found if features change again while they are compared', async () => {
    const zone = await world.addZone(DEPOT);
    for (let i = 1; i <= 900; i++) world.change(String(i), OUT);
    await world.addRule({ trigger: 'enter', zone });
    world.start();
    await world.settled();
    let pages = 0;
    world.hooks.afterRead = async () => {
      // The page with this feature is read already.
      if (++pages === 1) await world.lose(() => void world.change('1', IN));
    };
    await world.lose(() => void world.change('900', IN));
    await waitFor(async () => (await events()).length === 2);
    await world.settled();
    expect(await events()).toEqual(['enter:1:started:rescan', 'enter:900:started:rescan']);
  });

  it('are found by a comparison if the feed lost entries while they were read', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone });
    const first = world.start();
    await world.settled();
    await world.move('1', OUT);
    await world.settled();
    await first.close();
    const other = await temporary.again();
    await world.move('1', IN);
    for (let i = 0; i < 5; i++) await world.move('2', [i, 0]);
    const kept = world.feed.head - 3;
    const reopened = await Feed.open(other.feed);
    await temporary.run(`DELETE FROM feed WHERE cursor < ${kept}`);
    world.start(other, reopened);
    await waitFor(async () => (await events()).length === 1);
    expect(await events()).toEqual(['enter:1:started:rescan']);
  });

  it('are not evaluated again by a process that has not read the feed as far as the last one', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone });
    const first = world.start();
    await world.settled();
    const other = await temporary.again();
    const behind = await Feed.open(other.feed);
    for (const at of [IN, OUT, IN, OUT]) await world.move('1', at);
    await world.settled();
    await first.close();
    expect(behind.head).toBeLessThan(world.feed.head);
    const second = world.start(other, behind);
    await waitFor(() => second.isIdleAt(world.feed.head));
    await world.move('2', IN);
    await behind.catchUp();
    await waitFor(async () => (await events()).length === 3);
    await world.settled();
    expect(await events()).toEqual([...Array(2).fill('enter:1:ended:event'), 'enter:2:started:event']);
    expect((await world.state.alertRules.list({ tenant: undefined }))[0]!.scan).toBeNull();
  });

  it('are not lost if the process ends before it reads a feature again', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone });
    const first = world.start();
    await world.settled();
    await world.move('1', IN);
    await world.settled();
    let isReached = false;
    world.hooks.beforeRead = () => {
      isReached = true;
      throw new Error('the worker ended');
    };
    world.change('1', OUT);
    await world.move('1', [1, 1]);
    await waitFor(() => isReached);
    await first.close();
    world.hooks.beforeRead = undefined;
    world.start();
    await world.settled();
    expect(await events()).toEqual(['enter:1:ended:event']);
  });

  it('are not triggered by rules and zones that change while they are evaluated', async () => {
    const [zone, other] = [await world.addZone(DEPOT), await world.addZone(DEPOT)];
    const deleted = await world.addRule({ trigger: 'enter', zone });
    await world.addRule({ trigger: 'enter', zone: other });
    await world.addRule({ trigger: 'enter', zone: await world.addZone(DEPOT) });
    world.start();
    await world.settled();
    let isChanged = false;
    world.hooks.beforeMatch = async () => {
      if (isChanged) return;
      isChanged = true;
      await world.state.alertRules.remove(deleted);
      await world.moveZone(other, ISLAND);
    };
    await world.move('1', IN);
    await waitFor(async () => (await events()).length > 0);
    await world.settled();
    expect((await world.events()).map(({ rule_id }) => rule_id)).toEqual([deleted + 2]);
  });

  it('of a dwell time follow from edits that are evaluated after it', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'dwell', zone, conditions: { dwellSeconds: 3600 } });
    const first = world.start();
    await world.settled();
    for (const id of ['1', '2', '3']) await world.move(id, IN);
    await world.settled();
    await first.close();
    // More edits than one batch come between.
    await world.append(Array.from({ length: 600 }, (_, i) => world.change('9', [i % 5, 0])));
    await world.move('1', OUT);
    // The time is over between the edits, whatever they took.
    const due = Date.now() + 50;
    await temporary.run(`UPDATE alert_states SET due_at = ${due}`);
    await pause(100);
    await world.move('2', OUT);
    world.start();
    await world.settled();
    await waitFor(async () => (await events()).length >= 2);
    await world.settled();
    expect(await events()).toEqual(['dwell:2:ended:event', 'dwell:3:started:timer']);
    expect((await world.events()).find((row) => row.feature_id === '2')!.occurred_at).toBe(due);
  });

  it('of a dwell time follow the clock of the state, not those of edits', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'dwell', zone, conditions: { dwellSeconds: 0.5 } });
    world.start();
    await world.settled();
    const begin = Date.now();
    const hour = 3_600_000;
    await world.move('1', IN, {}, new Date(begin - hour));
    await world.move('2', IN, {}, new Date(begin + hour));
    await waitFor(async () => (await events()).length === 2);
    for (const { occurred_at } of await world.events())
      expect([occurred_at >= begin + 500, occurred_at < begin + hour]).toEqual([true, true]);
  });

  it('of a dwell time wait for edits that are not in the feed yet', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'dwell', zone, conditions: { dwellSeconds: 0.5 } });
    world.start();
    await world.settled();
    await world.move('1', IN);
    await world.move('2', IN);
    await world.settled();
    const leave = world.change('1', OUT);
    await waitFor(async () => (await events()).length === 1);
    await world.append([leave]);
    await world.settled();
    expect(await events()).toEqual(['dwell:2:started:timer']);
    const states = await temporary.state.jobs.db.selectFrom('alert_states').select('feature_id').execute();
    expect(states).toEqual([{ feature_id: '2' }]);
  });

  it('of a dwell time do not wait for those of rules that cannot be evaluated', async () => {
    const [zone, other] = [await world.addZone(DEPOT), await world.addZone(ISLAND)];
    const rule = await world.addRule({ trigger: 'dwell', zone, conditions: { dwellSeconds: 3600 } });
    await world.addRule({ trigger: 'dwell', zone: other, conditions: { dwellSeconds: 0.2 } });
    world.start();
    await world.settled();
    await world.append(Array.from({ length: 600 }, (_, i) => world.change(String(i + 1), IN)));
    await world.settled();
    await world.state.alertZones.change(zone, { is_active: 0 } as never);
    await waitFor(
      async () =>
        (await world.state.alertRules.get(rule, { tenant: undefined }))!.problem === 'zone-inactive',
    );
    await temporary.run(`UPDATE alert_states SET due_at = 1 WHERE rule_id = ${rule}`);
    await world.move('1000', [20.5, 20.5]);
    await waitFor(async () => (await events()).length > 0);
    expect(await events()).toEqual(['dwell:1000:started:timer']);
  });
});
