import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { TaskFailure } from '../../../core/errors/failure.js';
import { BACKGROUND, type Caller } from '../../../core/kit/callers.js';
import { joinStatements } from '../../../core/observability/statements.js';
import type { WorkerReport } from '../../../core/observability/worker-report.js';
import type { FeatureProcessTasks } from '../../../core/processes/feature-processes.js';
import type { PoolStatus, TaskInput, TaskOptions, TaskOutput, TaskUsage } from '../../../core/tasks/tasks.js';
import { failureFrom, type TaskResponse } from '../../threads/failure.js';
import { FairLane, type LaneTask } from '../../threads/fair-lane.js';
import type { FromHost, ToHost } from './host.js';

type Name = keyof FeatureProcessTasks;

export interface ProcessPoolOptions {
  /** Name in the status. Default: `process`. */
  name?: string;
  /** Maximum number of parallel tasks, each in a separate process. */
  size: number;
  /** Bytes of memory that a task may need. */
  maxBytes: number;
  /** Number of additional tasks of callers with a key. Default: 0. */
  reserved?: number;
  /** Maximum number of tasks that wait for a process. Jobs have a separate queue in front of it. */
  maxQueue?: number;
  /** Milliseconds without work after which a process ends. Default: one minute. */
  idleMs?: number;
  /** Milliseconds from which a statement is slow. */
  slowMs?: number;
}

/** Milliseconds without work after which a process ends: starting one takes longer than a small task. */
const IDLE_MS = 60_000;
/**
 * Resident bytes above which a process accepts no further task, because leftovers of one task would count as memory
 * of the next.
 */
const REUSE_BYTES = 400 << 20;
/** Milliseconds in which a cancelled task can end normally and close its database connections. */
const STOP_MS = 2000;
const SLOW_MS = 250;
/** Maximum characters that are kept of a process's error output. */
const COMPLAINTS = 2000;

/** Processes that do tasks of jobs, there only while they have work. */
export class ProcessPool {
  readonly #hosts = new Set<Host>();
  readonly #lane: FairLane<Turn>;
  #isClosed = false;
  #ended: WorkerReport | undefined;

  constructor(private readonly options: ProcessPoolOptions) {
    const { size: common, reserved = 0 } = options;
    this.#lane = new FairLane({ common, reserved, heavy: Number.POSITIVE_INFINITY });
  }

  async run<N extends Name>(
    name: N,
    input: TaskInput<N>,
    { signal: gone, deadlineMs, onUsage, caller }: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    const late = deadlineMs === undefined ? undefined : AbortSignal.timeout(deadlineMs);
    const signal = late && gone ? AbortSignal.any([gone, late]) : (late ?? gone);
    try {
      return await this.#run(name, input, { signal, onUsage, caller });
    } catch (error) {
      if (!late?.aborted) throw error;
      throw new TaskFailure('deadline-exceeded', 'The request took too long. Request less, or retry later.');
    }
  }

