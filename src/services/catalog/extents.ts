import { hasFeatures } from '../../core/catalog/abilities.js';
import type { VectorCollection } from '../../core/catalog/collection.js';
import type { CollectionChange } from '../../core/edits/edits.js';
import type { Box } from '../../core/geometry/box.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import type { Log } from '../telemetry/log.js';
import { exception } from '../telemetry/log.js';
import type { Catalog } from './catalog.js';

export interface ExtentRefreshOptions {
  catalog: Catalog;
  pools: Pools;
  log: Log;
  /** Milliseconds between an edit and the look, and at least between two looks. */
  delayMs?: number;
}

/** Collections of which is known how long they take to measure. */
const MAX_COSTS = 10_000;
const DELAY_MS = 2000;
/** Measurements take at most one part in this number of the time. */
const SHARE = 20;
/** Features up to which a layer is counted again. */
const COUNTED = 200_000;
/** Degrees: extents are rounded outwards. */
const NEAR = 1e-6;

/**
 * Measures extents again, in the background, if an edit can have removed a feature at the edge. An edit only grows an
 * extent. Also counts features again if an edit does not report how many were added or removed.
 */
export class ExtentRefresh {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #costs = boundedCache<string, { endedAt: number; ms: number }>(MAX_COSTS);
  readonly #options: ExtentRefreshOptions;
  #closed = false;

  constructor(options: ExtentRefreshOptions) {
    this.#options = options;
  }

  /** Schedules a measurement after an edit. `collection` is the collection before the edit. */
  edited({ id, extent84 }: VectorCollection, { areas }: CollectionChange): void {
    if (extent84 && areas && !areas.some((area) => reachesEdge(area, extent84))) return;
    this.#plan(id, this.#options.delayMs ?? DELAY_MS);
  }

  /** Measures now, or later if the last measurement took long. Never rejects. */
  refresh(id: string): Promise<void> {
    const last = this.#costs.get(id);
    const restMs = last ? last.endedAt + last.ms * SHARE - performance.now() : 0;
    if (restMs <= 0) return this.#look(id);
    this.#plan(id, restMs);
    return Promise.resolve();
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #plan(id: string, delayMs: number): void {
    if (this.#closed || this.#timers.has(id)) return;
    const timer = setTimeout(() => void this.#look(id), delayMs).unref();
    this.#timers.set(id, timer);
  }

  async #look(id: string): Promise<void> {
    const { catalog, pools, log, delayMs = DELAY_MS } = this.#options;
    const collection = catalog.current.byId(id);
    const start = performance.now();
    let settled = true;
    try {
      if (hasFeatures(collection)) {
        const { extent84 } = await pools.run('vector.extent', {
          source: collection.source,
          filter: undefined,
        });
        const { source, cursor, countEstimated } = collection;
        const query = { source, filter: undefined, atMost: COUNTED + 1 };
        const count = countEstimated ? await pools.run('vector.count', query) : undefined;
        const isExact = count !== undefined && count <= COUNTED;
        settled = catalog.measured(id, cursor, extent84, isExact ? count : undefined);
      }
    } catch (error) {
      log.write('catalog.extent.failed', { Collection: id, ...exception(error) });
    }
    this.#timers.delete(id);
    const endedAt = performance.now();
    this.#costs.set(id, { endedAt, ms: endedAt - start });
    if (!settled) this.#plan(id, Math.max(delayMs, (performance.now() - start) * SHARE));
  }
}

function reachesEdge([west, south, east, north]: Box, extent: Box): boolean {
  const sides = west <= extent[0] + NEAR || east >= extent[2] - NEAR;
  return sides || south <= extent[1] + NEAR || north >= extent[3] - NEAR;
}
