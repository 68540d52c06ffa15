import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GEOCODING_LIMITS } from '../../../src/core/geocoding/limits.js';
import { LIMITS } from '../../../src/core/kit/limits.js';
import type { Pools, TaskOptions } from '../../../src/core/tasks/tasks.js';
import { LocalGeocoder } from '../../../src/services/geocoding/local-geocoder.js';

/** The time that a batch has, whatever each of its tasks takes. */

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('ends a batch of tasks that are in time each', async () => {
  const turnMs = LIMITS.requestDeadlineMs * 0.8;
  const signals: (AbortSignal | undefined)[] = [];
  const run = (_name: string, _input: unknown, { signal }: TaskOptions = {}) => {
    signals.push(signal);
    return new Promise((resolve) => setTimeout(() => resolve([]), turnMs));
  };
  const geocoder = new LocalGeocoder('towns', 'towns.sqlite', { run } as unknown as Pools);
  const queries = Array.from({ length: GEOCODING_LIMITS.geocodeTurn * 3 }, () => ({
    text: 'Köln',
    limit: 1,
  }));
  const answer = geocoder.find({ timing: () => {} }, queries);
  const failure = expect(answer).rejects.toMatchObject({ code: 'deadline-exceeded' });
  await vi.advanceTimersByTimeAsync(LIMITS.requestDeadlineMs);
  await failure;
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, true]);
});

it('asks for its caller in parts, and is not refused half way', async () => {
  const caller = { class: 'keyed', id: 'a' } as const;
  const tasks: { caller: unknown; begun: unknown; batch: unknown; queries: number }[] = [];
  const run = async (
    _name: string,
    { batch, queries }: { batch: number; queries: unknown[] },
    options: TaskOptions = {},
  ) => {
    tasks.push({ caller: options.caller, begun: options.begun, batch, queries: queries.length });
    return [];
  };
  const geocoder = new LocalGeocoder('towns', 'towns.sqlite', { run } as unknown as Pools);
  const batch = GEOCODING_LIMITS.geocodeTurn + 1;
  const queries = Array.from({ length: batch }, () => ({ text: 'Köln', limit: 1 }));
  await geocoder.find({ caller, timing: () => {} }, queries);
  expect(tasks).toEqual([
    { caller, batch, begun: false, queries: GEOCODING_LIMITS.geocodeTurn },
    { caller, batch, begun: true, queries: 1 },
  ]);
});
