import { Piscina } from 'piscina';
import { TaskFailure } from '../../../core/errors/failure.js';
import { BACKGROUND, type Caller } from '../../../core/kit/callers.js';
import type { RemoteRead } from '../../../core/observability/task-scope.js';
import type { WorkerReport } from '../../../core/observability/worker-report.js';
import { ConnectionCounts, sumConnectionCounts } from '../../../core/sources/connection-counts.js';
import { formatTableName, type VectorSource } from '../../../core/sources/vector-source.js';
import { type Retention, USUAL_RETENTION } from '../../../core/streams/events.js';
import type { PoolStatus, TaskInput, TaskOptions, TaskOutput } from '../../../core/tasks/tasks.js';
import type { VectorTileResult, VectorTileTask } from '../../../core/tasks/vector-tasks.js';
import type { VectorMessage, VectorTaskName, VectorThreadData } from '../../entries/vector.js';
import { packed } from '../../features/sources.js';
import { Cancellation } from '../../threads/cancellation.js';
import { failureFrom, type TaskResponse } from '../../threads/failure.js';
import { FairLane } from '../../threads/fair-lane.js';
import { ThreadReports } from '../../threads/look.js';
import { KEYED_NICENESS, WORKER_NICENESS } from '../../threads/niceness.js';
import { busy } from '../../threads/pace.js';
import type { Seat } from '../../threads/seats.js';
import { OverviewQueue } from './overviews.js';
import { chooseLane, FILES, type LaneName, placeFor, ThreadLoad } from './placement.js';
import { TableLoad } from './table-load.js';

interface WaitingTask {
  name: VectorTaskName;
  input: unknown;
  lane: LaneName;
  caller: Caller;
  begun: boolean;
  /** Estimated so, or a statement of a slow table; constant from the start of the task. */
  readonly heavy: boolean;
  /** Table of a database that it reads; empty where that is not one table. */
  table: string;
  /** Only for tasks that can be stopped while they run. */
  cancellation: Cancellation | undefined;
  /** Correlation id of the request that it runs for. */
  request: string | undefined;
  isMeasured: boolean;
  /** Start of the wait, by performance.now(). */
  readonly since: number;
  /** To be called when it starts. */
  start(): void;
  started: boolean;
  settle(answer: TaskResponse): void;
  fail(error: TaskFailure): void;
  done: boolean;
}

export interface VectorPoolOptions {
  threads: number;
  /** Requests of clients that may wait; more are refused with `queue-full`. Background work always waits. */
  maxQueue: number;
  /** Expected wait, in milliseconds, beyond which a task is refused with `queue-full`. */
  maxWaitMs: number;
  /**
   * Connections to each PostGIS database, over all threads; each thread has at least one. A quarter is for callers with a
   * key.
   */
  connections: number;
  /** Folder of the overviews of tables. Default: no overviews. */
  overviews?: string;
  /** Hosts from which remote archives can be read. Default: none. */
  remoteHosts?: readonly string[];
  /** Retention of events in outboxes. */
  retention?: Retention;
  /** Data folder, for the ledger of SQLite files. Default: no ledger. */
  dataDir?: string;
  /** Milliseconds from which a statement is slow. */
  slowMs?: number;
  /** Milliseconds for which background work waits for a thread that runs, before another thread starts for it. */
  patienceMs?: number;
  /** Called for each request to a federated source. */
  onRemoteRead?(read: RemoteRead): void;
}

/** Thread that starts with its first task, so that a server with little work has few threads. */
class Thread {
  readonly load = new ThreadLoad();
  readonly counts = new ConnectionCounts();
  readonly #reports = new ThreadReports();
  #pool: Piscina | undefined;

  constructor(
    readonly perDatabase: number,
    private readonly dataOf: (counts: ConnectionCounts) => VectorThreadData,
  ) {}

