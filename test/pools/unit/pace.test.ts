import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Pace } from '../../../src/workers/threads/pace.js';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

/** A queue of this length from which one task is taken every so many milliseconds. */
function run(pace: Pace, tasks: number, everyMs: number, waiting: number): void {
  for (let i = 0; i < tasks; i++) {
    vi.advanceTimersByTime(everyMs);
    pace.ended(waiting);
  }
}

it('knows nothing before two tasks ended while others waited', () => {
  const pace = new Pace();
  expect(pace.waitMs(500)).toBe(0);
  run(pace, 1, 10, 0);
  run(pace, 1, 10_000, 20);
  expect(pace.waitMs(500)).toBe(0);
});

it('tells the wait from the pace of the queue', () => {
  const pace = new Pace();
  run(pace, 500, 10, 20);
  expect(pace.waitMs(100)).toBeCloseTo(1000, 0);
  expect(pace.waitMs(300)).toBeCloseTo(3000, 0);
});

it('lets a few tasks wait, however slow they are', () => {
  const pace = new Pace();
  run(pace, 500, 60_000, 20);
  expect(pace.waitMs(7)).toBe(0);
  expect(pace.waitMs(8)).toBeGreaterThan(60_000);
});

it('does not count the time in which nobody waited', () => {
  const pace = new Pace();
  run(pace, 200, 10, 20);
  run(pace, 1, 10, 0);
  vi.advanceTimersByTime(3_600_000);
  run(pace, 1, 0, 20);
  expect(pace.waitMs(100)).toBeLessThan(1100);
});

it('notices a queue that stands still', () => {
  const pace = new Pace();
  run(pace, 200, 1, 20);
  vi.advanceTimersByTime(60_000);
  expect(pace.waitMs(20)).toBeGreaterThan(30_000);
});

it('takes the time in which workers were away for no slowness', () => {
  const pace = new Pace();
  run(pace, 200, 10, 20);
  pace.interrupted();
  vi.advanceTimersByTime(60_000);
  expect(pace.waitMs(100)).toBeCloseTo(1000, 0);
  run(pace, 1, 0, 20);
  expect(pace.waitMs(100)).toBeCloseTo(1000, 0);
});
