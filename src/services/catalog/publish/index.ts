import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { CatalogSnapshot, type Collection, type TileSettings } from '../../../core/catalog/collection.js';
import { listUnusedStatedCrs } from '../../../core/geometry/stated-crs.js';
import { isDatabase, withoutPassword } from '../../../core/sources/database-url.js';
import { isPath, isRemote, isStacApi, TILE_INDEX } from '../../../core/sources/sources.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import { guessNote } from '../inspections/crs-notes.js';
import { guessCrs } from '../inspections/guess-crs.js';
import type { SourceReader } from '../inspections/readings.js';
import { withRegistered } from '../rasters/layers.js';
import { readDatabase } from './database.js';
import { assignIds, withAwaited } from './names.js';
import { readRemote } from './remote.js';
import type { DataSettings } from './settings.js';
import type { CollectionDraft, Found, PublishDeps } from './source.js';

/** Sources inspected at the same time. */
const PARALLEL = 4;

/**
 * Reads every database and remote archive, and every source below the given files and folders, and makes one catalog of
 * them. Never throws for a bad source.
 */
export async function publishCatalog(
  { sources, own }: { sources: readonly string[]; own: readonly string[] },
  reader: SourceReader,
  deps: PublishDeps,
  generation: number,
  { tiles = {}, matrixSets, tables }: Omit<DataSettings, 'sources' | 'crs'> = {},
): Promise<CatalogSnapshot> {
  const files = await reader.findFiles(sources.filter(isPath), own.filter(isPath), deps.dataDir);
  const databases = [...new Set(sources.filter(isDatabase))];
  deps.databases.keep(databases, tables);
  deps.imagery.keep(sources.filter(isStacApi));
  // First the tile indexes: the rasters that they name are no collections of their own.
  const indexes = files.filter(({ path }) => TILE_INDEX.test(path));
  const mosaics = await inOrder(indexes.map((file) => () => reader.readFile(file, deps)));
  const named = new Set(mosaics.flatMap((mosaic) => mosaic.members ?? []));
  const alone = files.filter((file) => !indexes.includes(file) && !named.has(file.path));
  const remote = [...new Set(sources.filter(isRemote))];
  const objects = own.filter((url) => isRemote(url) && !remote.includes(url));
  const others = await inOrder([
    ...alone.map((file) => () => reader.readFile(file, deps)),
    ...remote.map((url) => () => reader.read(url, () => readRemote(url, deps))),
    ...objects.map((url) => () => readRemote(url, deps)),
    ...databases.map((url) => () => reader.read(withoutPassword(url), () => readDatabase(url, deps))),
  ]);
  reader.end(deps);
  const contents = await placed([...mosaics, ...others]);
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
    deps.statedCrs,
    files.map(({ path }) => path),
  ).map((path) => ({
    path,
    reason: 'A coordinate reference system is stated of it, but there is no such file.',
  }));
  const { collections, quarantined } = await withRegistered(assigned, await deps.registered(), deps.dataDir);
  return new CatalogSnapshot(
    collections.map((collection) => withSettings(collection, tiles[collection.id])),
    [...unread, ...quarantined, ...stray],
    generation,
    matrixSets,
  );
}

/** Collections of an unknown place, put where what lies beside them says. */
async function placed(contents: readonly Found[]): Promise<readonly Found[]> {
  if (!contents.some(({ unplaced = [] }) => unplaced.length > 0)) return contents;
  const all = contents.flatMap(({ collections }) => collections.map(({ make }) => make('', 0)));
  const put = async (one: Found): Promise<Found> => {
    const moved = new Map<CollectionDraft, CollectionDraft>();
    for (const { draft, file, extent, in: within } of one.unplaced ?? []) {
      const folder = dirname(file);
      const neighbours = all.filter((other) => other.file !== file && dirname(other.file) === folder);
      const guess = guessCrs(extent, neighbours);
      if (guess) moved.set(draft, await within(guess.crs, guessNote(guess.crs, guess.reason, file)));
    }
    return { ...one, collections: one.collections.map((draft) => moved.get(draft) ?? draft) };
  };
  return Promise.all(contents.map(put));
}

/** Collections with their settings for tiles, by the collection as it was read. */
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

/** Runs a few readers at a time; answers in their order. */
function inOrder(readers: readonly (() => Promise<Found>)[]): Promise<Found[]> {
  return mapInLanes(readers, PARALLEL, (read) => read());
}
