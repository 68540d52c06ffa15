import { rm, stat } from 'node:fs/promises';
import { LIMITS } from '../../../core/limits.js';
import type { JobRow, JobStore } from '../../stores/jobs.js';
import type { JobOutcome } from './kinds.js';

/** Failures that another attempt with the same file may be spared; all others are the file's or the request's own. */
const PASSING: ReadonlySet<string> = new Set([
  'conflict',
  'deadline-exceeded',
  'insufficient-storage',
  'internal',
  'queue-full',
  'storage-full',
  'store-unavailable',
  'unavailable',
  'worker-lost',
]);

/** Whether the upload of a job that ends so is kept, so that the job can be run again. */
export function keepsUpload({ state, failure }: JobOutcome): boolean {
  return state === 'Failed' && PASSING.has(failure?.code ?? '');
}

/** Removes uploads of failed jobs that are too old, too many or too large together: the oldest first. */
export async function trimUploads(
  store: JobStore,
  kind: string,
  uploadOf: (input: unknown) => string | undefined,
): Promise<void> {
  let files = 0;
  let bytes = 0;
  for (const job of await failedJobs(store, kind)) {
    const path = uploadOf(JSON.parse(job.input_json));
    const size = path === undefined ? undefined : await sizeOf(path);
    if (path === undefined || size === undefined) continue;
    files += 1;
    bytes += size;
    const old = Date.now() - (job.completed_at ?? job.updated_at) > LIMITS.keptUploadMs;
    if (old || files > LIMITS.keptUploads || bytes > LIMITS.keptUploadBytes) await rm(path, { force: true });
  }
}

/** Newest first. */
export function failedJobs(store: JobStore, kind: string): Promise<JobRow[]> {
  return store.list({ kinds: [kind], states: ['Failed'], limit: 1000 });
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
