import { ApiError } from '../../../core/errors/errors.js';
import { HTTP_LIMITS } from '../../../core/http/limits.js';

/** Bytes of bodies that are in memory until their last byte is there: all clients together have an end. */
let all = 0;
let anonymous = 0;

/** Memory of one body within the limit of all bodies. */
export class ReceivedBytes {
  #bytes = 0;

  constructor(private readonly isAnonymous: boolean) {}

  /** Reserves bytes. Throws 503 if the limit is reached. */
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
