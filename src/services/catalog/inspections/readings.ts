import { extname } from 'node:path';
import type { Collection } from '../../../core/catalog/collection.js';
import { fileState } from '../../../core/files/file-state.js';
import { isBelow } from '../../../core/files/folders.js';
import { findStatedCrs } from '../../../core/geometry/stated-crs.js';
import type { MakeCollection } from '../publish/collections.js';
import { readFileSource, readTableDrafts } from '../publish/files.js';
import { findFiles, type SourceFile } from '../publish/find.js';
import { RASTER, TABLES } from '../publish/formats.js';
import type { CollectionDraft, Found, PublishDeps, UnplacedData } from '../publish/source.js';

/** A change of what sources hold. */
export interface SourceChange {
  /** A file, or a database or another remote source without its password. */
  readonly source: string;
  /** The only table that changed; absent if all of the source may have changed. */
  readonly table?: string;
}

interface SourceRead {
  readonly contents: Found;
  /** Changes with the file and with what is stated of it; empty for sources that are no files. */
  readonly tag: string;
  /** Order in which the readings started. */
  readonly order: number;
  /** The source could not be read since, for a reason that may pass. */
  readonly isStale?: boolean;
}

/** What each source held when it was read last, so that a change of one source opens no other. */
export class SourceReadings {
  readonly #readings = new Map<string, SourceRead>();
  /** Sources that were read, also those that could not be opened. */
  readonly #tried = new Set<string>();
  /** The files of the sources when they were last searched for, by the sources. */
  readonly #files = new Map<string, readonly SourceFile[]>();

  get(source: string): SourceRead | undefined {
    return this.#readings.get(source);
  }

  isNew(source: string): boolean {
    return !this.#tried.has(source);
  }

  /** A reading that started before the one that is kept is not. */
  set(source: string, reading: SourceRead): void {
    this.#tried.add(source);
    const kept = this.#readings.get(source);
    if (kept && kept.order > reading.order) return;
    if (!reading.contents.isPassing) this.#readings.set(source, reading);
    else if (kept) this.#readings.set(source, { ...kept, isStale: true });
  }

  filesOf(sources: string): readonly SourceFile[] | undefined {
    return this.#files.get(sources);
  }

  setFiles(sources: string, files: readonly SourceFile[]): void {
    this.#files.clear();
    this.#files.set(sources, files);
  }

  /** Forgets all other sources. */
  keepOnly(sources: ReadonlySet<string>): void {
    for (const source of this.#tried)
      if (!sources.has(source)) {
        this.#tried.delete(source);
        this.#readings.delete(source);
      }
  }
}

/** New files that one reading opens: what changes beside them, and the first of them, do not wait for the last. */
const MAX_NEW_FILES = 500;

/** One reading of all sources: of everything, or of what changed. */
export class SourceReader {
  /** New files that are left to a further reading. */
  readonly postponed: string[] = [];
  #newFiles = 0;
  readonly #changes: ReadonlyMap<string, ReadonlySet<string> | 'all'> | undefined;
  readonly #seen = new Set<string>();
  /** Whether all files are searched for and compared with what was read of them. */
  #comparesFiles = true;
  #own: readonly string[] = [];

  constructor(
    private readonly readings: SourceReadings,
    private readonly order: number,
    /** Absent: everything is read. */
    changes: readonly SourceChange[] | undefined,
    /** Called after each source that was read. */
    private readonly onProgress: () => void = () => {},
  ) {
    this.#changes = changes && mergeChanges(changes);
  }

