import { Piscina } from 'piscina';
import {
  type PoolStatus,
  TaskFailure,
  type TaskInput,
  type TaskOptions,
  type TaskOutput,
} from '../../core/tasks.js';
import { Cancellation } from '../cancellation.js';
import { type Answer, failureFrom } from '../failure.js';
import type { ArchiveMessage, ArchiveTaskName } from './worker.js';

/** Milliseconds without work after which the thread ends. */
const IDLE_MS = 10_000;

/**
 * One thread that writes tile archives, there only while one is written: completing a large archive takes minutes,
 * which no thread that answers requests has to spare.
 */
export class ArchivePool {
  readonly #pool = new Piscina({
    filename: new URL('./worker.js', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_MS,
    atomics: 'disabled',
    recordTiming: false,
  });
  #running = 0;

  async run<N extends ArchiveTaskName>(
    name: N,
    input: TaskInput<N>,
    { signal }: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    if (signal?.aborted) throw new TaskFailure('cancelled', 'The task was cancelled.');
    const cancellation = new Cancellation();
    const message: ArchiveMessage = { name, input, flag: cancellation.shared };
    const stop = () => cancellation.request();
    signal?.addEventListener('abort', stop, { once: true });
    this.#running++;
    try {
      const answer = (await this.#pool.run(message)) as Answer<TaskOutput<N>>;
      if (answer.ok) return answer.value;
      throw failureFrom(answer.failure);
    } catch (error) {
      if (error instanceof TaskFailure) throw error;
      throw new TaskFailure('worker-lost', 'A worker stopped unexpectedly.', String(error));
    } finally {
      this.#running--;
      signal?.removeEventListener('abort', stop);
    }
  }

  /** A thread that is not there for lack of work is healthy. */
  status(): PoolStatus {
    const workers = this.#pool.threads.length;
    const running = Math.min(1, this.#running);
    return { name: 'archive', workers, queued: this.#running - running, running, healthy: true };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
