import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { isIn } from '../../core/files/folders.js';
import { isPath } from '../../core/sources/sources.js';

/** Quiet time after the last change of a file before the catalog is read again. */
const SETTLE_MS = 800;
/** Hidden files, SQLite's own, and the chunks of Zarr stores; their metadata is hidden but watched. */
const UNWATCHED = /(^|\/)\.(?!z(metadata|group|attrs)$).|-(shm|journal)$|\.zarr\/[^/]+\/.+/;

export interface SourceWatcherDeps {
  /** Folders, files and databases that are published now. */
  sources(): readonly string[];
  /** Whether this server wrote a file as it is now. */
  isKnown(path: string): boolean;
  /** Called with the files that changed, once they came to rest. */
  changed(paths: readonly string[]): void;
  readonly dataDir: string;
}

/** Watches the published files and folders for changes by other programs. */
export class SourceWatcher {
  readonly #watcher: FSWatcher;
  readonly #folders = new Set<string>();

  constructor(private readonly deps: SourceWatcherDeps) {
    let timer: NodeJS.Timeout | undefined;
    const paths = new Set<string>();
    const settle = () => {
      const foreign = [...paths].filter((path) => !deps.isKnown(path));
      paths.clear();
      if (foreign.length > 0) deps.changed(foreign);
    };
    this.#watcher = watch([], {
      ignoreInitial: true,
      depth: 6,
      ignored: [UNWATCHED, (path) => this.#isUnpublished(resolve(path))],
    });
    this.addSources();
    this.#watcher.on('all', (_event, path) => {
      paths.add(path.replace(/-wal$/, ''));
      clearTimeout(timer);
      timer = setTimeout(settle, SETTLE_MS);
    });
    // A file that cannot be watched is only a reload that must be asked for.
    this.#watcher.on('error', () => {});
  }

  /** Adding a folder searches all of it, so each is added once. A file that was replaced must be added again. */
  addSources(): void {
    const added = listWatched(this.deps.sources()).filter((path) => {
      const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
      const isWatched = isFolder && this.#folders.has(path);
      if (isFolder) this.#folders.add(path);
      else this.#folders.delete(path);
      return !isWatched;
    });
    if (added.length > 0) this.#watcher.add(added);
  }

  /** Whether a path is in the data folder, and in no source there. */
  #isUnpublished(path: string): boolean {
    const { dataDir, sources } = this.deps;
    if (!isIn(path, dataDir)) return false;
    const watched = listWatched(sources()).map((source) => resolve(source));
    return !watched.some((source) => isIn(source, dataDir) && isIn(path, source));
  }

  close(): Promise<void> {
    return this.#watcher.close();
  }
}

function listWatched(sources: readonly string[]): string[] {
  const files = sources.filter(isPath);
  // What another program writes to a GeoPackage may stay in its log for long.
  const logs = files.filter((file) => file.endsWith('.gpkg')).map((file) => `${file}-wal`);
  return [...files, ...logs];
}
