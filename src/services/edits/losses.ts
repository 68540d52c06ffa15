import type { LossesTask } from '../../core/features/features.js';
import { noteLosses } from '../../core/features/value-notes.js';
import type { Pools } from '../../core/tasks/tasks.js';

/** Maximum milliseconds for one count of losses. It reads the rows again, and must not delay the operation. */
const DEADLINE_MS = 20_000;

const UNKNOWN =
  'Infinite values, M values and arcs could not be counted in time: some may be missing without a further warning.';

export interface FoundLosses {
  readonly notes: readonly string[];
  /** Properties that the notes name. */
  readonly properties: readonly string[];
}

/**
 * Sentences about values and geometries, or only values, that features have in another form than the stored one.
 * Never rejects.
 */
export async function findLosses(
  pools: Pick<Pools, 'run'>,
  task: LossesTask,
  signal?: AbortSignal,
  parts: 'all' | 'values' = 'all',
): Promise<FoundLosses> {
  try {
    const options = { deadlineMs: DEADLINE_MS, ...(signal ? { signal } : {}) };
    const { notFinite, geometries } = await pools.run('vector.losses', task, options);
    const notes = noteLosses({ notFinite, geometries: parts === 'all' ? geometries : {} });
    return { notes, properties: Object.keys(notFinite) };
  } catch {
    return { notes: [UNKNOWN], properties: [] };
  }
}
