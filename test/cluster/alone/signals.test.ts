import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PostgresChannel } from '../../../src/stores/database/postgres-channel.js';
import { hearSignal, StateSignals } from '../../../src/stores/database/signals.js';
import type { State } from '../../../src/stores/state/state.js';
import { describeStates, type TemporaryState } from '../../support/state.js';

describeStates('changes of a state', (open, database) => {
  let t: TemporaryState;
  let channel: PostgresChannel | undefined;
  beforeEach(async () => {
    t = await open();
  });
  afterEach(async () => {
    await channel?.close();
    channel = undefined;
    await t.close();
  });

  /** Resolves when notifications arrive, as they do in a server. */
  async function listen({ signals }: State): Promise<void> {
    if (database === 'SQLite') return;
    const isHeard = new Promise<void>((resolve) => {
      const stop = signals.on('instances', () => {
        stop();
        resolve();
      });
    });
    channel = new PostgresChannel({ url: t.place, server: 's', connectMs: 5000, heard() {}, signals });
    await isHeard;
    await vi.waitFor(() => expect(signals.isHeard).toBe(true), 10_000);
  }

  const job = (n: number) => ({ kind: 'k', input: n, owner: 'o', maxAttempts: 1, resources: [] });
  const CHANGES = {
    announcements: (state: State) => state.announcements.add('cache', 'all'),
    jobs: (state: State) => state.jobs.add(job(1)),
    async deliveries(state: State) {
      await state.deliveries.claim('hook', 'one', 0, 10_000);
      await state.deliveries.redrive(undefined, 1);
    },
    async feed(state: State) {
      await state.feed.claim('store', 'one', 0, 10_000);
      const entries = [{ kind: 'gap', collections: [], time: new Date().toISOString() }] as const;
      await state.feed.append('store', 'one', entries, { cursor: 1, eventId: 'e' });
    },
  };

  it.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])(
    'by another process wake those who wait for %s',
    async (part) => {
      const other = await t.again();
      await listen(t.state);
      const woken = vi.fn();
      t.state.signals.on(part, woken);
      await CHANGES[part](other);
      await vi.waitFor(() => expect(woken).toHaveBeenCalled(), 10_000);
    },
  );

  it('by this process wake those who wait for announcements once they can be read', async () => {
    await listen(t.state);
    const seen: number[] = [];
    t.state.signals.on('announcements', () => {
      void t.state.announcements.newest().then((newest) => seen.push(newest));
    });
    await t.state.announcements.add('cache', 'all');
    await vi.waitFor(() => expect(seen).toContain(1), 10_000);
  });

  it('are looked for while none can be heard, by those who wait only', async () => {
    const signals = new StateSignals('notifications');
    vi.useFakeTimers();
    try {
      const woken = vi.fn();
      const stop = signals.on('jobs', woken);
      await vi.advanceTimersByTimeAsync(3000);
      expect(woken).toHaveBeenCalledTimes(3);
      signals.setHeard(true);
      expect(woken).toHaveBeenCalledTimes(4);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(woken).toHaveBeenCalledTimes(4);
      signals.setHeard(false);
      await vi.advanceTimersByTimeAsync(1000);
      expect(woken).toHaveBeenCalledTimes(5);
      stop();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('of unknown parts, and those that the own process named, wake nobody', () => {
    const signals = new StateSignals('file');
    const woken = vi.fn();
    signals.on('feed', woken);
    for (const payload of ['', 'nothing', `feed ${signals.id}`]) hearSignal(signals, payload);
    expect(woken).not.toHaveBeenCalled();
    hearSignal(signals, 'feed another');
    expect(woken).toHaveBeenCalledTimes(1);
  });

  it('are counted as statements', async () => {
    const before = t.state.statements.value;
    await t.state.announcements.newest();
    expect(t.state.statements.value - before).toBeGreaterThanOrEqual(1);
    const between = t.state.statements.value;
    await t.state.announcements.add('cache', 'all');
    // Of a transaction: begin, two of three statements at least, commit.
    expect(t.state.statements.value - between).toBeGreaterThanOrEqual(4);
  });
});
