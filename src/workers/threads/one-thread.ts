import { Piscina } from 'piscina';
import { TaskFailure } from '../../core/errors/failure.js';
import { BACKGROUND, type Caller } from '../../core/kit/callers.js';
import type { WorkerReport } from '../../core/observability/worker-report.js';
import type { PoolStatus, TaskInput, TaskName, TaskOptions, TaskOutput } from '../../core/tasks/tasks.js';
import { Cancellation, type CancellationFlag } from './cancellation.js';
import { failureFrom, type TaskResponse } from './failure.js';
import { FairLane, type LaneTask } from './fair-lane.js';
import { busy } from './pace.js';

/** Milliseconds without work after which the thread ends. */
const IDLE_MS = 10_000;

/** Message to the thread for one task. */
export interface OneThreadMessage<N extends TaskName> {
  name: N;
  input: unknown;
  flag: CancellationFlag;
}

export interface OneThreadOptions {
  name: string;
  /** Module of the thread, whose default export runs a task and returns a `TaskResponse`. */
  worker: URL;
  /** Data that the thread receives at its start. */
  workerData?: unknown;
  /** Requests of clients that may wait; more are refused. */
  maxQueue?: number;
  /** Maximum number of threads. Default: 1. */
  threads?: number;
  /** Whether the thread remains without work. */
  isKept?: boolean;
  /** Maximum number of tasks that run at the same time in a thread: above 1 for tasks that wait for other servers or disks. Default: 1. */
  concurrency?: number;
  /** Memory of an input that moves to the thread. Default: inputs are copied. */
  listMemory?(input: unknown): ArrayBuffer[];
  /** Called with the report of a thread that sends one with its responses. */
  onReport?(report: WorkerReport): void;
}

/** A task until it ends. */
interface Turn extends LaneTask {
  giveUp(failure: TaskFailure): void;
}

function cancelled(): TaskFailure {
  return new TaskFailure('cancelled', 'The task was cancelled.');
}

/**
 * Pool of few threads (by default one) for occasional tasks. Unless `isKept`, a thread ends when it has no work. Archives take minutes to write, and
 * glyphs are generated once; threads that serve requests do not have the time.
 */
export class OccasionalPool<Names extends TaskName> {
  readonly #pool: Piscina;
  readonly #lane: FairLane<Turn>;

  constructor(private readonly options: OneThreadOptions) {
    const { concurrency = 1, threads = 1 } = options;
    const common = concurrency * threads;
    // Threads that wait accept one more task; threads that compute run one task after the other.
    const reserved = concurrency > 1 ? 1 : 0;
    this.#lane = new FairLane({ common, reserved, heavy: Number.POSITIVE_INFINITY });
    this.#pool = new Piscina({
      filename: options.worker.href,
      workerData: options.workerData,
      minThreads: options.isKept ? 1 : 0,
      maxThreads: threads,
      concurrentTasksPerWorker: concurrency + reserved,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      recordTiming: false,
    });
  }

  async run<N extends Names>(
    name: N,
    input: TaskInput<N>,
    { signal, caller = BACKGROUND }: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    if (signal?.aborted) throw cancelled();
    const turn = await this.#turn(caller, signal);
    const cancellation = new Cancellation();
    const message: OneThreadMessage<N> = { name, input, flag: cancellation.shared };
    const stop = () => cancellation.request();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const answer = (await this.#pool.run(message, {
        transferList: this.options.listMemory?.(input) ?? [],
      })) as TaskResponse<TaskOutput<N>>;
      if (answer.report) this.options.onReport?.(answer.report);
      if (answer.ok) return answer.value;
      throw failureFrom(answer.failure);
    } catch (error) {
      if (error instanceof TaskFailure) throw error;
      throw new TaskFailure('worker-lost', 'A worker stopped unexpectedly.', String(error));
    } finally {
      signal?.removeEventListener('abort', stop);
      this.#lane.ended(turn);
      this.#next();
    }
  }

  /** Resolves when it is the caller's turn. Rejects when the queue is full, or the task is cancelled first. */
  #turn(caller: Caller, signal: AbortSignal | undefined): Promise<Turn> {
    const { queue } = this.#lane;
    return new Promise((resolve, reject) => {
      const leave = () => turn.giveUp(cancelled());
      const turn: Turn = {
        caller,
        heavy: false,
        start: () => {
          signal?.removeEventListener('abort', leave);
          resolve(turn);
        },
        giveUp: (failure) => {
          queue.remove(turn);
          signal?.removeEventListener('abort', leave);
          reject(failure);
        },
      };
      const { maxQueue = Number.POSITIVE_INFINITY } = this.options;
      if (!this.#lane.hasRoom(turn, maxQueue)) {
        const displaced = queue.displaced(caller);
        if (!displaced) return reject(busy(0));
        displaced.giveUp(busy(0));
      }
      signal?.addEventListener('abort', leave, { once: true });
      queue.push(turn);
      this.#next();
    });
  }

  #next(): void {
    while (this.#lane.next());
  }

  /** A thread that does not run because there is no work counts as healthy. */
  status(): PoolStatus {
    const workers = this.#pool.threads.length;
    const { queue, seats } = this.#lane;
    return {
      name: this.options.name,
      workers,
      queued: queue.size,
      running: seats.running,
      healthy: true,
    };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
