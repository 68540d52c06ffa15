import { randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { formatActor, type Principal, withoutSession } from '../../core/http/operation.js';
import { OPERATE_LIMITS } from '../../core/operate/limits.js';
import type { ActionPlan, ProposalKind, ProposalStatus, RiskLevel } from '../../core/operate/proposals.js';
import { canonical, computeFingerprint } from '../../core/values/fingerprint.js';
import type { ListedProposalRow, ProposalQuery, ProposalRow } from '../../stores/operate/proposals.js';
import type { AtomicStores, State } from '../../stores/state/state.js';
import type { SealKeys } from '../access/keys/seal-keys.js';
import { permits } from '../access/permissions.js';
import type { PresentRights } from '../access/rules/present-rights.js';
import { type Actuator, formatActuator } from '../actions/actuator.js';
import type { JobEngine } from '../jobs/engine.js';
import { type ActionInput, ActionRuns, type SettledAction } from './execution.js';
import { ActuatorRegistry } from './registry.js';
import { createSeal, type OpenSeal, openSeal, peekSeal, SealError } from './seals.js';
import {
  type ApprovalStatement,
  type ApprovingPolicy,
  computeEvidenceDigest,
  formatProposalId,
  type ProposalStatement,
} from './statements.js';

export interface LedgerDeps {
  readonly state: Pick<State, 'atomically' | 'jobs' | 'proposals'>;
  readonly jobs: JobEngine;
  readonly keys: SealKeys;
  readonly presentRights: Pick<PresentRights, 'of'>;
  /** See `sharesOrigin`. */
  sharesOrigin(decider: string, author: string): Promise<boolean>;
  onError(error: unknown): void;
  /** Milliseconds between two verifications of an action, at first. Default: 250. */
  readonly verifyPollMs?: number;
}

/** A new proposal of an action. */
export interface ProposalRequest {
  /** Name of the actuator. */
  readonly actuator: string;
  readonly parameters: unknown;
  /** Caller who proposes. Undefined: the server itself, named `requestedBy`. */
  readonly requester: Principal | undefined;
  /** Name of a proposer that is not a caller, such as `policy:disk-low`. Default: the requester. */
  readonly requestedBy?: string;
  readonly requestedByAgent?: string | undefined;
  readonly findingId?: string | undefined;
  readonly autonomyRule?: string | undefined;
  /** Digest of the evidence, and optionally the document itself. */
  readonly evidence?: { readonly digest: string; readonly document?: object } | undefined;
  readonly warnings?: readonly string[];
  /** Why the caller proposes it. */
  readonly reason?: string | undefined;
}

/** Listed part of a proposal, stored with it. */
interface ProposalSummary {
  readonly summary: string;
  readonly riskLevel: RiskLevel;
  readonly discriminator: string;
}

/** A proposal in lists. */
export interface ListedProposal extends ProposalSummary {
  readonly row: ListedProposalRow;
}

/** A proposal with its content. */
export interface Proposal {
  readonly row: ProposalRow;
  /** Undefined if it was changed in the database and cannot be read. */
  readonly statement: ProposalStatement | undefined;
}

/** Filters of a list of proposals. Absent members do not restrict it. */
export interface ProposalFilter {
  readonly status?: ProposalStatus | undefined;
  readonly kind?: ProposalKind | undefined;
  readonly requestedBy?: string | undefined;
  readonly findingIds?: readonly string[] | undefined;
  readonly autonomyRule?: string | undefined;
}

const DAY_MS = 86_400_000;
/** Milliseconds between removals of old proposals. */
const TRIM_MS = 3_600_000;
const LIMITS = { perCaller: OPERATE_LIMITS.proposals, all: OPERATE_LIMITS.proposalsOfAll };
/** Permissions of operations that everyone can use. */
const OPEN_PERMISSIONS = ['public', 'authenticated'];

/**
 * Proposals of actions, their approvals and executions. The server executes exactly the approved content, once, and only
 * if its resources are unchanged.
 */
export class Ledger {
  readonly #deps: LedgerDeps;
  readonly #registry = new ActuatorRegistry();
  readonly #runs: ActionRuns;
  #trimmedAt = 0;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
    this.#runs = new ActionRuns(deps, this.#registry);
  }

  get actuators(): readonly Actuator[] {
    return this.#registry.list;
  }

  /** The newest version of an actuator. Throws `invalid-body`. */
  requireActuator(name: string): Actuator {
    return this.#registry.require(name);
  }

  /** Adds an actuator, and the kind of the jobs that execute it. */
  register(actuator: Actuator): void {
    this.#registry.add(actuator);
    this.#deps.jobs.register(this.#runs.createKind(actuator));
  }

  /**
   * Adds a check that runs in the transaction of each action that a policy approved, before the action. Its result is the
   * reason for not acting; undefined: act.
   */
  guardPolicies(
    check: (stores: AtomicStores, approval: ApprovalStatement) => Promise<string | undefined>,
  ): void {
    this.#runs.guards.push(check);
  }

  /** Adds work for the transaction that ends an action or rejects its proposal. */
  onSettled(work: (stores: AtomicStores, settled: SettledAction) => Promise<void>): void {
    this.#runs.listeners.push(work);
  }

  /** The effects of an action, without proposing it. Throws as `propose` does. */
  async plan(
    { actuator: name, parameters }: Pick<ProposalRequest, 'actuator' | 'parameters'>,
    requester: Principal | undefined,
  ): Promise<ActionPlan> {
    const actuator = this.#registry.require(name);
    this.#registry.requireParameters(actuator, parameters);
    return actuator.plan(parameters, requester);
  }

  /**
   * Stores a sealed proposal, or returns the open one of the same proposer with the same content. Throws `invalid-body`
   * for an unknown actuator or wrong parameters, and `conflict` if too many proposals are open.
   */
  async propose(request: ProposalRequest): Promise<Proposal> {
    const { parameters, requester } = request;
    const actuator = this.#registry.require(request.actuator);
    if (Buffer.byteLength(canonical(parameters)) > OPERATE_LIMITS.parameterBytes)
      throw new ApiError(
        'payload-too-large',
        `The action is too large for an approval. The limit is ${OPERATE_LIMITS.parameterBytes} bytes.`,
      );
    this.#registry.requireParameters(actuator, parameters);
    const plan = await actuator.plan(parameters, requester);
    const preconditions = await actuator.preconditions(parameters, undefined);
    const requestedBy = request.requestedBy ?? (requester ? formatActor(requester) : 'system');
    const principal = requester && canonical(withoutSession(requester));
    const now = Date.now();
    const expiresAt = now + OPERATE_LIMITS.approvalDays * DAY_MS;
    const {
      evidence,
      findingId = null,
      autonomyRule = null,
      requestedByAgent = null,
      reason = null,
    } = request;
    if (evidence?.document && computeEvidenceDigest(evidence.document) !== evidence.digest)
      throw new Error('the digest of the evidence is of another document');
    const tenant = requester?.tenantId ?? null;
    const summary = { ...pickSummary(plan, actuator) };
    const statement: ProposalStatement = {
      ...{ schema: 'svc.proposal/v1', kind: actuator.kind, actuator: actuator.name },
      ...{ version: actuator.version, permission: actuator.permission, parameters, preconditions },
      plan: buildPlan(plan, summary.discriminator, request.warnings),
      ...{ findingId, evidence: evidence?.digest ?? null, autonomyRule, requestedBy, requestedByAgent },
      requester: principal === undefined ? null : computeFingerprint(principal),
      ...{
        tenant,
        reason,
        createdAt: formatTime(now),
        expiresAt: formatTime(expiresAt),
        nonce: randomUUID(),
      },
    };
    const seal = await createSeal('statement', statement, await this.#deps.keys.signer());
    const content = { actuator: formatActuator(actuator), parameters, requestedBy, findingId, autonomyRule };
    const { proposals } = this.#deps.state;
    await this.#removeOld(now);
    const added = await proposals.add(
      {
        ...{ id: formatProposalId(seal.digest), kind: actuator.kind, actuator: formatActuator(actuator) },
        ...{ requested_by: requestedBy, requested_by_agent: requestedByAgent, tenant },
        ...{ finding_id: findingId, autonomy_rule: autonomyRule, summary_json: JSON.stringify(summary) },
        requester_json: principal ?? null,
        evidence_json: evidence?.document ? canonical(evidence.document) : null,
        ...{ statement: seal.text, expires_at: expiresAt, created_at: now },
        open_key: computeFingerprint(canonical(content)),
      },
      LIMITS,
    );
    if (typeof added !== 'string') return view(added.row);
    throw new ApiError(
      'conflict',
      added === 'full'
        ? `The server already has ${LIMITS.all} open proposals. Retry after one is approved or rejected.`
        : `The caller already has ${LIMITS.perCaller} open proposals. Wait until one is approved or rejected.`,
    );
  }

  async #removeOld(now: number): Promise<void> {
    if (now - this.#trimmedAt < TRIM_MS) return;
    this.#trimmedAt = now;
    await this.#deps.state.proposals.removeOld(now - OPERATE_LIMITS.proposalDays * DAY_MS);
  }

  /** The newest matching proposals, newest first. A caller with a tenant sees only proposals of that tenant. */
  async list(reader: Pick<Principal, 'tenantId'>, filter: ProposalFilter = {}): Promise<ListedProposal[]> {
    const { status, ...rest } = filter;
    const query: ProposalQuery = {
      ...rest,
      statuses: status && [status],
      tenant: reader.tenantId,
      limit: OPERATE_LIMITS.proposalsListed,
    };
    const rows = await this.#deps.state.proposals.list(query);
    return rows.map((row) => ({ row, ...(JSON.parse(row.summary_json) as ProposalSummary) }));
  }

  /** Throws `not-found`, also for one of another tenant. */
  async get(id: string, reader: Pick<Principal, 'tenantId'>): Promise<Proposal> {
    return view(requireVisible(id, await this.#deps.state.proposals.get(id), reader));
  }

  /**
   * Approves a proposal, and submits the job that executes it, in one transaction. Throws:
   * - `forbidden` for the person of the proposer, and for a caller without the permission of the action,
   * - `precondition-failed` if `ifMatch` is given and does not name the content,
   * - `conflict` for a proposal that is decided, expired or not authentic.
   */
  async approve(id: string, approver: Principal, ifMatch?: readonly string[]): Promise<Proposal> {
    const { row } = await this.get(id, approver);
    if (ifMatch && !ifMatch.includes(row.id))
      throw new ApiError(
        'precondition-failed',
        'If-Match: the proposal has another content. Read it again and retry with its ETag.',
      );
    const by = formatActor(approver);
    if (await this.#deps.sharesOrigin(by, row.requested_by))
      throw new ApiError(
        'forbidden',
        'A proposal cannot be approved by its author, or with a key that the author or the same person made. Use the key of another person.',
      );
    const statement = await this.#openStatement(row);
    requirePermission(approver, statement.payload.permission);
    return this.#execute(row, statement, { by, approver, policy: null });
  }

  /**
   * Approves a proposal in the name of an autonomy policy. `within` runs in the transaction of the approval; if it
   * throws, the proposal is not approved. Throws `conflict` if the private key of seals is not protected by a key outside the
   * database, and as `approve` does.
   */
  async approveByPolicy(
    id: string,
    policy: ApprovingPolicy,
    within: (stores: AtomicStores) => Promise<void>,
  ): Promise<Proposal> {
    if (!this.#deps.keys.areProtected)
      throw new ApiError(
        'conflict',
        'Automatic approval requires security.stateKey, because otherwise a copy of the database can approve. Set it, or approve the proposal.',
      );
    const { row } = await this.get(id, {});
    const by = `policy:${policy.rule}@${policy.version}`;
    const statement = await this.#openStatement(row);
    return this.#execute(row, statement, { by, approver: undefined, policy }, within);
  }

  /** Rejects a proposal. Throws `not-found`, or `conflict` if the proposal is already decided. */
  async reject(id: string, reason: string, reader: Principal): Promise<Proposal> {
    await this.get(id, reader);
    const row = await this.#deps.state.atomically(async (stores) => {
      const { finding_id: findingId, autonomy_rule: autonomyRule } = requireWaiting(
        await stores.proposals.lock(id),
        id,
      );
      const resolved = {
        resolved_by: formatActor(reader),
        resolved_at: Date.now(),
        resolution_reason: reason,
      };
      const rejected = await stores.proposals.change(id, { status: 'Rejected', ...resolved });
      const settled = { proposalId: id, outcome: 'Rejected', findingId, autonomyRule } as const;
      await this.#runs.notify(stores, { ...settled, isUnverified: false });
      return rejected;
    });
    return view(row);
  }

  async #execute(
    row: ProposalRow,
    statement: OpenSeal<ProposalStatement>,
    decision: Decision,
    within?: (stores: AtomicStores) => Promise<void>,
  ): Promise<Proposal> {
    const operationId = randomUUID();
    const now = Date.now();
    const approver = decision.approver && canonical(withoutSession(decision.approver));
    const approval: ApprovalStatement = {
      ...{ schema: 'svc.approval/v1', proposal: statement.digest, approvedBy: decision.by },
      approver: approver === undefined ? null : computeFingerprint(approver),
      ...{ policy: decision.policy, operationId, decidedAt: formatTime(now) },
    };
    const seal = await createSeal('approval', approval, await this.#deps.keys.signer());
    const input: ActionInput = { proposalId: row.id, approver: approver ?? null };
    const { jobs } = this.#deps;
    const changed = await this.#deps.state.atomically(async (stores) => {
      const present = requireWaiting(await stores.proposals.lock(row.id), row.id);
      if (present.expires_at <= now)
        throw new ApiError('conflict', 'The proposal has expired. Propose the action again.');
      await within?.(stores);
      await stores.jobs.add(
        jobs.describe(row.actuator, input, {
          ...{ id: operationId, owner: decision.by, idempotencyKey: row.id },
          ...(row.tenant === null ? {} : { tenant: row.tenant }),
          resources: [`proposal:${row.id}`, ...statement.payload.plan.targets.slice(0, 20)],
        }),
      );
      return stores.proposals.change(row.id, {
        ...{ status: 'Submitted', approval: seal.text, job_id: operationId },
        ...{ resolved_by: decision.by, resolved_at: now },
      });
    });
    this.#deps.jobs.followSubmission();
    return view(changed);
  }

  /** Throws `conflict` if the statement is not the one that the id names. */
  async #openStatement(row: ProposalRow): Promise<OpenSeal<ProposalStatement>> {
    const keys = await this.#deps.keys.published();
    try {
      const statement = await openSeal<ProposalStatement>('statement', row.statement, keys);
      if (formatProposalId(statement.digest) === row.id) return statement;
      throw new SealError('statement', 'is not the content that the id of the proposal names');
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      throw new ApiError('conflict', `The proposal is not authentic: ${error.message} Propose it again.`);
    }
  }
}

