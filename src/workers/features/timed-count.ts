import { TaskFailure } from '../../core/errors/failure.js';
import type { TimedCount, TimedCountTask } from '../../core/features/features.js';
import { getFeatureStore } from '../providers/store.js';
import { Cancellation } from '../threads/cancellation.js';

/** Numbers up to which features are counted, one after the other: the last one that was reached is certain. */
const ROUNDS = [1000, 10_000, 100_000, 1_000_000, undefined];

/** Task `vector.timedCount`: counts as far as the time allows. All rounds together take little more than the last one. */
export async function countWithin(
  { withinMs, ...query }: TimedCountTask,
  cancellation?: Cancellation,
): Promise<TimedCount> {
  const end = performance.now() + withinMs;
  const store = getFeatureStore(query.source);
  const own = new Cancellation();
  const stop = () => own.request();
  const timer = setTimeout(stop, withinMs);
  const unwatch = cancellation?.onRequest(stop);
  let count = 0;
  try {
    for (const atMost of ROUNDS) {
      const leftMs = Math.floor(end - performance.now());
      if (leftMs <= 0) return { count, isExact: false };
      const bound = { ...query, withinMs: leftMs, ...(atMost === undefined ? {} : { atMost: atMost + 1 }) };
      const found = await store.count(bound, own);
      if (atMost === undefined || found <= atMost) return { count: found, isExact: true };
      count = atMost;
    }
    return { count, isExact: false };
  } catch (error) {
    cancellation?.check();
    if (isOverTime(error)) return { count, isExact: false };
    throw error;
  } finally {
    clearTimeout(timer);
    unwatch?.();
  }
}

const isOverTime = (error: unknown) =>
  error instanceof TaskFailure && (error.code === 'too-large' || error.code === 'cancelled');
