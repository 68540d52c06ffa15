import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Expression } from '../../core/cql2/index.js';
import type { TimedCount } from '../../core/features/features.js';
import { FEATURE_LIMITS } from '../../core/features/limits.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import { canonical } from '../../core/values/fingerprint.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import type { CollectionView } from './view.js';

/** Maximum number of filters whose counts are kept for a collection. */
const MAX_FILTERS = 100;

/** Counts by filter, for each state of a collection and view of it: an edit or a reload makes another object. */
const counted = new WeakMap<VectorCollection, ReturnType<typeof createCache>>();

/** Writes of other programs to databases are not detected. */
function createCache({ source }: VectorCollection) {
  return boundedCache<string, TimedCount>(
    MAX_FILTERS,
    source.database === undefined ? {} : { ttl: LIMITS.databaseTileMs },
  );
}

/** Number of features that match a filter of a view, counted for up to a second. Pages of one filter count once. */
export async function countMatches(
  x: TaskContext,
  pools: Pools,
  { visible, source, rows }: CollectionView,
  filter: Expression | undefined,
): Promise<TimedCount> {
  const { featureCount } = visible;
  if (filter === rows && featureCount !== undefined && !visible.countEstimated)
    return { count: featureCount, isExact: true };
  let counts = counted.get(visible);
  if (!counts) counted.set(visible, (counts = createCache(visible)));
  const key = canonical(filter ?? null);
  const before = counts.get(key);
  if (before) return before;
  const task = { source, filter, withinMs: FEATURE_LIMITS.countMs };
  const count = await runTask(x, pools, 'vector.timedCount', task);
  counts.set(key, count);
  return count;
}
