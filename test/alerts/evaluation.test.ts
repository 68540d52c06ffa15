import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeStates, type TemporaryState } from '../support/state.js';
import { openWorld, type Position, type World, waitFor } from './world.js';

const DEPOT = 'POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))';
const IN: Position = [10.5, 10.5];
const OUT: Position = [0, 0];

describeStates('alerts', (open, database) => {
  const inFile = it.runIf(database === 'SQLite');
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

  /** Events as `trigger:feature:status`, oldest first. */
  const events = async () =>
    (await world.events()).map((row) => `${row.trigger_type}:${row.feature_id}:${row.incident_status}`);
  const deliveries = () =>
    temporary.state.jobs.db.selectFrom('deliveries').selectAll().orderBy('id').execute();

  it('are triggered once by features that enter, leave and exceed a threshold', async () => {
    const zone = await world.addZone(DEPOT);
    await world.move('1', OUT, { speed: 5 });
    await world.move('2', IN, { speed: 5 });
    await world.addRule({ trigger: 'enter', zone, channels: ['webhook', 'slack'] });
    await world.addRule({ trigger: 'exit', zone });
    await world.addRule({ trigger: 'threshold', conditions: { field: 'speed', operator: '>', value: 100 } });
    world.start();
    await world.settled();
    expect(await events()).toEqual([]);
    await world.move('1', IN);
    await world.move('1', [10.6, 10.6], { speed: 120 });
    await world.move('2', OUT);
    await world.settled();
    expect(await events()).toEqual(['enter:1:ongoing', 'threshold:1:started', 'exit:2:started']);
    await world.move('1', undefined);
    await world.move('2', IN);
    await world.settled();
    expect(await events()).toEqual(['enter:1:ended', 'threshold:1:ended', 'exit:2:ended', 'enter:2:started']);
    const [first] = await world.events();
    expect(first).toMatchObject({
      ended_by: 'deleted',
      detected_by: 'event',
      object_id: '1',
      lifecycle: 'open',
    });
    const sent = await deliveries();
    expect(sent.map(({ sink, event_id }) => [sink, event_id])).toEqual([
      [':alert:webhook', 'alert-1:started'],
      [':alert:slack', 'alert-1:started'],
      [':alert:webhook', 'alert-4:started'],
      [':alert:slack', 'alert-4:started'],
    ]);
    expect(JSON.parse(sent[0]!.body)).toMatchObject({
      ...{
        eventId: 1,
        incidentKey: 'alert-1',
        incidentStatus: 'started',
        ruleName: 'enter rule',
        zoneName: 'zone',
      },
      ...{ layerTitle: 'Cars', featureId: '1', objectId: 1, attributes: { speed: 5 } },
      geometry: { type: 'Point', coordinates: [10.5, 10.5] },
    });
  });

  it('end before the next one of their feature starts, also in one batch of edits', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone, conditions: { notifyEnd: true }, channels: ['webhook'] });
    world.start();
    await world.settled();
    await world.move('1', IN);
    await world.settled();
    await world.append([OUT, IN, OUT, IN].map((at) => world.change('1', at)));
    await world.settled();
    const changes = await temporary.state.alertEvents.changedAfter(0, 100);
    expect(changes.map(({ id, incident_status }) => [id, incident_status])).toEqual([
      [1, 'ended'],
      [2, 'ended'],
      [3, 'started'],
    ]);
    const sent = await deliveries();
    expect(sent.map(({ event_id }) => event_id)).toEqual([
      ...['alert-1:started', 'alert-1:ended', 'alert-2:started', 'alert-2:ended', 'alert-3:started'],
    ]);
    const rows = new Map((await world.events()).map((row) => [row.id, row]));
    for (const message of sent.map(({ body }) => JSON.parse(body))) {
      const { ended_at, ended_by } = rows.get(message.eventId)!;
      const end = { at: message.endedAt, reason: message.endReason };
      expect(end).toEqual(
        message.incidentStatus === 'ended'
          ? { at: new Date(ended_at!).toISOString(), reason: ended_by }
          : { at: undefined, reason: undefined },
      );
      expect(ended_by ?? 'left').toBe('left');
    }
  });

  it('remain suppressed if a person suppresses them while an edit of the feature is evaluated', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone, channels: ['webhook'] });
    world.start();
    await world.settled();
    await world.move('1', IN);
    await world.settled();
    await world.move('1', OUT);
    await world.settled();
    const until = Date.now() + 3_600_000;
    world.hooks.beforeMatch = async () => {
      world.hooks.beforeMatch = undefined;
      await temporary.state.alertEvents.change(1, { lifecycle: 'suppressed', by: 'me', until });
    };
    await world.move('1', IN);
    await world.settled();
    for (const at of [OUT, IN]) await world.move('1', at);
    await world.settled();
    const rows = await world.events();
    expect(rows.map(({ id, lifecycle }) => [id, lifecycle])).toEqual([
      [1, 'suppressed'],
      [2, 'suppressed'],
      [3, 'suppressed'],
    ]);
    expect((await deliveries()).map(({ event_id }) => event_id)).toEqual(['alert-1:started']);
  });

  it('are triggered by a dwell time without another edit, at the time when it was over', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'dwell', zone, conditions: { dwellSeconds: 3 } });
    const first = world.start();
    await world.settled();
    await world.move('1', IN);
    await world.move('2', IN);
    await world.settled();
    await world.move('2', OUT);
    await first.close();
    const { due_at } = await temporary.state.jobs.db
      .selectFrom('alert_states')
      .select('due_at')
      .where('feature_id', '=', '1')
      .executeTakeFirstOrThrow();
    await waitFor(() => Date.now() > due_at!);
    expect(await events()).toEqual([]);
    world.start();
    await waitFor(async () => (await events()).length > 0);
    await world.settled();
    expect(await events()).toEqual(['dwell:1:started']);
    expect((await world.events())[0]).toMatchObject({ occurred_at: due_at, detected_by: 'timer' });
  });

  inFile('are not sent again while a feature cools down, and are stored', async () => {
    const zone = await world.addZone(DEPOT);
    const rule = await world.addRule({ trigger: 'enter', zone, cooldown: 3600, channels: ['webhook'] });
    world.start();
    await world.settled();
    const buffered = await world.addRule({ trigger: 'enter', zone, conditions: { exitBuffer: 20_000 } });
    // A sawtooth over the border, as of a vehicle that stands there for a minute at ten positions a second.
    for (let i = 0; i < 300; i++) for (const lon of [10.99, 11.01]) await world.move('1', [lon, 10.5]);
    await world.move('2', IN);
    await world.settled();
    const all = await world.events();
    const rows = all.filter(({ rule_id }) => rule_id === rule);
    expect(rows.map(({ feature_id, lifecycle }) => `${feature_id} ${lifecycle}`)).toEqual([
      '1 open',
      ...Array(299).fill('1 suppressed'),
      '2 open',
    ]);
    expect((await deliveries()).map(({ alert_id }) => alert_id)).toEqual([rows[0]!.id, rows.at(-1)!.id]);
    // The buffer keeps the feature inside.
    expect(all.filter(({ rule_id }) => rule_id === buffered).map(({ feature_id }) => feature_id)).toEqual([
      '1',
      '2',
    ]);
    expect(await temporary.state.alertEvents.counts(rule)).toMatchObject({ active: 1, cooling: 2 });
  });

  inFile('do not flap with a buffer, a settling time or a condition that clears', async () => {
    const zone = await world.addZone(DEPOT);
    const value = { field: 'speed', operator: '>', value: 100, clear: { operator: '<', value: 80 } };
    await world.addRule({ trigger: 'enter', zone, conditions: { exitBuffer: 20_000 } });
    await world.addRule({ trigger: 'exit', zone, conditions: { settleSeconds: 0.3 } });
    await world.addRule({ trigger: 'threshold', conditions: value });
    world.start();
    await world.settled();
    await world.move('1', IN, { speed: 101 });
    await world.settled();
    await new Promise((resolve) => setTimeout(resolve, 350));
    for (let i = 0; i < 6; i++)
      await world.move('1', i % 2 ? IN : [11.05, 10.5], { speed: i % 2 ? 90 : 110 });
    await world.settled();
    expect(await events()).toEqual(['enter:1:ongoing', 'threshold:1:ongoing']);
    await world.move('1', [11.05, 10.5], { speed: 79 });
    await waitFor(async () => (await events()).length === 3);
    await world.move('1', [12, 12]);
    await world.settled();
    expect(await events()).toEqual(['enter:1:ended', 'threshold:1:ended', 'exit:1:ongoing']);
  });

  inFile('go on, and are read again, by edits that change no state', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone });
    world.start();
    await world.settled();
    await world.move('1', IN);
    await world.settled();
    expect(await events()).toEqual(['enter:1:started']);
    await world.move('1', [10.6, 10.6]);
    await world.settled();
    expect(await events()).toEqual(['enter:1:ongoing']);
    // The feature leaves without an event; the next edit starts and ends outside.
    world.change('1', OUT);
    await world.move('1', [1, 1]);
    await world.settled();
    await waitFor(async () => (await events())[0] === 'enter:1:ended');
  });

  inFile('ignore positions that are older than the newest one', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone, conditions: { timeField: 'seen' } });
    world.start();
    await world.settled();
    await world.move('1', OUT, { seen: '2026-11-30T12:00:00Z' });
    await world.move('1', IN, { seen: '2026-11-30T11:00:00Z' });
    await world.settled();
    expect(await events()).toEqual([]);
    await world.move('1', IN, { seen: '2026-11-30T12:00:01Z' });
    await world.settled();
    expect(await events()).toEqual(['enter:1:started']);
  });

  inFile('count a move across a zone as a visit if the rule says so', async () => {
    const zone = await world.addZone(DEPOT);
    const island = await world.addZone('POLYGON ((179 -1, 181 -1, 181 1, 179 1, 179 -1))');
    await world.addRule({ trigger: 'enter', zone, conditions: { path: true } });
    await world.addRule({ trigger: 'exit', zone, conditions: { path: true } });
    await world.addRule({ trigger: 'enter', zone });
    await world.addRule({ trigger: 'enter', zone: island, conditions: { path: true } });
    world.start();
    await world.move('1', [9, 10.5]);
    await world.move('1', [12, 10.5]);
    await world.move('2', [178, 0]);
    await world.move('2', [-178, 0]);
    await world.move('3', [-170, 0]);
    await world.move('3', [170, 5]);
    await world.settled();
    const rows = (await world.events()).map((row) => [row.rule_id, row.feature_id, row.incident_status]);
    expect(rows).toEqual([
      [1, '1', 'ended'],
      [2, '1', 'started'],
      [4, '2', 'ended'],
    ]);
  });

  it('are found by a comparison of all features after a gap, and not by the first one', async () => {
    const zone = await world.addZone(DEPOT);
    for (let i = 1; i <= 30; i++) world.change(String(i), i <= 10 ? IN : OUT);
    await world.addRule({ trigger: 'enter', zone });
    await world.addRule({ trigger: 'exit', zone });
    world.start();
    await world.settled();
    expect(await events()).toEqual([]);
    await world.lose(() => {
      for (let i = 1; i <= 5; i++) world.change(String(i), OUT);
      for (let i = 11; i <= 13; i++) world.change(String(i), IN);
      world.change('6', undefined);
    });
    await world.settled();
    const rows = await world.events();
    expect(rows.map(({ trigger_type, feature_id }) => `${trigger_type} ${feature_id}`).sort()).toEqual(
      [
        ...['11', '12', '13'].map((id) => `enter ${id}`),
        ...['1', '2', '3', '4', '5'].map((id) => `exit ${id}`),
      ].sort(),
    );
    expect(new Set(rows.map(({ detected_by }) => detected_by))).toEqual(new Set(['rescan']));
    // An edit from before the comparison that arrives after it changes nothing.
    await world.move('20', IN);
    await world.settled();
    expect((await world.events()).length).toBe(9);
  });

  inFile('end with their zone, their rule and the rights of its author', async () => {
    const [zone, other] = [await world.addZone(DEPOT), await world.addZone(DEPOT)];
    const rules = [
      await world.addRule({ trigger: 'enter', zone }),
      await world.addRule({ trigger: 'enter', zone: other }),
    ];
    world.start();
    await world.settled();
    await world.move('1', IN);
    await world.settled();
    await world.moveZone(zone, 'POLYGON ((50 50, 51 50, 51 51, 50 51, 50 50))');
    await world.settled();
    const byReason = async () => (await world.events()).map(({ ended_by }) => ended_by);
    expect(await byReason()).toEqual(['zone-changed', null]);
    world.allow(false);
    await waitFor(
      async () =>
        (await world.state.alertRules.get(rules[1]!, { tenant: undefined }))!.problem === 'unauthorized',
    );
    expect(await byReason()).toEqual(['zone-changed', 'unauthorized']);
    await world.move('2', IN);
    await world.settled();
    world.allow(true);
    await waitFor(
      async () => (await world.state.alertRules.get(rules[1]!, { tenant: undefined }))!.problem === null,
    );
    await world.settled();
    expect((await world.events()).length).toBe(2);
    await world.move('3', IN);
    await world.settled();
    await world.state.alertRules.remove(rules[1]!);
    expect(await byReason()).toEqual(['zone-changed', 'unauthorized', 'rule-deleted']);
  });

  it('are evaluated once by two processes that end at any time', async () => {
    const zone = await world.addZone(DEPOT);
    await world.addRule({ trigger: 'enter', zone, channels: ['webhook'] });
    await world.addRule({ trigger: 'exit', zone });
    const expected: string[] = [];
    let one = world.start();
    await world.settled();
    let other = world.start();
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 15; i++) {
        const id = String((i % 5) + 1);
        const isIn = (round * 3 + Math.floor(i / 5)) % 2 === 0;
        await world.move(id, isIn ? IN : OUT);
        expected.push(`${isIn ? 'enter' : 'exit'}:${id}`);
      }
      const ended = one;
      one = other;
      other = world.start();
      await ended.close();
    }
    await world.settled();
    const rows = (await world.events()).map((row) => `${row.trigger_type}:${row.feature_id}`);
    const ofCar = (id: string, list: string[]) => list.filter((text) => text.endsWith(`:${id}`));
    for (const id of ['1', '2', '3', '4', '5']) expect(ofCar(id, rows)).toEqual(ofCar(id, expected));
    expect((await deliveries()).length).toBe(rows.filter((text) => text.startsWith('enter')).length);
  });
});
