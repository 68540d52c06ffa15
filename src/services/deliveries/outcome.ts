import { DELIVERY_LIMITS } from './limits.js';

/** Result of one attempt to send a message to a receiver. */
export type Outcome =
  | { readonly kind: 'accepted' }
  | Retry
  /** The receiver will never accept this message. The next one is not delayed. */
  | { readonly kind: 'refused'; readonly error: string };

export interface Retry {
  readonly kind: 'retry';
  readonly error: string;
  /** Milliseconds from `Retry-After`. Then the attempt does not count as a failure. */
  readonly afterMs?: number | undefined;
  /**
   * Whether this message can be the reason of the error. False for a receiver that is unreachable or too busy.
   */
  readonly isAnswer: boolean;
}

export const ACCEPTED: Outcome = { kind: 'accepted' };

export const retry = (error: string): Retry => ({ kind: 'retry', error, isAnswer: false });
export const refuseMessage = (error: string): Outcome => ({ kind: 'refused', error });

/** Statuses that do not depend on the message: timeouts, early requests, request limits, gateway errors. */
const BUSY = new Set([408, 425, 429, 502, 503, 504]);

/** Outcome of a response with a status of HTTP. Redirects are not followed, so they are errors of the receiver. */
export function readStatus(status: number, retryAfter?: string): Outcome {
  if (status >= 200 && status < 300) return ACCEPTED;
  const error = `answered ${status}`;
  if (status >= 400 && status < 500 && !BUSY.has(status)) return refuseMessage(error);
  const afterMs = status === 429 || status === 503 ? readRetryAfter(retryAfter) : undefined;
  return { kind: 'retry', error, afterMs, isAnswer: !BUSY.has(status) };
}

/** Milliseconds of a `Retry-After` header: seconds or a date, within the limit. Undefined if it is neither. */
export function readRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : /^[A-Z]/i.test(text) ? Date.parse(text) - now : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), DELIVERY_LIMITS.retryAfterMs);
}
