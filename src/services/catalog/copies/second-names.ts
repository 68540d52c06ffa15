import { stat } from 'node:fs/promises';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { isDatabase } from '../../../core/sources/database-url.js';
import { isRemote } from '../../../core/sources/sources.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import { nameSource } from '../../access/rules/derivations.js';
import { type CopySourceLayer, DERIVATION_KIND, type Derivation } from '../../access/rules/rules.js';
import { STAT_LANES } from '../publish/source-identities.js';

export interface SecondNamesDeps {
  readonly documents: Pick<DocumentStore, 'list' | 'put' | 'remove'>;
  /** Applies changed sources of a collection in this process. */
  load(id: string): Promise<void>;
}

interface KnownFile {
  readonly version: string;
  readonly inode: string | undefined;
}

/**
 * Files with several names in published folders, as hard links or symlinks. The collection of the later name is a
 * copy of the other one while both names lead to one file.
 */
export class SecondNames {
  #files: ReadonlyMap<string, KnownFile> = new Map();
  /** Whether a collection can be a copy by its name. Not known at the start. */
  #areThere = true;

  constructor(private readonly deps: SecondNamesDeps) {}

  /** Records second names. Call it before the collections are published. */
  async record(collections: readonly Collection[]): Promise<void> {
    const local = collections.filter(({ file }) => !isDatabase(file) && !isRemote(file));
    const before = this.#files;
    this.#files = await readFiles(local, before);
    const groups = new Map<string, Collection[]>();
    for (const one of local) {
      const inode = this.#files.get(one.file)?.inode;
      if (inode !== undefined) groups.set(inode, [...(groups.get(inode) ?? []), one]);
    }
    const twins = (one: Collection) =>
      (groups.get(this.#files.get(one.file)?.inode ?? '') ?? []).filter(({ file }) => file !== one.file);
    const areThere = [...groups.values()].some(hasSeveralNames);
    if (!areThere && !this.#areThere) return;
    this.#areThere = areThere;
    const isNew = ({ file }: Collection) => before.get(file)?.inode !== this.#files.get(file)?.inode;
    const isCopy = (one: Collection, other: Collection) =>
      isNew(one) === isNew(other) ? one.layerId > other.layerId : isNew(one);
    const stored = await this.deps.documents.list<Derivation>(DERIVATION_KIND);
    const sources = new Map(stored.map(({ id, body }) => [id, body.sources]));
    const ids = new Set(local.map(({ id }) => id));
    for (const one of local) {
      const own = sources.get(one.id) ?? [];
      // The rules of a deleted name apply to the remaining name.
      if (own.some(({ id, isTwin }) => isTwin && !ids.has(id))) continue;
      const isSource = (other: Collection) =>
        own.some(({ id }) => id === other.id) ||
        (isCopy(one, other) && !sources.get(other.id)?.some(({ id }) => id === one.id));
      const all = sameTables(one, twins(one))
        .filter(isSource)
        .flatMap((other) => [nameSource(other), ...(sources.get(other.id) ?? [])])
        .map((source) => ({ ...source, isTwin: true as const }));
      const others = own.filter(({ isTwin }) => !isTwin);
      const added = all.filter(({ id }) => id !== one.id && !others.some((other) => other.id === id));
      const after = [...others, ...new Map(added.map((source) => [source.id, source])).values()];
      if (namesIn(after) !== namesIn(own)) await this.#put(one.id, after);
      sources.set(one.id, after);
    }
  }

  async #put(id: string, sources: readonly CopySourceLayer[]): Promise<void> {
    const { documents, load } = this.deps;
    if (sources.length > 0) await documents.put(DERIVATION_KIND, id, { sources }, 'system');
    else await documents.remove(DERIVATION_KIND, id);
    await load(id);
  }
}

const hasSeveralNames = (all: readonly Collection[]) => all.some(({ file }) => file !== all[0]!.file);

const namesIn = (sources: readonly CopySourceLayer[]) => JSON.stringify(sources.map(({ id }) => id).sort());

/** Collections of the same table. All collections if none is of that table. */
function sameTables(one: Collection, others: readonly Collection[]): readonly Collection[] {
  const same = others.filter(
    (other) => hasFeatures(one) && hasFeatures(other) && one.source.table === other.source.table,
  );
  return same.length > 0 ? same : others;
}

/** Reads the identity of the files of collections. Files whose version is known are skipped. */
async function readFiles(
  collections: readonly Collection[],
  before: ReadonlyMap<string, KnownFile>,
): Promise<ReadonlyMap<string, KnownFile>> {
  const versions = new Map(collections.map(({ file, version }) => [file, version]));
  const read = async ([file, version]: [string, string]): Promise<[string, KnownFile]> => {
    const known = before.get(file);
    if (known?.version === version) return [file, known];
    const found = await stat(file, { bigint: true }).catch(() => undefined);
    return [file, { version, inode: found && `${found.dev}:${found.ino}` }];
  };
  return new Map(await mapInLanes([...versions], STAT_LANES, read));
}
