/** The gateway's side of one engine connection. */

import { connect, type Socket } from 'node:net';
import type { Caller } from '../../core/kit/callers.js';
import type { TaskWork } from '../../core/tasks/tasks.js';
import { failureFrom } from '../threads/failure.js';
import { FrameReader, FrameWriter } from './frames.js';
import { takeRoom } from './rooms.js';
import type { EngineTaskName, WireMessage } from './wire.js';

const PING_INTERVAL_MS = 5_000;
/** Milliseconds without a sign of an engine's main thread after which the engine counts as lost. */
const SILENCE_LIMIT_MS = 20_000;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 2_000;

/** A request as the link sees it. Exactly one of `resolve`, `reject` and `lost` is called. */
export interface LinkRequest {
  task: EngineTaskName;
  input: unknown;
  /** Milliseconds left. */
  deadlineMs?: number;
  onProgress?: (fraction: number) => void;
  /** Correlation id of the request that it runs for. */
  request?: string;
  caller?: Caller;
  heavy?: boolean;
  onWork?: (work: TaskWork) => void;
  resolve(value: unknown): void;
  reject(error: Error): void;
  /** Called when the engine ends before it responds. `started` is false if the task certainly did not run. */
  lost(reason: string, started: boolean): void;
}

export interface LinkEvents {
  /** The link can take requests, or can no more, or has a place free again. */
  onChange(): void;
}

/** Number of bytes in one read from the socket. */
const READ_BYTES = 262_144;

export class EngineLink {
  readonly #requests = new Map<number, LinkRequest>();
  #socket: Socket | null = null;
  #writer: FrameWriter | null = null;
  #state: 'connecting' | 'ready' | 'draining' | 'down' | 'closed' = 'down';
  #nextId = 1;
  #retryMs = FIRST_RETRY_MS;
  #retryTimer: NodeJS.Timeout | undefined;
  #pingTimer: NodeJS.Timeout | undefined;
  #lastHeard = 0;

  constructor(
    readonly path: string,
    private readonly events: LinkEvents,
  ) {
    this.#connect();
  }

  get ready(): boolean {
    return this.#state === 'ready';
  }

  get inFlight(): number {
    return this.#requests.size;
  }

  /** Sends a request; only when `ready`. The returned function cancels the request. */
  send(request: LinkRequest): () => void {
    const id = this.#nextId;
    this.#nextId = this.#nextId === 0xffffffff ? 1 : this.#nextId + 1;
    const { task, input, deadlineMs, caller, heavy, onWork } = request;
    this.#requests.set(id, request);
    try {
      const measured = onWork ? { isMeasured: true as const } : {};
      const about = { deadlineMs, caller, heavy, request: request.request, ...measured };
      this.#writer!.send({ kind: 'request', id, task, input, ...about });
    } catch (error) {
      this.#requests.delete(id);
      throw error;
    }
    return () => {
      if (!this.#requests.delete(id)) return;
      if (this.#socket && !this.#socket.destroyed) this.#writer!.send({ kind: 'cancel', id });
      this.events.onChange();
    };
  }

  close(): void {
    this.#state = 'closed';
    clearTimeout(this.#retryTimer);
    this.#socket?.destroy();
    this.#loseAll('the connection was closed');
  }

  #connect(): void {
    this.#state = 'connecting';
    const reader = new FrameReader(
      (message) => this.#receive(message),
      // Its results are sent once and are not cached.
      (id, length) =>
        this.#requests.get(id)?.task === 'raster.coverage' ? takeRoom(length) : new Uint8Array(length),
    );
    const read = (bytes: Uint8Array) => {
      this.#lastHeard = Date.now();
      try {
        reader.push(bytes as Buffer);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : undefined);
      }
      return true;
    };
    // The reader copies the data that it keeps, so one buffer serves all reads. A new buffer for each read would
    // immediately be garbage.
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const onread = { buffer, callback: (count: number) => read(buffer.subarray(0, count)) };
    const socket = connect({ path: this.path, onread });
    this.#socket = socket;
    this.#writer = new FrameWriter(socket);
    // 'close' follows every error with the same meaning.
    socket.on('error', () => {});
    socket.on('close', () => this.#down(socket));
  }

  #receive(message: WireMessage): void {
    if (message.kind === 'hello') this.#welcome();
    else if (message.kind === 'goaway') this.#retire();
    else if (message.kind === 'progress') this.#requests.get(message.id)?.onProgress?.(message.fraction);
    else if (message.kind === 'result')
      this.#settle(message.id, (request) => {
        if (message.work) request.onWork?.(message.work);
        request.resolve(message.value);
      });
    else if (message.kind === 'failure')
      this.#settle(message.id, (request) => this.#fail(request, message.failure));
  }

  #fail(request: LinkRequest, failure: unknown): void {
    const error = failureFrom(failure);
    if (error.code === 'worker-lost') request.lost(error.message, this.#state !== 'draining');
    else request.reject(error);
  }

  #settle(id: number, end: (request: LinkRequest) => void): void {
    const request = this.#requests.get(id);
    if (!request) return;
    this.#requests.delete(id);
    end(request);
    this.events.onChange();
  }

  #welcome(): void {
    this.#state = 'ready';
    this.#retryMs = FIRST_RETRY_MS;
    clearInterval(this.#pingTimer);
    this.#pingTimer = setInterval(() => this.#ping(), PING_INTERVAL_MS).unref();
    this.events.onChange();
  }

  #retire(): void {
    this.#state = 'draining';
    this.events.onChange();
  }

  #ping(): void {
    if (Date.now() - this.#lastHeard > SILENCE_LIMIT_MS) this.#socket?.destroy();
    else if (this.#socket && !this.#socket.destroyed) this.#writer!.send({ kind: 'ping', id: 0 });
  }

  #down(socket: Socket): void {
    if (socket !== this.#socket) return;
    clearInterval(this.#pingTimer);
    if (this.#state === 'closed') return;
    // The state changes before the requests are returned, because they would otherwise be sent here again.
    this.#state = 'down';
    this.#loseAll('the connection to the engine broke');
    this.#retryTimer = setTimeout(() => this.#connect(), this.#retryMs).unref();
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
    this.events.onChange();
  }

  #loseAll(reason: string): void {
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    for (const request of requests) request.lost(reason, true);
  }
}
