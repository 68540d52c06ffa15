import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { CatalogSnapshot, type Collection, type TileSettings } from '../../../core/catalog/collection.js';
import { type FederatedSetting, formatFederatedName } from '../../../core/federation/federated-source.js';
import { listUnusedStatedCrs } from '../../../core/geometry/stated-crs.js';
import { isDatabase, withoutPassword } from '../../../core/sources/database-url.js';
import { isPath, isRemote, TILE_INDEX } from '../../../core/sources/sources.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import { createGuessAssumption } from '../inspections/crs-notes.js';
import { guessCrs } from '../inspections/guess-crs.js';
import type { SourceReader } from '../inspections/source-reader.js';
import { withRegistered } from '../rasters/layers.js';
import { readDatabase } from './database.js';
import { readFederated } from './federated-layer.js';
import type { SourceFile } from './find.js';
import { assignIds, withAwaited } from './names.js';
import { readRemote } from './remote.js';
import type { DataSettings } from './settings.js';
import type { CollectionDraft, Found, PublishDeps } from './source.js';

/** Sources inspected at the same time. */
const PARALLEL = 4;

/** Sources, and folders and objects of the server itself. */
export interface SourceSelection {
  readonly sources: readonly string[];
  readonly own: readonly string[];
  readonly federated: readonly FederatedSetting[];
}

/** Reads every database and remote archive, and every source below the given files and folders. Never throws for a bad source. */
export async function readSources(
  { sources, own, federated }: SourceSelection,
  reader: SourceReader,
  deps: PublishDeps,
): Promise<void> {
  const files = await reader.findFiles(sources.filter(isPath), own.filter(isPath), deps.dataDir);
  // Tile indexes are read first, because the rasters that they name are not separate collections.
  const indexes = files.filter(({ path }) => TILE_INDEX.test(path));
  await inLanes(indexes.map((file) => () => reader.readFile(file, deps)));
  const named = listMembers(indexes, reader);
  const alone = files.filter(({ path }) => !TILE_INDEX.test(path) && !named.has(path));
  await inLanes([
    ...alone.map((file) => () => reader.readFile(file, deps)),
    ...listRemote(sources).map((url) => () => reader.read(url, () => readRemote(url, deps))),
    ...listDatabases(sources).map(
      (url) => () => reader.read(withoutPassword(url), () => readDatabase(url, deps)),
    ),
    ...federated.map((setting) => () => {
      const name = formatFederatedName(setting.id);
      return reader.read(name, () => readFederated(setting, name, deps));
    }),
  ]);
}

/** Known contents of all sources, in the order in which collections are published. */
function collectContents(
  { sources, own, federated }: SourceSelection,
  reader: SourceReader,
  objects: ReadonlyMap<string, Found>,
): Found[] {
  const files = reader.files;
  const indexes = files.filter(({ path }) => TILE_INDEX.test(path));
  const named = listMembers(indexes, reader);
  const alone = files.filter(({ path }) => !TILE_INDEX.test(path) && !named.has(path));
  const remote = listRemote(sources);
  return [
    ...[...indexes, ...alone].map(({ path }) => reader.find(path)),
    ...remote.map((url) => reader.find(url)),
    ...listObjects({ sources, own, federated }).map((url) => objects.get(url)),
    ...listDatabases(sources).map((url) => reader.find(withoutPassword(url))),
    ...federated.map(({ id }) => reader.find(formatFederatedName(id))),
  ].filter((found) => found !== undefined);
}

const listDatabases = (sources: readonly string[]) => [...new Set(sources.filter(isDatabase))];
const listRemote = (sources: readonly string[]) => [...new Set(sources.filter(isRemote))];

/** Objects of the server in a bucket. */
function listObjects({ sources, own }: SourceSelection): string[] {
  const remote = listRemote(sources);
  return own.filter((url) => isRemote(url) && !remote.includes(url));
}

