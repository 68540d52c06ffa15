import { setTimeout as pause } from 'node:timers/promises';
import type { FaultyServer } from './server.js';
import type { Store } from './store.js';

/** Of a file, which needs nothing but the server; and of the database. */
const FILES = [
  '/ogc/features/collections/countries/items?limit=2',
  '/ogc/tiles/collections/countries/tiles/WebMercatorQuad/1/0/0?f=mvt',
];
const DATABASE = [
  '/ogc/features/collections/spots/items?limit=2',
  '/ogc/tiles/collections/spots/tiles/WebMercatorQuad/3/4/3?f=mvt',
];
/** Reads from a server again and again, and keeps what it did not answer though nothing was wrong with it. */
export class Reader {
  answered = 0;
  readonly wrong: string[] = [];

  constructor(
    private readonly server: FaultyServer,
    private readonly store: Store,
    /** Between two requests. */
    private readonly pauseMs: number,
  ) {}

  async read(isOver: () => boolean): Promise<void> {
    for (let i = 0; !isOver(); i++) {
      const paths = this.#answerable();
      if (paths.length > 0) await this.#get(paths[i % paths.length]!);
      await pause(this.pauseMs);
    }
  }

  #answerable(): string[] {
    const { reach } = this.server;
    if (reach === 'nothing') return [];
    return reach === 'all' && this.store.isUp ? [...FILES, ...DATABASE] : FILES;
  }

  async #get(path: string): Promise<void> {
    const begun = performance.now();
    const faults = () => this.server.faults + (FILES.includes(path) ? 0 : this.store.faults);
    const before = faults();
    const answer = await fetch(this.server.url + path, { signal: AbortSignal.timeout(60_000) }).then(
      async (response) => `${response.status} ${response.ok || (await response.text()).slice(0, 200)}`,
      String,
    );
    this.answered++;
    // A fault that has begun meanwhile may be why.
    if (/^20[04]/.test(answer) || faults() !== before) return;
    this.wrong.push(
      `${this.server.name} ${path}: ${answer} after ${Math.round(performance.now() - begun)} ms`,
    );
  }
}
