import type { JobPriority } from '../../core/jobs/job-priority.js';
import type { ListedProposalRow } from '../../stores/operate/proposals.js';
import type { StoredDocument } from '../../stores/state/documents.js';

/** Kind of the documents of deploy operations. */
export const DEPLOY_DOCUMENT = 'deploy operation';
/** Kind of the documents of targets. A document names the operation that has the target. */
export const DEPLOY_TARGET_DOCUMENT = 'deploy target';

export interface DeployRequest {
  readonly targetId: string;
  readonly desiredRevision: string;
  readonly currentRevision?: string | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly priority?: JobPriority | undefined;
  readonly reason?: string | undefined;
  readonly correlationId?: string | undefined;
}

export interface DeployMark {
  readonly at: number;
  readonly by: string;
  readonly reason: string | null;
}

export interface DeployBody {
  readonly request: DeployRequest;
  /** The release of all processes at the creation. Null: they ran several releases. */
  readonly previous: string | null;
  readonly proposalId: string | null;
  readonly startedAt?: number;
  /** `isObserved`: all processes ran the previous release again when the rollback was requested. */
  readonly rollback?: DeployMark & { readonly isObserved: boolean };
  readonly promotion?: DeployMark;
  /** Final state of the proposal, which outlives the proposal. */
  readonly end?: {
    readonly status: DeployStatus;
    readonly message: string | null;
    readonly at: number;
    readonly jobId: string | null;
  };
}

export const DEPLOY_STATUSES = [
  ...(['Planned', 'AwaitingApproval', 'Submitted', 'Reconciling', 'Succeeded', 'Failed'] as const),
  ...(['RollbackRequested', 'RolledBack', 'ManualInterventionRequired'] as const),
] as const;
export type DeployStatus = (typeof DEPLOY_STATUSES)[number];

export interface DeployState {
  readonly status: DeployStatus;
  readonly message: string | null;
  readonly completedAt: number | null;
}

export type ProposalFacts = Pick<
  ListedProposalRow,
  'status' | 'outcome' | 'blocking_json' | 'resolution_reason' | 'updated_at' | 'expires_at'
>;

/** The state of an operation, from its document and its proposal. The proposal is the only record of its progress. */
export function deriveDeployState(
  { body }: Pick<StoredDocument<DeployBody>, 'body'>,
  proposal: ProposalFacts | undefined,
  now = Date.now(),
): DeployState {
  const { rollback, end, proposalId } = body;
  if (rollback?.isObserved)
    return {
      status: 'RolledBack',
      message: `All processes run the previous release ${body.previous}.`,
      completedAt: rollback.at,
    };
  if (rollback)
    return {
      status: 'ManualInterventionRequired',
      message: `The server cannot replace servers. ${body.previous === null ? 'The release before the operation is unknown, because the servers ran several. Start all servers with the release that you want' : `Start all servers with the release ${body.previous}`}, and create a deploy operation to it.`,
      completedAt: rollback.at,
    };
  if (end) return { status: end.status, message: end.message, completedAt: end.at };
  if (proposalId === null) return { status: 'Planned', message: null, completedAt: null };
  if (!proposal)
    return { status: 'Failed', message: 'The proposal expired and was removed.', completedAt: null };
  return deriveFromProposal(proposal, now);
}

export function deriveFromProposal(proposal: ProposalFacts, now = Date.now()): DeployState {
  const { status, updated_at: at } = proposal;
  switch (status) {
    case 'AwaitingApproval':
      if (proposal.expires_at > now) return { status, message: null, completedAt: null };
      return {
        ...{ status: 'Failed', message: 'The proposal expired before its approval.' },
        completedAt: proposal.expires_at,
      };
    case 'Planned':
    case 'Submitted':
    case 'Reconciling':
      return { status, message: null, completedAt: null };
    case 'Executing':
      return { status: 'Submitted', message: null, completedAt: null };
    case 'Succeeded':
    case 'RolledBack':
      return { status, message: null, completedAt: at };
    case 'Rejected': {
      const reason = proposal.resolution_reason ?? 'no reason';
      return { status: 'Failed', message: `The proposal was rejected: ${reason}`, completedAt: at };
    }
    case 'Failed': {
      const message = (JSON.parse(proposal.blocking_json) as string[])[0] ?? null;
      const isManual = proposal.outcome === 'ManualInterventionRequired';
      return {
        status: isManual ? 'ManualInterventionRequired' : 'Failed',
        ...{ message, completedAt: at },
      };
    }
  }
}

/** Whether no other operation of the target can start. */
export const isOpenDeploy = (status: DeployStatus) =>
  status === 'AwaitingApproval' || status === 'Submitted' || status === 'Reconciling';
