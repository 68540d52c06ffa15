import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { TaskFailure } from '../../core/failure.js';
import type { FeatureProcessTasks } from '../../core/feature-processes.js';
import type { PoolStatus, TaskInput, TaskOptions, TaskOutput, TaskUsage } from '../../core/tasks.js';
import { type Answer, failureFrom } from '../failure.js';
import type { FromHost, ToHost } from './host.js';

type Name = keyof FeatureProcessTasks;

export interface ProcessPoolOptions {
  /** In the status; `process` when absent. */
  name?: string;
  /** Tasks that are done at a time, each by a process of its own. */
  size: number;
  /** Bytes of memory that a task may need. */
  maxBytes: number;
  /** Tasks that wait for a process at most; jobs have a queue of their own before it. */
  maxQueue?: number;
  /** Milliseconds without work after which a process ends; a minute when absent. */
  idleMs?: number;
}

/** Milliseconds without work after which a process ends: starting one takes longer than a small task. */
const IDLE_MS = 60_000;
/** A process that had more than this takes no further task: what is left of one would count as memory of the next. */
const REUSE_BYTES = 400 << 20;
/** Milliseconds that a task has to stop by itself, so that it takes leave of its database. */
const STOP_MS = 2000;
/** Characters kept of what a process complains of. */
const COMPLAINTS = 2000;

/** Processes that do tasks of jobs, there only while they have work. */
export class ProcessPool {
  readonly #hosts = new Set<Host>();
  readonly #waiting: { begin(): void; leave(): void }[] = [];
  #running = 0;
  #isClosed = false;

  constructor(private readonly options: ProcessPoolOptions) {}

  async run<N extends Name>(
    name: N,
    input: TaskInput<N>,
    { signal: gone, deadlineMs, onUsage }: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    const late = deadlineMs === undefined ? undefined : AbortSignal.timeout(deadlineMs);
    const signal = late && gone ? AbortSignal.any([gone, late]) : (late ?? gone);
    try {
      return await this.#run(name, input, { signal, onUsage });
    } catch (error) {
      if (!late?.aborted) throw error;
      throw new TaskFailure('deadline-exceeded', 'The request took too long.');
    }
  }

  async #run<N extends Name>(
    name: N,
    input: TaskInput<N>,
    { signal, onUsage }: Pick<TaskOptions, 'signal' | 'onUsage'>,
  ): Promise<TaskOutput<N>> {
    await this.#turn(signal);
    try {
      if (this.#isClosed) throw cancelled();
      const host = [...this.#hosts].find(({ isIdle }) => isIdle) ?? this.#start();
      const answer = (await host.run({ name, input }, signal, onUsage)) as Answer<TaskOutput<N>>;
      if (answer.ok) return answer.value;
      throw failureFrom(answer.failure);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.begin();
    }
  }

  /** A process that is not there for lack of work is healthy. */
  status(): PoolStatus {
    const [workers, queued] = [this.#hosts.size, this.#waiting.length];
    return { name: this.options.name ?? 'process', workers, queued, running: this.#running, healthy: true };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { leave } of this.#waiting.splice(0)) leave();
    await Promise.all([...this.#hosts].map((host) => host.kill()));
  }

  /** Takes a place, or waits for one. Rejects when the task is cancelled first. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted || this.#isClosed) throw cancelled();
    if (this.#running < this.options.size) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= (this.options.maxQueue ?? Infinity))
      throw new TaskFailure('queue-full', 'Too many requests wait already.');
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        this.#running += 1;
        resolve();
      };
      const leave = () => {
        const place = this.#waiting.findIndex((one) => one.leave === leave);
        if (place >= 0) this.#waiting.splice(place, 1);
        reject(cancelled());
      };
      this.#waiting.push({ begin, leave });
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  /** Throws `worker-lost` where the system has no room for a process. */
  #start(): Host {
    const { maxBytes, idleMs = IDLE_MS } = this.options;
    try {
      const host: Host = new Host({ maxBytes, idleMs, onEnd: () => this.#hosts.delete(host) });
      this.#hosts.add(host);
      return host;
    } catch (error) {
      throw new TaskFailure('worker-lost', 'A process could not be started.', String(error));
    }
  }
}

interface Work {
  settle(answer: Answer): void;
  fail(failure: TaskFailure): void;
  onUsage?: ((usage: TaskUsage) => void) | undefined;
}

/** A process, and what it is at. */
class Host {
  #work: Work | undefined;
  #isOutgrown = false;
  #isReusable = true;
  #complaints = '';
  #idle: NodeJS.Timeout | undefined;
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;

  constructor(private readonly options: { maxBytes: number; idleMs: number; onEnd(): void }) {
    this.#child = fork(new URL('./host.js', import.meta.url), [`${options.maxBytes}`], {
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

  async run(order: ToHost, signal?: AbortSignal, onUsage?: (usage: TaskUsage) => void): Promise<Answer> {
    clearTimeout(this.#idle);
    let late: NodeJS.Timeout | undefined;
    const cancel = () => {
      this.#send('cancel');
      late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    this.#hold(true);
    try {
      return await new Promise<Answer>((settle, fail) => {
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
    if ('answer' in message) this.#work?.settle(message.answer);
    else this.#isOutgrown ||= message.isOutgrown === true;
  }

  #onEnd(why: string): void {
    clearTimeout(this.#idle);
    const cause = `${why}: ${this.#complaints}`;
    this.#work?.fail(
      this.#isOutgrown
        ? new TaskFailure(
            'too-large',
            `It needs more memory than a process may use: ${this.options.maxBytes} bytes.`,
          )
        : new TaskFailure('worker-lost', 'The process that did it stopped unexpectedly.', cause),
    );
  }

  /** Only work keeps this process from its end. */
  #hold(isHeld: boolean): void {
    const { channel } = this.#child;
    for (const one of [this.#child, channel]) isHeld ? one?.ref() : one?.unref();
  }
}

function cancelled(): TaskFailure {
  return new TaskFailure('cancelled', 'The task was cancelled.');
}
