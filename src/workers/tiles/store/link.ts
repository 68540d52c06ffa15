import { Worker } from 'node:worker_threads';
import type {
  TileStoreCount,
  TileStoreData,
  TileStoreReady,
  TileStoreReply,
  TileStoreRequest,
} from './protocol.js';

type Question = TileStoreRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

interface Waiter {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const WORKER = new URL('../../entries/tile-store.js', import.meta.url);

/** The gateway's end of the tile store: posts requests, matches replies to callers. */
export class TileStoreLink {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiter>();
  #next = 1;
  #down: Error | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (reply: TileStoreReply) => this.#settle(reply));
    worker.on('error', (error) => this.#fail(error));
    worker.once('exit', () => this.#fail(new Error('The tile store is closed.')));
  }

  /** Starts the thread and opens the file. Rejects when that fails. `worker` is its script. */
  static async open(data: TileStoreData, worker: URL = WORKER): Promise<TileStoreLink> {
    const thread = new Worker(worker, { workerData: data, name: 'tiles' });
    const opened = await new Promise<TileStoreReady>((resolve, reject) => {
      thread.once('error', reject);
      thread.once('message', (message: TileStoreReady) => {
        thread.off('error', reject);
        resolve(message);
      });
    });
    if (!opened.opened) throw new Error(`${data.file}: ${opened.message}`);
    return new TileStoreLink(thread);
  }

  /** Requests that wait for their reply. */
  get waiting(): number {
    return this.#waiting.size;
  }

  read(key: string): Promise<Uint8Array | undefined> {
    return this.#ask({ type: 'read', key }) as Promise<Uint8Array | undefined>;
  }

  async write(tiles: readonly [key: string, tile: Uint8Array][]): Promise<void> {
    await this.#ask({ type: 'write', tiles });
  }

  drop(pattern: string): Promise<number> {
    return this.#ask({ type: 'drop', pattern }) as Promise<number>;
  }

  count(): Promise<TileStoreCount> {
    return this.#ask({ type: 'count' }) as Promise<TileStoreCount>;
  }

  /** Earlier messages are processed first. */
  async close(): Promise<void> {
    if (!this.#down) await this.#ask({ type: 'close' });
    await this.#worker.terminate();
  }

  #ask(question: Question): Promise<unknown> {
    if (this.#down) return Promise.reject(this.#down);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...question, id });
    });
  }

  #settle(reply: TileStoreReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.value);
  }

  #fail(error: Error): void {
    this.#down ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#down);
    this.#waiting.clear();
  }
}
