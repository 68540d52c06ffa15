import type { Caller, CallerClass } from '../../core/kit/callers.js';

/** A task that takes a seat while it runs. */
export interface Sitter {
  readonly caller: Caller;
  /** It is estimated to take much time or memory. Constant while the task runs. */
  readonly heavy: boolean;
}

export interface SeatOptions {
  /** Seats for everyone. */
  readonly common: number;
  /** Further seats for callers with a key, while the common ones are taken. */
  readonly reserved: number;
  /** Callers with a key take these before the common ones, except for heavy tasks. */
  readonly reservedFirst?: boolean;
  /** Heavy tasks that run at the same time; callers with a key may run one more. */
  readonly heavy: number;
}

/** Milliseconds without a client's task after which background work may take all common seats. */
const QUIET_MS = 2000;

export type Seat = 'common' | 'reserved';

/**
 * Seats in front of something that runs a few tasks at the same time and cannot interrupt them. Callers without a key never
 * take all of them, and heavy tasks leave some to light ones. While clients send requests, background work leaves a common
 * seat to them, if there are several.
 */
export class Seats {
  #common = 0;
  #heavy = 0;
  #background = 0;
  /** When a task of a client last took or left a seat. */
  #clientAt = Number.NEGATIVE_INFINITY;
  readonly #reserved = new Set<Sitter>();
  readonly #byCaller = new Map<string, number>();

  constructor(private readonly options: SeatOptions) {}

  get running(): number {
    return this.#common + this.#reserved.size;
  }

  /** Whether a class of callers may have any seat now. */
  hasSeat(name: CallerClass): boolean {
    const { common, reserved } = this.options;
    if (name === 'keyed' && this.#reserved.size < reserved) return true;
    return this.#common < common && (name !== 'background' || this.#background < this.#maxBackground);
  }

  /** The seat that a task may take now; undefined: it has to wait. */
  free({ caller, heavy }: Sitter): Seat | undefined {
    const { common, reserved, reservedFirst, heavy: maxHeavy } = this.options;
    const isKeyed = caller.class === 'keyed';
    if (caller.class === 'background' && this.#background >= this.#maxBackground) return undefined;
    if (heavy && this.#heavy >= maxHeavy + (isKeyed ? 1 : 0)) return undefined;
    const hasReserved = isKeyed && this.#reserved.size < reserved;
    if (hasReserved && reservedFirst && !heavy) return 'reserved';
    if (this.#common < common) return 'common';
    // A caller that floods the server with heavy tasks leaves these seats to other callers.
    return hasReserved && !(heavy && this.#runsOf(caller) > 0) ? 'reserved' : undefined;
  }

  sit(sitter: Sitter, seat: Seat): void {
    if (seat === 'reserved') this.#reserved.add(sitter);
    else this.#common++;
    if (sitter.heavy) this.#heavy++;
    this.#note(sitter, 1);
    this.#byCaller.set(buildKey(sitter.caller), this.#runsOf(sitter.caller) + 1);
  }

  leave(sitter: Sitter): void {
    if (!this.#reserved.delete(sitter)) this.#common--;
    if (sitter.heavy) this.#heavy--;
    this.#note(sitter, -1);
    const left = this.#runsOf(sitter.caller) - 1;
    if (left > 0) this.#byCaller.set(buildKey(sitter.caller), left);
    else this.#byCaller.delete(buildKey(sitter.caller));
  }

  get #maxBackground(): number {
    const { common } = this.options;
    const isQuiet = performance.now() - this.#clientAt > QUIET_MS;
    return isQuiet ? common : Math.max(1, common - 1);
  }

  #note({ caller }: Sitter, change: 1 | -1): void {
    if (caller.class === 'background') this.#background += change;
    else this.#clientAt = performance.now();
  }

  #runsOf(caller: Caller): number {
    return this.#byCaller.get(buildKey(caller)) ?? 0;
  }
}

const buildKey = ({ class: name, id }: Caller) => `${name} ${id}`;
