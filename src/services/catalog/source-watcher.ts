import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { isInFolder } from '../../core/files/folders.js';
import { isPath } from '../../core/sources/sources.js';

/** Quiet time after the last change of a file before the catalog is read again. */
const SETTLE_MS = 800;
/** Hidden files, SQLite's own, and the chunks of Zarr stores; their metadata is hidden but watched. */
const UNWATCHED = /(^|\/)\.(?!z(metadata|group|attrs)$).|-(shm|journal)$|\.zarr\/[^/]+\/.+/;

export interface SourceWatcherDeps {
  /** Folders, files and databases that are published now. */
  sources(): readonly string[];
  /** Whether this server wrote the present state of a file. */
  isKnown(path: string): boolean;
  /** Finds files of these sources that differ from the files read, or that no longer exist. */
  findUnread(sources: readonly string[]): Promise<readonly string[]>;
  /** Called with the changed files, once they came to rest. */
  changed(paths: readonly string[]): void;
  readonly dataDir: string;
}

/** Watches the published files and folders for changes by other programs. */
export class SourceWatcher {
  /** By folder or file. */
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #folders = new Set<string>();
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly deps: SourceWatcherDeps) {
    this.addSources();
  }

  /**
   * Starts watching new sources. Adding a folder searches all of it, so each is added once. A replaced file must be
   * added again.
   */
  addSources(): void {
    const added: string[] = [];
    for (const path of listWatched(this.deps.sources())) {
      const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
      const isWatched = isFolder && this.#folders.has(path);
      if (isFolder) this.#folders.add(path);
      else this.#folders.delete(path);
      const watcher = this.#watchers.get(path);
      if (!watcher) added.push(path);
      else if (!isWatched) watcher.add(path);
    }
    if (added.length > 0) this.#add(added);
  }

  /** Each addition gets a separate watcher, which reports when all its paths are watched. */
  #add(paths: readonly string[]): void {
    const watcher = watch([...paths], {
      ignoreInitial: true,
      depth: 6,
      ignored: [UNWATCHED, (path) => this.#isUnpublished(resolve(path))],
    });
    for (const path of paths) this.#watchers.set(path, watcher);
    watcher.on('all', (_event, path) => this.#note(path.replace(/-wal$/, '')));
    // If a file cannot be watched, its changes need a requested reload.
    watcher.on('error', () => {});
    watcher.once('ready', () => void this.#compare(paths));
  }

  /** Notes files that were changed after they were read and before they were watched. */
  async #compare(paths: readonly string[]): Promise<void> {
    const sources = paths.filter((path) => !path.endsWith('-wal'));
    // A folder that cannot be searched is still watched.
    const unread = await this.deps.findUnread(sources).catch(() => []);
    for (const path of unread) this.#note(path);
  }

  #note(path: string): void {
    if (this.#isClosed) return;
    this.#changed.add(path);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#settle(), SETTLE_MS);
  }

  #settle(): void {
    const foreign = [...this.#changed].filter((path) => !this.deps.isKnown(path));
    this.#changed.clear();
    if (foreign.length > 0) this.deps.changed(foreign);
  }

  /** Whether a path is in the data folder, and in no source there. */
  #isUnpublished(path: string): boolean {
    const { dataDir, sources } = this.deps;
    if (!isInFolder(path, dataDir)) return false;
    const watched = listWatched(sources()).map((source) => resolve(source));
    return !watched.some((source) => isInFolder(source, dataDir) && isInFolder(path, source));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all([...new Set(this.#watchers.values())].map((watcher) => watcher.close()));
  }
}

function listWatched(sources: readonly string[]): string[] {
  const files = sources.filter(isPath);
  // Changes by another program to a GeoPackage can stay in its write-ahead log for a long time.
  const logs = files.filter((file) => file.endsWith('.gpkg')).map((file) => `${file}-wal`);
  return [...files, ...logs];
}
