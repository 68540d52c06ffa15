import type { Collection } from '../../core/catalog/collection.js';
import { countBy } from '../../core/features/count-by.js';
import { isRemote } from '../../core/sources/sources.js';

/** Source of a collection, in the publisher's words. */
export interface SourceName {
  /**
   * File below the folder that all files share, or with the few folders that distinguish it; database; or host and
   * name of a remote file.
   */
  readonly source: string;
  /** The part shared with neighbours: a file of several collections, else the folder. */
  readonly group: string;
}

/** Names of sources that reveal only the folders of the server that distinguish them. */
export function sourceNames(collections: readonly Collection[]): ReadonlyMap<Collection, SourceName> {
  const counts = countBy(collections, ({ file }) => file);
  const nameOf = fileNames([...counts.keys()].filter(isLocal));
  return new Map(
    collections.map((collection) => {
      const { file } = collection;
      const source = isLocal(file) ? nameOf(file) : addressName(file);
      const folder = source.slice(0, Math.max(0, source.lastIndexOf('/')));
      return [collection, { source, group: counts.get(file)! > 1 ? source : folder }];
    }),
  );
}

/** Suffixes for titles that several collections share. */
export function qualifiers(
  collections: readonly Collection[],
  names = sourceNames(collections),
): ReadonlyMap<Collection, string> {
  const byTitle = new Map<string, Collection[]>();
  for (const one of collections) {
    const same = byTitle.get(one.title);
    if (same) same.push(one);
    else byTitle.set(one.title, [one]);
  }
  const shortNames = new Map<Collection, string>();
  for (const same of byTitle.values()) {
    if (same.length < 2) continue;
    const tries = [(one: Collection) => names.get(one)!.group, (one: Collection) => names.get(one)!.source];
    const tell = tries.find((name) => new Set(same.map(name)).size === same.length) ?? ((one) => one.id);
    for (const one of same) shortNames.set(one, tell(one) || one.id);
  }
  return shortNames;
}

const isLocal = (file: string) => !isRemote(file) && !/^[a-z][a-z0-9+.-]+:\/\//i.test(file);

/** Names of files. If their folders share no parent, the full paths are not shown. */
function fileNames(files: readonly string[]): (file: string) => string {
  const root = sharedFolder(files);
  if (root !== '/') return (file) => file.slice(root.length);
  const ending = (file: string, parts: number) => file.split('/').slice(-parts).join('/');
  let parts = 1;
  while (new Set(files.map((file) => ending(file, parts))).size < files.length) parts++;
  return (file) => ending(file, parts);
}

function sharedFolder(files: readonly string[]): string {
  const [first = '', ...others] = files.map((file) => file.slice(0, file.lastIndexOf('/') + 1));
  let shared = first;
  for (const folder of others)
    while (!folder.startsWith(shared))
      shared = shared.slice(0, shared.lastIndexOf('/', shared.length - 2) + 1);
  return shared;
}

/** A database by its name; a file of another host by that and its own name. */
function addressName(address: string): string {
  try {
    const { protocol, hostname, pathname } = new URL(address);
    const name = pathname.split('/').filter(Boolean).at(-1) ?? '';
    return /^postgres/.test(protocol) ? name || 'database' : `${hostname}/${name}`;
  } catch {
    return 'remote';
  }
}
