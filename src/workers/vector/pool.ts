import { Piscina } from 'piscina';
import { ConnectionCounts, sumOfCounts } from '../../core/connection-counts.js';
import { type Retention, USUAL_RETENTION } from '../../core/events.js';
import { TaskFailure } from '../../core/failure.js';
import type { PoolStatus, TaskInput, TaskOptions, TaskOutput } from '../../core/tasks.js';
import type { VectorTileResult, VectorTileTask } from '../../core/vector-tasks.js';
import { Cancellation } from '../cancellation.js';
import { type Answer, failureFrom } from '../failure.js';
import { busy, Pace } from '../pace.js';
import { OverviewQueue } from './overviews.js';
import { FILES, type LaneName, laneOf, placeFor, ThreadLoad } from './placing.js';
import { packed } from './sources.js';
import type { VectorMessage, VectorTaskName, VectorThreadData } from './worker.js';

interface Waiting {
  name: VectorTaskName;
  input: unknown;
  lane: LaneName;
  /** Only for tasks that can be stopped while they run. */
  cancellation: Cancellation | undefined;
  traceparent: string | undefined;
  settle(answer: Answer): void;
  fail(error: TaskFailure): void;
  done: boolean;
}

export interface VectorPoolOptions {
  threads: number;
  /** Tasks that may wait; more are refused with `queue-full`. */
  maxQueue: number;
  /** Expected wait, in milliseconds, beyond which a task is refused with `queue-full`. */
  maxWaitMs: number;
  /** Connections to each PostGIS database, over all threads; each thread has at least one. */
  connections: number;
  /** Where overviews of tables lie; none are made without it. */
  overviews?: string;
  /** Hosts that remote archives may be read from; none when absent. */
  remoteHosts?: readonly string[];
  /** How long outboxes keep events. */
  retention?: Retention;
  /** Data folder, for the ledger of SQLite files; none is kept without it. */
  dataDir?: string;
}

/** One of the threads, which begins with its first task: a server that has little to do pays for few of them. */
class Thread {
  readonly load = new ThreadLoad();
  readonly counts = new ConnectionCounts();
  #pool: Piscina | undefined;

  constructor(private readonly dataOf: (counts: ConnectionCounts) => VectorThreadData) {}

  get pool(): Piscina {
    return (this.#pool ??= thread(this.dataOf(this.counts)));
  }

  /** Whether it serves, or would. */
  get isHealthy(): boolean {
    return this.#pool === undefined || this.#pool.threads.length > 0;
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }
}

/** More than we ever give a thread: who runs where and when is decided here. */
const NO_LIMIT = 10_000;

/**
 * Threads that read and encode vector data. Tasks wait in our own queue, so that abort and deadline drop what has not
 * begun, and never tear down a thread inside SQLite; a database is asked to stop. Threads read one file at a time, and
 * wait for as many answers of a database as they have connections to it.
 */
export class VectorPool {
  readonly #threads: Thread[];
  readonly #perDatabase: number;
  /** Tasks that wait, by lane, oldest first. A lane without any has no entry. */
  readonly #queues = new Map<LaneName, Waiting[]>();
  readonly #options: VectorPoolOptions;
  readonly #overviews: OverviewQueue;
  readonly #counts: readonly ConnectionCounts[];
  readonly #paces = new Map<LaneName, Pace>();
  #queued = 0;
  #running = 0;

  constructor(options: VectorPoolOptions) {
    this.#options = options;
    this.#perDatabase = Math.max(1, Math.floor(options.connections / options.threads));
    const { remoteHosts = [], overviews, retention = USUAL_RETENTION, dataDir } = options;
    const dataOf = (counts: ConnectionCounts): VectorThreadData => ({
      connections: this.#perDatabase,
      counts: counts.shared,
      ...{ remoteHosts, overviews, retention, dataDir },
    });
    const ofOverviews = new ConnectionCounts();
    this.#overviews = new OverviewQueue(dataOf(ofOverviews));
    this.#threads = Array.from({ length: options.threads }, () => new Thread(dataOf));
    this.#counts = [ofOverviews, ...this.#threads.map(({ counts }) => counts)];
  }

  run<N extends VectorTaskName>(
    name: N,
    input: TaskInput<N>,
    options: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    if (options.signal?.aborted || options.stop?.aborted)
      return Promise.reject(new TaskFailure('cancelled', 'The request was cancelled.'));
    const lane = laneOf(name, input);
    const wait = this.#paceOf(lane).waitMs(this.#queues.get(lane)?.length ?? 0);
    const full = this.#queued >= this.#options.maxQueue || wait > this.#options.maxWaitMs;
    if (full && !options.begun) return Promise.reject(busy(wait));
    return new Promise((resolve, reject) => {
      this.#enqueue(this.#waiting(name, input, lane, options, resolve as (value: unknown) => void, reject));
      this.#next(lane);
    });
  }

