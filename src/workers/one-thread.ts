import { Piscina } from 'piscina';
import { TaskFailure } from '../core/failure.js';
import type { PoolStatus, TaskInput, TaskName, TaskOptions, TaskOutput } from '../core/tasks.js';
import { Cancellation, type CancellationFlag } from './cancellation.js';
import { type Answer, failureFrom } from './failure.js';
import { busy } from './pace.js';

/** Milliseconds without work after which the thread ends. */
const IDLE_MS = 10_000;

/** What the thread is called with. */
export interface OneThreadMessage<N extends TaskName> {
  name: N;
  input: unknown;
  flag: CancellationFlag;
}

export interface OneThreadOptions {
  name: string;
  /** The thread's module, whose default export runs a task and answers an `Answer`. */
  worker: URL;
  /** What the thread knows from its start. */
  workerData?: unknown;
  /** Tasks that may wait; more are refused. */
  maxQueue?: number;
  /** Threads at most; one when absent. */
  threads?: number;
  /** The thread stays when it has no work. */
  isKept?: boolean;
  /** Tasks that the thread has begun at a time, where they wait for others; one when absent. */
  concurrency?: number;
}

/**
 * One thread for what is wanted now and then, there only while it has work: archives take minutes to write, and glyphs are
 * made once, for which no thread that answers requests has the time.
 */
export class OneThreadPool<Names extends TaskName> {
  readonly #pool: Piscina;
  #running = 0;

  constructor(private readonly options: OneThreadOptions) {
    this.#pool = new Piscina({
      filename: options.worker.href,
      workerData: options.workerData,
      minThreads: options.isKept ? 1 : 0,
      maxThreads: options.threads ?? 1,
      concurrentTasksPerWorker: options.concurrency ?? 1,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      recordTiming: false,
    });
  }

  async run<N extends Names>(
    name: N,
    input: TaskInput<N>,
    { signal }: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    if (signal?.aborted) throw new TaskFailure('cancelled', 'The task was cancelled.');
    if (this.#running > (this.options.maxQueue ?? Number.POSITIVE_INFINITY)) throw busy(0);
    const cancellation = new Cancellation();
    const message: OneThreadMessage<N> = { name, input, flag: cancellation.shared };
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
    const { concurrency = 1, threads = 1 } = this.options;
    const running = Math.min(concurrency * threads, this.#running);
    return { name: this.options.name, workers, queued: this.#running - running, running, healthy: true };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
