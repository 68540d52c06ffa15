import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import {
  type ActionOutcome,
  isOpenProposal,
  type Precondition,
  type ProposalStatus,
} from '../../core/operate/proposals.js';
import { computeFingerprint } from '../../core/values/fingerprint.js';
import type { ProposalChange, ProposalRow } from '../../stores/operate/proposals.js';
import type { AtomicStores } from '../../stores/state/state.js';
import { permits } from '../access/permissions.js';
import type { Actuator, ApprovedAction, Verification } from '../actions/actuator.js';
import { formatActuator } from '../actions/actuator.js';
import { describeJobFailure } from '../jobs/failure.js';
import type { JobContext, JobKind, JobOutcome } from '../jobs/kinds.js';
import type { LedgerDeps } from './ledger.js';
import type { ActuatorRegistry } from './registry.js';
import { computeSealDigest, createSeal, peekSeal, SEAL_TYPES, SealError, type SealName } from './seals.js';
import {
  type ApprovalStatement,
  formatProposalId,
  openChain,
  type ProposalStatement,
  type ReceiptStatement,
} from './statements.js';

/** Input of the job that executes a proposal. */
export interface ActionInput {
  readonly proposalId: string;
  /** The approving caller as canonical JSON. Its digest is in the approval. Null: a policy approved it. */
  readonly approver: string | null;
}

/** An action that has ended, for work in the transaction that ends it. */
export interface SettledAction {
  readonly proposalId: string;
  /** `Rejected`: a person rejected the proposal. */
  readonly outcome: ActionOutcome | 'Rejected';
  readonly findingId: string | null;
  readonly autonomyRule: string | null;
  /** Whether the action started, and its effect did not come. */
  readonly isUnverified: boolean;
}

/** Why an action did not start, or how it ended. */
class ActionEnd extends Error {
  override readonly name = 'ActionEnd';
  constructor(
    readonly outcome: ActionOutcome,
    readonly reason: string,
  ) {
    super(reason);
  }
}

type Guard = (stores: AtomicStores, approval: ApprovalStatement) => Promise<string | undefined>;

/** Everything that a run of an action knows after its seals were verified. */
interface OpenAction {
  readonly actuator: Actuator;
  readonly statement: ProposalStatement;
  readonly approval: ApprovalStatement;
  readonly action: ApprovedAction;
}

const STATUSES: Readonly<Record<ActionOutcome, ProposalStatus>> = {
  Succeeded: 'Succeeded',
  Failed: 'Failed',
  RolledBack: 'RolledBack',
  // The contract has no separate status for it.
  ManualInterventionRequired: 'Failed',
};
const MAX_POLL_MS = 2000;
const MAX_ATTEMPTS = 20;
const JOB_CONSOLES = {
  AdminConfigChange: 'ExtractTransformLoad',
  Deploy: 'ExtractTransformLoad',
  MetadataRelease: 'ExtractTransformLoad',
  Seed: 'TileCache',
  Geoprocess: 'Geoprocessing',
} as const;
/** Ordinal of Orchestration on the wire. */
const ORCHESTRATION = 11;

/** Executes approved actions as jobs: checks, acts, verifies, and writes the receipt. */
export class ActionRuns {
  /** Checks of actions that policies approved. */
  readonly guards: Guard[] = [];
  readonly listeners: ((stores: AtomicStores, settled: SettledAction) => Promise<void>)[] = [];

  constructor(
    private readonly deps: LedgerDeps,
    private readonly registry: ActuatorRegistry,
  ) {}

  /** The job kind of an actuator. Servers that do not know the actuator leave its jobs to other servers. */
  createKind(actuator: Actuator): JobKind<ActionInput, { outcome: ActionOutcome }> {
    return {
      kind: formatActuator(actuator),
      title: actuator.description,
      console: JOB_CONSOLES[actuator.kind],
      operationType: ORCHESTRATION,
      resumable: true,
      waits: true,
      maxAttempts: MAX_ATTEMPTS,
      run: (context) => this.#run(context),
      cleanup: (input, jobId, outcome) => this.#settleRest(input, jobId, outcome),
      refuseRetry: async () => 'An approval is used once. Propose the action again.',
    };
  }

