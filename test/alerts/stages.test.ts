import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { compile } from '../support/compile.js';
import { isFullRun, repetitions } from '../support/soak.js';
import { describeStates, stateWorker, type TemporaryState } from '../support/state.js';
import { startReceiver, type TestReceiver } from '../webhooks/receiver.js';
import { openWorld, type Position, type World, waitFor } from './world.js';

/** The process that evaluates and sends is killed before and after each stage of its work, while features move. */

const IS_FULL = isFullRun(import.meta.url);
const ALL = ['read', 'evaluate', 'commit', 'claim', 'send', 'settle'];
const STAGES = IS_FULL
  ? ALL.flatMap((one) => [`before:${one}`, `after:${one}`])
  : ['after:commit', 'after:send'];
const KILLS = repetitions(import.meta.url, 20, 1);
const DEPOT = 'POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))';
const [IN, OUT]: Position[] = [
  [10.5, 10.5],
  [0, 0],
];
const CARS = 8;
const MOVES_MS = 10;
const LATE_MS = 20_000;
/** Messages of a batch, which a kill can repeat. */
const REPEATED = 10;

describeStates('alerts of a process that is killed', (open) => {
  let temporary: TemporaryState;
  let world: World;
  let receiver: TestReceiver;
  beforeEach(async () => {
    temporary = await open();
    world = await openWorld(temporary);
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await receiver.close();
    await world.close();
    await temporary.close();
  });

  function start(stage: string, times: number) {
    const script = fileURLToPath(compile('test/alerts/stage-process.ts'));
    const args = [script, temporary.place, stateWorker().href, receiver.url, stage, String(times)];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] });
    return { child, ended: once(child, 'exit') as Promise<[number | null, string | null]> };
  }

  it.each(STAGES)('are evaluated once, and sent, after a kill %s', { timeout: 600_000 }, async (stage) => {
    const zone = await world.addZone(DEPOT);
    const rules = {
      enter: await world.addRule({ trigger: 'enter', zone, channels: ['webhook'] }),
      exit: await world.addRule({ trigger: 'exit', zone, channels: ['webhook'] }),
    };
    // The comparisons of new rules end first: the process has no features to compare.
    const first = start('never', 0);
    await waitFor(async () =>
      (await world.state.alertRules.list({ tenant: undefined })).every(({ scan }) => scan === null),
    );
    first.child.kill('SIGTERM');
    await first.ended;
    const expected: [number, string][] = [];
    let moves = 0;
    const move = async () => {
      const id = String(1 + (moves % CARS));
      const isIn = Math.floor(moves / CARS) % 2 === 0;
      const isFirst = moves < CARS;
      moves++;
      await world.move(id, isIn ? IN : OUT);
      if (isIn || !isFirst) expected.push([isIn ? rules.enter : rules.exit, id]);
    };
    for (let kill = 0; kill < KILLS; kill++) {
      const { child, ended } = start(stage, 1 + (kill % 4));
      let isOver = false;
      const exit = ended.then((result) => {
        isOver = true;
        return result;
      });
      const late = Date.now() + LATE_MS;
      while (!isOver) {
        if (Date.now() > late) throw new Error(`the process does not come to ${stage}`);
        await move();
        await pause(MOVES_MS);
      }
      expect(await exit).toEqual([null, 'SIGKILL']);
      expect(child.killed).toBe(false);
    }
    const { child, ended } = start('never', 0);
    for (let i = 0; i < CARS; i++) await move();
    await waitFor(async () => (await world.events()).length >= expected.length);
    const lane = ':alert:webhook';
    await waitFor(async () => (await temporary.state.deliveries.counts([lane])).pending === 0);
    child.kill('SIGTERM');
    await ended;
    const rows = await world.events();
    rows.sort((a, b) => a.id - b.id);
    expect(rows.map((row) => [row.rule_id, row.feature_id])).toEqual(expected);
    const ids = receiver.received.map(({ headers }) => String(headers['x-svc-event-id']));
    expect(new Set(ids)).toEqual(new Set(rows.map(({ id }) => `alert-${id}:started`)));
    const repeated = ids.length - new Set(ids).size;
    expect(repeated).toBeLessThanOrEqual(REPEATED * KILLS);
    if (stage === 'after:send') expect(repeated).toBeGreaterThan(0);
  });
});
