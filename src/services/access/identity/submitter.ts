import { formatActor, type Principal, withoutSession } from '../../../core/http/operation.js';

/** Who asked for a job, and the permission that this took. */
export interface JobCaller {
  readonly principal: Principal;
  /** Label, or `public` or `authenticated`. */
  readonly permission: string;
}

/** Whose job it is: what jobs are counted by. */
export interface Submitter {
  /** As jobs name owners: `api-key:<id>`. */
  readonly owner: string;
  readonly tenant?: string | undefined;
  /** Looked up again while the job runs; nobody is when absent. */
  readonly caller?: JobCaller | undefined;
}

/** The owner of jobs that are submitted by commands. */
export const COMMAND_LINE = 'command line';

export function buildSubmitter(principal: Principal): Submitter {
  const { tenantId: tenant } = principal;
  return { owner: formatActor(principal), ...(tenant === undefined ? {} : { tenant }) };
}

/** Whose a job is that an operation submits. */
export function buildCaller(
  principal: Principal,
  { permission }: { readonly permission: string },
): Required<Pick<Submitter, 'caller'>> & Submitter {
  // A certificate is not judged again: a job needs none.
  const { certificates: _, ...kept } = withoutSession(principal);
  return { ...buildSubmitter(principal), caller: { principal: kept, permission } };
}