  async #run(context: JobContext<ActionInput>): Promise<{ outcome: ActionOutcome }> {
    const { proposalId } = context.input;
    const before = await this.deps.state.proposals.get(proposalId);
    if (before && isOpenProposal(before.status))
      await this.#settle(context.id, proposalId, await this.#carryOut(context));
    const row = await this.deps.state.proposals.get(proposalId);
    if (!row) throw new ApiError('not-found', `There is no proposal '${proposalId}'.`);
    await addArtifacts(context, row);
    const outcome = row.outcome as ActionOutcome;
    if (outcome === 'Succeeded') return { outcome };
    throw new ApiError('conflict', (JSON.parse(row.blocking_json) as string[])[0] ?? outcome);
  }

  /** Runs all stages that are not done yet, and returns how the action ended. */
  async #carryOut(context: JobContext<ActionInput>): Promise<ActionEnd> {
    try {
      const open = await context.step('check', 'Verifying the seals', () => this.#open(context));
      const result = await context.step('act', open.statement.plan.summary, () =>
        this.#act(open, context.id),
      );
      await open.actuator.follow?.(open.statement.parameters, result);
      return await context.step('verify', 'Verifying the effect', () => this.#verify(open, result));
    } catch (error) {
      if (error instanceof ActionEnd) return error;
      // The job is stopped: another run continues it, or `cleanup` settles it.
      if (context.signal.aborted) throw error;
      return this.#explain(context.input.proposalId, error);
    }
  }

  /** Verifies the seals and the rights of the approver. Throws `ActionEnd`. */
  async #open(context: JobContext<ActionInput>): Promise<OpenAction> {
    const { proposalId, approver: approverText } = context.input;
    const row = await this.deps.state.proposals.get(proposalId);
    if (!row) throw new ActionEnd('Failed', `There is no proposal ${proposalId}.`);
    const { statement, approval } = await this.#openSeals(row, context.id);
    const actuator = this.registry.find(statement.actuator, statement.version);
    if (!actuator || formatActuator(actuator) !== row.actuator)
      throw new ActionEnd('Failed', `seal: the statement names another actuator than ${row.actuator}.`);
    const requester = openPrincipal(row.requester_json, statement.requester, 'requester');
    const approver = openPrincipal(approverText, approval.approver, 'approver');
    if (approver) await this.#requireApprover(approver, statement.permission);
    const { operationId, approvedBy } = approval;
    const action = { proposalId, operationId, requester, approver, approvedBy, signal: context.signal };
    return { actuator, statement, approval, action };
  }

  async #openSeals(
    { id, statement, approval, evidence_json: evidence }: ProposalRow,
    jobId: string,
  ): Promise<{ statement: ProposalStatement; approval: ApprovalStatement }> {
    const keys = await this.deps.keys.published();
    try {
      const chain = await openChain({ statement, approval, receipt: null, evidence }, keys);
      if (formatProposalId(chain.statement.digest) !== id)
        throw new SealError('statement', 'is not the content that the id of the proposal names');
      if (!chain.approval) throw new SealError('approval', 'is missing');
      if (chain.approval.payload.operationId !== jobId)
        throw new SealError('approval', 'belongs to another job, and an approval is used once');
      return { statement: chain.statement.payload, approval: chain.approval.payload };
    } catch (error) {
      if (error instanceof SealError) throw new ActionEnd('Failed', `seal: ${error.message}`);
      throw error;
    }
  }

  /** The approver must still have the right when the action starts. */
  async #requireApprover(approver: Principal, permission: string): Promise<void> {
    const present = await this.deps.presentRights.of(approver);
    if (permission === 'public' || permission === 'authenticated' || permits(present, permission)) return;
    throw new ActionEnd('Failed', `The approver ${present.name} no longer has the permission ${permission}.`);
  }

  /** Acts unless an earlier run has. Returns the result of the action. */
  async #act(open: OpenAction, jobId: string): Promise<unknown> {
    const { actuator, statement, action } = open;
    const { parameters } = statement;
    const row = (await this.deps.state.proposals.get(action.proposalId))!;
    if (row.stage === 'acted' || row.stage === 'undoing') return parseResult(row);
    switch (actuator.acts) {
      case 'in-transaction':
        return this.deps.state.atomically(async (stores) => {
          await this.#requireReady(open, jobId, stores);
          const result = await actuator.act(parameters, action, stores);
          await stores.proposals.change(action.proposalId, describeActed(result));
          return result;
        });
      case 'in-own-transaction': {
        await this.#requireFresh(open, undefined);
        let written: unknown;
        await actuator.act(parameters, action, async (stores, result) => {
          await this.#requireUnstarted(open, jobId, stores);
          await stores.proposals.change(action.proposalId, describeActed(result));
          written = result;
        });
        return written;
      }
      case 'repeatably': {
        if (row.stage === null) {
          await this.#requireFresh(open, undefined);
          await this.deps.state.atomically(async (stores) => {
            await this.#requireUnstarted(open, jobId, stores);
            await stores.proposals.change(action.proposalId, { stage: 'acting', status: 'Executing' });
          });
        }
        const result = await actuator.act(parameters, action);
        await this.#change(action.proposalId, describeActed(result));
        return result;
      }
    }
  }

  async #requireReady(open: OpenAction, jobId: string, stores: AtomicStores): Promise<void> {
    await this.#requireUnstarted(open, jobId, stores);
    await this.#requireFresh(open, stores);
  }

  /** Throws `ActionEnd` if the action has started or a guard stops it. Locks the proposal. */
  async #requireUnstarted(
    { approval, action }: OpenAction,
    jobId: string,
    stores: AtomicStores,
  ): Promise<void> {
    const row = await stores.proposals.lock(action.proposalId);
    if (!row || row.stage !== null || row.job_id !== jobId || !isOpenProposal(row.status))
      throw new ActionEnd('Failed', 'The action has already started. An approval is used once.');
    if (approval.policy === null) return;
    for (const guard of this.guards) {
      const reason = await guard(stores, approval);
      if (reason !== undefined) throw new ActionEnd('Failed', `stopped: ${reason}`);
    }
  }

  /** Throws `ActionEnd` if a resource has changed since the proposal. */
  async #requireFresh({ actuator, statement }: OpenAction, stores: AtomicStores | undefined): Promise<void> {
    const present = await actuator.preconditions(statement.parameters, stores);
    const changed = listChanges(statement.preconditions, present);
    if (changed.length > 0) throw new ActionEnd('Failed', `stale: ${changed.join(', ')} changed.`);
  }

  async #verify(open: OpenAction, result: unknown): Promise<ActionEnd> {
    const { actuator, action } = open;
    const row = (await this.deps.state.proposals.get(action.proposalId))!;
    const end = (row.acted_at ?? Date.now()) + actuator.verifyMs;
    if (row.stage === 'undoing') return this.#undo(open, result, 'The effect did not come.');
    let wait = this.deps.verifyPollMs ?? 250;
    for (;;) {
      const { state, message } = await this.#check(open, result);
      if (state === 'verified') return new ActionEnd('Succeeded', message);
      if (state === 'failed') return new ActionEnd('Failed', message);
      if (Date.now() >= end) return this.#undo(open, result, message);
      await pause(Math.min(wait, Math.max(0, end - Date.now())), undefined, { signal: action.signal });
      wait = Math.min(wait * 1.5, MAX_POLL_MS);
    }
  }

  /** A check that cannot be made is not a success. */
  async #check({ actuator, statement, action }: OpenAction, result: unknown): Promise<Verification> {
    try {
      return await actuator.verify(statement.parameters, result, action);
    } catch (error) {
      if (action.signal.aborted) throw error;
      this.deps.onError(error);
      return { state: 'pending', message: `The effect could not be checked: ${this.#describe(error)}` };
    }
  }

  /** Restores the state before the action if the actuator can, and compares it. */
  async #undo(
    { actuator, statement, action }: OpenAction,
    result: unknown,
    message: string,
  ): Promise<ActionEnd> {
    const manual = (more = '') =>
      new ActionEnd(
        'ManualInterventionRequired',
        `manual intervention required: ${message}${more} ${actuator.remedy}`,
      );
    if (!actuator.undo) return manual();
    await this.#change(action.proposalId, { stage: 'undoing' });
    try {
      await actuator.undo(statement.parameters, result, action);
      const present = await actuator.preconditions(statement.parameters, undefined);
      const changed = listChanges(statement.preconditions, present);
      if (changed.length > 0) return manual(` After the rollback, ${changed.join(', ')} differs.`);
    } catch (error) {
      if (action.signal.aborted) throw error;
      return manual(` The rollback failed: ${this.#describe(error)}`);
    }
    return new ActionEnd('RolledBack', `rolled back: ${message}`);
  }

  /** The end of an action that failed unexpectedly. */
  async #explain(proposalId: string, error: unknown): Promise<ActionEnd> {
    const row = await this.deps.state.proposals.get(proposalId);
    const reason = this.#describe(error);
    // A refusal has no effect.
    const isRefusal = error instanceof ApiError && error.status < 500 && row?.stage === 'acting';
    if (!row || row.stage === null || isRefusal) return new ActionEnd('Failed', reason);
    return new ActionEnd('ManualInterventionRequired', this.#describeManual(row, reason));
  }

  #describe(error: unknown): string {
    return describeJobFailure(error, this.deps.onError).message;
  }

  #describeManual(row: ProposalRow, reason: string): string {
    const { actuator = '', version = 0 } = peekSeal<ProposalStatement>(row.statement) ?? {};
    const remedy = this.registry.find(actuator, version)?.remedy ?? '';
    return `manual intervention required: ${reason} ${remedy}`.trim();
  }

  /** Ends a proposal whose job ends without a run that settles it: it was cancelled, or its servers ended too often. */
  async #settleRest(
    { proposalId }: ActionInput,
    jobId: string,
    { state, failure }: JobOutcome,
  ): Promise<void> {
    const row = await this.deps.state.proposals.get(proposalId);
    if (!row || !isOpenProposal(row.status) || row.job_id !== jobId) return;
    const reason =
      state === 'Cancelled' ? 'The job was cancelled.' : `The job ended early (${failure?.code ?? state}).`;
    const end =
      row.stage === null
        ? new ActionEnd(
            'Failed',
            `${state === 'Cancelled' ? 'cancelled' : 'failed'}: ${reason} Nothing was done.`,
          )
        : new ActionEnd('ManualInterventionRequired', this.#describeManual(row, reason));
    await this.#settle(jobId, proposalId, end);
  }

  /** Writes the receipt and the final status, once. */
  async #settle(jobId: string, proposalId: string, { outcome, reason }: ActionEnd): Promise<void> {
    const row = (await this.deps.state.proposals.get(proposalId))!;
    const [statement, approval] = [row.statement, row.approval!].map(computeSealDigest);
    const policy = peekSeal<ApprovalStatement>(row.approval!)?.policy ?? null;
    const now = Date.now();
    const receipt: ReceiptStatement = {
      ...{ schema: 'svc.receipt/v1', proposal: statement!, approval: approval!, operationId: jobId, outcome },
      ...{ policy, actedAt: row.acted_at === null ? null : new Date(row.acted_at).toISOString() },
      ...{ message: reason, reasons: outcome === 'Succeeded' ? [] : [reason] },
      finishedAt: new Date(now).toISOString(),
    };
    const seal = await createSeal('receipt', receipt, await this.deps.keys.signer());
    await this.deps.state.atomically(async (stores) => {
      const present = await stores.proposals.lock(proposalId);
      if (!present || !isOpenProposal(present.status)) return;
      await stores.proposals.change(proposalId, {
        ...{ status: STATUSES[outcome], outcome, receipt: seal.text },
        blocking_json: JSON.stringify(receipt.reasons),
      });
      const settled: SettledAction = {
        ...{ proposalId, outcome, findingId: present.finding_id, autonomyRule: present.autonomy_rule },
        isUnverified: present.stage !== null && outcome !== 'Succeeded',
      };
      await this.notify(stores, settled);
    });
  }

  /** Runs the work for the end of an action, in the transaction that ends it. */
  async notify(stores: AtomicStores, settled: SettledAction): Promise<void> {
    for (const listener of this.listeners) await listener(stores, settled);
  }

  #change(id: string, change: ProposalChange): Promise<ProposalRow> {
    return this.deps.state.atomically(({ proposals }) => proposals.change(id, change));
  }
}

