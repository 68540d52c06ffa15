import { plainFields } from '../../core/access/field-masks.js';
import { readable, type VectorCollection } from '../../core/catalog/collection.js';
import type { StatisticsResult } from '../../core/features/field-statistics.js';
import { FEATURE_LIMITS } from '../../core/features/limits.js';
import type { Caller } from '../../core/kit/callers.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask } from '../kit/run-task.js';

/** A reading under way, or its result. */
interface Entry {
  readonly result: Promise<StatisticsResult>;
  readonly controller: AbortController;
  /** Requests that wait for it. */
  waiting: number;
  readonly expires: number;
}

/** Computed once per state of a collection and view of it: an edit or a reload makes another object. */
const entries = new WeakMap<VectorCollection, Entry>();

/**
 * Statistics of the readable attributes. Concurrent requests share one reading, which is aborted when all of them
 * are.
 */
export async function attributeStatistics(
  pools: Pools,
  visible: VectorCollection,
  { signal, caller, span }: { signal: AbortSignal; caller?: Caller; span?: unknown },
): Promise<StatisticsResult> {
  let entry = entries.get(visible);
  if (!entry || entry.expires < Date.now())
    entries.set(visible, (entry = begin(pools, visible, { caller, span })));
  const joined = entry;
  joined.waiting++;
  const leave = () => {
    if (--joined.waiting === 0) joined.controller.abort();
  };
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await joined.result;
  } finally {
    signal.removeEventListener('abort', leave);
    if (!signal.aborted) joined.waiting--;
  }
}

/** Starts a reading. Its spans belong to the request that started it. */
function begin(
  pools: Pools,
  visible: VectorCollection,
  { caller, span }: { caller: Caller | undefined; span: unknown },
): Entry {
  const controller = new AbortController();
  const { source, fields, filter } = readable(visible);
  const names = plainFields(visible.source.fields)
    .filter(({ type }) => type !== 'binary')
    .map(({ name }) => name)
    .slice(0, FEATURE_LIMITS.statisticsFields);
  const asking = { caller, span, signal: controller.signal, timing() {} };
  const result = runTask(asking, pools, 'vector.statistics', {
    source,
    filter,
    fields: fields === undefined ? names : names.filter((name) => fields.includes(name)),
  });
  // Writes of other programs to databases are not detected.
  const lasts = source.database !== undefined ? LIMITS.databaseTileMs : Infinity;
  const entry = { result, controller, waiting: 0, expires: Date.now() + lasts };
  result.catch(() => {
    if (entries.get(visible) === entry) entries.delete(visible);
  });
  controller.signal.addEventListener('abort', () => {
    if (entries.get(visible) === entry) entries.delete(visible);
  });
  return entry;
}
