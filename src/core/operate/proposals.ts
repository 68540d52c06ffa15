/** Proposals of typed actions, in the words of the contract. */

export const PROPOSAL_KINDS = [
  'AdminConfigChange',
  'Deploy',
  'MetadataRelease',
  'Seed',
  'Geoprocess',
] as const;
export type ProposalKind = (typeof PROPOSAL_KINDS)[number];

export const PROPOSAL_STATUSES = [
  ...(['Planned', 'AwaitingApproval', 'Executing', 'Submitted', 'Reconciling'] as const),
  ...(['Succeeded', 'Failed', 'Rejected', 'RolledBack'] as const),
] as const;
export type ProposalStatus = (typeof PROPOSAL_STATUSES)[number];

export const RISK_LEVELS = ['Low', 'Medium', 'High'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Outcome of an approved action, as its receipt states it. */
export type ActionOutcome = 'Succeeded' | 'Failed' | 'RolledBack' | 'ManualInterventionRequired';

/** Statuses of proposals that can still change. */
export const OPEN_PROPOSAL_STATUSES: readonly ProposalStatus[] = [
  'Planned',
  'AwaitingApproval',
  'Submitted',
  'Executing',
  'Reconciling',
];

/** Whether a proposal can still change. */
export const isOpenProposal = (status: ProposalStatus) => OPEN_PROPOSAL_STATUSES.includes(status);

/** State of a resource that an action relies on. */
export interface Precondition {
  /** `Kind/name`. */
  readonly resource: string;
  /** Equal for equal states of the resource; `absent` without it. */
  readonly fingerprint: string;
}

/** Effects of an action, computed by code before anyone approves it. */
export interface ActionPlan {
  /** One sentence for the approver. */
  readonly summary: string;
  readonly riskLevel: RiskLevel;
  /** Resources that the action changes, as `Kind/name`. */
  readonly targets: readonly string[];
  /** Number of published objects that the action can affect. */
  readonly blastRadius: number;
  /** Changes, one per line. */
  readonly diff: readonly string[];
  /** Reads and values of the action, one line each. */
  readonly dryRun: readonly string[];
  readonly warnings?: readonly string[];
  /** Name of the action for clients. Default: the name of the actuator. */
  readonly discriminator?: string;
}
