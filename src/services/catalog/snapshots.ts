import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { isBelow } from '../../core/files/folders.js';
import { findStatedCrs, mergeStatedCrs } from '../../core/geometry/stated-crs.js';
import { isDatabase } from '../../core/sources/database-url.js';
import { isStacApi } from '../../core/sources/sources.js';
import type { Storage } from '../storage/storage.js';
import type { Inspections } from './inspections/inspections.js';
import { type ShownFiles, type SourceChange, SourceReadings } from './inspections/readings.js';
import { SourceReader } from './inspections/source-reader.js';
import type { FileVersions } from './publish/file-versions.js';
import { publishCatalog, readObjects, readSources, type SourceSelection } from './publish/index.js';
import { GivenNames } from './publish/names.js';
import type { DataSettings } from './publish/settings.js';
import type { PublishDeps } from './publish/source.js';

/** Folders of the data folder that are published: stores, and archives that jobs made. */
const OWN_FOLDERS = ['stores', 'published'];

/** Paths of the folders of a data folder that are published. */
export function listOwnFolders(dataDir: string): string[] {
  return OWN_FOLDERS.map((folder) => join(dataDir, folder));
}

/** Whether a file is in a folder of the data folder that is published. */
export function isInOwnFolder(dataDir: string, file: string): boolean {
  return listOwnFolders(dataDir).some((folder) => isBelow(file, folder));
}

export interface SnapshotDeps
  extends Omit<
    PublishDeps,
    'versionOf' | 'contentAt' | 'configuredCrs' | 'statedCrsOf' | 'taken' | 'given' | 'inspections'
  > {
  readonly inspections: Inspections;
  readonly files: FileVersions;
  /** Ids that no collection of a source may have. */
  taken(): ReadonlySet<string>;
  /** Generation of the next snapshot. */
  generation(): number;
  /** CRS by layer that operators chose for a file on the running server. Default: none. */
  chosenCrsOf?(path: string): Readonly<Record<string, string>>;
  /** Receives all collections before they are published. */
  recordCopies?(collections: readonly Collection[]): Promise<void>;
  /** Storage in which jobs publish archives. Default: all archives are in the data folder. */
  storage?: Pick<Storage, 'listPublished'>;
}

/** Inputs of a snapshot. */
interface SnapshotFacts {
  readonly settings: DataSettings;
  /** Order in which settings were given. */
  readonly order: number;
  /** Number of snapshots that were accepted before this one was created. */
  readonly before: number;
  /** Contents of the files that are published, by path. See `FileWrites.fileId`. */
  readonly contents: ReadonlyMap<string, string>;
  readonly files: ShownFiles;
  /** New files that are left to a further reading. */
  readonly postponed: readonly string[];
}

export interface SnapshotRequest {
  /** Changed sources to read. Undefined: everything is read. */
  readonly changes: readonly SourceChange[] | undefined;
  /** Default: the settings of the published snapshot. */
  readonly settings?: DataSettings | undefined;
  /** See `SourceReaderOptions.onlyShown`. */
  readonly onlyShown?: boolean;
  /** Called after each source that was read. */
  onProgress?(): void;
}

/**
 * Creates snapshots of the published data. Several requests read sources at the same time, however long that takes.
 * Only the last step is exclusive, and it reads no file: it creates a snapshot of everything known at that time.
 */
export class Snapshots {
  readonly #facts = new WeakMap<CatalogSnapshot, SnapshotFacts>();
  readonly #readings = new SourceReadings();
  readonly #names = new GivenNames();
  /** Settings of the newest accepted snapshot. */
  #settings: Pick<SnapshotFacts, 'settings' | 'order'> | undefined;
  #order = 0;
  /** Number of accepted snapshots. */
  #accepted = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Locations of published objects when they were last listed. */
  #objects: string[] | undefined;

  constructor(private readonly deps: SnapshotDeps) {}

  /** Undefined for a snapshot that was made elsewhere. */
  aboutOf(snapshot: CatalogSnapshot): SnapshotFacts | undefined {
    return this.#facts.get(snapshot);
  }

