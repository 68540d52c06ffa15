import { setTimeout as pause } from 'node:timers/promises';
import type { Editor } from '../../edits/support.js';

/** One stored feature as the API tells it. */
export interface Item {
  id: string | number;
  geometry: { coordinates: number[] };
  properties: { name: string };
}

export interface WriterSetup {
  name: string;
  /** Path of the collection's items, below the collections. */
  items: string;
  send: Editor['send'];
  /** Operations of a batch, all of them or none. */
  operations: number;
  /** Features that the writer keeps at most. */
  features: number;
  /** Resolves when nothing of edits that were not answered can still become true. */
  settled(): Promise<void>;
  /** Called with the number of operations that have become true. */
  wrote(operations: number): void;
}

/** Sends batches until each has become true exactly once, whatever happens to the server meanwhile. */
export class Writer {
  /** Answers that never came, of batches that had become true all the same. */
  found = 0;
  #ids: string[] = [];

  constructor(private readonly setup: WriterSetup) {}

  async write(batches: number): Promise<void> {
    for (let batch = 1; batch <= batches; batch++) {
      const operations = this.#operations(batch);
      while (!(await this.#attempt(operations, batch))) await pause(50);
      this.setup.wrote(operations.length);
    }
  }

  async #attempt(operations: object[], batch: number): Promise<boolean> {
    const { send, items, settled } = this.setup;
    const json = { 'content-type': 'application/json' };
    const answer = await send('POST', `${items}/batch`, { operations, atomic: true }, json).catch(
      () => undefined,
    );
    if (answer && answer.status !== 200 && answer.status !== 503)
      throw new Error(`a batch was answered ${answer.status}: ${JSON.stringify(answer.body)?.slice(0, 300)}`);
    if (!answer) await settled();
    const own = await this.#own();
    this.#ids = own.map(({ id }) => String(id));
    const made = own.some(({ properties }) => properties.name.includes(`-b${batch}-`));
    if (made && answer?.status !== 200) this.found++;
    return made;
  }

  /** What the store has of this writer. */
  async #own(): Promise<Item[]> {
    const { send, items, name } = this.setup;
    const filter = encodeURIComponent(`name LIKE '%-${name}-%'`);
    for (;;) {
      const answer = await send('GET', `${items}?limit=2000&filter=${filter}`).catch(() => undefined);
      if (answer?.status === 200) return answer.body.features;
      await pause(50);
    }
  }

  /** Creates, replaces and deletes, each of another feature. */
  #operations(batch: number): object[] {
    const { operations, features, name } = this.setup;
    const ids = [...this.#ids].sort(() => Math.random() - 0.5);
    return Array.from({ length: operations }, (_, i) => {
      const kind = Math.random();
      const grows = ids.length === 0 || (this.#ids.length < features && kind < 0.3);
      if (i > 0 && !grows && kind > 0.8) return { type: 'DELETE', featureId: ids.pop()! };
      const feature = {
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [degrees(), degrees(), 0] },
        properties: { name: `${kind < 0.4 ? 'red' : 'blue'}-${name}-b${batch}-${i}` },
      };
      return grows ? { type: 'CREATE', feature } : { type: 'UPDATE', featureId: ids.pop()!, feature };
    });
  }
}

/** Between -10 and 10, with digits that every format keeps. */
const degrees = () => Math.round((Math.random() - 0.5) * 2000) / 100;
