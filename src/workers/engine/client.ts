/** The gateway's pool of engine processes. */

import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../core/errors/failure.js';
import { BACKGROUND, type Caller, type CallerClass } from '../../core/kit/callers.js';
import type { WorkerReport } from '../../core/observability/worker-report.js';
import type { PoolStatus, TaskInput, TaskOptions, TaskOutput, TaskWork } from '../../core/tasks/tasks.js';
import { FairQueue } from '../threads/fair-queue.js';
import { ThreadReports } from '../threads/look.js';
import { busy, Pace } from '../threads/pace.js';
import { EngineLink } from './link.js';
import { ENGINE_TASKS, type EngineTaskName } from './wire.js';

export interface EnginePoolOptions {
  /** Directory of the engines' sockets, named `engine-*.sock`. */
  runDir: string;
  /**
   * Maximum tasks that one engine has at a time. Other tasks wait in the queue, from which they can still be sent to
   * another engine.
   */
  maxInFlight?: number;
  /** Requests of clients that may wait; one more fails with `queue-full`. */
  maxQueue?: number;
  /** Expected wait, in milliseconds, beyond which a task fails with `queue-full`. */
  maxWaitMs?: number;
  /** Milliseconds that tasks wait while there is no engine. */
  absenceMs?: number;
  /** Called when an engine is available again, with the milliseconds without an engine. */
  onReturn?(absenceMs: number): void;
}

/** Task from its arrival to its response, over all its attempts. */
interface Job {
  task: EngineTaskName;
  input: unknown;
  onProgress?: (fraction: number) => void;
  request?: string;
  caller: Caller;
  heavy?: boolean;
  onWork?: (work: TaskWork) => void;
  /** On the clock of `performance.now()`. */
  deadline: number | undefined;
  /** Engines lost while they ran this task. */
  losses: number;
  resolve(value: unknown): void;
  reject(failure: TaskFailure): void;
  /** Asks the engine to stop the task. */
  recall?: () => void;
}

const SOCKET_NAME = /^engine-.+\.sock$/;
const RESCAN_MS = 1_000;
/** Part of the places of an engine that is for callers with a key. */
const RESERVED_PART = 1 / 4;
/** Maximum losses of a task with its engine, after which the task itself may be the cause of the crashes. */
const MAX_LOSSES = 2;

/**
 * Sends tasks to the least loaded engine. A task whose engine was lost runs once more on another engine. Each engine
 * runs at most one such task at a time, so that a task that crashes engines does not fail the other retries. All
 * engine tasks are idempotent.
 */
export class EnginePool {
  readonly #options: Required<EnginePoolOptions>;
  readonly #links = new Map<string, EngineLink>();
  readonly #queue = new FairQueue<Job>();
  readonly #retries: Job[] = [];
  readonly #retrying = new Set<EngineLink>();
  readonly #watcher: FSWatcher | null;
  readonly #rescanTimer: NodeJS.Timeout;
  #absentSince: number | null = performance.now();
  #lookedAt = performance.now();
  #served = false;
  readonly #paces = { keyed: new Pace(), anonymous: new Pace(), background: new Pace() };
  /** Number of tasks in engines by class, and number of tasks without a key by engine. */
  readonly #atEngines = { keyed: 0, anonymous: 0, background: 0 };
  readonly #unkeyed = new Map<EngineLink, number>();
  readonly #reports = new Map<EngineLink, ThreadReports>();
  #closed = false;

  constructor({
    runDir,
    maxInFlight = 32,
    maxQueue = 1024,
    maxWaitMs = 5000,
    absenceMs = 30_000,
    onReturn = () => {},
  }: EnginePoolOptions) {
    this.#options = { runDir, maxInFlight, maxQueue, maxWaitMs, absenceMs, onReturn };
    this.#watcher = this.#watch();
    this.#rescanTimer = setInterval(() => void this.#rescan(), RESCAN_MS).unref();
    void this.#rescan();
  }

