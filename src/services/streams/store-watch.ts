import { type BigIntStats, statSync } from 'node:fs';
import type { DataVersions } from '../catalog/data-versions.js';

/** A store of a file. */
export interface WatchedStore {
  readonly key: string;
  readonly path: string;
}

/** Files of which every commit is noticed at each look; each costs a connection to SQLite. */
const MAX_VERSIONED = 200;
/** Number of files whose times and sizes are compared in one check, if there are more files. */
const STATED_AT_ONCE = 250;

/** Finds the stores that some program has written to. */
export class StoreWatch {
  /** States at the last look, by key. */
  readonly #states = new Map<string, number | string | undefined>();
  #next = 0;

  constructor(private readonly versions: Pick<DataVersions, 'of'>) {}

  /**
   * Keys of the stores that can have changed since the last check. If there are many stores, each check takes the
   * next part.
   */
  findChanged(stores: readonly WatchedStore[]): string[] {
    if (stores.length <= MAX_VERSIONED) return this.#changedIn(stores, (path) => this.versions.of(path));
    const first = this.#next < stores.length ? this.#next : 0;
    this.#next = first + STATED_AT_ONCE;
    return this.#changedIn(stores.slice(first, this.#next), findState);
  }

  #changedIn(stores: readonly WatchedStore[], look: (path: string) => number | string | undefined): string[] {
    return stores.flatMap(({ key, path }) => {
      const state = look(path);
      if (state !== undefined && this.#states.get(key) === state) return [];
      this.#states.set(key, state);
      return [key];
    });
  }
}

/** Changes with the file and its write-ahead log. Undefined where there is no file. */
function findState(path: string): string | undefined {
  const [file, log] = [path, `${path}-wal`].map((name) =>
    statSync(name, { bigint: true, throwIfNoEntry: false }),
  );
  return file && [file, log].map(describe).join();
}

const describe = (stats: BigIntStats | undefined) => stats && `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
