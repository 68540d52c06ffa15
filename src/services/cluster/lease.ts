export interface LeaseOptions {
  readonly leaseMs: number;
  /** Prolongs it, and writes what there is to tell. False: somebody else has it. */
  prolong(): Promise<boolean>;
  /** Called when somebody else has it, or may have. */
  lost(): void;
  onError(error: unknown): void;
}

/** Milliseconds between writes of progress. */
const PROGRESS_MS = 500;

/**
 * Keeps a lease while its holder works. One that could not be prolonged in time counts as lost, though nobody said so:
 * others may have it by now, and what cannot be reached cannot tell.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #timer: NodeJS.Timeout;
  /** When the last prolongation that succeeded was begun, by this process's own clock. */
  #held = performance.now();
  #begun = performance.now();
  #writing: Promise<void> | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), options.leaseMs / 3);
  }

  /** There is something to tell: it is written soon. */
  tell(): void {
    if (performance.now() - this.#begun >= PROGRESS_MS) this.prolong();
  }

  /** One write at a time; the next one carries what came in between. */
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
    // An answer that came while this process could not run is read first.
    if (this.#isOver) setImmediate(() => this.#isOver && this.#options.lost());
  }

  get #isOver(): boolean {
    return performance.now() - this.#held > this.#options.leaseMs;
  }
}