interface Decision {
  readonly by: string;
  readonly approver: Principal | undefined;
  readonly policy: ApprovingPolicy | null;
}

const formatTime = (ms: number) => new Date(ms).toISOString();

const view = (row: ProposalRow): Proposal => ({ row, statement: peekSeal<ProposalStatement>(row.statement) });

function requireVisible(
  id: string,
  row: ProposalRow | undefined,
  { tenantId }: Pick<Principal, 'tenantId'>,
): ProposalRow {
  if (row && (tenantId === undefined || tenantId === row.tenant)) return row;
  throw notFound('proposal', id.slice(0, 128));
}

function requireWaiting(row: ProposalRow | undefined, id: string): ProposalRow {
  if (!row) throw notFound('proposal', id);
  if (row.status !== 'AwaitingApproval')
    throw new ApiError('conflict', `The proposal is already ${row.status}.`);
  return row;
}

function requirePermission(approver: Principal, permission: string): void {
  if (OPEN_PERMISSIONS.includes(permission) || permits(approver, permission)) return;
  throw new ApiError(
    'forbidden',
    `The approver lacks the permission ${permission}, which the action itself requires.`,
  );
}

const pickSummary = (plan: ActionPlan, { name }: Actuator): ProposalSummary => ({
  summary: plan.summary.slice(0, OPERATE_LIMITS.planCharacters),
  riskLevel: plan.riskLevel,
  discriminator: plan.discriminator ?? name,
});

/** The plan with limited lines, so that a statement remains readable. */
function buildPlan(
  { summary, riskLevel, targets, blastRadius, diff, dryRun, warnings = [] }: ActionPlan,
  discriminator: string,
  further: readonly string[] = [],
): ProposalStatement['plan'] {
  return {
    ...{ summary: summary.slice(0, OPERATE_LIMITS.planCharacters), riskLevel, targets, blastRadius },
    ...{
      diff: limitLines(diff),
      dryRun: limitLines(dryRun),
      warnings: limitLines([...warnings, ...further]),
    },
    discriminator,
  };
}

function limitLines(lines: readonly string[]): string[] {
  const { planLines, planCharacters } = OPERATE_LIMITS;
  const short = lines.slice(0, planLines).map((line) => line.slice(0, planCharacters));
  return lines.length > planLines ? [...short, `${lines.length - planLines} further lines.`] : short;
}
