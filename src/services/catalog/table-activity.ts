import { hasFeatures } from '../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../core/catalog/catalog-change.js';
import type { Collection, VectorCollection } from '../../core/catalog/collection.js';
import type { CollectionChange } from '../../core/edits/edits.js';
import { type Activity, listActivityTables, sumActivity } from '../../core/sources/activity.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { Catalog } from './catalog.js';
import type { ExtentRefresh } from './extents.js';

export interface TableActivityOptions {
  catalog: Pick<Catalog, 'current' | 'noteActivity'>;
  pools: Pick<Pools, 'run'>;
  extents: Pick<ExtentRefresh, 'refresh'>;
}

type Counts = [inserted: number, updated: number, deleted: number, rows: number];

/** Minimum milliseconds between two queries of a database. */
const FRESH_MS = 1000;
const DEADLINE_MS = 2000;

/** Whether the database of a collection counts the writes to its tables. */
function isCounted(one: Collection): one is VectorCollection & { source: { database: string } } {
  return hasFeatures(one) && one.activity !== undefined && one.source.database !== undefined;
}

interface DatabaseState {
  lookedAt: number;
  looking?: Promise<void> | undefined;
}

/**
 * Detects writes by other programs from the counters of a database. Counts and extents are then measured again. A
 * database is queried only when a request needs it, at most once a second, with one statement for all tables.
 */
export class TableActivity {
  readonly #databases = new Map<string, DatabaseState>();
  /** Rows that edits of this server have added since the counters were read; undefined if that is not known. */
  readonly #added = new Map<string, number | undefined>();
  readonly #options: TableActivityOptions;

  constructor(options: TableActivityOptions) {
    this.#options = options;
  }

  /** Resolves once the counts and extents of the collections are as fresh as they get; undefined if they are. Never rejects. */
  look(collections: readonly Collection[]): Promise<unknown> | undefined {
    const databases = new Set<string>();
    for (const one of collections) if (isCounted(one)) databases.add(one.source.database);
    const looks = [...databases].flatMap((database) => this.#look(database) ?? []);
    return looks.length === 0 ? undefined : Promise.all(looks);
  }

  /** Records an edit by this server, which the counters will also show. */
  edited({ id, activity }: VectorCollection, { features }: CollectionChange): void {
    if (!activity) return;
    const added = this.#added.has(id) ? this.#added.get(id) : 0;
    this.#added.set(id, added === undefined || features === undefined ? undefined : added + features);
  }

  /** Collections that were read again have the counters of then. */
  replaced(changed: readonly ChangedCollection[]): void {
    for (const { before, after } of changed) {
      const isSame = hasFeatures(before) && hasFeatures(after) && before.activity === after.activity;
      if (before && !isSame) this.#added.delete(before.id);
    }
  }

  #look(database: string): Promise<void> | undefined {
    const state = this.#databases.get(database) ?? { lookedAt: Number.NEGATIVE_INFINITY };
    this.#databases.set(database, state);
    if (state.looking) return state.looking;
    if (performance.now() - state.lookedAt < FRESH_MS) return undefined;
    state.lookedAt = performance.now();
    state.looking = this.#compare(database)
      .catch(() => undefined)
      .finally(() => {
        state.looking = undefined;
      });
    return state.looking;
  }

  async #compare(database: string): Promise<void> {
    const { catalog, pools } = this.#options;
    const collections = catalog.current.collections
      .filter(isCounted)
      .filter(({ source }) => source.database === database);
    const tables = [...new Set(collections.flatMap(({ source }) => listActivityTables(source)))];
    const activities = await pools.run('vector.activity', { database, tables }, { deadlineMs: DEADLINE_MS });
    const counters = new Map(tables.map((table, i) => [table, activities[i] ?? null]));
    const changed = collections.filter((collection) => {
      const parts = listActivityTables(collection.source).map((table) => counters.get(table) ?? null);
      return this.#isChanged(collection, sumActivity(parts));
    });
    await Promise.all(changed.map(({ id }) => this.#options.extents.refresh(id)));
  }

  /**
   * Whether another program wrote. The stored count becomes doubtful unless edits of this server explain the
   * counters.
   */
  #isChanged({ id, activity = [] }: VectorCollection, now: Activity): boolean {
    if (now.every((value, i) => value === activity[i])) return false;
    const [inserted, , deleted, rows] = now.map((value, i) => value - (activity[i] ?? 0)) as Counts;
    const added = this.#added.has(id) ? this.#added.get(id) : 0;
    // Rows that TRUNCATE removed are counted nowhere else.
    const isExplained = inserted - deleted === added && rows === added;
    this.#added.delete(id);
    this.#options.catalog.noteActivity(id, now, !isExplained);
    return true;
  }
}
