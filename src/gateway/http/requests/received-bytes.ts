import { ApiError } from '../../../core/errors/errors.js';
import { HTTP_LIMITS } from '../../../core/http/limits.js';

/** Bytes of bodies that are in memory until their last byte is there: all clients together have an end. */
let all = 0;
let anonymous = 0;

/** What one body takes of the memory for bodies. */
export class ReceivedBytes {
  #bytes = 0;

  constructor(private readonly isAnonymous: boolean) {}

  /** Throws 503 when others have taken it all. */
  take(bytes: number): void {
    const full =
      all + bytes > HTTP_LIMITS.receivedBytes ||
      (this.isAnonymous && anonymous + bytes > HTTP_LIMITS.anonymousReceivedBytes);
    if (full)
      throw new ApiError('unavailable', 'The server is receiving too many request bodies. Retry later.', {
        headers: { 'retry-after': '2' },
      });
    this.#add(bytes);
  }

  release(): void {
    this.#add(-this.#bytes);
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    all += bytes;
    if (this.isAnonymous) anonymous += bytes;
  }
}