const describeActed = (result: unknown): ProposalChange => ({
  ...{ stage: 'acted', status: 'Reconciling', acted_at: Date.now() },
  result_json: result === undefined ? null : JSON.stringify(result),
});

const parseResult = ({ result_json: json }: ProposalRow): unknown =>
  json === null ? undefined : JSON.parse(json);

/** Resources whose state differs between two lists of preconditions. */
function listChanges(sealed: readonly Precondition[], present: readonly Precondition[]): string[] {
  const now = new Map(present.map((one) => [one.resource, one.fingerprint]));
  const before = new Map(sealed.map((one) => [one.resource, one.fingerprint]));
  return [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) !== now.get(name));
}

/** A stored principal whose digest is sealed. Throws `ActionEnd` for another one. */
function openPrincipal(text: string | null, digest: string | null, role: string): Principal | undefined {
  if (text === null && digest === null) return undefined;
  if (text !== null && computeFingerprint(text) === digest) return JSON.parse(text) as Principal;
  throw new ActionEnd('Failed', `seal: the stored ${role} is not the one that the seals name.`);
}

const LABELS: Readonly<Record<SealName, string>> = {
  statement: 'Proposal',
  approval: 'Approval',
  receipt: 'Receipt',
};

/** Adds the seals to the artifacts of the job, once. */
async function addArtifacts(context: JobContext<ActionInput>, row: ProposalRow): Promise<void> {
  if (context.saved === 'listed') return;
  for (const [name, label] of Object.entries(LABELS) as [SealName, string][])
    await context.artifact({
      ...{ label, kind: SEAL_TYPES[name], content_type: 'application/jose+json' },
      size_bytes: Buffer.byteLength(row[name] ?? ''),
      location: `proposals/${row.id}/seals`,
    });
  await context.checkpoint('listed');
}
