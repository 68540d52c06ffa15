/** A map that forgets the oldest entry when it is full, so that keys chosen by clients cannot fill the memory. */
export class Recent<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    if (this.#entries.size >= this.#max && !this.#entries.has(key))
      this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, value);
  }
}
