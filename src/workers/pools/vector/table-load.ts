import { boundedCache } from '../../../core/values/bounded-cache.js';

/** Milliseconds after which a statement counts as slow. */
const SLOW_MS = 1000;
const MAX_TABLES = 10_000;

/**
 * Running statements of one database by the table or view that they read: a slow view leaves connections to other
 * tables.
 */
export class TableLoad {
  readonly #running = new Map<string, number[]>();
  /** Tables whose last statement was slow. */
  readonly #slow = boundedCache<string, true>(MAX_TABLES);

  /** Whether statements of a table are slow: the last one was, or a running one already is. */
  isSlow(table: string): boolean {
    const [oldest = Number.POSITIVE_INFINITY] = this.#running.get(table) ?? [];
    return this.#slow.has(table) || performance.now() - oldest > SLOW_MS;
  }

  count(table: string): number {
    return this.#running.get(table)?.length ?? 0;
  }

  /**
   * Records the start of a statement; returns the function that records its end. Statements that ended early do not
   * count for the duration.
   */
  began(table: string): (isWhole: boolean) => void {
    const start = performance.now();
    const running = this.#running.get(table);
    if (running) running.push(start);
    else this.#running.set(table, [start]);
    return (isWhole) => this.#ended(table, start, isWhole);
  }

  #ended(table: string, start: number, isWhole: boolean): void {
    const running = this.#running.get(table)!;
    running.splice(running.indexOf(start), 1);
    if (running.length === 0) this.#running.delete(table);
    if (performance.now() - start > SLOW_MS) this.#slow.set(table, true);
    else if (isWhole) this.#slow.delete(table);
  }
}
