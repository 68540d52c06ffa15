import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { TaskFailure } from '../../core/failure.js';
import type { FeatureProcessTasks } from '../../core/feature-processes.js';
import type { PoolStatus, TaskInput, TaskOptions, TaskOutput, TaskUsage } from '../../core/tasks.js';
import { type Answer, failureFrom } from '../failure.js';
import type { FromHost, ToHost } from './host.js';

type Name = keyof FeatureProcessTasks;

export interface ProcessPoolOptions {
  /** Tasks that are done at a time, each by a process of its own. */
  size: number;
  /** Bytes of memory that a task may need. */
  maxBytes: number;
}

/** Milliseconds without work after which a process ends: starting one takes longer than a small task. */
const IDLE_MS = 60_000;
/** Milliseconds that a task has to stop by itself, so that it takes leave of its database. */
const STOP_MS = 2000;
/** Characters kept of what a process complains of. */
const COMPLAINTS = 2000;

/** Processes that do tasks of jobs, there only while they have work. */
export class ProcessPool {
  readonly #hosts = new Set<Host>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(private readonly options: ProcessPoolOptions) {}

  async run<N extends Name>(
    name: N,
    input: TaskInput<N>,
    { signal, onUsage }: TaskOptions = {},
  ): Promise<TaskOutput<N>> {
    await this.#turn(signal);
    const host = [...this.#hosts].find(({ isIdle }) => isIdle) ?? this.#start();
    try {
      const answer = (await host.run({ name, input }, signal, onUsage)) as Answer<TaskOutput<N>>;
      if (answer.ok) return answer.value;
      throw failureFrom(answer.failure);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** A process that is not there for lack of work is healthy. */
  status(): PoolStatus {
    const [workers, queued] = [this.#hosts.size, this.#waiting.length];
    return { name: 'process', workers, queued, running: this.#running, healthy: true };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#hosts].map((host) => host.kill()));
  }

  /** Takes a place, or waits for one. Rejects when the task is cancelled first. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw cancelled();
    if (this.#running < this.options.size) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        this.#running += 1;
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(cancelled());
      };
      this.#waiting.push(begin);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #start(): Host {
    const host = new Host(this.options.maxBytes, () => this.#hosts.delete(host));
    this.#hosts.add(host);
    return host;
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
  #complaints = '';
  #idle: NodeJS.Timeout | undefined;
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;

  constructor(
    private readonly maxBytes: number,
    onEnd: () => void,
  ) {
    this.#child = fork(new URL('./host.js', import.meta.url), [`${maxBytes}`], {
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
        onEnd();
        this.#onEnd(why);
        resolve();
      };
      this.#child.on('error', (error) => end(String(error)));
      this.#child.on('close', (code, killer) => end(`exit ${code ?? killer}`));
    });
  }

  get isIdle(): boolean {
    return this.#work === undefined && this.#child.connected;
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
      });
    } catch (error) {
      throw signal?.aborted ? cancelled() : error;
    } finally {
      clearTimeout(late);
      signal?.removeEventListener('abort', cancel);
      this.#work = undefined;
      this.#idle = setTimeout(() => this.#child.disconnect?.(), IDLE_MS).unref();
      this.#hold(false);
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
    if ('answer' in message) this.#work?.settle(message.answer);
    else this.#isOutgrown ||= message.isOutgrown === true;
  }

  #onEnd(why: string): void {
    clearTimeout(this.#idle);
    const cause = `${why}: ${this.#complaints}`;
    this.#work?.fail(
      this.#isOutgrown
        ? new TaskFailure('too-large', `It needs more memory than a process may use: ${this.maxBytes} bytes.`)
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
