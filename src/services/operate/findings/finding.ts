import { createHash } from 'node:crypto';
import { canonical } from '../../../core/values/fingerprint.js';

export const OPS_SEVERITIES = ['Info', 'Warning', 'Critical'] as const;
type OpsSeverity = (typeof OPS_SEVERITIES)[number];

export const ACTION_KINDS = ['AdminConfigChange', 'Deploy', 'MetadataRelease', 'Seed'] as const;

/** Subject of a finding. Members that do not apply are absent. */
export interface FindingSubject {
  readonly operationId?: string;
  readonly workloadId?: string;
  readonly targetId?: string;
  readonly channel?: string;
  readonly protocol?: string;
  readonly releaseVersion?: string;
}

/** An action of an actuator that removes the cause of a finding. */
export interface FindingAction {
  readonly kind: (typeof ACTION_KINDS)[number];
  /** Name of the actuator. */
  readonly actuator: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly summary: string;
  readonly reason: string;
  /** Whether it can do no harm, so that a policy may take it. */
  readonly isAutoSafe: boolean;
  /** Number of things that it changes. */
  readonly blastRadius: number;
  /** Milliseconds for which the finding must last before the action is proposed. Default: 0. */
  readonly afterMs?: number;
}

/** A finding without its times. */
export interface FindingDraft {
  readonly subject: FindingSubject;
  readonly severity: OpsSeverity;
  readonly title: string;
  /** The facts. Without an action: also advice for a person. */
  readonly explanation: string;
  /** Names of the facts, such as `source:8c1f` or `job:42`. */
  readonly evidenceRefs: readonly string[];
  /** The facts themselves. Proposals are sealed with their digest. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Absent: the server cannot act. */
  readonly action?: FindingAction;
}

export interface OpsFinding extends FindingDraft {
  readonly id: string;
  readonly rule: string;
  /** Time at which the finding was first found, in milliseconds since 1970. */
  readonly detectedAt: number;
}

/** Result of a rule. */
export interface Inspection {
  readonly findings: readonly FindingDraft[];
  /** Processes and databases that did not report. Their part of the evidence is missing. */
  readonly silent?: readonly string[];
}

/** A rule that makes findings from present facts. Equal facts give equal findings on every server. */
export interface OpsRule {
  /** In kebab case. */
  readonly name: string;
  inspect(): Promise<Inspection> | Inspection;
}

/** The same for the same rule and subject, on every server and after each restart. */
export function createFindingId(rule: string, subject: FindingSubject): string {
  const digest = createHash('sha256')
    .update(canonical([rule, subject]))
    .digest('hex');
  return `${rule}-${digest.slice(0, 16)}`;
}
