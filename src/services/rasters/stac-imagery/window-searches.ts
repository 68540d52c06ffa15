import { LRUCache } from 'lru-cache';
import { TaskFailure, toUpstreamFailure } from '../../../core/errors/failure.js';
import type { Box } from '../../../core/geometry/box.js';
import { RASTER_LIMITS } from '../../../core/rasters/limits.js';
import type { Scene } from '../../../core/stac/stac-scenes.js';
import type { StacSource } from '../../../core/stac/stac-source.js';
import { type Runner, searchInTurn } from './search-turns.js';
import { createSceneSearchTask } from './searches.js';

/** Search results for one address, cell and time. */
interface Entry {
  /** Undefined until a search has ended well. */
  scenes?: readonly Scene[];
  /** Error of the last search. */
  failure?: unknown;
  /** The search that is made now. */
  search?: Promise<readonly Scene[]>;
  /** When what is here is old. */
  until: number;
}

/** Searches of one process. */
interface Searches {
  readonly entries: LRUCache<string, Entry>;
  /** Number of searches that run or wait for their turn. */
  pending: number;
}

const searches = new WeakMap<Runner, Searches>();

function buildSearches(pools: Runner): Searches {
  const own = searches.get(pools) ?? { entries: newEntries(), pending: 0 };
  searches.set(pools, own);
  return own;
}

function newEntries(): LRUCache<string, Entry> {
  return new LRUCache({
    max: RASTER_LIMITS.stacWindows,
    maxSize: RASTER_LIMITS.stacWindowBytes,
    sizeCalculation: ({ scenes = [] }, key) =>
      scenes.reduce((sum, one) => sum + computeSize(one), 2 * key.length),
  });
}

/** Bytes of a scene without its strings. */
const SCENE_BYTES = 300;

/** Bytes of memory, about. */
function computeSize({ id, collection, acquired = '', self = '', hrefs }: Scene): number {
  const texts = [id, collection, acquired, self, ...hrefs];
  return texts.reduce((sum, { length }) => sum + 2 * length, SCENE_BYTES);
}

/** Milliseconds before a failed search is repeated. */
const FAILED_MS = 3000;

/** The scenes of a box. If there is a former result, it is returned immediately while the search is repeated. */
export async function scenesIn(
  pools: Runner,
  source: StacSource & { bbox: Box },
  time: string | undefined,
): Promise<readonly Scene[]> {
  const own = buildSearches(pools);
  const key = JSON.stringify([source.address, source.bbox, time]);
  const before = own.entries.get(key);
  if (before && (before.search || before.until > Date.now())) return listScenes(before);
  if (own.pending >= RASTER_LIMITS.stacWindowSearches) {
    if (before?.scenes) return before.scenes;
    throw new TaskFailure('queue-full', 'Too many searches run at the same time. Retry in a few seconds.');
  }
  const { datetime: _, ...anyTime } = source;
  const task = createSceneSearchTask({ ...anyTime, ...(time === undefined ? {} : { datetime: time }) });
  own.pending += 1;
  const search = searchInTurn(pools, task).then(({ scenes }) => scenes);
  const entry: Entry = { ...before, search, until: 0 };
  own.entries.set(key, entry);
  search
    .then(
      (scenes) => own.entries.set(key, { scenes, until: Date.now() + source.refreshMs }),
      (failure: unknown) => {
        // While the API does not respond, the former result is kept.
        const { scenes } = entry;
        own.entries.set(key, { ...(scenes && { scenes }), failure, until: Date.now() + FAILED_MS });
      },
    )
    .finally(() => {
      own.pending -= 1;
    });
  return listScenes(entry);
}

async function listScenes({ scenes, search, failure }: Entry): Promise<readonly Scene[]> {
  if (scenes) return scenes;
  try {
    if (search) return await search;
  } catch (error) {
    throw toUpstreamFailure(error);
  }
  throw toUpstreamFailure(failure);
}
