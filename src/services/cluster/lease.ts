export interface LeaseOptions {
  readonly leaseMs: number;
  /** Prolongs the lease, and writes waiting progress. Resolves with false if another process has the lease. */
  prolong(): Promise<boolean>;
  /** Called if another process has, or can have, the lease. */
  lost(): void;
  onError(error: unknown): void;
}

/** Milliseconds between writes of progress. */
const PROGRESS_MS = 500;

/**
 * Keeps a lease while its holder works. A lease that could not be prolonged in time counts as lost without notice. An
 * unreachable database cannot report the loss, and another process can have the lease.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #timer: NodeJS.Timeout;
  /** Start of the last successful prolongation, by the clock of this process. */
  #held = performance.now();
  #begun = performance.now();
  #writing: Promise<void> | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), options.leaseMs / 3);
  }

  /** Call if there is progress to report. It is written soon. */
  tell(): void {
    if (performance.now() - this.#begun >= PROGRESS_MS) this.prolong();
  }

  /** Prolongs the lease. There is one write at a time, and the next one contains the progress in between. */
  prolong(): void {
    if (this.#writing) return;
    const begun = performance.now();
    this.#begun = begun;
    const { prolong, lost, onError } = this.#options;
    this.#writing = prolong()
      .then((isHeld) => {
        if (isHeld) this.#held = begun;
        else lost();
      })
      .catch((error: unknown) => {
        onError(error);
        if (this.#isOver) lost();
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** Resolves when the last write has ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
  }

  #look(): void {
    if (!this.#writing) return this.prolong();
    // A response that arrived while this process could not run is processed first.
    if (this.#isOver) setImmediate(() => this.#isOver && this.#options.lost());
  }

  get #isOver(): boolean {
    return performance.now() - this.#held > this.#options.leaseMs;
  }
}
