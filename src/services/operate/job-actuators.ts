import Type from 'typebox';
import { computeFingerprint } from '../../core/values/fingerprint.js';
import type { JobRow, JobStore } from '../../stores/jobs/jobs.js';
import { type Actuator, defineActuator, parameterError } from '../actions/actuator.js';
import type { JobEngine } from '../jobs/engine.js';

interface JobParameters {
  readonly jobId: string;
}

/** Runs of a retried job before the retry. */
interface RetriedJob {
  readonly attempt: number;
}

const PERMISSION = 'admin:jobs:write';
const CANCEL_MS = 5 * 60_000;
const RETRY_MS = 86_400_000;
const Parameters = Type.Object({ jobId: Type.String() }, { additionalProperties: false });

/** Actions on jobs that are stuck or have failed. */
export function createJobActuators(jobs: JobEngine): readonly Actuator[] {
  return [createCancelActuator(jobs), createRetryActuator(jobs)];
}

function createCancelActuator(jobs: JobEngine): Actuator {
  return defineActuator<JobParameters>({
    ...{ kind: 'AdminConfigChange', name: 'job.cancel', version: 1, permission: PERMISSION },
    description: 'Cancels a job',
    parameters: Parameters,
    async plan({ jobId }) {
      const job = await requireKnown(jobs, jobId);
      if (!isOpen(job)) throw parameterError('jobId', `the job has already ended (${job.state})`);
      return {
        summary: `Cancel the job ${jobId} (${job.kind}).`,
        riskLevel: 'Medium',
        ...describe(job, 'Cancelled'),
        dryRun: [`The job of ${job.owner} has run ${job.attempt} times. Its unfinished results are removed.`],
      };
    },
    preconditions: ({ jobId }, stores) => readState(stores?.jobs ?? jobs.store, jobId),
    acts: 'in-transaction',
    act: async ({ jobId }, _action, stores) => void (await stores.jobs.cancel(jobId)),
    async follow({ jobId }) {
      await jobs.followCancel(await jobs.get(jobId));
    },
    async verify({ jobId }) {
      const { state } = await jobs.get(jobId);
      if (state === 'Cancelled') return { state: 'verified', message: 'The job has ended as Cancelled.' };
      const isOver = state === 'Succeeded' || state === 'Failed';
      if (isOver) return { state: 'failed', message: `The job ended as ${state} before the cancellation.` };
      return { state: 'pending', message: `The job is still ${state}.` };
    },
    verifyMs: CANCEL_MS,
    remedy: 'Restart the server that runs the job.',
  });
}

function createRetryActuator(jobs: JobEngine): Actuator {
  return defineActuator<JobParameters>({
    ...{ kind: 'AdminConfigChange', name: 'job.retry', version: 1, permission: PERMISSION },
    description: 'Runs a failed job again',
    parameters: Parameters,
    async plan({ jobId }) {
      const job = await requireKnown(jobs, jobId);
      const refusal = await jobs.retryRefusal(job);
      if (refusal !== undefined) throw parameterError('jobId', refusal.replace(/\.$/, ''));
      return {
        summary: `Run the job ${jobId} (${job.kind}) again.`,
        riskLevel: 'Low',
        ...describe(job, 'Queued'),
        dryRun: [`The last run of the job ended: ${job.failure_message ?? job.state}`],
      };
    },
    preconditions: ({ jobId }, stores) => readState(stores?.jobs ?? jobs.store, jobId),
    acts: 'in-transaction',
    async act({ jobId }, _action, stores): Promise<RetriedJob> {
      const before = (await stores.jobs.get(jobId))!;
      await stores.jobs.retry(jobId, jobs.attemptsOf(before.kind));
      return { attempt: before.attempt };
    },
    follow: async () => jobs.followRetry(),
    async verify({ jobId }, result) {
      const { state, attempt, failure_message: reason } = await jobs.get(jobId);
      if (state === 'Succeeded') return { state: 'verified', message: 'The job succeeded.' };
      const isOver = state === 'Failed' || state === 'Cancelled';
      if (isOver && attempt > (result as RetriedJob).attempt)
        return { state: 'failed', message: `The job ended again as ${state}: ${reason ?? 'no reason'}` };
      return { state: 'pending', message: `The job is ${state}.` };
    },
    verifyMs: RETRY_MS,
    remedy: 'Inspect the log of the job, and cancel it if it hangs.',
  });
}

const isOpen = ({ state }: JobRow) => state === 'Queued' || state === 'Running';

async function requireKnown(jobs: JobEngine, jobId: string): Promise<JobRow> {
  const job = await jobs.store.get(jobId);
  if (job) return job;
  throw parameterError('jobId', `there is no job '${jobId.slice(0, 100)}'`);
}

const describe = (job: JobRow, next: string) => ({
  targets: [`Job/${job.id}`],
  blastRadius: 1,
  diff: [`${job.kind} ${job.id}: ${job.state} -> ${next}`],
});

/** Progress does not count, but another run of the job does. */
async function readState(store: Pick<JobStore, 'get'>, jobId: string) {
  const job = await store.get(jobId);
  const state = job ? [job.state, job.attempt, job.cancel_requested_at !== null] : null;
  const fingerprint = job ? computeFingerprint(JSON.stringify(state)) : 'absent';
  return [{ resource: `Job/${jobId}`, fingerprint }];
}
