import { TaskFailure } from '../../core/errors/failure.js';

/** Tasks that may always wait, however slow the queue is. */
const ALWAYS = 8;
/** Weight of the newest interval in the average. */
const WEIGHT = 0.05;

/** How fast a queue moves, and so how long one more task would wait in it. */
export class Pace {
  /** Average milliseconds between two tasks that end while others wait. */
  #interval = 0;
  /** When the last task ended; undefined when nobody waited then. */
  #last: number | undefined;

  /** To be called when a task ends, with the number of those that still wait. */
  ended(waiting: number): void {
    const now = performance.now();
    if (this.#last !== undefined) this.#interval += (now - this.#last - this.#interval) * WEIGHT;
    this.#last = waiting > 0 ? now : undefined;
  }

  /** To be called when workers went away: the time until they are back says nothing of the tasks. */
  interrupted(): void {
    this.#last = undefined;
  }

  /** Milliseconds that a task would wait behind so many others. */
  waitMs(waiting: number): number {
    if (waiting < ALWAYS) return 0;
    // A queue that stands still is as slow as it has been waiting.
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
