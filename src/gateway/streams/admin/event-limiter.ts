import { STREAM_LIMITS } from '../../../core/streams/limits.js';

/**
 * Lets an event through once a minute per key, and so many in all: strangers who are refused must not fill the audit
 * trail, from which nothing is ever removed. What is left out is counted.
 */
export class EventLimiter {
  #minute = 0;
  readonly #keys = new Set<string>();
  #leftOut = 0;

  constructor(private readonly now: () => number = Date.now) {}

  /** How many were left out since the last one that was let through; undefined when this one is left out. */
  take(key: string): number | undefined {
    const minute = Math.floor(this.now() / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#keys.clear();
    }
    if (this.#keys.has(key) || this.#keys.size >= STREAM_LIMITS.refusalsPerMinute) {
      this.#leftOut += 1;
      return undefined;
    }
    this.#keys.add(key);
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}
