import { spawnSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonOfClients } from '../support/python.js';
import { randomNumbers } from '../support/random.js';
import { isFullRun, repetitions } from '../support/soak.js';
import { SECRET, startReceiver, type TestReceiver } from '../webhooks/receiver.js';
import { Drivers } from './drivers.js';
import { Fleet, type Part } from './fleet.js';

/**
 * Servers that share a state lose a process every two seconds, PostgreSQL once, and the leader for longer than its lease,
 * while features move. The alerts must be those that shapely computes from the log of the edits: each once, and in order.
 */

const IS_FULL = isFullRun(import.meta.url);
/** Crashes before PostgreSQL restarts, and as many after. */
const CRASHES = repetitions(import.meta.url, 100, 3);
const INTERVAL_MS = 2000;
/** Longer than the lease of 10 s. */
const AWAY_MS = IS_FULL ? 30_000 : 12_000;
const SEED = 52;
/** Messages that a lane sends together, which a crash can repeat. */
const REPEATED = 10;
const PARTS: readonly Part[] = ['gateway', 'supervisor', 'engine', 'gateway'];
const SIZES = IS_FULL ? [2, 3] : [2];
const ZONES = 6;

const random = randomNumbers(SEED);
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

describe.each(SIZES)(`%i servers that crash (seed ${SEED})`, { timeout: 3_600_000 }, (size) => {
  let fleet: Fleet;
  let receiver: TestReceiver;
  let drivers: Drivers;
  let rules: { id: number; zone: number; trigger: 'enter' | 'exit' }[];
  const zones = Array.from({ length: ZONES }, (_, i) => {
    const [x, y] = [(i % 3) * 3, Math.floor(i / 3) * 4];
    return { wkt: `POLYGON ((${x} ${y}, ${x + 4} ${y}, ${x + 2} ${y + 5}, ${x} ${y}))`, srid: 4326 };
  });

  beforeAll(async () => {
    receiver = await startReceiver();
    fleet = await Fleet.start(size, {
      SVC_ALERTS__CHANNELS__WEBHOOK__URL: receiver.url,
      SVC_ALERTS__CHANNELS__WEBHOOK__SECRET: SECRET,
      SVC_ALERTS__CHANNELS__WEBHOOK__RATE_PER_MINUTE: '100000',
      SVC_EVENTS__RETENTION__COUNT: '1000000',
    });
    rules = [];
    for (const [zone, { wkt }] of zones.entries()) {
      const zoneId = await fleet.addZone(wkt);
      for (const triggerType of ['enter', 'exit'] as const) {
        const id = await fleet.addRule({ triggerType, zoneId, channels: ['webhook'] });
        rules.push({ id, zone, trigger: triggerType });
      }
    }
    await fleet.untilCompared();
    drivers = new Drivers(fleet);
  }, 400_000);
  afterAll(async () => {
    await drivers?.stop();
    await fleet?.stop();
    await receiver?.close();
  });

  /** Transitions of the log of the edits, as numbers of rules and ids of features. */
  function askShapely(edits: readonly unknown[]): [number, string][] {
    const cases = rules.map(({ zone, trigger }) => ({ zone, trigger, relation: 'intersects' }));
    const input = JSON.stringify({ zones, rules: cases, edits });
    const { stdout, stderr } = spawnSync(pythonOfClients(), ['test/alerts/oracle.py'], {
      ...{ input, maxBuffer: 1e9, encoding: 'utf8' },
    });
    expect(stderr).toBe('');
    return JSON.parse(stdout) as [number, string][];
  }

  const parts = { gateway: 0, engine: 0, supervisor: 0 };
  async function crash(): Promise<void> {
    for (let i = 0; i < CRASHES; i++) {
      const [server, part] = [pick(fleet.servers), PARTS[i % PARTS.length]!];
      const next = pause(INTERVAL_MS);
      if (await fleet.crash(server, part)) parts[part]++;
      await next;
    }
  }

  it('alert once for each transition', async () => {
    await drivers.goOn();
    await crash();
    await fleet.restartPostgres();
    await drivers.goOn();
    const leader = (await fleet.findLeader())!;
    const resume = fleet.pause(leader);
    await pause(AWAY_MS);
    expect(await fleet.findLeader()).not.toBe(leader);
    resume();
    await crash();
    await drivers.goOn();
    await drivers.stop();

    const edits = await drivers.readLog();
    const sequence = new Set(edits.map(({ name }) => name));
    expect(drivers.acknowledged.filter((name) => !sequence.has(name))).toEqual([]);
    const expected = askShapely(edits);
    const sql = `SELECT id::int, rule_id::int, feature_id, detected_by FROM graticule_state.alert_events ORDER BY id`;
    type Row = { id: number; rule_id: number; feature_id: string; detected_by: string };
    let rows: Row[] = [];
    for (
      const late = Date.now() + 60_000;
      Date.now() < late && rows.length < expected.length;
      await pause(200)
    )
      rows = await fleet.state<Row>(sql);
    const numbers = new Map(rules.map(({ id }, i) => [id, i]));
    expect(expected.length).toBeGreaterThan(50);
    expect(rows.map((row) => [numbers.get(row.rule_id), row.feature_id])).toEqual(expected);
    expect(new Set(rows.map((row) => row.detected_by))).toEqual(new Set(['event']));

    const ids = () => receiver.received.map(({ headers }) => String(headers['x-svc-event-id']));
    const missing = () => {
      const known = new Set(ids());
      return rows.filter(({ id }) => !known.has(`alert-${id}:started`));
    };
    for (const late = Date.now() + 60_000; Date.now() < late && missing().length > 0; ) await pause(200);
    expect(missing()).toEqual([]);
    const repeated = ids().length - new Set(ids()).size;
    // The restart of PostgreSQL and the pause repeat messages as crashes do.
    const crashes = 2 + Object.values(parts).reduce((sum, n) => sum + n, 0);
    console.log(
      `${edits.length} edits, ${rows.length} alerts, ${crashes} crashes (${JSON.stringify(parts)}), ` +
        `${repeated} messages sent twice`,
    );
    expect(repeated).toBeLessThanOrEqual(REPEATED * crashes);
  });
});
