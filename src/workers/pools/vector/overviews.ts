import { Piscina } from 'piscina';
import { formatSourceLocation } from '../../../core/sources/vector-source.js';
import type { TileLayer } from '../../../core/tasks/vector-tasks.js';
import { boundedCache } from '../../../core/values/bounded-cache.js';
import type { VectorMessage, VectorThreadData } from '../../entries/vector.js';
import { packed } from '../../features/sources.js';
import { Cancellation } from '../../threads/cancellation.js';

/**
 * Milliseconds after which the same table is considered again, because its overview may have failed or been useless.
 */
const PAUSE_MS = 60_000;
const MAX_REQUESTS = 10_000;
const IDLE_MS = 30_000;

/**
 * Requests overviews of layers whose tiles read much data. Overviews are built one at a time and on a separate
 * thread, because reading a complete table keeps a thread busy.
 */
export class OverviewQueue {
  readonly #requests = boundedCache<string, number>(MAX_REQUESTS);
  readonly #waiting: TileLayer[] = [];
  readonly #cancellation = new Cancellation();
  readonly #workerData: VectorThreadData;
  #thread: Piscina | undefined;
  #busy = false;

  constructor(workerData: VectorThreadData) {
    this.#workerData = workerData;
  }

  want(layer: TileLayer): void {
    const { source, version = '' } = layer;
    const key = JSON.stringify([formatSourceLocation(source), source.table, source.geometryColumn, version]);
    const now = Date.now();
    const served = layer.version !== undefined && layer.filter === undefined;
    const isRecent = now - (this.#requests.get(key) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS;
    if (!served || isRecent || this.#cancellation.requested || this.#workerData.overviews === undefined)
      return;
    this.#requests.set(key, now);
    this.#waiting.push(layer);
    void this.#next();
  }

  async close(): Promise<void> {
    this.#cancellation.request();
    this.#waiting.length = 0;
    await this.#thread?.close();
  }

  async #next(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let layer = this.#waiting.shift(); layer; layer = this.#waiting.shift()) {
      this.#thread ??= new Piscina({
        filename: new URL('../../entries/vector.js', import.meta.url).href,
        minThreads: 0,
        maxThreads: 1,
        idleTimeout: IDLE_MS,
        atomics: 'disabled',
        workerData: this.#workerData,
      });
      const input = packed({ layers: [layer] });
      const message: VectorMessage = { name: 'vector.overview', input, flag: this.#cancellation.shared };
      // Without an overview tiles are read from the table itself: slower, but right.
      await this.#thread.run(message).catch(() => {});
    }
    this.#busy = false;
  }
}
