import { extname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Collection } from '../../../core/catalog/collection.js';
import { fileState } from '../../../core/files/file-state.js';
import { isBelow } from '../../../core/files/folders.js';
import type { MakeCollection } from '../publish/collections.js';
import { readFileSource, readTableDrafts } from '../publish/files.js';
import { findFiles, type SourceFile } from '../publish/find.js';
import { RASTER, TABLES } from '../publish/formats.js';
import type { CollectionDraft, Found, PublishDeps, UnplacedData } from '../publish/source.js';
import type { ShownFiles, SourceChange, SourceRead, SourceReadings } from './readings.js';

/** New files that one reading opens: changes of other files, and the first of the new ones, do not wait for the last. */
const MAX_NEW_FILES = 64;
/** Files that are compared between two iterations of the event loop. */
const FILES_A_TURN = 100;

export interface SourceReaderOptions {
  /** Changed sources to read. Undefined: everything is read. */
  readonly changes: readonly SourceChange[] | undefined;
  /** Leaves new and removed files to concurrent searches, which show all of these files together. */
  readonly onlyShown?: boolean;
  /** Called after each source that was read. */
  onProgress?(): void;
}

/**
 * One reading of all sources, complete or limited to changes. Sources are read one by one, at the same time as other
 * readings. `collect` then returns the known contents of all of them.
 */
export class SourceReader {
  /** New files that are left to a further reading. */
  readonly postponed: string[] = [];
  #newFiles = 0;
  #compared = 0;
  readonly #changes: ReadonlyMap<string, ReadonlySet<string> | 'all'> | undefined;
  readonly #seen = new Set<string>();
  /** Whether all files are searched and compared with their last reading. */
  #comparesFiles = true;
  #onlyShown = false;
  #key = '';
  #ownKey = '';
  #own: readonly string[] = [];
  readonly #found = new Map<string, readonly SourceFile[]>();
  readonly #begin: number;

  constructor(
    private readonly readings: SourceReadings,
    private readonly options: SourceReaderOptions,
  ) {
    this.#changes = options.changes && mergeChanges(options.changes);
    readings.enter();
    this.#begin = readings.nextOrder();
  }

