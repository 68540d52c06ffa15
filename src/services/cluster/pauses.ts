import { performance } from 'node:perf_hooks';
import { ApiError } from '../../core/errors/errors.js';

export interface PausesOptions {
  /** Takes over all changes of the state that were announced. Rejects if it cannot read them. */
  catchUp(): Promise<void>;
  /** Milliseconds of a clock that never goes back. */
  now?(): number;
  /** Milliseconds since 1970. A machine that slept sees its sleep only here. */
  wallClock?(): number;
  /** Milliseconds for which requests wait for the state. */
  patienceMs?: number;
  /** Milliseconds after its last contact with the state for which the process uses what it remembers. Absent: without end. */
  graceMs?: number;
  /** The same for requests that change something. */
  changeGraceMs?: number;
}

/** The time that a change waits for other processes (`Cluster.settle`). A process that stood still for less did not delay its answer. */
const MAX_PAUSE_MS = 1000;
const TICK_MS = 200;
const PATIENCE_MS = 5000;

/**
 * Notices that the process stood still for longer than a change of the state waits for it (a stopped process, a frozen
 * machine), or that it has not reached the state for longer than its settings allow. What it remembers of keys and rules may
 * be old then, so it reads the changes before it uses them again.
 */
export class Pauses {
  readonly #options: PausesOptions;
  readonly #now: () => number;
  readonly #wallClock: () => number;
  readonly #timer: NodeJS.Timeout;
  #seenAt: number;
  #contactAt: number;
  #seenWall: number;
  #count = 0;
  /** The number of pauses after which the changes were read. */
  #caughtUp = 0;
  /** Others may have stopped waiting for this process since it last read the changes. */
  #isCutOff = false;
  #reading: Promise<void> | undefined;

  constructor(options: PausesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#wallClock = options.wallClock ?? (() => Date.now());
    this.#seenAt = this.#now();
    this.#contactAt = this.#seenAt;
    this.#seenWall = this.#wallClock();
    this.#timer = setInterval(() => void this.currentForChanges(), TICK_MS).unref();
  }

  /**
   * Undefined if what is remembered of the state may be used; else resolves when it may. Rejects with `unavailable` if the
   * changes cannot be read.
   */
  current(): Promise<void> | undefined {
    this.#look();
    return this.#caughtUp === this.#count ? undefined : this.#startReading();
  }

  /** As `current`, for requests that change something: their callers may have lost their rights elsewhere meanwhile. */
  currentForChanges(): Promise<void> | undefined {
    this.#look();
    return this.#caughtUp === this.#count && !this.#isCutOff ? undefined : this.#startReading();
  }

  #startReading(): Promise<void> {
    if (!this.#reading) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      // Nobody may wait for it.
      this.#reading.catch(() => {});
    }
    return this.#reading;
  }

  /** The state has answered what was sent to it at a time of `performance.now`; now by default. */
  noteContact(at = this.#now()): void {
    this.#contactAt = at;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const [at, wall] = [this.#now(), this.#wallClock()];
    const { changeGraceMs = Infinity } = this.#options;
    if (at - this.#contactAt > changeGraceMs) this.#isCutOff = true;
    if (at - this.#seenAt > MAX_PAUSE_MS || wall - this.#seenWall > MAX_PAUSE_MS) this.#count += 1;
    else if (this.#caughtUp === this.#count && at - this.#contactAt > (this.#options.graceMs ?? Infinity))
      this.#count += 1;
    this.#seenAt = at;
    this.#seenWall = wall;
  }

  /** What was read before another pause is old as well. */
  async #read(): Promise<void> {
    while (this.#caughtUp !== this.#count || this.#isCutOff) {
      const [count, begun] = [this.#count, this.#now()];
      await this.#inTime(this.#options.catchUp());
      this.noteContact(begun);
      this.#isCutOff = false;
      this.#look();
      if (count === this.#count) this.#caughtUp = count;
    }
  }

  async #inTime(catchUp: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('late')), this.#options.patienceMs ?? PATIENCE_MS);
    });
    try {
      await Promise.race([catchUp, late]);
    } catch {
      throw new ApiError('unavailable', STALE, { headers: { 'retry-after': RETRY_SECONDS } });
    } finally {
      clearTimeout(timer);
    }
  }
}

const RETRY_SECONDS = '5';
const STALE =
  'The server was paused or disconnected from its state, and cannot read the changes since then. Send the request again.';