  /** Runs a task on an engine. Rejects with `TaskFailure` only. */
  run<N extends EngineTaskName>(
    task: N,
    input: TaskInput<N>,
    options: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    const { signal, deadlineMs, onProgress, request, onWork, caller = BACKGROUND, heavy } = options;
    if (!ENGINE_TASKS.has(task))
      return Promise.reject(new TaskFailure('invalid-input', `Engines do not run ${task}.`));
    if (this.#closed) return Promise.reject(new TaskFailure('worker-lost', 'The server is shutting down.'));
    if (signal?.aborted) return Promise.reject(cancelled());
    const { class: name } = caller;
    const ahead = this.#queue.ahead(caller) + this.#atEngines[name];
    const wait = name === 'background' ? 0 : this.#paces[name].waitMs(ahead);
    if (wait > this.#options.maxWaitMs || !this.#makeRoom(caller)) return Promise.reject(busy(wait));
    return new Promise<TaskOutput<N>>((resolve, reject) => {
      const deadline = deadlineMs === undefined ? undefined : performance.now() + deadlineMs;
      const job: Job = {
        task,
        input,
        onProgress,
        request,
        caller,
        heavy,
        onWork,
        deadline,
        losses: 0,
        resolve: done(resolve),
        reject: done(reject),
      };
      const onAbort = () => this.#drop(job, cancelled());
      const timer =
        deadlineMs === undefined ? undefined : setTimeout(() => this.#drop(job, tooLate()), deadlineMs);
      function done<T>(end: (outcome: T) => void): (outcome: unknown) => void {
        return (outcome) => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          end(outcome as T);
        };
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(job);
      this.#dispatch();
    });
  }

  /** Whether one more client request can wait. In a full queue a request of another client can be displaced. */
  #makeRoom(caller: Caller): boolean {
    if (this.#queue.hasRoom(caller, this.#options.maxQueue - this.#retries.length)) return true;
    const displaced = this.#queue.displaced(caller);
    if (displaced) this.#drop(displaced, busy(0));
    return displaced !== undefined;
  }

  /** Number of tasks in engines, which run one or a few of them at the same time. */
  get #running(): number {
    let running = 0;
    for (const link of this.#links.values()) running += link.inFlight;
    return running;
  }

  get #waiting(): number {
    return this.#queue.size + this.#retries.length;
  }

  status(): PoolStatus[] {
    const links = [...this.#links.values()];
    const workers = links.filter(({ ready }) => ready).length;
    return [{ name: 'engine', workers, queued: this.#waiting, running: this.#running, healthy: workers > 0 }];
  }

  /** Reports of the threads of all engines. */
  async look(): Promise<readonly WorkerReport[]> {
    const links = [...this.#links.values()].filter(({ ready }) => ready);
    for (const link of this.#reports.keys()) if (!links.includes(link)) this.#reports.delete(link);
    return (await Promise.all(links.map((link) => this.#lookAt(link)))).flat();
  }

  #lookAt(link: EngineLink): Promise<readonly WorkerReport[]> {
    let reports = this.#reports.get(link);
    if (!reports) this.#reports.set(link, (reports = new ThreadReports()));
    return reports.read(
      () =>
        new Promise((resolve, reject) => {
          link.send({
            task: 'engine.look',
            input: {},
            resolve: (value) => resolve(value as readonly WorkerReport[]),
            reject,
            lost: (reason) => reject(new TaskFailure('worker-lost', reason)),
          });
        }),
    );
  }

  /** Resolves to true when an engine is available, or to false after `timeoutMs`. */
  async whenReady(timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs;
    while (!this.#closed && performance.now() < until) {
      if (this.status()[0]!.healthy) return true;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return false;
  }

  /** Ends all connections; tasks that still wait or run fail with `worker-lost`. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watcher?.close();
    clearInterval(this.#rescanTimer);
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
    this.#failWaiting('The server is shutting down.');
  }

  #watch(): FSWatcher | null {
    try {
      const watcher = watch(this.#options.runDir, { persistent: false }, () => void this.#rescan());
      watcher.on('error', () => {});
      return watcher;
    } catch {
      // The directory may come later; the regular scan finds it.
      return null;
    }
  }

  async #rescan(): Promise<void> {
    const names = await readdir(this.#options.runDir).catch(() => [] as string[]);
    if (this.#closed) return;
    const present = new Set(
      names.filter((name) => SOCKET_NAME.test(name)).map((name) => join(this.#options.runDir, name)),
    );
    for (const path of present) {
      if (!this.#links.has(path))
        this.#links.set(path, new EngineLink(path, { onChange: () => this.#changed() }));
    }
    for (const [path, link] of this.#links) {
      if (present.has(path) || link.inFlight > 0) continue;
      link.close();
      this.#links.delete(path);
      this.#unkeyed.delete(link);
    }
    this.#noticeAbsence();
  }

  /**
   * While this process was stopped or busy, it could not detect an engine, so that time does not count as absence.
   */
  #discountPause(): void {
    const now = performance.now();
    const pause = now - this.#lookedAt - RESCAN_MS;
    this.#lookedAt = now;
    if (this.#absentSince !== null && pause > 0) this.#absentSince = Math.min(now, this.#absentSince + pause);
  }

  #changed(): void {
    this.#noticeAbsence();
    this.#dispatch();
  }

  #noticeAbsence(): void {
    this.#discountPause();
    const now = performance.now();
    if ([...this.#links.values()].some(({ ready }) => ready)) {
      // The time before the first engine is the startup.
      if (this.#absentSince !== null && this.#served) this.#options.onReturn(now - this.#absentSince);
      this.#absentSince = null;
      this.#served = true;
      return;
    }
    this.#absentSince ??= now;
    if (now - this.#absentSince > this.#options.absenceMs)
      this.#failWaiting('No worker process is available.');
  }

  #failWaiting(message: string): void {
    const waiting = [...this.#retries.splice(0), ...this.#queue];
    for (const job of waiting) this.#queue.remove(job);
    for (const job of waiting) job.reject(new TaskFailure('worker-lost', message));
  }

  #drop(job: Job, failure: TaskFailure): void {
    this.#queue.remove(job);
    const retry = this.#retries.indexOf(job);
    if (retry >= 0) this.#retries.splice(retry, 1);
    job.recall?.();
    job.reject(failure);
  }

  #dispatch(): void {
    if (this.#closed) return;
    for (
      let link = this.#free('keyed', true);
      this.#retries.length > 0 && link;
      link = this.#free('keyed', true)
    ) {
      this.#retrying.add(link);
      this.#start(this.#retries.shift()!, link);
    }
    while (this.#queue.size > 0) {
      const job = this.#queue.next(({ caller }) => this.#free(caller.class) !== undefined);
      if (!job) return;
      this.#start(job, this.#free(job.caller.class)!);
    }
  }

  /** The least loaded engine with a free place for a class of callers. */
  #free(name: CallerClass, forRetry = false): EngineLink | undefined {
    const { maxInFlight } = this.#options;
    const maxUnkeyed = maxInFlight - Math.floor(maxInFlight * RESERVED_PART);
    let best: EngineLink | undefined;
    for (const link of this.#links.values()) {
      if (!link.ready || link.inFlight >= maxInFlight) continue;
      if (forRetry && this.#retrying.has(link)) continue;
      if (name !== 'keyed' && (this.#unkeyed.get(link) ?? 0) >= maxUnkeyed) continue;
      if (!best || link.inFlight < best.inFlight) best = link;
    }
    return best;
  }

  #start(job: Job, link: EngineLink): void {
    const { caller } = job;
    this.#count(caller, link, 1);
    let isCounted = true;
    const left = () => {
      if (isCounted) this.#count(caller, link, -1);
      isCounted = false;
      job.recall = undefined;
      if (job.losses > 0) this.#retrying.delete(link);
    };
    const ended = () => {
      left();
      const { class: name } = caller;
      this.#paces[name].ended(this.#queue.sizeOf(name) + this.#atEngines[name]);
    };
    const { task, input, onProgress, request, onWork, heavy } = job;
    const deadlineMs = job.deadline === undefined ? undefined : job.deadline - performance.now();
    try {
      const recall = link.send({
        task,
        input,
        deadlineMs,
        onProgress,
        request,
        caller,
        heavy,
        onWork,
        resolve: (value) => {
          ended();
          job.resolve(value);
        },
        reject: (error) => {
          ended();
          job.reject(error as TaskFailure);
        },
        lost: (reason, started) => {
          for (const pace of Object.values(this.#paces)) pace.interrupted();
          left();
          if (started) job.losses += 1;
          this.#lost(job, reason);
        },
      });
      job.recall = () => {
        ended();
        recall();
      };
    } catch (error) {
      ended();
      job.reject(
        new TaskFailure('too-large', 'The task is too large to be sent to a worker.', String(error)),
      );
    }
  }

  #lost(job: Job, reason: string): void {
    if (job.losses >= MAX_LOSSES || this.#closed) {
      job.reject(new TaskFailure('worker-lost', 'The worker that ran the task stopped. Retry.', reason));
      return;
    }
    if (job.losses > 0) this.#retries.push(job);
    else this.#queue.push(job);
    this.#dispatch();
  }

  #count({ class: name }: Caller, link: EngineLink, change: 1 | -1): void {
    this.#atEngines[name] += change;
    if (name !== 'keyed') this.#unkeyed.set(link, (this.#unkeyed.get(link) ?? 0) + change);
  }
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