  /**
   * The files below the sources and in the server's own folders. The sources are not searched when only the server itself
   * changed files, or when files are read that a reading before postponed.
   */
  async findFiles(
    sources: readonly string[],
    own: readonly string[],
    dataDir: string,
  ): Promise<readonly SourceFile[]> {
    this.#key = JSON.stringify(['sources', sources]);
    this.#ownKey = JSON.stringify(['own', own]);
    this.#own = own;
    const changed = [...(this.#changes?.keys() ?? [])];
    this.#onlyShown =
      this.options.onlyShown === true && !changed.some((source) => this.readings.isPostponed(source));
    const kept = this.#changes && this.#keptFiles;
    this.#comparesFiles =
      !kept || changed.some((source) => source.startsWith('/') && !this.#isForeseen(source));
    if (this.#comparesFiles) await this.#search(this.#key, sources, dataDir);
    await this.#search(this.#ownKey, own);
    return this.files;
  }

  async #search(key: string, paths: readonly string[], dataDir?: string): Promise<void> {
    const order = this.readings.nextOrder();
    const files = await findFiles(paths, dataDir);
    this.#found.set(key, files);
    this.readings.setFiles(key, files, order);
  }

  /** Files below the sources, without a search. */
  get #keptFiles(): readonly SourceFile[] | undefined {
    return this.#onlyShown ? this.readings.shownFilesOf(this.#key) : this.readings.filesOf(this.#key);
  }

  /** All files that this reading publishes, including only the files read so far. */
  get files(): readonly SourceFile[] {
    const newest = (key: string) => this.readings.filesOf(key) ?? this.#found.get(key) ?? [];
    const below = this.#comparesFiles ? undefined : this.#keptFiles;
    const all = [...(below ?? newest(this.#key)), ...newest(this.#ownKey)];
    return [...new Map(all.map((file) => [file.path, file])).values()];
  }

  /** The files below the sources that a snapshot shows which is made now. */
  get shown(): ShownFiles {
    const files = this.files.filter(({ path }) => !this.#isOwn(path) && this.readings.get(path));
    return { sources: this.#key, files };
  }

  /** Reads a file. It is opened only if it changed. */
  async readFile(file: SourceFile, deps: PublishDeps): Promise<void> {
    const { path } = file;
    this.#seen.add(path);
    if (this.#isLeftToOthers(path) || this.#isPostponed(path)) return;
    const former = this.readings.get(path);
    const change = this.#changes?.get(path);
    if (this.#changes && former && change === undefined) {
      const isCompared = this.#comparesFiles || this.#isOwn(path);
      if (!isCompared) return;
      if (++this.#compared % FILES_A_TURN === 0) await setImmediate();
      if (!former.isStale && !former.contents.dependsOnOthers && former.tag === tagOf(file, deps)) return;
    }
    const order = this.readings.nextOrder();
    const tag = tagOf(file, deps);
    const isWhole = former && !former.isStale && !this.readings.isUnderWay(path);
    if (isWhole && change instanceof Set && isTableFile(path) && former.contents.collections.length > 0) {
      const contents = await this.#readTables(former.contents, path, [...change], deps);
      if (contents.collections.length > 0) return this.#keep(path, { contents, tag, order }, deps);
    }
    const found = await this.readings.track(path, () => readFileSource(file, deps));
    const served = this.readings.get(path)?.contents;
    // While the file cannot be opened, its former contents remain published. For example, a full disk removes no
    // collection.
    const isServed = found.isPassing && found.collections.length === 0 && !!served?.collections.length;
    const contents = isServed ? { ...served, quarantined: found.quarantined } : memoized(found);
    this.#keep(path, { contents, tag, order, ...(found.isPassing && { isStale: true }) }, deps);
  }

  /** Reads another source; `name` has no password. */
  async read(name: string, read: () => Promise<Found>): Promise<void> {
    this.#seen.add(name);
    if (this.#changes && !this.#changes.has(name) && this.readings.get(name)) return;
    const order = this.readings.nextOrder();
    const found = await read();
    this.#keep(name, { contents: memoized(found), tag: '', order });
  }

  /** Known contents of a source. Undefined if it was never read. */
  find(source: string): Found | undefined {
    return this.readings.get(source)?.contents;
  }

  /** Contents of the files, by path. See `FileWrites.fileId`. */
  listContents(): ReadonlyMap<string, string> {
    const contents = new Map<string, string>();
    for (const { path } of this.files) {
      const content = this.readings.get(path)?.content;
      if (content !== undefined) contents.set(path, content);
    }
    return contents;
  }

  /** Another reading found the file, and opens it. */
  #isLeftToOthers(path: string): boolean {
    if (!this.#changes || this.#comparesFiles || this.readings.get(path)) return false;
    return !this.#changes.has(path) && !this.#isOwn(path);
  }

  /** Every gateway postpones the same files: they are counted in their order. */
  #isPostponed(path: string): boolean {
    if (!this.#changes || this.readings.get(path) || this.#isOwn(path)) return false;
    this.#newFiles += 1;
    if (this.#newFiles <= MAX_NEW_FILES) return false;
    this.readings.postpone(path);
    this.postponed.push(path);
    return true;
  }

  /** Whether a search would find no new files for a change. */
  #isForeseen(source: string): boolean {
    return this.#isOwn(source) || this.readings.isPostponed(source);
  }

  #isOwn(path: string): boolean {
    return this.#own.some((folder) => isBelow(path, folder));
  }

  /** Call it once all sources are read (`isRead`), or cannot be. */
  end({ inspections }: Pick<PublishDeps, 'inspections'>, isRead: boolean): void {
    // This reading does not include sources that other readers read or are about to show. They must not be removed.
    if (!this.readings.leave() || !isRead || this.#onlyShown) return;
    inspections.end(this.readings.keepOnly(this.#seen, this.#begin));
  }

  #keep(source: string, reading: SourceRead, deps?: PublishDeps): void {
    this.options.onProgress?.();
    this.readings.set(source, { ...reading, content: deps?.contentAt(source) });
  }

  /** The other tables keep their contents and version, because they were not written. */
  async #readTables(kept: Found, path: string, tables: string[], deps: PublishDeps): Promise<Found> {
    const read = memoized(await readTableDrafts(path, tables, deps));
    // Upper and lower case are the same in names of SQLite: what replaces a table may be written otherwise.
    const named = new Set(tables.map((table) => table.toLowerCase()));
    const isOther = ({ table }: CollectionDraft) => table === undefined || !named.has(table.toLowerCase());
    const collections = [...kept.collections.filter(isOther), ...read.collections];
    collections.sort((one, other) => compare(one.table ?? '', other.table ?? ''));
    const unplaced = [
      ...(kept.unplaced ?? []).filter(({ draft }) => isOther(draft)),
      ...(read.unplaced ?? []),
    ];
    const problems = kept.quarantined.filter(
      ({ layer }) => layer === undefined || !named.has(layer.toLowerCase()),
    );
    return { ...kept, collections, unplaced, quarantined: [...problems, ...read.quarantined] };
  }
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

function mergeChanges(changes: readonly SourceChange[]): ReadonlyMap<string, ReadonlySet<string> | 'all'> {
  const merged = new Map<string, Set<string> | 'all'>();
  for (const { source, table } of changes) {
    const before = merged.get(source);
    if (table === undefined || before === 'all') merged.set(source, 'all');
    else merged.set(source, new Set([...(before ?? []), table]));
  }
  return merged;
}

const isTableFile = (path: string) => TABLES.has(extname(path).toLowerCase());

/** Sidecar files of a raster that change how it is read, but not its version. */
const BESIDE_RASTERS = ['.ovr', '.msk', '.aux.xml'];

/** Changes with a file and with what is stated of it. Empty for a file that is not there. */
function tagOf({ path, version }: SourceFile, deps: PublishDeps): string {
  try {
    const beside = RASTER.has(extname(path).toLowerCase())
      ? fileState(
          path,
          BESIDE_RASTERS.map((name) => path + name),
        )
      : '';
    return JSON.stringify([version ?? deps.versionOf(path), beside, deps.statedCrsOf(path)]);
  } catch {
    return '';
  }
}

/** Collections of the same ids are the same objects: what edits made of one is found by it. */
function memoized(found: Found): Found {
  const drafts = new Map(found.collections.map((draft) => [draft, withMemory(draft)]));
  const unplaced = found.unplaced?.map((one): UnplacedData => {
    const placed = new Map<string, Promise<CollectionDraft>>();
    return {
      ...one,
      draft: drafts.get(one.draft)!,
      in(crs, assumed) {
        let draft = placed.get(crs);
        if (!draft) placed.set(crs, (draft = one.in(crs, assumed).then(withMemory)));
        return draft;
      },
    };
  });
  return { ...found, collections: [...drafts.values()], ...(unplaced && { unplaced }) };
}

function withMemory(draft: CollectionDraft): CollectionDraft {
  const { make } = draft;
  let unnamed: Collection | undefined;
  let named: Collection | undefined;
  const remember: MakeCollection = (id, layerId) => {
    if (id === '') return (unnamed ??= make('', 0));
    if (named?.id !== id || named.layerId !== layerId) named = make(id, layerId);
    return named;
  };
  return { ...draft, make: remember };
}
