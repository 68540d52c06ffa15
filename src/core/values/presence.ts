/** A time of presence without a break, as threads are told of it. */
export interface PresenceMark {
  readonly shared: SharedArrayBuffer;
  readonly period: number;
}

/** What a request holds that others may be told is lost. */
export interface Hold {
  readonly mark: PresenceMark;
  /** Makes the process present again: another mark, or nothing where others were told that the request is lost. */
  renew(): Promise<PresenceMark | undefined>;
}

const UNTIL = 0;
const PERIOD = 1;

/**
 * Until when others count on this process, in memory that its threads read. Who was paused, or cut off, finds out before it
 * does what others were told is lost: each break begins another period.
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

/** Whether others have counted on this process since a mark was made, and still do. */
export function isPresent({ shared, period }: PresenceMark): boolean {
  const values = new Float64Array(shared);
  return values[PERIOD] === period && monotonicMs() <= values[UNTIL]!;
}

/** Milliseconds of a clock that all threads of a process share; it goes on while the process is paused. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