  #waiting(
    name: VectorTaskName,
    input: unknown,
    lane: LaneName,
    options: TaskOptions,
    resolve: (value: unknown) => void,
    reject: (error: TaskFailure) => void,
  ): Waiting {
    let timer: NodeJS.Timeout | undefined;
    const abort = () => task.fail(new TaskFailure('cancelled', 'The request was cancelled.'));
    // One that has begun tells itself whether it ended early.
    const stop = () => (this.#queues.get(lane)?.includes(task) ? abort() : task.cancellation?.request());
    const finish = () => {
      task.done = true;
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
      options.stop?.removeEventListener('abort', stop);
    };
    const task: Waiting = {
      name,
      input,
      lane,
      traceparent: options.traceparent,
      cancellation: lane === FILES && !options.stop ? undefined : new Cancellation(),
      done: false,
      settle(answer) {
        if (task.done) return;
        finish();
        if (answer.work) options.onWork?.(answer.work);
        if (answer.ok) resolve(answer.value);
        else reject(failureFrom(answer.failure));
      },
      fail: (error) => {
        if (task.done) return;
        finish();
        // One that never began must not hold a place in the queue.
        if (!this.#withdraw(task)) task.cancellation?.request();
        reject(error);
      },
    };
    options.signal?.addEventListener('abort', abort, { once: true });
    options.stop?.addEventListener('abort', stop, { once: true });
    if (options.deadlineMs !== undefined) {
      const late = () => {
        // A tile that is never done would never tell that it is much to read.
        if (name === 'vector.tile')
          for (const layer of (input as VectorTileTask).layers) this.#overviews.want(layer);
        task.fail(new TaskFailure('deadline-exceeded', 'The request took too long.'));
      };
      timer = setTimeout(late, options.deadlineMs);
    }
    return task;
  }

  #enqueue(task: Waiting): void {
    const queue = this.#queues.get(task.lane);
    if (queue) queue.push(task);
    else this.#queues.set(task.lane, [task]);
    this.#queued++;
  }

  /** Takes a task out of its queue; false when it is not in there any more. */
  #withdraw(task: Waiting): boolean {
    const queue = this.#queues.get(task.lane) ?? [];
    const place = queue.indexOf(task);
    if (place < 0) return false;
    queue.splice(place, 1);
    if (queue.length === 0) this.#queues.delete(task.lane);
    this.#queued--;
    return true;
  }

  /** Starts what can start in this lane, first come first served. */
  #next(lane: LaneName): void {
    for (let task = this.#queues.get(lane)?.[0]; task; task = this.#queues.get(lane)?.[0]) {
      const thread = this.#placeFor(lane);
      if (!thread) return;
      this.#withdraw(task);
      void this.#start(task, thread);
    }
  }

  #paceOf(lane: LaneName): Pace {
    let pace = this.#paces.get(lane);
    if (!pace) this.#paces.set(lane, (pace = new Pace()));
    return pace;
  }

  #placeFor(lane: LaneName): Thread | undefined {
    return placeFor(this.#threads, lane, lane === FILES ? 1 : this.#perDatabase);
  }

  async #start(task: Waiting, { pool, load }: Thread): Promise<void> {
    const { name, input, lane, cancellation, traceparent } = task;
    const message: VectorMessage = { name, input: packed(input), flag: cancellation?.shared };
    if (traceparent !== undefined) message.traceparent = traceparent;
    this.#running++;
    load.began(lane);
    try {
      const answer = (await pool.run(message, { transferList: memoryOf(task) })) as Answer;
      if (name === 'vector.tile' && answer.ok) this.#noteHeavy(input as VectorTileTask, answer.value);
      task.settle(answer);
    } catch (error) {
      task.fail(new TaskFailure('worker-lost', 'A worker stopped unexpectedly.', String(error)));
    } finally {
      this.#running--;
      load.ended(lane);
      this.#next(lane);
      this.#paceOf(lane).ended(this.#queues.get(lane)?.length ?? 0);
    }
  }

  #noteHeavy({ layers }: VectorTileTask, result: unknown): void {
    for (const i of (result as VectorTileResult).heavy ?? []) this.#overviews.want(layers[i]!);
  }

  status(): PoolStatus {
    const workers = this.#threads.filter(({ isHealthy }) => isHealthy).length;
    return {
      name: 'vector',
      workers,
      queued: this.#queued,
      running: this.#running,
      healthy: workers > 0,
      connections: sumOfCounts(this.#counts),
    };
  }

  async close(): Promise<void> {
    for (const task of [...this.#queues.values()].flat())
      task.fail(new TaskFailure('cancelled', 'The server is stopping.'));
    await Promise.all([this.#overviews.close(), ...this.#threads.map((one) => one.close())]);
  }
}

/** Memory that moves to the thread with a task. */
function memoryOf({ name, input }: Waiting): ArrayBuffer[] {
  return name === 'vector.body' ? (input as TaskInput<'vector.body'>).parts.map(({ buffer }) => buffer) : [];
}

/** One thread that never ends. It must not sleep on an atomic: answers of databases wake its event loop. */
function thread(workerData: VectorThreadData): Piscina {
  return new Piscina({
    filename: new URL('./worker.js', import.meta.url).href,
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: NO_LIMIT,
    atomics: 'disabled',
    recordTiming: false,
    workerData,
  });
}
