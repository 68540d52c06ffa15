import { formatActor, type Principal, withoutSession } from '../../../core/http/operation.js';

/** Submitter of a job, and the permission that the submission required. */
export interface JobCaller {
  readonly principal: Principal;
  /** Label, or `public` or `authenticated`. */
  readonly permission: string;
}

/** Submitter of a job, by which jobs are counted. */
export interface Submitter {
  /** Owner in the notation of jobs: `api-key:<id>`. */
  readonly owner: string;
  readonly tenant?: string | undefined;
  /** Caller whose rights are checked again while the job runs. Default: no check. */
  readonly caller?: JobCaller | undefined;
}

/** The owner of jobs that are submitted by commands. */
export const COMMAND_LINE = 'command line';

export function buildSubmitter(principal: Principal): Submitter {
  const { tenantId: tenant } = principal;
  return { owner: formatActor(principal), ...(tenant === undefined ? {} : { tenant }) };
}

/** Submitter of a job from an operation. */
export function buildCaller(
  principal: Principal,
  { permission }: { readonly permission: string },
): Required<Pick<Submitter, 'caller'>> & Submitter {
  // The certificate is removed: a job does not need it, and it is not checked again.
  const { certificates: _, ...kept } = withoutSession(principal);
  return { ...buildSubmitter(principal), caller: { principal: kept, permission } };
}
