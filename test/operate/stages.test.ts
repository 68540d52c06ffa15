import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Actuator } from '../../src/services/actions/actuator.js';
import { openChain } from '../../src/services/operate/statements.js';
import { compile } from '../support/compile.js';
import { isFullRun } from '../support/soak.js';
import { describeStates, stateWorker, type TemporaryState } from '../support/state.js';
import {
  CHIEF,
  CLERK,
  createLampActuator,
  LAMP,
  listEffects,
  openLedger,
  type TestLedger,
  waitForEnd,
} from './support.js';

/** The process that executes an approved action is killed before and after each stage. Another one continues. */

const WAYS: readonly Actuator['acts'][] = ['in-transaction', 'in-own-transaction', 'repeatably'];
const ALL = ['seals', 'check', 'act', 'commit-1', 'commit-2', 'verify', 'receipt'].flatMap((one) => [
  `before:${one}`,
  `after:${one}`,
]);
const STAGES = isFullRun(import.meta.url) ? ALL : ['after:act', 'before:verify', 'after:receipt'];
const LATE_MS = 30_000;

describeStates('an action whose process is killed', (temporary) => {
  let t: TemporaryState;
  let ledger: TestLedger;
  beforeEach(async () => {
    t = await temporary();
    // Proposes and approves, and executes nothing.
    ledger = openLedger(t.state);
    for (const acts of WAYS)
      ledger.ledger.register(createLampActuator(t.state, { name: `lamp.${acts}`, acts }));
    await t.state.documents.create(LAMP, 'hall', { color: 'red' }, 'me');
    await ledger.keys.signer();
  });
  afterEach(() => t.close());

  const start = (stage: string) => {
    const script = fileURLToPath(compile('test/operate/stages-process.ts'));
    const child = spawn(process.execPath, [script, t.place, stateWorker().href, stage], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    return { child, ended: once(child, 'exit') as Promise<[number | null, string | null]> };
  };

  it.each(STAGES)('ends once, with its effect once, after a kill %s', { timeout: 240_000 }, async (stage) => {
    for (const acts of WAYS) {
      await t.state.documents.put(LAMP, 'hall', { color: 'red' }, 'me');
      const before = (await listEffects(t.state)).length;
      const { row } = await ledger.ledger.propose({
        ...{ actuator: `lamp.${acts}`, parameters: { lamp: 'hall', color: acts }, requester: CLERK },
      });
      await ledger.ledger.approve(row.id, CHIEF);
      const killed = start(stage);
      // Stages that this way of acting does not have end with the action.
      const end = await Promise.race([
        killed.ended,
        waitForEnd(t.state, row.id).then(() => pause(300)),
        late(),
      ]);
      if (end) expect(end).toEqual([null, 'SIGKILL']);
      killed.child.kill('SIGKILL');
      await killed.ended;
      const other = start('never');
      const ended = await waitForEnd(t.state, row.id);
      expect([acts, ended.status, ended.outcome]).toEqual([acts, 'Succeeded', 'Succeeded']);
      expect((await listEffects(t.state)).slice(before)).toEqual([`hall ${acts}`]);
      const chain = await openChain({ ...ended, evidence: null }, await ledger.keys.published());
      expect(chain.receipt?.payload.outcome).toBe('Succeeded');
      while ((await t.state.jobs.get(row.job_id ?? ended.job_id!))!.state === 'Running') await pause(20);
      other.child.kill('SIGKILL');
      await other.ended;
      const again = (await t.state.proposals.get(row.id))!;
      expect([again.receipt, again.status]).toEqual([ended.receipt, ended.status]);
    }
  });
});

async function late(): Promise<never> {
  await pause(LATE_MS);
  throw new Error('the process does not come to its stage');
}
