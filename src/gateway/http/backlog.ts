import { HTTP_LIMITS } from '../../core/http/limits.js';

/** Large response in transfer to one client. */
export interface ReplyTransfer {
  /** Bytes in memory until the response is sent. */
  readonly bytes: number;
  /** Closes the connection; the response is lost. */
  cut(): void;
}

/**
 * Tracks large responses that clients have not read yet, and limits their total bytes. Above the limit, the responses
 * that stalled for the longest time are closed, so that clients which never read cannot fill the memory.
 */
export class Backlog {
  /** The one that made no progress for the longest time comes first. */
  readonly #sendings = new Set<ReplyTransfer>();
  readonly #limit: number;
  #bytes = 0;

  constructor(limit: number = HTTP_LIMITS.unsentBytes) {
    this.#limit = limit;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A single response can exceed the limit. It is cut only in favour of later ones. */
  add(sending: ReplyTransfer): void {
    this.#sendings.add(sending);
    this.#bytes += sending.bytes;
    for (const oldest of this.#sendings) {
      if (this.#bytes <= this.#limit || oldest === sending) return;
      this.remove(oldest);
      oldest.cut();
    }
  }

  /** The client has read some of it. */
  progressed(sending: ReplyTransfer): void {
    if (this.#sendings.delete(sending)) this.#sendings.add(sending);
  }

  /** Removes a response that is sent or whose client disconnected. Idempotent. */
  remove(sending: ReplyTransfer): void {
    if (this.#sendings.delete(sending)) this.#bytes -= sending.bytes;
  }
}
