import { Worker } from 'node:worker_threads';
import {
  CHANGED,
  MAX_PREPARED,
  type StateReady,
  type StateReply,
  type StateRequest,
  type StateRows,
  type StateWorkerData,
} from './protocol.js';

/** A statement that the state database refused. `code` is SQLite's symbolic code, or the SQLSTATE of PostgreSQL. */
export class StateError extends Error {
  override readonly name = 'StateError';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** True for a broken UNIQUE or PRIMARY KEY constraint. */
  get duplicate(): boolean {
    return DUPLICATE.has(this.code);
  }
}

/** The last one is PostgreSQL's unique_violation. */
const DUPLICATE = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY', '23505']);

interface Waiter {
  resolve(rows: StateRows): void;
  reject(error: StateError): void;
}

const BUSY_TIMEOUT_MS = 10_000;
const WORKER = new URL('../entries/state.js', import.meta.url);

/** The gateway's end of the state thread: posts SQL, matches replies to callers. */
export class StateLink {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiter>();
  readonly #exited: Promise<void>;
  /** Statements that the thread keeps prepared. */
  static readonly maxPrepared = MAX_PREPARED;
  /** Called when another connection has written to the file. */
  onChange: () => void = () => {};
  #next = 1;
  #down: StateError | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#exited = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#fail(new StateError('SQLITE_MISUSE', 'The state database is closed.'));
        resolve();
      });
    });
    worker.on('error', (error) => this.#fail(new StateError('SQLITE_IOERR', error.message)));
    worker.on('message', (message: StateReply | typeof CHANGED) => {
      if (message === CHANGED) this.onChange();
      else this.#settle(message);
    });
  }

  /** Starts the thread and opens the file. Rejects when the file cannot be opened. `worker` is its script. */
  static async open(path: string, worker: URL = WORKER): Promise<StateLink> {
    const workerData: StateWorkerData = { path, busyTimeout: BUSY_TIMEOUT_MS };
    const thread = new Worker(worker, { workerData, name: 'state' });
    // `removeAllListeners` would also remove the thread's internal listeners.
    const opened = await new Promise<StateReady>((resolve, reject) => {
      thread.once('error', reject);
      thread.once('message', (message: StateReady) => {
        thread.off('error', reject);
        resolve(message);
      });
    });
    if (!opened.opened) throw new StateError('SQLITE_CANTOPEN', `${path}: ${opened.message}`);
    return new StateLink(thread);
  }

  /** Runs one statement. Parameters may be numbers, strings, buffers and null. */
  run(sql: string, parameters: readonly unknown[]): Promise<StateRows> {
    if (this.#down) return Promise.reject(this.#down);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, sql, parameters } satisfies StateRequest);
    });
  }

  /** Statements already posted are finished first. */
  async close(): Promise<void> {
    if (!this.#down) this.#worker.postMessage('close');
    await this.#exited;
  }

  #settle(reply: StateReply): void {
    const waiting = this.#waiting.get(reply.id);
    if (!waiting) return;
    this.#waiting.delete(reply.id);
    if ('code' in reply) waiting.reject(new StateError(reply.code, reply.message));
    else waiting.resolve(reply);
  }

  #fail(error: StateError): void {
    this.#down ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#down);
    this.#waiting.clear();
  }
}
