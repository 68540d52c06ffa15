import { LRUCache } from 'lru-cache';
import { hasCoverage } from '../../core/abilities.js';
import type { Box } from '../../core/box.js';
import type { Collection, RasterCollection } from '../../core/collection.js';
import { faultOfOthers, TaskFailure } from '../../core/failure.js';
import { LIMITS } from '../../core/limits.js';
import type { TimeRange } from '../../core/params.js';
import { sceneSearchOf } from '../../core/raster-sources.js';
import type { RasterMosaic } from '../../core/rasters.js';
import type { Scene } from '../../core/stac-scenes.js';
import type { StacSource } from '../../core/stac-source.js';
import type { Pools } from '../../core/tasks.js';
import { interval } from '../shown-time.js';
import { cellsOf } from './cells.js';
import { sceneMembers } from './mosaic.js';
import { searchTask } from './searches.js';

/** What is asked of collections whose scenes are searched for each window. */
export interface SceneWindow {
  /** CRS84; may lie across the antimeridian. The whole of a collection when absent. */
  readonly window84: Box | undefined;
  readonly datetime: TimeRange | undefined;
}

type Runner = Pick<Pools, 'run'>;

/** The collections with the scenes that a window needs; those that are no searches stay what they are. */
export async function withScenes<C extends Collection>(
  pools: Runner,
  collections: readonly C[],
  window: SceneWindow,
): Promise<readonly C[]> {
  if (!collections.some((one) => hasCoverage(one) && sceneSearchOf(one.raster.source))) return collections;
  return Promise.all(
    collections.map((one) => (hasCoverage(one) ? withItsScenes(pools, one, window) : one)),
  ) as Promise<C[]>;
}

/** A collection with the scenes that a window needs. Rejects with `TaskFailure` when they cannot be searched for. */
export async function withItsScenes<C extends RasterCollection>(
  pools: Runner,
  collection: C,
  { window84, datetime }: SceneWindow,
): Promise<C> {
  const { raster } = collection;
  const source = sceneSearchOf(raster.source);
  if (!source) return collection;
  const time = narrowed(source.datetime, datetime);
  const area = source.bbox ?? raster.extent84;
  const cells = time === null ? [] : cellsOf(window84 ?? area, area);
  const scenes = await Promise.all(
    cells.map((cell) => scenesIn(pools, { ...source, bbox: cell }, time ?? undefined)),
  );
  const unique = [...new Map(scenes.flat().map((one) => [`${one.collection}\0${one.id}`, one])).values()];
  const { search: _, ...mosaic } = raster.source as RasterMosaic;
  return {
    ...collection,
    raster: { ...raster, source: { ...mosaic, members: sceneMembers(source, unique) } },
  };
}

interface Entry {
  readonly scenes: Promise<readonly Scene[]>;
  until: number;
}

/** Searches of one process. */
interface Searches {
  /** By address, cell and time. */
  readonly entries: LRUCache<string, Entry>;
  /** How many are made now. */
  pending: number;
}

const searches = new WeakMap<Runner, Searches>();

function searchesOf(pools: Runner): Searches {
  const own = searches.get(pools) ?? { entries: new LRUCache({ max: LIMITS.stacWindows }), pending: 0 };
  searches.set(pools, own);
  return own;
}

/** So long a search that failed is not made again. */
const FAILED_MS = 3000;

function scenesIn(
  pools: Runner,
  source: StacSource & { bbox: Box },
  time: string | undefined,
): Promise<readonly Scene[]> {
  const own = searchesOf(pools);
  const key = JSON.stringify([source.address, source.bbox, time]);
  const before = own.entries.get(key);
  if (before && before.until > Date.now()) return before.scenes;
  if (own.pending >= LIMITS.stacWindowSearches) return before?.scenes ?? Promise.reject(busy());
  const { datetime: _, ...anyTime } = source;
  const task = searchTask({ ...anyTime, ...(time === undefined ? {} : { datetime: time }) });
  own.pending += 1;
  const found = pools
    .run('ingest.stacScenes', task)
    .then(
      ({ scenes }) => scenes,
      (error: unknown) => Promise.reject(faultOfOthers(error)),
    )
    .finally(() => {
      own.pending -= 1;
    });
  // While the API does not answer, what it found before stays.
  const scenes = before ? found.catch(() => before.scenes) : found;
  const entry: Entry = { scenes, until: Date.now() + source.refreshMs };
  own.entries.set(key, entry);
  found.catch(() => {
    entry.until = Date.now() + FAILED_MS;
  });
  return scenes;
}

const busy = () =>
  new TaskFailure('queue-full', 'Too many windows are searched for at once; try again soon.');

/** A range of time within that of the source, as APIs take it; null when they do not meet, undefined for all time. */
export function narrowed(
  ofSource: string | undefined,
  asked: TimeRange | undefined,
): string | null | undefined {
  if (!asked) return ofSource;
  const [first, last = first] = (ofSource ?? '../..').split('/').map((text) => Date.parse(text));
  const bound = (value: number | undefined, open: number) =>
    value === undefined || Number.isNaN(value) ? open : value;
  const start = Math.max(bound(first, -Infinity), asked.start ?? -Infinity);
  const end = Math.min(bound(last, Infinity), asked.end ?? Infinity);
  if (start > end) return null;
  return Number.isFinite(start) || Number.isFinite(end) ? interval(start, end) : undefined;
}
