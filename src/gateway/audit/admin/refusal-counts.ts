import { STREAM_LIMITS } from '../../../core/streams/limits.js';

interface Entry<T> {
  subject: T;
  /** Minute of the last row. */
  minute: number;
  /** Events without a row since then. */
  repeated: number;
}

const MINUTE_MS = 60_000;

/**
 * Limits rows to one per minute and key, and to a total: refused requests must not fill the audit trail, which is never
 * pruned. Events without a row are counted, for the next row of their key.
 */
export class RefusalCounts<T> {
  readonly #entries = new Map<string, Entry<T>>();
  #minute = 0;
  #rows = 0;
  /** Events of keys without an entry. */
  #others = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `write` receives events of a key that did not occur again for a minute, and their number. */
  constructor(
    private readonly write: (subject: T, repeated: number) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** Number of events to report with the row of this event; undefined if it must have no row. */
  take(key: string, subject: T): number | undefined {
    this.#turn();
    const entry = this.#entries.get(key);
    if (entry?.minute === this.#minute) {
      entry.repeated += 1;
      this.#timer ??= setTimeout(() => this.#flushLater(), MINUTE_MS).unref();
      return undefined;
    }
    if (this.#rows >= STREAM_LIMITS.refusalsPerMinute) {
      this.#others += 1;
      return undefined;
    }
    this.#rows += 1;
    const leftOut = (entry?.repeated ?? 0) + this.#others;
    this.#others = 0;
    this.#entries.set(key, { subject, minute: this.#minute, repeated: 0 });
    return leftOut;
  }

  /** Writes the repetitions of minutes that have ended. */
  flush(): void {
    this.#turn();
    for (const [key, { subject, minute, repeated }] of this.#entries) {
      if (minute === this.#minute) continue;
      this.#entries.delete(key);
      if (repeated > 0) this.write(subject, repeated);
    }
  }

  #flushLater(): void {
    this.#timer = undefined;
    this.flush();
    if (this.#entries.size > 0) this.#timer = setTimeout(() => this.#flushLater(), MINUTE_MS).unref();
  }

  #turn(): void {
    const minute = Math.floor(this.now() / MINUTE_MS);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#rows = 0;
    // Only entries with repetitions are reported.
    for (const [key, { repeated }] of this.#entries) if (repeated === 0) this.#entries.delete(key);
  }
}