  get pool(): Piscina {
    return (this.#pool ??= thread(this.dataOf(this.counts)));
  }

  /** Report of the thread; empty before its start. */
  look(): Promise<readonly WorkerReport[]> {
    const pool = this.#pool;
    if (!pool) return Promise.resolve([]);
    const message: VectorMessage = { name: 'vector.look', input: {} };
    return this.#reports.read(async () => [unwrapReport(await pool.run(message))]);
  }

  get isStarted(): boolean {
    return this.#pool !== undefined;
  }

  /** Whether it serves, or would. */
  get isHealthy(): boolean {
    return this.#pool === undefined || this.#pool.threads.length > 0;
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }
}

const SLOW_MS = 250;

/** Another thread takes 0.1 s of processor time and 20 MB of memory, and most background tasks take a few milliseconds. */
const PATIENCE_MS = 50;
/** Waiting tasks that are worth another thread immediately. */
const MANY_WAITING = 8;

/** Greater than any number of tasks of a thread, because this pool schedules the tasks. */
const NO_LIMIT = 10_000;

/**
 * Share of the connections to a database that is reserved for callers with a key, and that a single table leaves to
 * other tables.
 */
const RESERVED_PART = 1 / 4;

interface Lane {
  readonly tasks: FairLane<WaitingTask>;
  readonly tables: TableLoad;
}

/**
 * Threads that read and encode vector data. Tasks wait in the pool's own queue. Abort and deadline therefore remove
 * waiting tasks, and never end a thread inside SQLite; a database receives a cancel request. A thread reads one file
 * at a time, and waits for as many database responses as it has connections. One more thread, with separate
 * connections, is for callers with a key while the other threads are in use.
 */
export class VectorPool {
  readonly #threads: Thread[];
  readonly #reserved: Thread;
  readonly #lanes = new Map<LaneName, Lane>();
  readonly #options: VectorPoolOptions;
  readonly #overviews: OverviewQueue;
  readonly #counts: readonly ConnectionCounts[];
  #queued = 0;
  #running = 0;
  /** Looks again at background work that waits for a thread that runs. */
  #retry: NodeJS.Timeout | undefined;

  constructor(options: VectorPoolOptions) {
    this.#options = options;
    const { connections, threads } = options;
    const reserved = Math.max(1, Math.floor(connections * RESERVED_PART));
    const perThread = Math.max(1, Math.floor((connections - reserved) / threads));
    const { remoteHosts = [], overviews, retention = USUAL_RETENTION, dataDir, slowMs = SLOW_MS } = options;
    const buildData =
      (perDatabase: number, niceness: number) =>
      (counts: ConnectionCounts): VectorThreadData => ({
        connections: perDatabase,
        counts: counts.shared,
        remoteHosts,
        overviews,
        retention,
        niceness,
        dataDir,
        slowMs,
      });
    const common = buildData(perThread, WORKER_NICENESS);
    const ofOverviews = new ConnectionCounts();
    this.#overviews = new OverviewQueue(common(ofOverviews));
    this.#threads = Array.from({ length: threads }, () => new Thread(perThread, common));
    this.#reserved = new Thread(reserved, buildData(reserved, KEYED_NICENESS));
    this.#counts = [ofOverviews, this.#reserved.counts, ...this.#threads.map(({ counts }) => counts)];
  }