  /** Records that a snapshot has the same inputs as another one. */
  same(one: CatalogSnapshot, other: CatalogSnapshot): void {
    const facts = this.#facts.get(one);
    if (facts) this.#facts.set(other, facts);
  }

  /** Reads what changed. Returns a function for `inTurn` that makes a snapshot. */
  async read({ settings: given, ...options }: SnapshotRequest): Promise<() => Promise<CatalogSnapshot>> {
    const settings = given ?? this.#settings?.settings;
    if (!settings) throw new Error('nothing was published before');
    if (given) this.#order += 1;
    const order = given ? this.#order : this.#settings!.order;
    if (given) this.#keepSources(given);
    const reader = new SourceReader(this.#readings, options);
    const deps = this.#publishDeps(settings);
    let isRead = false;
    try {
      const published = {
        sources: settings.sources,
        own: await this.#listOwn(),
        federated: settings.federated ?? [],
      };
      await readSources(published, reader, deps);
      const objects = await readObjects(published, deps);
      isRead = true;
      return async () => {
        const facts = {
          settings,
          order,
          before: this.#accepted,
          postponed: reader.postponed,
          contents: reader.listContents(),
          files: reader.shown,
        };
        const snapshot = await this.#make(published, reader, objects, settings);
        this.#facts.set(snapshot, facts);
        return snapshot;
      };
    } finally {
      reader.end(deps, isRead);
    }
  }

  async #make(
    published: SourceSelection,
    reader: SourceReader,
    objects: Awaited<ReturnType<typeof readObjects>>,
    settings: DataSettings,
  ): Promise<CatalogSnapshot> {
    const deps = this.#publishDeps(settings);
    const generation = this.deps.generation();
    const snapshot = await publishCatalog(published, reader, objects, deps, generation, settings);
    await this.deps.recordCopies?.(snapshot.collections);
    return snapshot;
  }

  /** Runs one after the other what makes snapshots: each knows the names that the one before gave. */
  inTurn<T>(make: () => Promise<T>): Promise<T> {
    const made = this.#last.then(make);
    this.#last = made.catch(() => {});
    return made;
  }

  /**
   * Accepts a snapshot for display. Call it before a snapshot is shown. Returns false if another snapshot was
   * accepted since this one was created. Then it must not be shown, but later snapshots include its new files and
   * settings.
   */
  accept(snapshot: CatalogSnapshot): boolean {
    const { settings, order, before, files } = this.#facts.get(snapshot)!;
    const isNewest = before === this.#accepted;
    this.#accepted += 1;
    if (order < (this.#settings?.order ?? 0)) return false;
    this.#settings = { settings, order };
    this.#readings.noteShown(files);
    return isNewest;
  }

  /** Monitors only these databases and STAC APIs from now on. */
  #keepSources({ sources, tables }: DataSettings): void {
    this.deps.databases.keep([...new Set(sources.filter(isDatabase))], tables);
    this.deps.imagery.keep(sources.filter(isStacApi));
  }

  #publishDeps({ crs = {} }: DataSettings): PublishDeps {
    const { files, taken } = this.deps;
    return {
      ...this.deps,
      taken: taken(),
      given: this.#names,
      configuredCrs: crs,
      statedCrsOf: (path) => mergeStatedCrs(findStatedCrs(crs, path), this.deps.chosenCrsOf?.(path) ?? {}),
      versionOf: (path) => files.of(path),
      contentAt: (path) => files.contentAt(path),
    };
  }

  async #listOwn(): Promise<string[]> {
    return [
      ...listOwnFolders(this.deps.dataDir).filter((path) => existsSync(path)),
      ...(await this.#publishedObjects()),
    ];
  }

  /** Archives that jobs published to object storage instead of a folder. */
  async #publishedObjects(): Promise<string[]> {
    this.#objects = await this.deps.storage?.listPublished().catch((error: unknown) => {
      // While the object store is unavailable, its known archives remain published. A server that is starting fails.
      if (this.#objects) return this.#objects;
      throw error;
    });
    return this.#objects ?? [];
  }
}
