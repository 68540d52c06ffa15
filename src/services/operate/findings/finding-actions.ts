import { ApiError, notFound } from '../../../core/errors/errors.js';
import type { Principal } from '../../../core/http/operation.js';
import type { AutonomyRefusal, AutonomyStore } from '../../../stores/operate/autonomy.js';
import type { Ledger, Proposal } from '../ledger.js';
import { computeEvidenceDigest } from '../statements.js';
import type { FindingAction, OpsFinding } from './finding.js';
import type { FindingReport, Findings } from './findings.js';

/** Outcome of the attempt to propose the action of a finding. */
export interface ProposedAction {
  readonly findingId: string;
  readonly status: 'Executed' | 'ProposalCreated' | 'Blocked' | 'NotSupported';
  readonly proposalId?: string;
  readonly operationId?: string;
  readonly message?: string;
}

export interface FindingActionsDeps {
  readonly findings: Pick<Findings, 'evaluate'>;
  readonly autonomy: Pick<AutonomyStore, 'policy' | 'policies'>;
  readonly ledger: Ledger;
  onError(error: unknown): void;
}

/** Milliseconds after which evidence is too old for an automatic action. */
const FRESH_MS = 5 * 60_000;
/** Failed verifications in a row after which a policy proposes only. */
const MAX_FAILURES = 2;
const SERVER = 'system:findings';

const REFUSALS: Readonly<Record<AutonomyRefusal, string>> = {
  'kill-switch': 'the kill switch is on',
  'propose-only': 'the policy of the rule only proposes',
  'blast-radius': 'the action changes more than the policy allows',
  budget: 'the policy has taken all actions of its window',
};

/** Why a policy does not approve. */
class PolicyRefusal extends Error {
  constructor(readonly refusal: AutonomyRefusal) {
    super(REFUSALS[refusal]);
  }
}

/** Turns findings into proposals, and approves the actions that a policy allows. */
export class FindingActions {
  constructor(private readonly deps: FindingActionsDeps) {
    // The switch can be set, and the evidence can age, between the approval and the action.
    deps.ledger.guardPolicies(async ({ autonomy }, { decidedAt }) => {
      if ((await autonomy.settings())?.kill_switch === 1) return 'the kill switch is on';
      const isOld = Date.now() - Date.parse(decidedAt) > FRESH_MS;
      return isOld ? 'the evidence is older than five minutes' : undefined;
    });
    deps.ledger.onSettled(async ({ autonomy }, { autonomyRule, outcome, isUnverified }) => {
      if (autonomyRule !== null && (isUnverified || outcome === 'Succeeded'))
        await autonomy.countVerification(autonomyRule, isUnverified, MAX_FAILURES);
    });
  }

  /** Reads the evidence again and proposes the action of a finding. Throws `not-found` if the finding has ended. */
  async propose(id: string, requester: Principal): Promise<ProposedAction> {
    const report = await this.deps.findings.evaluate();
    const finding = report.findings.find((one) => one.id === id);
    if (!finding) throw notFound('finding', id.slice(0, 200));
    return this.#propose(finding, report, requester);
  }

  /** Proposes and approves the actions of all rules whose policy acts automatically. Returns the outcomes. */
  async actByPolicies(): Promise<ProposedAction[]> {
    const policies = await this.deps.autonomy.policies();
    const acting = new Set(policies.flatMap(({ rule, mode }) => (mode === 'AutoApply' ? [rule] : [])));
    if (acting.size === 0) return [];
    const report = await this.deps.findings.evaluate();
    const results: ProposedAction[] = [];
    for (const finding of report.findings) {
      if (!acting.has(finding.rule) || !finding.action?.isAutoSafe) continue;
      try {
        results.push(await this.#propose(finding, report, undefined));
      } catch (error) {
        this.deps.onError(error);
      }
    }
    return results;
  }

  async #propose(
    finding: OpsFinding,
    report: FindingReport,
    requester: Principal | undefined,
  ): Promise<ProposedAction> {
    const { id: findingId, action } = finding;
    if (!action)
      return {
        ...{ findingId, status: 'NotSupported' },
        message: `The server cannot remove the cause. ${finding.explanation}`,
      };
    const obstacle = findObstacle(finding, action, report);
    if (obstacle !== undefined) return { findingId, status: 'Blocked', message: obstacle };
    try {
      const proposal = await this.#create(finding, action, report, requester);
      return await this.#approve(finding, action, proposal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return { findingId, status: 'Blocked', message: error.message };
    }
  }

  #create(
    { id: findingId, rule, subject, facts }: OpsFinding,
    { actuator, parameters, reason }: FindingAction,
    { at }: FindingReport,
    requester: Principal | undefined,
  ): Promise<Proposal> {
    const document = {
      ...{ schema: 'svc.evidence/v1', findingId, rule, subject, facts },
      collectedAt: new Date(at).toISOString(),
    };
    return this.deps.ledger.propose({
      ...{ actuator, parameters, requester, findingId, autonomyRule: rule, reason },
      ...(requester ? {} : { requestedBy: SERVER }),
      evidence: { digest: computeEvidenceDigest(document), document },
    });
  }

  /** Approves by the policy of the rule, if it acts automatically. */
  async #approve(
    { id: findingId, rule }: OpsFinding,
    action: FindingAction,
    { row, statement }: Proposal,
  ): Promise<ProposedAction> {
    const created = { findingId, status: 'ProposalCreated', proposalId: row.id } as const;
    // Each finding has one open proposal, which another caller or server can have approved.
    if (row.job_id !== null) return { ...created, status: 'Executed', operationId: row.job_id };
    const policy = await this.deps.autonomy.policy(rule);
    if (policy?.mode !== 'AutoApply') return created;
    if (!action.isAutoSafe) return { ...created, message: 'A person must approve this action.' };
    const blastRadius = Math.max(action.blastRadius, statement?.plan.blastRadius ?? 0);
    try {
      const approved = await this.deps.ledger.approveByPolicy(
        row.id,
        { rule, version: policy.version, setBy: policy.updated_by },
        async ({ autonomy }) => {
          const admitted = await autonomy.admit({ rule, proposalId: row.id, blastRadius });
          if (typeof admitted === 'string') throw new PolicyRefusal(admitted);
        },
      );
      const { job_id: operationId } = approved.row;
      return { ...created, status: 'Executed', ...(operationId === null ? {} : { operationId }) };
    } catch (error) {
      if (error instanceof PolicyRefusal)
        return { ...created, message: `A person must approve it: ${error.message}.` };
      if (error instanceof ApiError && error.code === 'conflict')
        return { ...created, message: error.message };
      throw error;
    }
  }
}

function findObstacle(finding: OpsFinding, action: FindingAction, report: FindingReport): string | undefined {
  const missing = report.incomplete.find(({ rule }) => rule === finding.rule);
  if (missing) return `The evidence is incomplete: ${missing.reason}.`;
  const { afterMs = 0 } = action;
  // The clocks of the state and of this process differ.
  const age = Math.max(0, report.at - finding.detectedAt);
  if (age >= afterMs) return undefined;
  return `The finding is ${Math.floor(age / 1000)} seconds old. Its action can be proposed after ${afterMs / 1000} seconds, because the cause can end by itself.`;
}
