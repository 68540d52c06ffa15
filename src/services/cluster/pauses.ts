import { performance } from 'node:perf_hooks';
import { ApiError } from '../../core/errors/errors.js';

export interface PausesOptions {
  /** Applies all announced changes of the state. Rejects if it cannot read them. */
  catchUp(): Promise<void>;
  /** Milliseconds of a monotonic clock. */
  now?(): number;
  /** Milliseconds since 1970. A machine that slept sees its sleep only here. */
  wallClock?(): number;
  /** Milliseconds for which requests wait for the state. */
  patienceMs?: number;
  /** Milliseconds after its last contact with the state in which the process uses cached data. Default: no limit. */
  graceMs?: number;
  /** Milliseconds of the same kind for requests that make changes. */
  changeGraceMs?: number;
}

/**
 * Milliseconds that a change waits for other processes (`Cluster.settle`). A process that paused for less has not
 * delayed a response.
 */
const MAX_PAUSE_MS = 1000;
const TICK_MS = 200;
const PATIENCE_MS = 5000;

/**
 * Detects pauses of the process that are longer than a change of the state waits for it (a stopped process, a frozen
 * machine). Also detects that it has had no contact with the state for longer than its settings permit. Cached keys
 * and rules can then be outdated, so the process reads the changes before it uses them again.
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
  /** Whether other processes may have stopped waiting for this process since it last read the changes. */
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
   * Undefined if cached data of the state can be used; otherwise resolves when it can. Rejects with `unavailable` if
   * the changes cannot be read.
   */
  current(): Promise<void> | undefined {
    this.#look();
    return this.#caughtUp === this.#count ? undefined : this.#startReading();
  }

  /** Like `current`, for requests that make changes: other servers may have revoked rights of their callers. */
  currentForChanges(): Promise<void> | undefined {
    this.#look();
    return this.#caughtUp === this.#count && !this.#isCutOff ? undefined : this.#startReading();
  }

  #startReading(): Promise<void> {
    if (!this.#reading) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      // It is possible that no caller waits for it.
      this.#reading.catch(() => {});
    }
    return this.#reading;
  }

  /** Records a contact: the state responded to a request sent at this time of `performance.now`. Default: now. */
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

  /** Reads the changes. After another pause they are read again, because they are outdated. */
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
