import { statSync } from 'node:fs';
import type { Collection } from '../../core/collection.js';
import { isBelow } from '../../core/folders.js';
import { isPath } from '../../core/sources.js';
import { hashSource } from '../access/marker.js';

/** Identities of the tables and files that collections are published from. */
export class SourceIdentities {
  readonly #known = new WeakMap<Collection, string>();

  /** Nobody but the server names files in `ownFolders`: they have no identity. */
  constructor(private readonly ownFolders: readonly string[]) {}

  /**
   * Returns a hash that is the same when the table or file of a collection gets another name or folder; undefined if the source
   * has no such number.
   */
  of(collection: Collection): string | undefined {
    const known = this.#known.get(collection);
    if (known !== undefined) return known;
    const { file, identity = this.#ofFile(file) } = collection;
    if (identity === undefined) return undefined;
    const hash = hashSource(identity);
    this.#known.set(collection, hash);
    return hash;
  }

  #ofFile(file: string): string | undefined {
    if (!isPath(file) || this.ownFolders.some((folder) => isBelow(file, folder))) return undefined;
    const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (!stats) return undefined;
    const { dev, ino, birthtimeNs } = stats;
    // Numbers of files are used again, and numbers of network devices change. Not every file system has birth times.
    return birthtimeNs > 0n ? `${ino} ${birthtimeNs}` : `${dev}/${ino}`;
  }
}
