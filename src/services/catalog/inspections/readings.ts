import type { SourceFile } from '../publish/find.js';
import type { Found } from '../publish/source.js';

/** Change of the contents of a source. */
export interface SourceChange {
  /** A file, or a database or another remote source without its password. */
  readonly source: string;
  /** The only changed table. Undefined if all of the source can have changed. */
  readonly table?: string;
}

export interface SourceRead {
  /** Published contents of the source. While the source cannot be read, these are its former contents. */
  readonly contents: Found;
  /** Changes with the file and with the CRS assigned to it. Empty for sources that are not files. */
  readonly tag: string;
  /** Order in which the readings of sources started. */
  readonly order: number;
  /** See `FileWrites.fileId`. Undefined for sources that are not files. */
  readonly content?: string | undefined;
  /** The source could not be read completely, for a reason that may pass. */
  readonly isStale?: boolean;
}

interface Listing {
  readonly files: readonly SourceFile[];
  readonly order: number;
}

/** Files of the sources that a snapshot shows. */
export interface ShownFiles {
  /** Names the sources. */
  readonly sources: string;
  readonly files: readonly SourceFile[];
}

/** Maximum number of kept listings for former settings, because settings can change while other readers run. */
const MAX_LISTINGS = 4;

/**
 * Contents of each source at the last reading, so that a change of one source opens no other. Several readers use it
 * at the same time.
 */
export class SourceReadings {
  readonly #readings = new Map<string, SourceRead>();
  #shown: ShownFiles | undefined;
  /** New files that were left to a further reading. */
  readonly #postponed = new Set<string>();
  /** Files of the sources, and those in the server's own folders, when they were last searched for; by the sources. */
  readonly #listings = new Map<string, Listing>();
  /** Number of readings of all of a source that are under way, by source. */
  readonly #underWay = new Map<string, number>();
  #readers = 0;
  #order = 0;

  get(source: string): SourceRead | undefined {
    return this.#readings.get(source);
  }

  /** The files of the sources that are shown now. */
  shownFilesOf(sources: string): readonly SourceFile[] | undefined {
    return this.#shown?.sources === sources ? this.#shown.files : undefined;
  }

  noteShown(shown: ShownFiles): void {
    this.#shown = shown;
  }

  isPostponed(source: string): boolean {
    return this.#postponed.has(source);
  }

  postpone(source: string): void {
    this.#postponed.add(source);
  }

  /** Order of a reading or a search that starts now. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** Stores a reading, unless a reading that started later is stored. */
  set(source: string, reading: SourceRead): void {
    const kept = this.#readings.get(source);
    if (kept && kept.order > reading.order) return;
    this.#postponed.delete(source);
    this.#readings.set(source, reading);
  }

  /** Whether a complete reading of the source is in progress. */
  isUnderWay(source: string): boolean {
    return this.#underWay.has(source);
  }

  /** Runs a reading of all of a source. */
  async track<T>(source: string, read: () => Promise<T>): Promise<T> {
    this.#underWay.set(source, (this.#underWay.get(source) ?? 0) + 1);
    try {
      return await read();
    } finally {
      const left = this.#underWay.get(source)! - 1;
      if (left > 0) this.#underWay.set(source, left);
      else this.#underWay.delete(source);
    }
  }

  filesOf(sources: string): readonly SourceFile[] | undefined {
    return this.#listings.get(sources)?.files;
  }

  /** Stores the result of a search, unless the result of a later search is stored. */
  setFiles(sources: string, files: readonly SourceFile[], order: number): void {
    const kept = this.#listings.get(sources);
    if (kept && kept.order > order) return;
    this.#listings.delete(sources);
    this.#listings.set(sources, { files, order });
    for (const key of this.#listings.keys()) {
      if (this.#listings.size <= MAX_LISTINGS) break;
      this.#listings.delete(key);
    }
  }

  /** Call it when a reader starts. */
  enter(): void {
    this.#readers += 1;
  }

  /** Call it when a reader ends. Returns true if no other one reads. */
  leave(): boolean {
    this.#readers -= 1;
    return this.#readers === 0;
  }

  /**
   * Removes all other sources, except those read after `order`, because a later reader found them. Returns the kept
   * sources.
   */
  keepOnly(sources: ReadonlySet<string>, order: number): ReadonlySet<string> {
    const kept = new Set(sources);
    for (const [source, reading] of this.#readings)
      if (reading.order > order) kept.add(source);
      else if (!sources.has(source)) this.#readings.delete(source);
    for (const source of this.#postponed) if (!kept.has(source)) this.#postponed.delete(source);
    return kept;
  }
}
