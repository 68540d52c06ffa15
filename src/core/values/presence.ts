/** An uninterrupted period of presence, in a form that can be passed to threads. */
export interface PresenceMark {
  readonly shared: SharedArrayBuffer;
  readonly period: number;
}

/** The lease of a request, which other processes may report as lost. */
export interface Hold {
  readonly mark: PresenceMark;
  /**
   * Renews the presence of the process. Returns a new mark, or undefined if others were told that the request is
   * lost.
   */
  renew(): Promise<PresenceMark | undefined>;
}

const UNTIL = 0;
const PERIOD = 1;

/**
 * The time until which others rely on this process, in memory that its threads can read. A process that was paused or
 * disconnected notices this before it completes work that others were told is lost: each interruption starts a new
 * period.
 */
export class Presence {
  readonly #shared = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT);
  readonly #values = new Float64Array(this.#shared);

  constructor() {
    this.#values[UNTIL] = Number.POSITIVE_INFINITY;
  }

  /** `until` is a time of `monotonicMs`. */
  prolong(until: number): void {
    if (monotonicMs() > this.#values[UNTIL]!) this.#values[PERIOD]! += 1;
    this.#values[UNTIL] = until;
  }

  mark(): PresenceMark {
    return { shared: this.#shared, period: this.#values[PERIOD]! };
  }
}

/** Whether others have relied on this process without interruption since the mark was made. */
export function isPresent({ shared, period }: PresenceMark): boolean {
  const values = new Float64Array(shared);
  return values[PERIOD] === period && monotonicMs() <= values[UNTIL]!;
}

/** Milliseconds of a clock that all threads of a process share. It continues while the process is paused. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
