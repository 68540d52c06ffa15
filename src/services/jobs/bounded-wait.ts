import type { JobRow } from '../../stores/jobs/jobs.js';
import type { JobEngine } from './engine.js';
import { JobContinues } from './job-continues.js';

/**
 * Resolves with a job once it has ended. Resolves with its present state after this time, if the signal is aborted,
 * or if the server stops.
 */
export async function waitForJob(
  jobs: Pick<JobEngine, 'finishedForRequest' | 'get'>,
  { id }: Pick<JobRow, 'id'>,
  ms: number,
  signal?: AbortSignal,
): Promise<JobRow> {
  const end = AbortSignal.any([AbortSignal.timeout(ms), ...(signal ? [signal] : [])]);
  try {
    return await jobs.finishedForRequest(id, end);
  } catch (error) {
    if (end.aborted || error instanceof JobContinues) return jobs.get(id);
    throw error;
  }
}