  run<N extends VectorTaskName>(
    name: N,
    input: TaskInput<N>,
    options: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    if (options.signal?.aborted || options.stop?.aborted)
      return Promise.reject(new TaskFailure('cancelled', 'The request was cancelled.'));
    const lane = chooseLane(name, input);
    const { caller = BACKGROUND, begun = false } = options;
    const wait = caller.class === 'background' ? 0 : this.#laneOf(lane).tasks.waitMs(caller);
    const full = wait > this.#options.maxWaitMs || !this.#makeRoom(caller, lane);
    if (full && !begun) return Promise.reject(busy(wait));
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
  ): WaitingTask {
    let timer: NodeJS.Timeout | undefined;
    const abort = () => task.fail(new TaskFailure('cancelled', 'The request was cancelled.'));
    // A started task reports itself whether it ended early.
    const stop = () => (task.started ? task.cancellation?.request() : abort());
    const finish = () => {
      task.done = true;
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
      options.stop?.removeEventListener('abort', stop);
    };
    const { tables } = this.#laneOf(lane);
    const table = chooseTable(lane, input);
    let heavy: boolean | undefined;
    const task: WaitingTask = {
      name,
      input,
      lane,
      table,
      caller: options.caller ?? BACKGROUND,
      begun: options.begun ?? false,
      get heavy() {
        return heavy ?? (options.heavy === true || (table !== '' && tables.isSlow(table)));
      },
      start: () => {
        heavy = task.heavy;
        task.started = true;
      },
      started: false,
      request: options.request,
      isMeasured: options.onWork !== undefined,
      since: performance.now(),
      cancellation: lane === FILES && !options.stop ? undefined : new Cancellation(),
      done: false,
      settle: (answer) => {
        if (task.done) return;
        finish();
        if (answer.work) options.onWork?.(answer.work);
        for (const read of answer.remoteReads ?? []) this.#options.onRemoteRead?.(read);
        if (answer.ok) resolve(answer.value);
        else reject(failureFrom(answer.failure));
      },
      fail: (error) => {
        if (task.done) return;
        finish();
        // A task that never started must not occupy a place in the queue.
        if (!this.#withdraw(task)) task.cancellation?.request();
        reject(error);
      },
    };
    options.signal?.addEventListener('abort', abort, { once: true });
    options.stop?.addEventListener('abort', stop, { once: true });
    if (options.deadlineMs !== undefined) {
      const late = () => {
        // A tile that never finishes would not report that it reads much data.
        if (name === 'vector.tile')
          for (const layer of (input as VectorTileTask).layers) this.#overviews.want(layer);
        task.fail(
          new TaskFailure('deadline-exceeded', 'The request took too long. Request less, or retry later.'),
        );
      };
      timer = setTimeout(late, options.deadlineMs);
    }
    return task;
  }

  /** Whether one more client request can wait. In a full queue a request of another client can be displaced. */
  #makeRoom(caller: Caller, lane: LaneName): boolean {
    let elsewhere = 0;
    for (const [name, { tasks }] of this.#lanes) if (name !== lane) elsewhere += tasks.queue.requests;
    if (this.#laneOf(lane).tasks.queue.hasRoom(caller, this.#options.maxQueue - elsewhere)) return true;
    for (const { tasks } of this.#lanes.values()) {
      const displaced = tasks.queue.displaced(caller);
      displaced?.fail(busy(0));
      if (displaced) return true;
    }
    return false;
  }

  #enqueue(task: WaitingTask): void {
    this.#laneOf(task.lane).tasks.queue.push(task);
    this.#queued++;
  }

  /** Removes a task from its queue. Returns false if it is no longer in it. */
  #withdraw(task: WaitingTask): boolean {
    if (!this.#laneOf(task.lane).tasks.queue.remove(task)) return false;
    this.#queued--;
    return true;
  }

  /** Starts all tasks that can start in this lane, in the order of the callers' turns. */
  #next(name: LaneName): void {
    const { tasks } = this.#laneOf(name);
    for (let next = tasks.next(); next; next = tasks.next()) {
      this.#queued--;
      void this.#start(next.task, this.#placeFor(name, next.seat));
    }
  }

  #laneOf(name: LaneName): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) this.#lanes.set(name, (lane = this.#newLane(name)));
    return lane;
  }

