import type { JobRow } from '../../stores/jobs/jobs.js';
import type { JobEngine } from './engine.js';

/** The first of these jobs to end. Rejects with the signal's reason. */
export async function nextToEnd(
  jobs: Pick<JobEngine, 'finished'>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<JobRow> {
  const others = new AbortController();
  const stop = AbortSignal.any([signal, others.signal]);
  const waits = ids.map((id) => jobs.finished(id, stop));
  try {
    return await Promise.race(waits);
  } finally {
    others.abort();
    await Promise.allSettled(waits);
  }
}
