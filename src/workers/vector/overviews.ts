import type { TaskInput, TileLayer } from '../../core/tasks.js';

/** The same table is looked at again after this time: its overview may have failed, or have been of no use. */
const PAUSE_MS = 60_000;
const MAX_KNOWN = 10_000;

/**
 * Has overviews built of the layers whose tiles turned out to be much to read: one at a time, because reading a whole
 * table keeps a thread busy.
 */
export class OverviewQueue {
  readonly #build: (input: TaskInput<'vector.overview'>) => Promise<number>;
  readonly #asked = new Map<string, number>();
  readonly #waiting: TileLayer[] = [];
  #busy = false;
  #closed = false;

  constructor(build: (input: TaskInput<'vector.overview'>) => Promise<number>) {
    this.#build = build;
  }

  want(layer: TileLayer): void {
    const { source, version = '' } = layer;
    const place = source.kind === 'geopackage' ? source.path : `${source.database} ${source.schema}`;
    const key = JSON.stringify([place, source.table, source.geometryColumn, version.split('.')[0]]);
    const now = Date.now();
    if (this.#closed || now - (this.#asked.get(key) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS) return;
    if (this.#asked.size >= MAX_KNOWN) this.#asked.clear();
    this.#asked.set(key, now);
    this.#waiting.push(layer);
    void this.#next();
  }

  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
  }

  async #next(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let layer = this.#waiting.shift(); layer; layer = this.#waiting.shift()) {
      // Without one, tiles are read from the table itself: slower, but right.
      await this.#build({ layers: [layer] }).catch(() => 0);
    }
    this.#busy = false;
  }
}
