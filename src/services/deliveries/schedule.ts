import { LIMITS } from '../../core/kit/limits.js';

/** Waits of a lane. All are multiples of the first one, which tests shorten. */
export interface Schedule {
  /** Milliseconds until the second attempt; each further wait is four times as long. */
  readonly firstBackoffMs?: number | undefined;
  /** Number from 0 to 1 that chooses the jitter. */
  random?(): number;
}

const FIRST_BACKOFF_MS = 1000;
const BACKOFF_FACTOR = 4;
/** Part of a wait that is added at random, so that servers do not retry together. */
const JITTER = 0.25;
/** Failures in a row that open the circuit of a lane. */
export const CIRCUIT_FAILURES = LIMITS.webhookAttempts;
/** First and maximum time for which a circuit is open, as multiples of the first backoff. Each is twice as long. */
const FIRST_OPEN = 60;
const MAX_OPEN = 300;

/** Waits of a lane after a number of failures in a row. */
export function planRetry(
  failures: number,
  { firstBackoffMs = FIRST_BACKOFF_MS, random = Math.random }: Schedule,
): { afterMs: number; opensAfterMs: number } {
  const jitter = 1 + JITTER * random();
  if (failures < CIRCUIT_FAILURES)
    return {
      afterMs: Math.round(firstBackoffMs * BACKOFF_FACTOR ** (failures - 1) * jitter),
      opensAfterMs: 0,
    };
  const open = Math.min(MAX_OPEN, FIRST_OPEN * 2 ** Math.min(failures - CIRCUIT_FAILURES, 16));
  const opensAfterMs = Math.round(firstBackoffMs * open * jitter);
  return { afterMs: opensAfterMs, opensAfterMs };
}
