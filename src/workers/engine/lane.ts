/** Queue for a resource that runs a few tasks at the same time and cannot be interrupted. */

import { TaskFailure } from '../../core/errors/failure.js';
import { BACKGROUND, type Caller } from '../../core/kit/callers.js';
import { Cancellation } from '../threads/cancellation.js';
import { FairLane, type LaneTask } from '../threads/fair-lane.js';

export interface LaneOptions {
  name: string;
  /** Tasks that run at the same time. */
  concurrency: number;
  /** Number of additional tasks of callers with a key. Default: 0. */
  reserved?: number;
  /** Maximum number of heavy tasks among them. Default: no limit. */
  heavy?: number;
  /** Maximum number of waiting client requests. Further requests fail with `queue-full`. */
  maxQueue: number;
  /** Milliseconds that an abandoned task can continue to run before the lane counts as stuck. */
  graceMs: number;
  /** Called once per task that is still running after the grace period. */
  onStuck: (reason: string) => void;
}

export interface LaneTaskOptions {
  /** Default: `BACKGROUND`. */
  caller?: Caller;
  heavy?: boolean;
  signal?: AbortSignal;
  deadlineMs?: number;
}

interface Entry extends LaneTask {
  begin(): void;
  giveUp(failure: TaskFailure): void;
}

/**
 * Runs tasks in turns of their callers. A waiting task is dropped immediately when it is cancelled or its deadline
 * passes. A running task cannot be stopped from outside. Its caller gets the failure immediately, the task's
 * cancellation is set, and its place remains occupied until the task really ends.
 */
export class TaskLane {
  readonly #lane: FairLane<Entry>;

  constructor(private readonly options: LaneOptions) {
    const { concurrency: common, reserved = 0, heavy = Number.POSITIVE_INFINITY } = options;
    this.#lane = new FairLane({ common, reserved, heavy });
  }

  get queued(): number {
    return this.#lane.queue.size;
  }

  get running(): number {
    return this.#lane.seats.running;
  }

  run<T>(
    body: (cancellation: Cancellation) => Promise<T>,
    { signal, deadlineMs, caller = BACKGROUND, heavy = false }: LaneTaskOptions = {},
  ): Promise<T> {
    const { maxQueue, name } = this.options;
    if (signal?.aborted) return Promise.reject(cancelled());
    if (deadlineMs !== undefined && deadlineMs <= 0) return Promise.reject(tooLate());
    if (!this.#lane.hasRoom({ caller, heavy }, maxQueue)) {
      const displaced = this.#lane.queue.displaced(caller);
      if (!displaced) return Promise.reject(full(name));
      displaced.giveUp(full(name));
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
        if (!started) this.#lane.queue.remove(entry);
        else if (!ended) stuckTimer = this.#watch(failure);
      };
      const onAbort = () => giveUp(cancelled());
      const deadline = deadlineMs === undefined ? undefined : setTimeout(() => giveUp(tooLate()), deadlineMs);
      const unhook = () => {
        clearTimeout(deadline);
        signal?.removeEventListener('abort', onAbort);
      };
      const entry: Entry = {
        caller,
        heavy,
        giveUp,
        begin: () => {
          started = true;
          body(cancellation)
            .then(resolve, reject)
            .finally(() => {
              ended = true;
              unhook();
              clearTimeout(stuckTimer);
              this.#lane.ended(entry);
              this.#startNext();
            });
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#lane.queue.push(entry);
      this.#startNext();
    });
  }

  #startNext(): void {
    for (let next = this.#lane.next(); next; next = this.#lane.next()) next.task.begin();
  }

  #watch(failure: TaskFailure): NodeJS.Timeout {
    const { graceMs, name, onStuck } = this.options;
    const reason = `a ${name} task still runs ${graceMs} ms after it was cancelled (${failure.code})`;
    return setTimeout(() => onStuck(reason), graceMs).unref();
  }
}

function full(name: string): TaskFailure {
  return new TaskFailure(
    'queue-full',
    'The server is busy: too many tasks are waiting. Retry in a few seconds.',
    `lane ${name}`,
  );
}

function cancelled(): TaskFailure {
  return new TaskFailure('cancelled', 'The task was cancelled.');
}

function tooLate(): TaskFailure {
  return new TaskFailure(
    'deadline-exceeded',
    'The task did not finish in time. Request less, or retry later.',
  );
}
