import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import type { Deployments } from './deployments.js';
import { describeReleases, SERVERS_TARGET } from './rollout-target.js';

/** Outcome of convergence for one target. */
export interface TargetOutcome {
  readonly targetId: string;
  readonly outcome:
    | 'operation-created'
    | 'skipped-pinned'
    | 'already-converged'
    | 'unknown-treated-divergent'
    | 'blocked';
  readonly operationId: string | null;
  readonly proposalId: string | null;
  /** Release of the last operation that succeeded. */
  readonly lastAppliedRevision: string | null;
  readonly message: string | null;
}

/**
 * Creates the operation to the declared release, unless the servers run it, are pinned, or another operation has them.
 * Throws `unavailable` if no release is declared.
 */
export async function convergeServers(
  deployments: Deployments,
  about: { readonly reason?: string | undefined; readonly correlationId?: string | undefined },
  principal: Principal,
): Promise<TargetOutcome> {
  const { release, pinned } = deployments.deps.settings;
  if (release === '')
    throw new ApiError(
      'unavailable',
      'No release is declared. Set deploy.release to the release of the servers.',
    );
  const observed = await deployments.observe();
  const applied = (await deployments.list()).find(({ state }) => state.status === 'Succeeded');
  const target = {
    ...{ targetId: SERVERS_TARGET, operationId: null, proposalId: null },
    lastAppliedRevision: applied?.document.body.request.desiredRevision ?? null,
    message: describeReleases(observed),
  };
  if (observed.common === release) return { ...target, outcome: 'already-converged' };
  if (pinned.includes(SERVERS_TARGET)) return { ...target, outcome: 'skipped-pinned' };
  try {
    const request = { targetId: SERVERS_TARGET, desiredRevision: release, ...about };
    const { document } = await deployments.create(request, principal);
    const outcome = observed.servers === 0 ? 'unknown-treated-divergent' : 'operation-created';
    return { ...target, outcome, operationId: document.id, proposalId: document.body.proposalId };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'conflict') throw error;
    const open = await deployments.findOpen();
    return {
      ...{ ...target, outcome: 'blocked', message: error.message },
      ...{ operationId: open?.id ?? null, proposalId: open?.body.proposalId ?? null },
    };
  }
}
