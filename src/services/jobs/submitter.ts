import { actorOf, type Principal } from '../../core/operation.js';

/** Whose job it is: what jobs are counted by. */
export interface Submitter {
  /** As jobs name owners: `api-key:<id>`. */
  readonly owner: string;
  readonly tenant?: string | undefined;
}

export function submitterOf(principal: Principal): Submitter {
  const { tenantId: tenant } = principal;
  return { owner: actorOf(principal), ...(tenant === undefined ? {} : { tenant }) };
}
