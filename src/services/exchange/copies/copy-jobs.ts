import { ApiError } from '../../../core/errors/errors.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { LayerCopy } from '../../catalog/copies/layer-copy.js';
import { LAYER_COPY } from '../../connections/connections.js';
import type { JobEngine } from '../../jobs/engine.js';
import { jobError } from '../../jobs/job-error.js';

/** Results of jobs and changes of copies. */

export const isOpen = ({ state }: Pick<JobRow, 'state'>): boolean =>
  state === 'Queued' || state === 'Running';

/** Why there is no copy, of a job that did not succeed. */
export const copyError = (job: JobRow): ApiError =>
  jobError(
    job,
    { input: 'unprocessable' },
    job.state === 'Cancelled' ? 'The copy was cancelled.' : 'The copy failed.',
  );

/**
 * Awaits a change of a stored copy. Rejects with `conflict` if another change came first, because callers do not send
 * ETags.
 */
export async function sayingConflict<T>(id: string, change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'precondition-failed') throw error;
    throw new ApiError('conflict', `The layer '${id}' was changed by another request. Retry.`);
  }
}

interface CopyDeps {
  readonly documents: DocumentStore;
  readonly jobs: Pick<JobEngine, 'finished' | 'store'>;
}

/** Calls `work` at the end of each job that makes a copy now. Rejects with the signal's reason. */
export async function afterOpenJobs(
  { documents, jobs }: CopyDeps,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const copies = await documents.list<LayerCopy>(LAYER_COPY);
  const last = copies.map(({ body: { jobId, refreshJobId } }) => refreshJobId ?? jobId);
  const rows = await Promise.all(last.map((id) => (id === null ? undefined : jobs.store.get(id))));
  const open = rows.filter((job) => job !== undefined).filter(isOpen);
  await Promise.all(open.map(({ id }) => jobs.finished(id, signal).then(work)));
}
