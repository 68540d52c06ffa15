import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Collection } from '../../../core/catalog/collection.js';
import { isBelow } from '../../../core/files/folders.js';
import { isPath } from '../../../core/sources/sources.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import { hashSource } from '../../access/rules/marker.js';

type IdentifiedCollection = Pick<Collection, 'file' | 'identity' | 'version'>;

interface KnownFile {
  /** Versions of its collections. */
  readonly versions: ReadonlySet<string>;
  readonly identity: string | undefined;
}

/** Maximum number of files whose inode is read at the same time, because other disk reads also need threads. */
export const STAT_LANES = 2;

/** Identities of the tables and files that collections are published from. */
export class SourceIdentities {
  readonly #known = new WeakMap<IdentifiedCollection, string>();
  /** By path. */
  #files: ReadonlyMap<string, KnownFile> = new Map();

  /** Files in `ownFolders` have no identity, because only the server names them. */
  constructor(private readonly ownFolders: readonly string[]) {}

  /** Reads the numbers of new and changed files. Call it before the collections are published. */
  async learn(collections: readonly IdentifiedCollection[]): Promise<void> {
    const before = this.#files;
    const present = new Map<string, Set<string>>();
    for (const { file, identity, version } of collections) {
      if (identity !== undefined || !this.#hasNumber(file)) continue;
      const versions = present.get(file);
      if (versions) versions.add(version);
      else present.set(file, new Set([version]));
    }
    const files = new Map<string, KnownFile>();
    await mapInLanes([...present], STAT_LANES, async ([file, versions]) => {
      const known = before.get(file);
      if (known && [...versions].every((version) => known.versions.has(version))) {
        files.set(file, known);
        return;
      }
      const stats = await stat(file, { bigint: true }).catch(() => undefined);
      if (stats) files.set(file, { versions, identity: formatNumber(stats) });
    });
    this.#files = files;
  }

  /**
   * Returns a hash that remains the same if the table or file of a collection gets another name or folder. Undefined
   * if the source has no such number.
   */
  of(collection: IdentifiedCollection): string | undefined {
    const known = this.#known.get(collection);
    if (known !== undefined) return known;
    const { identity = this.#ofFile(collection) } = collection;
    if (identity === undefined) return undefined;
    const hash = hashSource(identity);
    this.#known.set(collection, hash);
    return hash;
  }

  #ofFile({ file, version }: IdentifiedCollection): string | undefined {
    const known = this.#files.get(file);
    if (known?.versions.has(version)) return known.identity;
    if (!this.#hasNumber(file)) return undefined;
    // A file that was not there when it was learnt.
    const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
    return stats && formatNumber(stats);
  }

  #hasNumber(file: string): boolean {
    return isPath(file) && !this.ownFolders.some((folder) => isBelow(file, folder));
  }
}

/** Numbers of files are used again, and numbers of network devices change. Not every file system has birth times. */
function formatNumber({ dev, ino, birthtimeNs }: BigIntStats): string {
  return birthtimeNs > 0n ? `${ino} ${birthtimeNs}` : `${dev}/${ino}`;
}
