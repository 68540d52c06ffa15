import { TaskFailure } from '../../core/errors/failure.js';

/** Tasks that may always wait, however slow the queue is. */
const ALWAYS = 8;
/** Weight of the newest interval in the average. */
const WEIGHT = 0.05;

/** Speed of a queue, from which the waiting time of one more task is estimated. */
export class Pace {
  /** Average milliseconds between the ends of two tasks while other tasks wait. */
  #interval = 0;
  /** End of the last task. Undefined if no task waited then. */
  #last: number | undefined;

  /** Records the end of a task. `waiting` is the number of tasks that still wait. */
  ended(waiting: number): void {
    const now = performance.now();
    if (this.#last !== undefined) this.#interval += (now - this.#last - this.#interval) * WEIGHT;
    this.#last = waiting > 0 ? now : undefined;
  }

  /** Call it when workers have ended, because the time until their return does not depend on the tasks. */
  interrupted(): void {
    this.#last = undefined;
  }

  /** Returns the milliseconds that a task would wait behind `waiting` other tasks. */
  waitMs(waiting: number): number {
    if (waiting < ALWAYS) return 0;
    // A stopped queue counts as slow as its time without progress.
    const standing = this.#last === undefined ? 0 : (performance.now() - this.#last) * WEIGHT;
    return waiting * Math.max(this.#interval, standing);
  }
}

/** Refuses a task that would have to wait so many milliseconds, or that finds no place. */
export function busy(waitMs: number): TaskFailure {
  return new TaskFailure(
    'queue-full',
    'The server is busy. Retry in a few seconds.',
    undefined,
    waitMs || undefined,
  );
}
