import { ApiError } from '../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { BACKGROUND, type Caller } from '../../../core/kit/callers.js';

const { exportStreams, exportStreamsPerCaller } = EXCHANGE_LIMITS;

/** Seconds after which a refused client should retry. */
const RETRY = { headers: { 'retry-after': '30' } };

/** Places for the exports that a process streams at the same time. */
export class StreamPlaces {
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** Takes a place. Returns a function that frees it, once. Throws 429 or 503 if there is none. */
  enter({ class: kind, id }: Caller = BACKGROUND): () => void {
    const key = `${kind}:${id}`;
    const own = this.#taken.get(key) ?? 0;
    if (own >= exportStreamsPerCaller)
      throw new ApiError(
        'too-many-requests',
        `A client can run at most ${exportStreamsPerCaller} exports at the same time. Retry after one of them has ended.`,
        RETRY,
      );
    if (this.#all >= exportStreams)
      throw new ApiError(
        'unavailable',
        `The server runs ${exportStreams} exports, which is the limit. Retry after one of them has ended.`,
        RETRY,
      );
    this.#taken.set(key, own + 1);
    this.#all++;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#all--;
      const left = this.#taken.get(key)! - 1;
      if (left === 0) this.#taken.delete(key);
      else this.#taken.set(key, left);
    };
  }
}