  async #run<N extends Name>(
    name: N,
    input: TaskInput<N>,
    { signal, onUsage, caller = BACKGROUND }: Pick<TaskOptions, 'signal' | 'onUsage' | 'caller'>,
  ): Promise<TaskOutput<N>> {
    const turn = await this.#turn(caller, signal);
    try {
      if (this.#isClosed) throw cancelled();
      const host = [...this.#hosts].find(({ isIdle }) => isIdle) ?? this.#start();
      const answer = (await host.run({ name, input }, signal, onUsage)) as TaskResponse<TaskOutput<N>>;
      if (answer.ok) return answer.value;
      throw failureFrom(answer.failure);
    } finally {
      this.#lane.ended(turn);
      this.#next();
    }
  }

  /** A process that does not run because there is no work counts as healthy. */
  status(): PoolStatus {
    const { queue, seats } = this.#lane;
    const counts = { workers: this.#hosts.size, queued: queue.size, running: seats.running };
    return { name: this.options.name ?? 'process', ...counts, healthy: true };
  }

  /** Reports of the processes that run, and the statements of former processes. */
  async look(): Promise<readonly WorkerReport[]> {
    const reports = [...this.#hosts].map(({ report }) => report);
    return [this.#ended, ...reports].filter((report) => report !== undefined);
  }

  /** Adds the statements of a process that has ended. */
  #end(host: Host): void {
    const { report } = host;
    if (!this.#hosts.delete(host) || !report) return;
    const before = this.#ended;
    const statements = before ? [before.statements, report.statements] : [report.statements];
    const disposed = report.resources.disposed + report.resources.held.length;
    const collected = report.resources.collected + (before?.resources.collected ?? 0);
    this.#ended = {
      ...report,
      statements: { ...joinStatements(statements), prepared: 0, capacity: 0 },
      resources: { held: [], disposed: disposed + (before?.resources.disposed ?? 0), collected },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { giveUp } of [...this.#lane.queue]) giveUp(cancelled());
    await Promise.all([...this.#hosts].map((host) => host.kill()));
  }

  /** Resolves when it is the caller's turn. Rejects when the queue is full, or the task is cancelled first. */
  #turn(caller: Caller, signal: AbortSignal | undefined): Promise<Turn> {
    if (signal?.aborted || this.#isClosed) return Promise.reject(cancelled());
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
      if (!this.#lane.hasRoom(turn, this.options.maxQueue ?? Number.POSITIVE_INFINITY)) {
        const displaced = queue.displaced(caller);
        if (!displaced) return reject(full());
        displaced.giveUp(full());
      }
      signal?.addEventListener('abort', leave, { once: true });
      queue.push(turn);
      this.#next();
    });
  }

  #next(): void {
    while (this.#lane.next());
  }

  /** Throws `worker-lost` where the system has no room for a process. */
  #start(): Host {
    const { maxBytes, idleMs = IDLE_MS, slowMs = SLOW_MS } = this.options;
    try {
      const host: Host = new Host({ maxBytes, idleMs, slowMs, onEnd: () => this.#end(host) });
      this.#hosts.add(host);
      return host;
    } catch (error) {
      throw new TaskFailure('worker-lost', 'A process could not be started.', String(error));
    }
  }
}

/** A task until it ends. */
interface Turn extends LaneTask {
  giveUp(failure: TaskFailure): void;
}

interface Work {
  settle(answer: TaskResponse): void;
  fail(failure: TaskFailure): void;
  onUsage?: ((usage: TaskUsage) => void) | undefined;
}

interface HostOptions {
  maxBytes: number;
  idleMs: number;
  slowMs: number;
  onEnd(): void;
}

/** Process with its current work. */
class Host {
  #work: Work | undefined;
  #isOutgrown = false;
  #isReusable = true;
  #complaints = '';
  /** Report of its thread after its last task. */
  report: WorkerReport | undefined;
  #idle: NodeJS.Timeout | undefined;
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;

  constructor(private readonly options: HostOptions) {
    this.#child = fork(new URL('./host.js', import.meta.url), [`${options.maxBytes}`, `${options.slowMs}`], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    (this.#child.stderr as Socket | null)?.unref();
    this.#child.stderr?.on('data', (bytes: Buffer) => {
      this.#complaints = (this.#complaints + bytes.toString()).slice(-COMPLAINTS);
    });
    this.#child.on('message', (message: FromHost) => this.#onMessage(message));
    this.#closed = new Promise((resolve) => {
      const end = (why: string) => {
        options.onEnd();
        this.#onEnd(why);
        resolve();
      };
      this.#child.on('error', (error) => end(String(error)));
      this.#child.on('close', (code, killer) => end(`exit ${code ?? killer}`));
    });
  }

  get isIdle(): boolean {
    return this.#work === undefined && this.#isReusable && this.#child.connected && !this.#child.killed;
  }

  async run(
    order: ToHost,
    signal?: AbortSignal,
    onUsage?: (usage: TaskUsage) => void,
  ): Promise<TaskResponse> {
    clearTimeout(this.#idle);
    let late: NodeJS.Timeout | undefined;
    const cancel = () => {
      this.#send('cancel');
      late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    this.#hold(true);
    try {
      return await new Promise<TaskResponse>((settle, fail) => {
        this.#work = { settle, fail, onUsage };
        this.#send(order);
        if (signal?.aborted) cancel();
      });
    } catch (error) {
      throw signal?.aborted ? cancelled() : error;
    } finally {
      clearTimeout(late);
      signal?.removeEventListener('abort', cancel);
      this.#work = undefined;
      this.#hold(false);
      if (this.#isReusable) this.#idle = setTimeout(() => void this.kill(), this.options.idleMs).unref();
      else void this.kill();
    }
  }

  kill(): Promise<void> {
    this.#hold(true);
    this.#child.kill('SIGKILL');
    return this.#closed;
  }

  #send(message: ToHost): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #onMessage(message: FromHost): void {
    this.#work?.onUsage?.(message.usage);
    if (message.usage.memoryBytes > REUSE_BYTES) this.#isReusable = false;
    if ('answer' in message) {
      this.report = message.report ?? this.report;
      this.#work?.settle(message.answer);
    }
    if ('isOutgrown' in message) this.#isOutgrown ||= message.isOutgrown === true;
  }

  #onEnd(why: string): void {
    clearTimeout(this.#idle);
    const cause = `${why}: ${this.#complaints}`;
    this.#work?.fail(
      this.#isOutgrown
        ? new TaskFailure(
            'too-large',
            `The task needs more memory than a process can use (${this.options.maxBytes} bytes). Use less data.`,
          )
        : new TaskFailure('worker-lost', 'The task process stopped unexpectedly. Retry.', cause),
    );
  }

  /** Only work keeps this process from its end. */
  #hold(isHeld: boolean): void {
    const { channel } = this.#child;
    for (const one of [this.#child, channel]) isHeld ? one?.ref() : one?.unref();
  }
}

function full(): TaskFailure {
  return new TaskFailure('queue-full', 'Too many requests are waiting. Retry in a few seconds.');
}

function cancelled(): TaskFailure {
  return new TaskFailure('cancelled', 'The task was cancelled.');
}
