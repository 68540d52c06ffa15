const FLUSH_MS = 5000;

/** Counts by name, kept in memory and written every few seconds; what could not be written is written later. */
export class Tally {
  #counts = new Map<string, number>();
  #writing: ReadonlyMap<string, number> = new Map();
  #flushing: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;

  /** `most` is the maximum number of names counted between two writes, because clients can send arbitrary names. */
  constructor(
    private readonly write: (counts: ReadonlyMap<string, number>) => Promise<unknown>,
    private readonly max: number,
    onError: (error: unknown) => void,
  ) {
    this.#timer = setInterval(() => void this.flush().catch(onError), FLUSH_MS).unref();
  }

  add(name: string, count = 1): void {
    const before = this.#counts.get(name);
    if (before !== undefined || this.#counts.size < this.max) this.#counts.set(name, (before ?? 0) + count);
  }

  /** Count of a name that is not written yet. */
  unwritten(name: string): number {
    return (this.#counts.get(name) ?? 0) + (this.#writing.get(name) ?? 0);
  }

  /** Flushes of one tally follow each other. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.catch(() => {}).then(() => this.#flush());
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    if (this.#counts.size === 0) return;
    const counts = this.#counts;
    this.#writing = counts;
    this.#counts = new Map();
    try {
      await this.write(counts);
      this.#writing = new Map();
    } catch (error) {
      this.#writing = new Map();
      for (const [name, count] of counts) this.add(name, count);
      throw error;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }
}
