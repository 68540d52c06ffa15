import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join } from 'node:path';
import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { listRasterLocations } from '../../core/catalog/raster-sources.js';
import { mapInLanes } from '../../core/values/lanes.js';

/** Number of files that are checked at the same time. */
const PARALLEL = 32;

/** Ids of the collections whose data is in a file on disk. */
interface PublishedFiles {
  /** Ids of collections by the real paths of their files and folders. */
  readonly byPath: ReadonlyMap<string, ReadonlySet<string>>;
  /** Ids by paths without an extension: other files with these names contain parts of the data, or describe it. */
  readonly byStem: ReadonlyMap<string, ReadonlySet<string>>;
}

const indexes = new WeakMap<CatalogSnapshot, Promise<PublishedFiles>>();

/**
 * Ids of the collections whose data is in a file, or is described by it: collections that could not be read this time
 * count as well. A file is the same under another name (links), and a file in a published folder (Zarr) belongs to the folder.
 */
export async function collectionsInFile(catalog: CatalogSnapshot, path: string): Promise<string[]> {
  const real = await realpath(path).catch(() => path);
  let index = indexes.get(catalog);
  if (!index) indexes.set(catalog, (index = indexFiles(catalog)));
  const { byPath, byStem } = await index;
  const found = [...(await listNames(real, byPath)), ...listFolders(real)].map((name) => byPath.get(name));
  // A published file is not a part of its neighbour.
  const isPublished = found.some((ids) => ids !== undefined);
  if (!isPublished)
    for (const { stem, isSuffix } of listStems(real))
      found.push(byPath.get(stem), isSuffix ? undefined : byStem.get(stem));
  return [...new Set(found.flatMap((ids) => [...(ids ?? [])]))];
}

async function indexFiles(catalog: CatalogSnapshot): Promise<PublishedFiles> {
  const awaited = catalog.quarantined.flatMap(({ path, awaited: former = [] }) =>
    former.map(({ id }) => [id, path] as const),
  );
  const stated = [
    ...catalog.collections.flatMap((one) => listPaths(one).map((place) => [one.id, place] as const)),
    ...awaited,
  ].filter(([, place]) => isAbsolute(place));
  const byPath = new Map<string, Set<string>>();
  const byStem = new Map<string, Set<string>>();
  await mapInLanes(stated, PARALLEL, async ([id, place]) => {
    const real = await realpath(place).catch(() => place);
    add(byPath, real, id);
    add(byStem, real.slice(0, real.length - extname(real).length), id);
  });
  return { byPath, byStem };
}

function add(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key);
  if (ids) ids.add(id);
  else index.set(key, new Set([id]));
}

/** Paths that a collection is read from: its file, and the store created from it. */
function listPaths(collection: Collection): string[] {
  const own = hasFeatures(collection) ? [collection.source.path ?? ''] : [];
  return [
    collection.file,
    ...own,
    ...(hasCoverage(collection) ? listRasterLocations(collection.raster.source) : []),
  ];
}

/** The file under its own name, and under those published names that are hard links to it. */
async function listNames(real: string, byPath: PublishedFiles['byPath']): Promise<string[]> {
  const file = await stat(real).catch(() => undefined);
  if (!file || file.nlink < 2) return [real];
  const names = await mapInLanes([...byPath.keys()], PARALLEL, async (name) => {
    const other = await stat(name).catch(() => undefined);
    return other?.ino === file.ino && other.dev === file.dev ? name : undefined;
  });
  return [real, ...names.filter((name) => name !== undefined)];
}

function listFolders(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...listFolders(folder)];
}

/** `a.tif.ovr` may belong to `a.tif` or `a`, `a.dbf` to what is called `a`, and `a.gpkg-wal` to `a.gpkg` only. */
function listStems(path: string): { stem: string; isSuffix: boolean }[] {
  const name = basename(path);
  const ends = [...name.matchAll(/[.-]/g)].filter(({ index }) => index > 0);
  return ends.map(({ index, 0: sign }) => ({
    stem: join(dirname(path), name.slice(0, index)),
    isSuffix: sign === '-',
  }));
}
