import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SharedTurns } from '../../src/services/cluster/turns.js';
import { instanceName } from '../../src/stores/database/instance.js';
import type { State } from '../../src/stores/state/state.js';
import { describeStates, type TemporaryState } from '../support/state.js';

describeStates('turns at a resource', (temporary) => {
  let t: TemporaryState;
  let other: State;
  beforeEach(async () => {
    t = await temporary();
    other = await t.again();
  });
  afterEach(() => t.close());

  it('are held by one process at a time, until it gives its turn back', async () => {
    expect(await t.state.turns.take('/layers/1', 'a', 60_000)).toBe(true);
    expect(await other.turns.take('/layers/1', 'b', 60_000)).toBe(false);
    expect(await other.turns.take('/layers/2', 'b', 60_000)).toBe(true);
    await other.turns.release('/layers/1', 'b');
    expect(await other.turns.take('/layers/1', 'b', 60_000)).toBe(false);
    await t.state.turns.release('/layers/1', 'a');
    expect(await other.turns.take('/layers/1', 'b', 60_000)).toBe(true);
  });

  it('end by themselves when their process was lost', async () => {
    await t.state.turns.take('/layers/1', 'lost', 1);
    await sleep(5);
    expect(await other.turns.take('/layers/1', 'b', 60_000)).toBe(true);
    // Who comes back late takes nothing away.
    await t.state.turns.release('/layers/1', 'lost');
    expect(await t.state.turns.take('/layers/1', 'c', 60_000)).toBe(false);
  });

  it('end at once when their process was killed, and not while it runs', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    await t.state.turns.take('/layers/1', instanceName().replace(/:\d+:/, `:${pid}:`), 60_000);
    expect(await other.turns.take('/layers/1', 'b', 60_000)).toBe(true);
    await t.state.turns.take('/layers/2', instanceName(), 60_000);
    expect(await other.turns.take('/layers/2', 'b', 60_000)).toBe(false);
  });

  it('last as long as their change prolongs them', async () => {
    await t.state.turns.take('/layers/1', 'a', 1);
    expect(await t.state.turns.prolong('/layers/1', 'a', 60_000)).toBe(true);
    await sleep(5);
    expect(await other.turns.take('/layers/1', 'b', 1)).toBe(false);
    expect(await other.turns.prolong('/layers/1', 'b', 60_000)).toBe(false);
  });

  it('let no change begin before the process has taken over those before', async () => {
    const seen: number[] = [];
    let counter = 0;
    const turnsOf = ({ turns, announcements }: State) =>
      new SharedTurns({
        ...{ turns, store: announcements },
        announcements: { reached: async (version) => void seen.push(version) },
      });
    const change = (state: State) =>
      turnsOf(state).run('/layers/1', async () => {
        const before = counter;
        await state.announcements.add('layer', 'changed');
        counter = before + 1;
      });
    await Promise.all([0, 1, 2, 3, 4, 5].map((i) => change(i % 2 ? t.state : other)));
    expect(counter).toBe(6);
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('are given back by a change that fails', async () => {
    const { turns, announcements } = t.state;
    const shared = new SharedTurns({
      turns,
      store: announcements,
      announcements: { reached: async () => {} },
    });
    const failing = shared.run('/layers/1', () => Promise.reject(new Error('refused')));
    await expect(failing).rejects.toThrow('refused');
    expect(await other.turns.take('/layers/1', 'b', 60_000)).toBe(true);
  });
});
