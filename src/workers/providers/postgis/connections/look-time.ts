import type { Patience } from '../../../../core/tasks/vector-tasks.js';
import { isPgError, type PostgresConnection } from '../../../../native/postgres.js';
import type { SpatialTable } from '../schema/catalog.js';
import { CANCELED } from './failure.js';

/** Milliseconds for a table that stores its rows, which is slow only where it is locked. */
const STORED_MS = 5000;
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

  /** Returns the result of `look`. Undefined if it takes too long. */
  async within<T>({ kind }: SpatialTable, look: () => Promise<T>): Promise<T | undefined> {
    const { tableMs, allMs } = this.patience;
    const left = STORED.includes(kind) ? Math.max(STORED_MS, tableMs) : Math.min(tableMs, allMs - this.#lost);
    if (left <= 0) return undefined;
    const start = performance.now();
    const timer = setTimeout(() => this.connection.cancel(), left);
    try {
      return await look();
    } catch (error) {
      if (!isPgError(error) || !error.alive || error.code !== CANCELED) throw error;
      this.#lost += performance.now() - start;
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}
