/** The engine's side of one gateway connection. */

import type { Socket } from 'node:net';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { TaskWork } from '../../../core/tasks/tasks.js';
import { FrameReader, FrameWriter } from '../../engine/frames.js';
import { type EngineTaskName, PROTOCOL_VERSION, type WireMessage } from '../../engine/wire.js';
import { failureMessage, preciseNow, workSince } from '../../threads/failure.js';
import type { EngineTaskOptions } from './threads.js';

export type RunTask = (task: EngineTaskName, input: unknown, options: EngineTaskOptions) => Promise<unknown>;

/** Least time between two progress messages of a task. */
const PROGRESS_INTERVAL_MS = 100;

export class EngineConnection {
  readonly #writer: FrameWriter;
  readonly #running = new Map<number, AbortController>();
  #draining = false;

  constructor(
    private readonly socket: Socket,
    private readonly runTask: RunTask,
    onBadInput: (error: unknown) => void,
  ) {
    this.#writer = new FrameWriter(socket);
    const reader = new FrameReader((message) => this.#receive(message));
    socket.on('data', (bytes: Buffer) => {
      try {
        reader.push(bytes);
      } catch (error) {
        onBadInput(error);
        socket.destroy();
      }
    });
    // A reset by the gateway is normal; 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => this.#abandon());
    this.#writer.send({ kind: 'hello', version: PROTOCOL_VERSION, pid: process.pid });
  }

  get running(): number {
    return this.#running.size;
  }

  /** Requests the gateway to send no further requests. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    if (!this.socket.destroyed) this.#writer.send({ kind: 'goaway' });
  }

  /** Resolves when everything sent has left, at the latest with the end of the connection. */
  async end(): Promise<void> {
    await this.#writer.idle();
    if (this.socket.destroyed) return;
    await new Promise<void>((resolve) => {
      this.socket.once('close', () => resolve());
      this.socket.end();
    });
  }

  #receive(message: WireMessage): void {
    if (message.kind === 'request') void this.#serve(message);
    else if (message.kind === 'cancel') this.#running.get(message.id)?.abort();
    else if (message.kind === 'ping') this.#writer.send({ kind: 'pong', id: message.id });
  }

  async #serve({
    id,
    task,
    input,
    deadlineMs,
    isMeasured,
    request,
    caller,
    heavy,
  }: Extract<WireMessage, { kind: 'request' }>): Promise<void> {
    if (this.#running.has(id)) {
      this.socket.destroy();
      return;
    }
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      if (this.#draining) throw new TaskFailure('worker-lost', 'The engine is shutting down.');
      const onProgress = this.#progressOf(id);
      const start = preciseNow();
      let work: TaskWork | undefined;
      const value = await this.runTask(task, input, {
        signal: abort.signal,
        deadlineMs,
        onProgress,
        caller,
        heavy,
        request,
        onWork: (done) => {
          work = work ? { ...done, startMs: work.startMs } : done;
        },
      });
      this.#sendResult(id, value, isMeasured ? (work ?? workSince(start)) : undefined);
    } catch (error) {
      this.#send({ kind: 'failure', id, failure: failureMessage(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  #sendResult(id: number, value: unknown, work: TaskWork | undefined): void {
    try {
      this.#send(work ? { kind: 'result', id, value, work } : { kind: 'result', id, value });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new TaskFailure('too-large', 'The result of the task is too large.');
    }
  }

  #progressOf(id: number): (fraction: number) => void {
    let last = 0;
    return (fraction) => {
      const now = performance.now();
      if (fraction < 1 && now - last < PROGRESS_INTERVAL_MS) return;
      last = now;
      this.#send({ kind: 'progress', id, fraction: Math.min(1, Math.max(0, fraction)) });
    };
  }

  #send(message: WireMessage): void {
    if (!this.socket.destroyed) this.#writer.send(message);
  }

  #abandon(): void {
    for (const abort of this.#running.values()) abort.abort();
  }
}
