import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/ast.js';
import type { Box } from '../../core/geometry/box.js';
import { globeExtent } from '../../core/geometry/box.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Known facts about the rows of a collection that a rule leaves. */
export interface VisibleFacts {
  readonly featureCount?: number;
  readonly extent84?: Box;
  readonly extent?: Box;
}

/** Collections and rules that facts are kept of. */
const MAX_FACTS = 10_000;
/** Maximum number of collections measured at the same time, because feature requests have priority. */
const AT_ONCE = 2;
/** Milliseconds before a failed measurement is retried. */
const RETRY_MS = 60_000;

interface Entry {
  facts: VisibleFacts | undefined;
  asked: Promise<void> | undefined;
  failedAt: number;
}

const SHARED: TaskContext = { timing() {} };

/**
 * Counts and extents of the rows that rules leave. They are measured on request, once for all callers with the same
 * rows, and dropped with any edit.
 */
export class Measurements {
  readonly #entries = boundedCache<string, Entry>(MAX_FACTS);
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** `tell` is called when something is known that was not before. */
  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    private readonly tell: () => void,
  ) {}

  /** Measured facts. Undefined before the first measurement. */
  factsOf(key: string): VisibleFacts | undefined {
    return this.#entries.get(key)?.facts;
  }

  /** Resolves when the facts are known, or the measurement failed. Requests share the work. */
  measure(key: string, collection: VectorCollection, filter: Expression): Promise<void> {
    const entry = this.#entries.get(key) ?? { facts: undefined, asked: undefined, failedAt: -RETRY_MS };
    this.#entries.set(key, entry);
    if (entry.facts || performance.now() - entry.failedAt < RETRY_MS) return Promise.resolve();
    entry.asked ??= this.#inTurn(() => this.#measured(collection, filter))
      .then(
        (facts) => {
          entry.facts = facts;
          this.tell();
        },
        () => {
          entry.failedAt = performance.now();
        },
      )
      .finally(() => {
        entry.asked = undefined;
      });
    return entry.asked;
  }

  async #measured({ source, storageCrs }: VectorCollection, filter: Expression): Promise<VisibleFacts> {
    const query = { source, filter };
    const featureCount = await runTask(SHARED, this.pools as Pools, 'vector.count', query);
    if (featureCount === 0) return { featureCount };
    const { extent, extent84 } = await runTask(SHARED, this.pools as Pools, 'vector.extent', query);
    if (storageCrs.isPlane) return { featureCount, ...(extent ? { extent } : {}) };
    return {
      featureCount,
      ...(extent ? { extent } : {}),
      ...(extent84 ? { extent84: globeExtent(extent84) } : {}),
    };
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
