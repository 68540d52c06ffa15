import { HTTP_LIMITS } from '../../core/http/limits.js';

/** A large answer that is on its way to one client. */
export interface ReplyTransfer {
  /** Bytes that stay in memory until the answer is out. */
  readonly bytes: number;
  /** Ends the connection; the answer is lost. */
  cut(): void;
}

/**
 * Large answers that clients have not read yet. Their bytes together are bounded: above the limit, those that
 * stalled the longest are cut, so that clients which never read cannot fill the memory.
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

  /** A single answer may exceed the limit; it is cut only for the sake of later ones. */
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

  /** It is out, or its client is gone. Idempotent. */
  remove(sending: ReplyTransfer): void {
    if (this.#sendings.delete(sending)) this.#bytes -= sending.bytes;
  }
}
