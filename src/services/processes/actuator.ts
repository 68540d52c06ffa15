import Type from 'typebox';
import { ApiError } from '../../core/errors/errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import { JOB_PRIORITIES } from '../../core/jobs/job-priority.js';
import { permits } from '../access/permissions.js';
import { PROCESS_PERMISSIONS } from '../access/rules/policy.js';
import type { PresentRights } from '../access/rules/present-rights.js';
import { type Actuator, defineActuator } from '../actions/actuator.js';
import type { JobEngine } from '../jobs/engine.js';
import type { ExecutionDraft } from './execution.js';
import { PROCESS_KIND, type Processes } from './service.js';
import type { SourceValue } from './source-input.js';

/** Name of the action that executes a process. */
export const EXECUTE_ACTION = 'process.execute';

interface StartedExecution {
  readonly jobId: string;
}

const WEEK_MS = 7 * 86_400_000;

/** Executes a process with the rights that the proposer has when it starts. */
export function createProcessActuator(
  processes: Pick<Processes, 'execute' | 'get'>,
  jobs: JobEngine,
  presentRights: Pick<PresentRights, 'of'>,
): Actuator {
  return defineActuator<ExecutionDraft>({
    kind: 'Geoprocess',
    name: EXECUTE_ACTION,
    version: 1,
    description: 'Executes a process for the caller who proposed it',
    permission: PROCESS_PERMISSIONS.execute,
    parameters: Type.Object({
      process: Type.String(),
      execution: Type.Object({}),
      baseUrl: Type.String(),
      priority: Type.Enum([...JOB_PRIORITIES]),
    }),
    async plan(draft, requester) {
      const { process, execution } = draft;
      const made = Object.values(execution.outputs).flatMap(({ publish }) =>
        publish ? [publish.collection] : [],
      );
      return {
        summary: `Execute ${process} for ${requester?.name ?? 'the server'}`,
        riskLevel: made.length > 0 ? 'Medium' : 'Low',
        targets: [`Process/${process}`, ...made.map((collection) => `Layer/${collection}`)],
        blastRadius: made.length,
        diff: made.map((collection) => `Create the collection ${collection}.`),
        dryRun: listReads(draft),
        discriminator: process,
      };
    },
    // The execution checks its inputs itself when it starts, with the rights of the proposer.
    preconditions: async () => [],
    acts: 'repeatably',
    async act({ process, execution, ...options }, { requester, operationId }): Promise<StartedExecution> {
      if (!requester) throw new ApiError('forbidden', 'Only a caller can propose an execution.');
      const before = await jobs.before(PROCESS_KIND, {
        owner: formatActor(requester),
        idempotencyKey: operationId,
      });
      if (before) return { jobId: before.id };
      const principal = await presentRights.of(requester);
      requireExecute(principal);
      const { id } = await processes.execute(processes.get(process), execution, principal, {
        ...options,
        idempotencyKey: operationId,
        isApproved: true,
        trace: undefined,
      });
      return { jobId: id };
    },
    async verify(_draft, result) {
      const { jobId } = result as StartedExecution;
      const job = await jobs.get(jobId);
      const { state, failure_message: reason } = job;
      if (state === 'Succeeded') return { state: 'verified', message: `The process job ${jobId} succeeded.` };
      const isOver = state === 'Failed' || state === 'Cancelled';
      if (isOver) return { state: 'failed', message: reason ?? `The process job ${jobId} ended: ${state}.` };
      return { state: 'pending', message: `The process job ${jobId} has not ended.` };
    },
    verifyMs: WEEK_MS,
    remedy: 'Inspect the process job, cancel it if it hangs, and execute the process again.',
  });
}

function requireExecute(principal: Principal): void {
  if (permits(principal, PROCESS_PERMISSIONS.execute)) return;
  throw new ApiError('forbidden', `${principal.name} may no longer execute processes.`);
}

/** Collections that the execution would read, and its values. */
function listReads({ process, execution: { plan, sources, values } }: ExecutionDraft): string[] {
  const calls = plan ? plan.steps : [{ process, sources, values }];
  return calls.flatMap((call) => [
    ...Object.entries(call.sources).map(([name, source]) => `${call.process}: ${name} is ${about(source)}`),
    ...Object.entries(call.values).map(
      ([name, value]) => `${call.process}: ${name} is ${JSON.stringify(value).slice(0, 200)}`,
    ),
  ]);
}

function about(input: SourceValue): string {
  switch (input.kind) {
    case 'collection':
      return `the collection ${input.id}${input.filter === undefined ? '' : ', filtered'}`;
    case 'result':
      return `${input.output} of the job ${input.jobId}`;
    case 'remote':
      return input.url;
    case 'step':
      return `${input.output} of the step ${input.step}`;
    default:
      return 'sent by value';
  }
}
