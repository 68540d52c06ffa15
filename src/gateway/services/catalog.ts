import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { CatalogSnapshot } from '../../core/collection.js';
import { isDatabase } from '../../core/database-url.js';
import { publish } from './publish/index.js';
import type { PublishDeps } from './publish/source.js';

/** Quiet time after the last change of a file before the catalog is read again. */
const SETTLE_MS = 800;

/** The published collections of this process. Readers take `current`; a reload swaps it in one assignment. */
export class Catalog {
  #current = new CatalogSnapshot([], [], 0);
  #watcher: FSWatcher | undefined;
  readonly #deps: PublishDeps;

  constructor(deps: PublishDeps) {
    this.#deps = deps;
  }

  get current(): CatalogSnapshot {
    return this.#current;
  }

  /** Reads all sources beside the running catalog; nothing changes until `commit`. */
  prepare(sources: readonly string[]): Promise<CatalogSnapshot> {
    const stores = join(this.#deps.dataDir, 'stores');
    return publish(
      existsSync(stores) ? [...sources, stores] : sources,
      this.#deps,
      this.#current.generation + 1,
    );
  }

  commit(snapshot: CatalogSnapshot): void {
    this.#current = snapshot;
  }

  /** Calls `changed` once after published files changed and came to rest. */
  watch(sources: readonly string[], changed: (path: string) => void): void {
    let timer: NodeJS.Timeout | undefined;
    this.#watcher = watch(
      sources.filter((source) => !isDatabase(source)),
      {
        ignoreInitial: true,
        depth: 6,
        ignored: /(^|\/)\..|-(wal|shm|journal)$/,
      },
    );
    this.#watcher.on('all', (_event, path) => {
      clearTimeout(timer);
      timer = setTimeout(() => changed(path), SETTLE_MS);
    });
    // A file that cannot be watched is only a reload that must be asked for.
    this.#watcher.on('error', () => {});
  }

  async close(): Promise<void> {
    await this.#watcher?.close();
  }
}
