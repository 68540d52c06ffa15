/** A queue in front of something that runs a few tasks at once and cannot be interrupted. */

import { TaskFailure } from '../../core/failure.js';
import { Cancellation } from '../cancellation.js';

export interface LaneOptions {
  name: string;
  /** Tasks that run at once. */
  concurrency: number;
  /** Tasks that may wait; one more fails with `queue-full`. */
  maxQueue: number;
  /** How long a task may go on running after it was given up, before the lane counts as stuck. */
  graceMs: number;
  /** Called once per task that is still running after the grace period. */
  onStuck: (reason: string) => void;
}

export interface LaneTaskOptions {
  signal?: AbortSignal;
  deadlineMs?: number;
}

interface Entry {
  start(): void;
}

/**
 * Runs tasks in the order they came. A waiting task is dropped at once when it is cancelled or its deadline passes.
 * A running one cannot be stopped from outside: its caller is answered at once all the same, the cancellation is
 * raised for it to see, and its place stays taken until it really ends.
 */
export class Lane {
  readonly #waiting: Entry[] = [];
  #running = 0;

  constructor(private readonly options: LaneOptions) {}

  get queued(): number {
    return this.#waiting.length;
  }

  get running(): number {
    return this.#running;
  }

  run<T>(
    body: (cancellation: Cancellation) => Promise<T>,
    { signal, deadlineMs }: LaneTaskOptions = {},
  ): Promise<T> {
    const { concurrency, maxQueue, name } = this.options;
    if (signal?.aborted) return Promise.reject(cancelled());
    if (deadlineMs !== undefined && deadlineMs <= 0) return Promise.reject(tooLate());
    if (this.#running >= concurrency && this.#waiting.length >= maxQueue) {
      return Promise.reject(
        new TaskFailure('queue-full', 'The server is busy: too many tasks are waiting.', `lane ${name}`),
      );
    }
    return new Promise<T>((resolve, reject) => {
      const cancellation = new Cancellation();
      let started = false;
      let ended = false;
      let stuckTimer: NodeJS.Timeout | undefined;
      const giveUp = (failure: TaskFailure) => {
        unhook();
        reject(failure);
        cancellation.request();
        if (!started) this.#forget(entry);
        else if (!ended) stuckTimer = this.#watch(failure);
      };
      const onAbort = () => giveUp(cancelled());
      const deadline = deadlineMs === undefined ? undefined : setTimeout(() => giveUp(tooLate()), deadlineMs);
      const unhook = () => {
        clearTimeout(deadline);
        signal?.removeEventListener('abort', onAbort);
      };
      const entry: Entry = {
        start: () => {
          started = true;
          this.#running += 1;
          body(cancellation)
            .then(resolve, reject)
            .finally(() => {
              ended = true;
              unhook();
              clearTimeout(stuckTimer);
              this.#running -= 1;
              this.#startNext();
            });
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(entry);
      this.#startNext();
    });
  }

  #startNext(): void {
    while (this.#running < this.options.concurrency) {
      const entry = this.#waiting.shift();
      if (!entry) return;
      entry.start();
    }
  }

  #forget(entry: Entry): void {
    const index = this.#waiting.indexOf(entry);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  #watch(failure: TaskFailure): NodeJS.Timeout {
    const { graceMs, name, onStuck } = this.options;
    const reason = `a ${name} task still runs ${graceMs} ms after it was given up (${failure.code})`;
    return setTimeout(() => onStuck(reason), graceMs).unref();
  }
}

function cancelled(): TaskFailure {
  return new TaskFailure('cancelled', 'The task was cancelled.');
}

function tooLate(): TaskFailure {
  return new TaskFailure('deadline-exceeded', 'The task did not finish in time.');
}
