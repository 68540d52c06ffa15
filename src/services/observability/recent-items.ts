/** The last items of a kind. Keeps no more than its capacity. */
export class RecentItems<T> {
  readonly #items: T[] = [];
  #next = 0;

  constructor(readonly capacity: number) {}

  add(item: T): void {
    this.#items[this.#next] = item;
    this.#next = (this.#next + 1) % this.capacity;
  }

  /** Newest first. */
  list(): T[] {
    return [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)].reverse();
  }
}
