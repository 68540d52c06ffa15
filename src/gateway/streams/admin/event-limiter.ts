import { STREAM_LIMITS } from '../../../core/streams/limits.js';

/**
 * Limits events to one per minute and key, and to a total: refused anonymous requests must not fill the audit trail,
 * which is never pruned. Suppressed events are counted.
 */
export class EventLimiter {
  #minute = 0;
  readonly #keys = new Set<string>();
  #leftOut = 0;

  constructor(private readonly now: () => number = Date.now) {}

  /** Number of events that were suppressed since the last one that passed; undefined if this one is suppressed. */
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
