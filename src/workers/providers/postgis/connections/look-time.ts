import type { Patience } from '../../../../core/tasks/vector-tasks.js';
import { isPgError, type PostgresConnection } from '../../../../native/postgres.js';
import type { SpatialTable } from '../schema/catalog.js';
import { CANCELED } from './failure.js';

/** Milliseconds for a table that stores its rows, which is slow only where it is locked. */
const STORED_MS = 5000;
/** Milliseconds between two cancellations of a look: the first one may end only a part of it. */
const REPEAT_MS = 1000;
/** pg_class.relkind of tables and materialised views. */
const STORED = 'rmp';

/** Limits the time for the inspection of tables, so that slow views do not delay the other tables. */
export class LookTime {
  /** Milliseconds that were spent on tables which took too long. */
  #lost = 0;

  constructor(
    private readonly connection: PostgresConnection,
    private readonly patience: Patience,
  ) {}

  /** Tables that store their rows come first. */
  order(tables: readonly SpatialTable[]): SpatialTable[] {
    const isView = ({ kind }: SpatialTable) => Number(!STORED.includes(kind));
    return [...tables].sort((a, b) => isView(a) - isView(b));
  }

  /** Milliseconds left for a table. */
  leftFor({ kind }: Pick<SpatialTable, 'kind'>): number {
    const { tableMs, allMs } = this.patience;
    return STORED.includes(kind) ? Math.max(STORED_MS, tableMs) : Math.min(tableMs, allMs - this.#lost);
  }

  /** Returns the result of `look`. Undefined if it takes too long. */
  async within<T>(table: Pick<SpatialTable, 'kind'>, look: () => Promise<T>): Promise<T | undefined> {
    const left = this.leftFor(table);
    if (left <= 0) return undefined;
    const start = performance.now();
    let timer = setTimeout(cancel, left, this.connection);
    function cancel(connection: PostgresConnection): void {
      connection.cancel();
      timer = setTimeout(cancel, REPEAT_MS, connection);
    }
    try {
      return await look();
    } catch (error) {
      if (!isPgError(error) || !error.alive || error.code !== CANCELED) throw error;
      this.#lost += performance.now() - start;
      clearTimeout(timer);
      await this.#absorbCancellation();
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
  /** A cancellation can reach the server after the statement that it was meant for. */
  async #absorbCancellation(): Promise<void> {
    try {
      await this.connection.query('SELECT 1');
    } catch (error) {
      if (!isPgError(error) || !error.alive || error.code !== CANCELED) throw error;
    }
  }
}
