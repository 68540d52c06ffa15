import { performance } from 'node:perf_hooks';
import { ApiError } from '../../../core/errors/errors.js';
import { HTTP_LIMITS } from '../../../core/http/limits.js';
import type { HttpResponse } from '../uws.js';
import { type BodyHash, bodyHash } from './body-hash.js';
import type { ReceivedBytes } from './received-bytes.js';

/** Memory overhead of each part of a body: a client may send single bytes. */
const PART_BYTES = 256;

/** Unread bytes above which the socket is paused until the reader catches up. */
const HIGH_WATER = 1_048_576;

/**
 * The body of one request. Bytes are copied out of the buffer of the parser when they arrive. The socket is paused
 * while the reader is slow, so the memory is bounded for uploads of any size.
 */
export class RequestBody implements AsyncIterable<Uint8Array> {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #size = 0;
  #ended = false;
  #aborted = false;
  #paused = false;
  #dropping = false;
  #wake: (() => void) | undefined;
  #hash: BodyHash | undefined;
  readonly #res: HttpResponse;

  /** Must be called before the request handler returns to the event loop. */
  constructor(res: HttpResponse) {
    this.#res = res;
    res.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  /** Whether all bytes have arrived. Some may not have been read yet. */
  get complete(): boolean {
    return this.#ended;
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#aborted) return;
    this.#size += chunk.byteLength;
    if (chunk.byteLength > 0 && !this.#dropping) {
      this.#hash?.update(new Uint8Array(chunk));
      this.#chunks.push(new Uint8Array(chunk.slice(0)));
    }
    if (isLast) this.#end();
    else if (this.#size > HIGH_WATER && !this.#paused) {
      this.#paused = true;
      this.#res.pause();
    }
    this.#wake?.();
  }

  /**
   * Bytes that were already received may arrive while the socket is paused. The next request of the connection must
   * not wait for a reader.
   */
  #end(): void {
    this.#ended = true;
    if (!this.#paused) return;
    this.#paused = false;
    this.#res.resume();
  }

  /** Makes `hash` work. Must be called before the request handler returns to the event loop. */
  startHash(contentType: string | undefined): void {
    this.#hash = bodyHash(contentType);
  }

  /** Hash of the body, see `bodyHash`. Reads and discards the unread part. */
  async hash(): Promise<string> {
    if (!this.#ended) for await (const _ of this);
    return this.#hash!.digest();
  }

  /** The client went away. */
  abort(): void {
    this.#aborted = true;
    this.#chunks = [];
    this.#wake?.();
  }

  /**
   * Receives and discards the rest of the body, until it ends, pauses, or exceeds a limit. If a connection is closed
   * with unread bytes, it is reset and the client may lose the response.
   */
  async drop(): Promise<void> {
    const end = performance.now() + HTTP_LIMITS.lingerMs;
    let bytes = 0;
    this.#dropping = true;
    this.#chunks = [];
    while (!this.#ended && !this.#aborted && bytes < HTTP_LIMITS.lingerBytes && performance.now() < end) {
      this.#size = 0;
      this.#resume();
      await this.#arrival(HTTP_LIMITS.lingerQuietMs);
      if (this.#size === 0) return;
      bytes += this.#size;
    }
  }

  /** Resolves when something happens to the body, or nothing does for so long. */
  async #arrival(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (;;) {
      if (this.#aborted)
        throw new ApiError(
          'invalid-request',
          'The request body was interrupted before its end. Send it again.',
        );
      const chunk = this.#chunks.shift();
      if (chunk) {
        this.#size -= chunk.byteLength;
        this.#resume();
        yield chunk;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #resume(): void {
    if (!this.#paused || this.#aborted || this.#size > HIGH_WATER / 2) return;
    this.#paused = false;
    this.#res.resume();
  }

  /** The whole body in parts. Throws 413 above `maxBytes`, 408 when it takes too long, 503 without memory for it. */
  async collect(maxBytes: number, memory: ReceivedBytes): Promise<Uint8Array<ArrayBuffer>[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new ApiError(
        'request-timeout',
        'The request body took too long to arrive. Send it again.',
      );
      timer = setTimeout(() => reject(error), HTTP_LIMITS.bodySeconds * 1000);
    });
    try {
      return await Promise.race([this.#collect(maxBytes, memory), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #collect(maxBytes: number, memory: ReceivedBytes): Promise<Uint8Array<ArrayBuffer>[]> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    for await (const part of this) {
      size += part.byteLength;
      if (size > maxBytes) {
        throw new ApiError(
          'payload-too-large',
          `The request body is too large. The limit is ${maxBytes} bytes.`,
        );
      }
      memory.take(part.byteLength + PART_BYTES);
      parts.push(part);
    }
    return parts;
  }
}
