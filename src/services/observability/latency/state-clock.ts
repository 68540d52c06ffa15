/**
 * The clock of the state, between two readings. It runs with the monotonic clock of this process, so a wrong or
 * corrected clock of this machine has no effect.
 */
export class StateClock {
  #offset: number;

  constructor(
    private readonly read: () => Promise<number>,
    private readonly monotonic: () => number = () => performance.now(),
    start = Date.now(),
  ) {
    this.#offset = start - monotonic();
  }

  /** Milliseconds since 1970. */
  now(): number {
    return Math.floor(this.monotonic() + this.#offset);
  }

  /** Reads the clock of the state. Rejects if the state does not respond. */
  async set(): Promise<void> {
    const before = this.monotonic();
    const now = await this.read();
    this.#offset = now - (before + this.monotonic()) / 2;
  }
}
