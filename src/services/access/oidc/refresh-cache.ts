/** A value that is loaded on first use. Once it is old, it is loaded again in the background. */
export class RefreshCache<T> {
  #value: { readonly value: T; readonly at: number } | undefined;
  #loading: Promise<T> | undefined;

  constructor(
    private readonly load: () => Promise<T>,
    private readonly maxAgeMs: number,
  ) {}

  /** The present value. The old value is returned until a new one is loaded. Rejects if there never was a value. */
  async get(): Promise<T> {
    if (!this.#value) return this.renew();
    if (Date.now() - this.#value.at > this.maxAgeMs) this.renew().catch(() => {});
    return this.#value.value;
  }

  /** Loads the value now. */
  renew(): Promise<T> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(): Promise<T> {
    const value = await this.load();
    this.#value = { value, at: Date.now() };
    return value;
  }
}