  #newLane(name: LaneName): Lane {
    const tables = new TableLoad();
    if (name === FILES) {
      const common = this.#threads.length;
      // The reserved thread has priority: it gets a greater share of the processors than other computing threads.
      const reserved = { reserved: 1, reservedFirst: true };
      const seats = { common, ...reserved, heavy: Math.max(1, common - 1) };
      return { tasks: new FairLane(seats, (task) => this.#mayStart(task)), tables };
    }
    const common = this.#threads.reduce((sum, { perDatabase }) => sum + perDatabase, 0);
    // A shared thread can start to read a large file while it waits for a database, so the database's response would
    // also wait.
    const reserved = { reserved: this.#reserved.perDatabase, reservedFirst: true };
    const seats = { common, ...reserved, heavy: Math.max(1, common >> 1) };
    const ofTable = Math.max(1, common - Math.max(1, Math.floor(common * RESERVED_PART)));
    const mayStart = ({ table }: WaitingTask) => table === '' || tables.count(table) < ofTable;
    return { tasks: new FairLane(seats, mayStart), tables };
  }

  /** Whether a task that reads files may start now, if necessary in a thread that starts for it. */
  #mayStart({ caller, since }: WaitingTask): boolean {
    if (caller.class !== 'background') return true;
    const started = this.#threads.filter(({ isStarted }) => isStarted);
    if (started.length === 0 || started.some(({ load }) => load.of(FILES) === 0)) return true;
    if (this.#laneOf(FILES).tasks.queue.size > MANY_WAITING) return true;
    const { patienceMs = PATIENCE_MS } = this.#options;
    const waitedMs = performance.now() - since;
    if (waitedMs >= patienceMs || started.length === this.#threads.length) return true;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#next(FILES);
    }, patienceMs - waitedMs);
    return false;
  }

  #placeFor(lane: LaneName, seat: Seat): Thread {
    if (seat === 'reserved') return this.#reserved;
    const [{ perDatabase }] = this.#threads as [Thread];
    return placeFor(this.#threads, lane, lane === FILES ? 1 : perDatabase)!;
  }

  async #start(task: WaitingTask, { pool, load }: Thread): Promise<void> {
    const { name, input, lane, cancellation, request, isMeasured } = task;
    const message: VectorMessage = { name, input: packed(input), flag: cancellation?.shared };
    if (request !== undefined) message.request = request;
    if (isMeasured) message.isMeasured = true;
    const { tasks, tables } = this.#laneOf(lane);
    this.#running++;
    load.began(lane);
    const end = task.table === '' ? undefined : tables.began(task.table);
    let isWhole = false;
    try {
      const answer = (await pool.run(message, { transferList: buildMemory(task) })) as TaskResponse;
      isWhole = answer.ok;
      if (name === 'vector.tile' && answer.ok) this.#noteHeavy(input as VectorTileTask, answer.value);
      task.settle(answer);
    } catch (error) {
      task.fail(new TaskFailure('worker-lost', 'A worker stopped unexpectedly.', String(error)));
    } finally {
      this.#running--;
      load.ended(lane);
      end?.(isWhole);
      tasks.ended(task);
      this.#next(lane);
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
      connections: sumConnectionCounts(this.#counts),
    };
  }

  /** Reports of the threads that run. */
  async look(): Promise<readonly WorkerReport[]> {
    const threads = [...this.#threads, this.#reserved];
    return (await Promise.all(threads.map((one) => one.look()))).flat();
  }

  async close(): Promise<void> {
    clearTimeout(this.#retry);
    for (const { tasks } of this.#lanes.values())
      for (const task of [...tasks.queue]) task.fail(new TaskFailure('cancelled', 'The server is stopping.'));
    const threads = [...this.#threads, this.#reserved];
    await Promise.all([this.#overviews.close(), ...threads.map((one) => one.close())]);
  }
}

function unwrapReport(answer: TaskResponse<WorkerReport>): WorkerReport {
  if (!answer.ok) throw failureFrom(answer.failure);
  return answer.value;
}

/** The table of a database whose statement a task is. */
function chooseTable(lane: LaneName, input: unknown): string {
  if (lane === FILES) return '';
  const { source, layers } = input as { source?: VectorSource; layers?: VectorTileTask['layers'] };
  const [table, ...others] = layers ? layers.map((layer) => layer.source) : source ? [source] : [];
  return table && others.length === 0 ? formatTableName(table) : '';
}

/** Memory that moves to the thread with a task. */
function buildMemory({ name, input }: WaitingTask): ArrayBuffer[] {
  return name === 'vector.body' ? (input as TaskInput<'vector.body'>).parts.map(({ buffer }) => buffer) : [];
}

/** Thread that never ends. It must not sleep on an atomic, because database responses wake its event loop. */
function thread(workerData: VectorThreadData): Piscina {
  return new Piscina({
    filename: new URL('../../entries/vector.js', import.meta.url).href,
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: NO_LIMIT,
    atomics: 'disabled',
    recordTiming: false,
    workerData,
  });
}