  /**
   * The files below the sources and in the server's own folders. When only the server itself changed files, the sources are
   * not searched.
   */
  async findFiles(
    sources: readonly string[],
    own: readonly string[],
    dataDir: string,
  ): Promise<readonly SourceFile[]> {
    const key = JSON.stringify(sources);
    const kept = this.#changes && this.readings.filesOf(key);
    this.#own = own;
    const changed = [...(this.#changes?.keys() ?? [])];
    this.#comparesFiles = !kept || changed.some((source) => source.startsWith('/') && !this.#isOwn(source));
    const files = this.#comparesFiles || !kept ? await findFiles(sources, dataDir) : kept;
    if (files !== kept) this.readings.setFiles(key, files);
    const all = [...files, ...(await findFiles(own))];
    return [...new Map(all.map((file) => [file.path, file])).values()];
  }

  /** What a file holds. It is opened only if it changed. */
  async readFile(file: SourceFile, deps: PublishDeps): Promise<Found> {
    const { path } = file;
    this.#seen.add(path);
    if (this.#isPostponed(path)) return { collections: [], quarantined: [] };
    const former = this.#formerOf(path);
    const change = this.#changes?.get(path);
    if (former && change === undefined) {
      const isCompared = this.#comparesFiles || this.#isOwn(path);
      const isSame = () => !former.contents.dependsOnOthers && former.tag === buildTag(file, deps);
      if (!isCompared || isSame()) return former.contents;
    }
    const tag = buildTag(file, deps);
    if (former && change instanceof Set && isTableFile(path) && former.contents.collections.length > 0) {
      const found = await this.#readTables(former.contents, path, [...change], deps);
      if (found.collections.length > 0) return this.#keep(path, found, tag);
    }
    const found = await readFileSource(file, deps);
    const served = this.readings.get(path)?.contents;
    // While the file cannot be opened, what it held before is still there: a full disk takes nothing away.
    if (found.isPassing && found.collections.length === 0 && served && served.collections.length > 0)
      return { ...served, quarantined: this.#keep(path, found, tag).quarantined };
    return this.#keep(path, memoized(found), tag);
  }

  /** What another source holds; `name` has no password. */
  async read(name: string, read: () => Promise<Found>): Promise<Found> {
    this.#seen.add(name);
    const former = this.#changes?.has(name) ? undefined : this.#formerOf(name);
    return former?.contents ?? this.#keep(name, memoized(await read()), '');
  }

  /** What was read of a source, where not everything is read again. */
  #formerOf(source: string): SourceRead | undefined {
    const former = this.#changes && this.readings.get(source);
    return former?.isStale ? undefined : former;
  }

  /** Every gateway postpones the same files: they are counted in their order. */
  #isPostponed(path: string): boolean {
    if (!this.#changes || !this.readings.isNew(path)) return false;
    this.#newFiles += 1;
    if (this.#newFiles <= MAX_NEW_FILES) return false;
    this.postponed.push(path);
    return true;
  }

  #isOwn(path: string): boolean {
    return this.#own.some((folder) => isBelow(path, folder));
  }

  /** To be called when all sources are read. */
  end({ inspections }: Pick<PublishDeps, 'inspections'>): void {
    this.readings.keepOnly(this.#seen);
    inspections.end(this.#seen);
  }

  #keep(source: string, contents: Found, tag: string): Found {
    this.onProgress();
    this.readings.set(source, { contents, tag, order: this.order });
    return contents;
  }

  /** The other tables stay as they were read, with their version: nobody wrote to them. */
  async #readTables(kept: Found, path: string, tables: string[], deps: PublishDeps): Promise<Found> {
    const read = memoized(await readTableDrafts(path, tables, deps));
    const isOther = ({ table }: CollectionDraft) => table === undefined || !tables.includes(table);
    const collections = [...kept.collections.filter(isOther), ...read.collections];
    collections.sort((one, other) => compare(one.table ?? '', other.table ?? ''));
    const unplaced = [
      ...(kept.unplaced ?? []).filter(({ draft }) => isOther(draft)),
      ...(read.unplaced ?? []),
    ];
    const problems = kept.quarantined.filter(({ layer }) => layer === undefined || !tables.includes(layer));
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

/** Files beside a raster that change how it is read, but not its version. */
const BESIDE_RASTERS = ['.ovr', '.msk', '.aux.xml'];

/** Changes with a file and with what is stated of it. Empty for a file that is not there. */
function buildTag({ path, version }: SourceFile, deps: PublishDeps): string {
  try {
    const beside = RASTER.has(extname(path).toLowerCase())
      ? fileState(
          path,
          BESIDE_RASTERS.map((name) => path + name),
        )
      : '';
    return JSON.stringify([version ?? deps.versionOf(path), beside, findStatedCrs(deps.statedCrs, path)]);
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
      in(crs, note) {
        let draft = placed.get(crs);
        if (!draft) placed.set(crs, (draft = one.in(crs, note).then(withMemory)));
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
