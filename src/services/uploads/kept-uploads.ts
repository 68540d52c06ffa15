import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMITS } from '../../core/kit/limits.js';
import type { JobRow, JobStore } from '../../stores/jobs/jobs.js';
import type { JobOutcome } from '../jobs/kinds.js';
import { removeUpload } from './upload-files.js';

/**
 * Failures that can be temporary, so another attempt with the same file makes sense. All other failures are caused by
 * the file or the request.
 */
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
    const size = path === undefined ? undefined : await findSize(path);
    if (path === undefined || size === undefined) continue;
    files += 1;
    bytes += size;
    const old = Date.now() - (job.completed_at ?? job.updated_at) > LIMITS.keptUploadMs;
    if (old || files > LIMITS.keptUploads || bytes > LIMITS.keptUploadBytes) await removeUpload(path);
  }
}

/** Age at which a file that no job names was surely left behind: the server ended while it was being sent. */
const STRAY_MS = 3_600_000;

/** Removes files of the folder of uploads that belong to no job, and to no request that may still send them. */
export async function removeStrays(store: JobStore, folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  if (names.length === 0) return;
  const jobs = await store.list({ states: ['Queued', 'Running', 'Failed'], limit: 1000 });
  for (const name of names) {
    if (jobs.some(({ input_json: input }) => input.includes(name))) continue;
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > STRAY_MS) await rm(path, { force: true, recursive: true });
  }
}

/** Newest first. */
export function failedJobs(store: JobStore, kind: string): Promise<JobRow[]> {
  return store.list({ kinds: [kind], states: ['Failed'], limit: 1000 });
}

async function findSize(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
