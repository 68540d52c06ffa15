import type { OpsRule } from '../findings/finding.js';

/** A job that no server continues. */
interface StuckJob {
  readonly id: string;
  readonly kind: string;
  /** The data folder with its files. Null: any server can continue it. */
  readonly folder: string | null;
  readonly attempt: number;
  readonly maxAttempts: number;
}

export interface JobRuleDeps {
  /** Running jobs whose lease ended at least some milliseconds ago. */
  stuckJobs(silentMs: number): Promise<readonly StuckJob[]>;
}

/** Other servers continue a job within seconds after its lease ended. */
const SILENT_MS = 120_000;

/** Jobs that no server continues. */
export function createJobRules({ stuckJobs }: JobRuleDeps): OpsRule[] {
  return [
    {
      name: 'job-stuck',
      async inspect() {
        const stuck = await stuckJobs(SILENT_MS);
        return {
          findings: stuck.map(({ id, kind, folder, attempt, maxAttempts }) => ({
            subject: { operationId: id },
            severity: 'Warning' as const,
            title: `Job ${id} does not continue`,
            explanation: `The server that ran this job (${kind}, attempt ${attempt} of ${maxAttempts}) stopped, and no other server continues the job. ${folder === null ? 'Any server can continue it. Start a server that knows this kind of job.' : 'Its files are in the data folder of that server: start that server again, or cancel the job.'}`,
            evidenceRefs: [`job:${id}`],
            facts: { job: id, kind, attempt, folder },
            action: {
              kind: 'AdminConfigChange' as const,
              actuator: 'job.cancel',
              parameters: { jobId: id },
              summary: `Cancel job ${id}`,
              reason: 'It frees the resources of the job. The job can be submitted again.',
              isAutoSafe: false,
              blastRadius: 1,
            },
          })),
        };
      },
    },
  ];
}
