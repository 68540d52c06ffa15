import { ApiError } from '../../core/errors/errors.js';
import { permits } from '../access/permissions.js';
import { PROCESS_PERMISSIONS } from '../access/rules/policy.js';
import type { PresentRights } from '../access/rules/present-rights.js';
import type { ProposalsDeps } from './proposals.js';
import type { Processes } from './service.js';

/** Returns what executes approved proposals, with the rights that their proposers have now. */
export function executeApproved(
  processes: Pick<Processes, 'execute' | 'get'>,
  presentRights: Pick<PresentRights, 'of'>,
): ProposalsDeps['execute'] {
  return async ({ process, execution, principal: proposer, ...draft }, id) => {
    const principal = await presentRights.of(proposer);
    if (!permits(principal, PROCESS_PERMISSIONS.execute))
      throw new ApiError('forbidden', `${principal.name} may no longer execute processes.`);
    return processes.execute(processes.get(process), execution, principal, {
      ...draft,
      id,
      idempotencyKey: id,
      isApproved: true,
      trace: undefined,
    });
  };
}