/** Files that these tile indexes name. */
function listMembers(indexes: readonly SourceFile[], reader: SourceReader): ReadonlySet<string> {
  return new Set(indexes.flatMap(({ path }) => reader.find(path)?.members ?? []));
}

/** Reads the objects of the server in a bucket. */
export async function readObjects(
  published: SourceSelection,
  deps: PublishDeps,
): Promise<ReadonlyMap<string, Found>> {
  const urls = listObjects(published);
  const read = async (url: string): Promise<[string, Found]> => [url, await readRemote(url, deps)];
  return new Map(await mapInLanes(urls, PARALLEL, read));
}

/** Creates one catalog from the known contents of all sources. */
export async function publishCatalog(
  published: SourceSelection,
  reader: SourceReader,
  objects: ReadonlyMap<string, Found>,
  deps: PublishDeps,
  generation: number,
  { tiles = {}, matrixSets }: Omit<DataSettings, 'sources' | 'crs'> = {},
): Promise<CatalogSnapshot> {
  const { files } = reader;
  const contents = await placed(collectContents(published, reader, objects));
  const unread = await withAwaited(
    contents.flatMap((one) => one.quarantined),
    deps,
  );
  const assigned = await assignIds(
    contents.flatMap((one) => one.collections),
    deps,
    deps.taken,
    unread.flatMap(({ awaited = [] }) => awaited.map(({ id }) => id)),
    deps.given,
  );
  const stray = listUnusedStatedCrs(
    deps.configuredCrs,
    files.map(({ path }) => path),
  ).map((path) => ({
    path,
    reason: 'The setting data.crs names this file, but the file does not exist.',
  }));
  const { collections, quarantined } = await withRegistered(assigned, await deps.registered(), deps.dataDir);
  return new CatalogSnapshot(
    collections.map((collection) => withSettings(collection, tiles[collection.id])),
    [...unread, ...quarantined, ...stray],
    generation,
    matrixSets,
  );
}

/** Georeferences collections of unknown location by the neighbouring data. */
async function placed(contents: readonly Found[]): Promise<readonly Found[]> {
  if (!contents.some(({ unplaced = [] }) => unplaced.length > 0)) return contents;
  const all = contents.flatMap(({ collections }) => collections.map(({ make }) => make('', 0)));
  const put = async (one: Found): Promise<Found> => {
    const moved = new Map<CollectionDraft, CollectionDraft>();
    for (const { draft, file, extent, in: within } of one.unplaced ?? []) {
      const folder = dirname(file);
      const neighbours = all.filter((other) => other.file !== file && dirname(other.file) === folder);
      const guess = guessCrs(extent, neighbours);
      if (guess) moved.set(draft, await within(guess.crs, createGuessAssumption(guess)));
    }
    return { ...one, collections: one.collections.map((draft) => moved.get(draft) ?? draft) };
  };
  return Promise.all(contents.map(put));
}

/** Collections with their tile settings, by the collection from the source. */
const SETTLED = new WeakMap<Collection, { tiles: TileSettings; settled: Collection }>();

/** Other settings make other tiles, so they are a part of the version. The same arguments give the same object. */
export function withSettings(collection: Collection, tiles: TileSettings | undefined): Collection {
  if (!tiles) return collection;
  const before = SETTLED.get(collection);
  if (before?.tiles === tiles) return before.settled;
  const settled = applySettings(collection, tiles);
  SETTLED.set(collection, { tiles, settled });
  return settled;
}

function applySettings(collection: Collection, tiles: TileSettings): Collection {
  const hash = createHash('sha1').update(JSON.stringify(tiles)).digest('hex').slice(0, 8);
  const { version, origin } = collection;
  return { ...collection, tiles, version: `${hash}-${version}`, origin: `${hash}-${origin}` };
}

/** Runs a few readers at a time. */
async function inLanes(readers: readonly (() => Promise<void>)[]): Promise<void> {
  await mapInLanes(readers, PARALLEL, (read) => read());
}
