export interface Delays {
  /** Milliseconds before the first new attempt, on average; 250 by default. */
  firstMs?: number;
  /** The longest wait; 15,000 by default. */
  longestMs?: number;
}

/**
 * Delays between attempts: each is twice the previous one, with random variation, so that the clients of a server do
 * not reconnect simultaneously.
 */
export class Backoff {
  #failures = 0;

  constructor(private readonly delays: Delays = {}) {}

  next(): number {
    const { firstMs = 250, longestMs = 15_000 } = this.delays;
    const whole = Math.min(firstMs * 2 ** this.#failures++, longestMs);
    return whole * (0.5 + Math.random() / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}
