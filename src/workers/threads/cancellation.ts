/** A flag that the thread that owns a task raises and the thread that runs it reads between its steps. */

import { TaskFailure } from '../../core/errors/failure.js';

/** Milliseconds between two checks of the flag for a call that cannot check it itself. */
const WATCH_MS = 20;

/** Shared memory of one flag; crosses to worker threads with the task. */
export type CancellationFlag = SharedArrayBuffer;

export class Cancellation {
  readonly #flag: Int32Array;

  constructor(readonly shared: CancellationFlag = new SharedArrayBuffer(4)) {
    this.#flag = new Int32Array(shared);
  }

  request(): void {
    Atomics.store(this.#flag, 0, 1);
  }

  get requested(): boolean {
    return Atomics.load(this.#flag, 0) === 1;
  }

  /** Throws `cancelled` once cancellation was requested. To be called at safe points. */
  check(): void {
    if (this.requested) throw new TaskFailure('cancelled', 'The task was cancelled.');
  }

  /** Calls `stop` from the time of the request on, again and again until the returned function is called. */
  onRequest(stop: () => void): () => void {
    const timer = setInterval(() => {
      if (this.requested) stop();
    }, WATCH_MS);
    return () => clearInterval(timer);
  }
}
