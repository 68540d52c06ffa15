import { Piscina } from 'piscina';
import {
  type PoolStatus,
  TaskFailure,
  type TaskInput,
  type TaskOptions,
  type TaskOutput,
} from '../../core/tasks.js';
import { type Answer, failureFrom } from '../failure.js';
import { packed } from './sources.js';
import type { VectorTaskName } from './worker.js';

interface Waiting {
  name: VectorTaskName;
  input: unknown;
  settle(answer: Answer): void;
  fail(error: TaskFailure): void;
  done: boolean;
}

export interface VectorPoolOptions {
  threads: number;
  /** Tasks that may wait; more are refused with `queue-full`. */
  maxQueue: number;
}

/**
 * Threads that read and encode vector data. Tasks wait in our own queue, so that abort and deadline only ever
 * drop tasks that have not begun: a thread inside SQLite is never torn down.
 */
export class VectorPool {
  readonly #pool: Piscina;
  readonly #queue: Waiting[] = [];
  readonly #options: VectorPoolOptions;
  #running = 0;

  constructor(options: VectorPoolOptions) {
    this.#options = options;
    this.#pool = new Piscina({
      filename: new URL('./worker.js', import.meta.url).href,
      minThreads: options.threads,
      maxThreads: options.threads,
      concurrentTasksPerWorker: 1,
    });
  }

  run<N extends VectorTaskName>(
    name: N,
    input: TaskInput<N>,
    options: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    if (options.signal?.aborted)
      return Promise.reject(new TaskFailure('cancelled', 'The request was cancelled.'));
    if (this.#queue.length >= this.#options.maxQueue) {
      return Promise.reject(new TaskFailure('queue-full', 'The server is busy; try again soon.'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push(this.#waiting(name, input, options, resolve as (value: unknown) => void, reject));
      this.#next();
    });
  }

  #waiting(
    name: VectorTaskName,
    input: unknown,
    options: TaskOptions,
    resolve: (value: unknown) => void,
    reject: (error: TaskFailure) => void,
  ): Waiting {
    let timer: NodeJS.Timeout | undefined;
    const abort = () => task.fail(new TaskFailure('cancelled', 'The request was cancelled.'));
    const finish = () => {
      task.done = true;
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
    };
    const task: Waiting = {
      name,
      input,
      done: false,
      settle(answer) {
        if (task.done) return;
        finish();
        if (answer.ok) resolve(answer.value);
        else reject(failureFrom(answer.failure));
      },
      fail: (error) => {
        if (task.done) return;
        finish();
        // One that never began must not hold a place in the queue.
        const place = this.#queue.indexOf(task);
        if (place >= 0) this.#queue.splice(place, 1);
        reject(error);
      },
    };
    options.signal?.addEventListener('abort', abort, { once: true });
    if (options.deadlineMs !== undefined) {
      const late = () => task.fail(new TaskFailure('deadline-exceeded', 'The request took too long.'));
      timer = setTimeout(late, options.deadlineMs);
    }
    return task;
  }

  #next(): void {
    while (this.#running < this.#options.threads) {
      const task = this.#queue.shift();
      if (!task) return;
      if (!task.done) void this.#start(task);
    }
  }

  async #start(task: Waiting): Promise<void> {
    this.#running++;
    try {
      task.settle((await this.#pool.run({ name: task.name, input: packed(task.input) })) as Answer);
    } catch (error) {
      task.fail(new TaskFailure('worker-lost', 'A worker stopped unexpectedly.', String(error)));
    } finally {
      this.#running--;
      this.#next();
    }
  }

  status(): PoolStatus {
    return {
      name: 'vector',
      workers: this.#pool.threads.length,
      queued: this.#queue.length,
      running: this.#running,
      healthy: this.#pool.threads.length > 0,
    };
  }

  async close(): Promise<void> {
    for (const task of this.#queue.splice(0))
      task.fail(new TaskFailure('cancelled', 'The server is stopping.'));
    await this.#pool.close();
  }
}
