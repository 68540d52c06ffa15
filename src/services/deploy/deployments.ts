import { randomUUID } from 'node:crypto';
import type { Config } from '../../core/config/config.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import { isOpenProposal } from '../../core/operate/proposals.js';
import { canonical, computeFingerprint } from '../../core/values/fingerprint.js';
import type { StoredDocument } from '../../stores/state/documents.js';
import type { AtomicStores, State } from '../../stores/state/state.js';
import type { Ledger } from '../operate/ledger.js';
import { DEPLOY_ACTION } from './actuator.js';
import { recordDeployEnds } from './deploy-ends.js';
import {
  DEPLOY_DOCUMENT,
  DEPLOY_TARGET_DOCUMENT,
  type DeployBody,
  type DeployMark,
  type DeployRequest,
  type DeployState,
  deriveDeployState,
  isOpenDeploy,
  type ProposalFacts,
} from './operation-state.js';
import { type DeployPlan, planDeploy } from './plan.js';
import {
  describeReleases,
  type ObservedReleases,
  observeReleases,
  SERVERS_TARGET,
} from './rollout-target.js';

export interface DeploymentsDeps {
  readonly state: Pick<State, 'atomically' | 'documents' | 'instances' | 'proposals'>;
  readonly ledger: Pick<Ledger, 'onSettled' | 'propose' | 'reject'>;
  readonly settings: Config['deploy'];
}

export interface CreateRequest extends DeployRequest {
  readonly idempotencyKey?: string | undefined;
  readonly submitImmediately?: boolean | undefined;
}

/** A change of an operation by a caller. */
export interface DeployChange {
  readonly reason?: string | undefined;
  /** Entity tags of the operation, one of which it must have. Undefined: any. */
  readonly ifMatch?: readonly string[] | undefined;
}

/** A deploy operation with its present state. */
export interface DeployOperation {
  readonly document: StoredDocument<DeployBody>;
  readonly state: DeployState;
  readonly updatedAt: number;
  /** Id of the job that executes the operation. Null: it is not approved. */
  readonly jobId: string | null;
}

type OperationDocument = StoredDocument<DeployBody>;
type Documents = Pick<AtomicStores, 'documents' | 'proposals'>;
type Claim = Pick<DeployChange, 'ifMatch'> & { readonly proposalId: string; readonly by: string };
type Target = { readonly operationId: string };

const DAY_MS = 86_400_000;
const KEPT_DAYS = 400;
const MAX_OPERATIONS = 1000;

/** Operations that bring all servers to a release. */
export class Deployments {
  constructor(readonly deps: DeploymentsDeps) {
    recordDeployEnds(deps.ledger);
  }

  async observe(): Promise<ObservedReleases> {
    return observeReleases(await this.deps.state.instances.alive());
  }

  /** Throws `not-found` for an unknown target, and `invalid-body` for a release that cannot be one. */
  async plan(request: DeployRequest): Promise<DeployPlan> {
    const [observed, open] = await Promise.all([this.observe(), this.findOpen()]);
    return planDeploy(request, { observed, open: open?.id, settings: this.deps.settings });
  }

  /** The operation that has the servers. Undefined: there is none. */
  async findOpen(stores: Documents = this.deps.state): Promise<OperationDocument | undefined> {
    const target = await stores.documents.get<Target>(DEPLOY_TARGET_DOCUMENT, SERVERS_TARGET);
    const one = target && (await stores.documents.get<DeployBody>(DEPLOY_DOCUMENT, target.body.operationId));
    if (!one) return undefined;
    return isOpenDeploy(deriveDeployState(one, await readProposal(one, stores)).status) ? one : undefined;
  }

  /** Newest first. */
  async list(): Promise<DeployOperation[]> {
    const all = await this.deps.state.documents.page<DeployBody>(DEPLOY_DOCUMENT, { limit: MAX_OPERATIONS });
    const operations: DeployOperation[] = [];
    for (const one of all) operations.push(await this.#view(one));
    return operations;
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<DeployOperation> {
    return this.#view(await requireOperation(id, this.deps.state));
  }

  /**
   * Stores an operation, and proposes it unless `submitImmediately` is false. Throws as `plan` does, and `conflict` for
   * an operation that is not possible now, and for a key that was used for another operation.
   */
  async create(all: CreateRequest, principal: Principal): Promise<DeployOperation> {
    const { idempotencyKey: key, submitImmediately = true, ...request } = all;
    const { documents } = this.deps.state;
    const by = formatActor(principal);
    const id = key === undefined ? randomUUID() : formatKeyedId(by, key);
    const plan = await this.plan(request);
    let stored = await findKeyed(id, request, documents);
    if (!stored) {
      if (submitImmediately) requireUnblocked(plan);
      await documents.removeOld(DEPLOY_DOCUMENT, Date.now() - KEPT_DAYS * DAY_MS);
      const body: DeployBody = { request, previous: plan.observed.common ?? null, proposalId: null };
      try {
        stored = await documents.create(DEPLOY_DOCUMENT, id, body, by);
      } catch (error) {
        // Another request with this key may have been first.
        stored = await findKeyed(id, request, documents);
        if (!stored) throw error;
      }
    }
    if (submitImmediately && stored.body.proposalId === null)
      try {
        await this.#propose(stored, principal, request);
      } catch (error) {
        if (error instanceof ApiError) await this.#removeUnsubmitted(id);
        throw error;
      }
    return this.get(id);
  }

  /** A refused request must not leave an operation. */
  async #removeUnsubmitted(id: string): Promise<void> {
    const { documents } = this.deps.state;
    const one = await documents.get<DeployBody>(DEPLOY_DOCUMENT, id);
    if (one?.body.proposalId === null) await documents.remove(DEPLOY_DOCUMENT, id, [one.etag]);
  }

  /** Proposes a planned operation. Throws `not-found`, and `conflict` if it is submitted or not possible now. */
  async submit(id: string, change: DeployChange, principal: Principal): Promise<DeployOperation> {
    const { document, state } = await this.get(id);
    if (state.status !== 'Planned')
      throw new ApiError('conflict', `The deploy operation is already ${state.status}.`);
    requireUnblocked(await this.plan(document.body.request));
    const reason = change.reason ?? document.body.request.reason;
    await this.#propose(document, principal, { ...change, reason });
    return this.get(id);
  }

  async #propose({ id, body }: OperationDocument, principal: Principal, change: DeployChange): Promise<void> {
    const { reason, ifMatch } = change;
    const { targetId, desiredRevision } = body.request;
    const parameters = { operationId: id, targetId, desiredRevision };
    const { ledger, state } = this.deps;
    const { row } = await ledger.propose({
      ...{ actuator: DEPLOY_ACTION, parameters, requester: principal, reason },
    });
    try {
      await state.atomically((stores) =>
        this.#claim(id, { proposalId: row.id, by: formatActor(principal), ifMatch }, stores),
      );
    } catch (error) {
      const after = await state.documents.get<DeployBody>(DEPLOY_DOCUMENT, id);
      if (error instanceof ApiError && after?.body.proposalId !== row.id)
        await ledger.reject(row.id, `Not submitted: ${error.message}`, principal).catch(() => {});
      throw error;
    }
  }

  /** Gives the servers to an operation, unless another open one has them. Must be called in a transaction. */
  async #claim(id: string, { proposalId, by, ifMatch }: Claim, stores: AtomicStores): Promise<void> {
    await stores.documents.together([DEPLOY_TARGET_DOCUMENT, SERVERS_TARGET], async (documents) => {
      const open = await this.findOpen({ documents, proposals: stores.proposals });
      if (open && open.id !== id)
        throw new ApiError('conflict', `The deploy operation ${open.id} has the target '${SERVERS_TARGET}'.`);
      await documents.put(DEPLOY_TARGET_DOCUMENT, SERVERS_TARGET, { operationId: id }, by);
      const submit = (body: DeployBody): DeployBody => {
        if (body.proposalId === null || body.proposalId === proposalId) return { ...body, proposalId };
        throw new ApiError('conflict', 'Another caller has already submitted the deploy operation.');
      };
      await documents.update(DEPLOY_DOCUMENT, id, by, submit, ifMatch);
    });
  }

  /**
   * Ends an approved operation. No backend replaces servers, so the result is `ManualInterventionRequired`, unless all
   * processes already run the previous release again. Throws `not-found`, and `conflict` before the approval.
   */
  async rollback(id: string, about: DeployChange, principal: Principal): Promise<DeployOperation> {
    const { common } = await this.observe();
    await this.#mark(id, about, principal, (body, status, mark) => {
      if (body.rollback) throw new ApiError('conflict', 'The rollback was already requested.');
      if (body.promotion)
        throw new ApiError(
          'conflict',
          'The release was promoted. Create an operation to the release before.',
        );
      const isStarted = body.startedAt !== undefined || status === 'Submitted' || status === 'Reconciling';
      if (!isStarted)
        throw new ApiError(
          'conflict',
          `The deploy operation is ${status} and has not started. Reject its proposal to end it.`,
        );
      const isObserved = body.previous !== null && common === body.previous;
      return { ...body, rollback: { ...mark, isObserved } };
    });
    return this.get(id);
  }

  /**
   * Confirms a release that all servers run. Throws `not-found`, `conflict` if the operation has not succeeded or
   * other releases run again, and `unavailable` if no process sends heartbeats.
   */
  async promote(id: string, about: DeployChange, principal: Principal): Promise<DeployOperation> {
    await requireOperation(id, this.deps.state);
    const observed = await this.observe();
    if (observed.servers === 0)
      throw new ApiError('unavailable', `The releases are ${describeReleases(observed)}. Retry later.`);
    await this.#mark(id, about, principal, (body, status, mark) => {
      const { desiredRevision } = body.request;
      if (body.promotion) throw new ApiError('conflict', 'The deploy operation was already promoted.');
      if (status !== 'Succeeded')
        throw new ApiError('conflict', `The deploy operation is ${status}. Only Succeeded can be promoted.`);
      if (observed.common !== desiredRevision)
        throw new ApiError(
          'conflict',
          `Not all processes run ${desiredRevision}: ${describeReleases(observed)}.`,
        );
      return { ...body, promotion: mark };
    });
    return this.get(id);
  }

  async #mark(
    id: string,
    { reason, ifMatch }: DeployChange,
    principal: Principal,
    change: (body: DeployBody, status: DeployState['status'], mark: DeployMark) => DeployBody,
  ): Promise<void> {
    const by = formatActor(principal);
    const mark: DeployMark = { at: Date.now(), by, reason: reason ?? null };
    await this.deps.state.atomically(async (stores) => {
      const before = await requireOperation(id, stores);
      // Locked in the order of the ledger: first the proposal.
      const { proposalId } = before.body;
      const proposal = proposalId === null ? undefined : await stores.proposals.lock(proposalId);
      const work = (body: DeployBody) => change(body, deriveDeployState({ body }, proposal).status, mark);
      await stores.documents.update(DEPLOY_DOCUMENT, id, by, work, ifMatch);
    });
  }

  async #view(found: OperationDocument): Promise<DeployOperation> {
    const proposal = await readProposal(found, this.deps.state);
    // The proposal may have ended between the two reads.
    const isEnded = proposal !== undefined && !isOpenProposal(proposal.status);
    const document = isEnded ? await requireOperation(found.id, this.deps.state) : found;
    const state = deriveDeployState(document, proposal);
    const updatedAt = Math.max(document.updatedAt, proposal?.updated_at ?? 0);
    return { document, state, updatedAt, jobId: document.body.end?.jobId ?? proposal?.job_id ?? null };
  }
}

/** The proposal that is the state of an operation. Undefined: there is none, or the state is final. */
async function readProposal(
  { body }: OperationDocument,
  { proposals }: Pick<AtomicStores, 'proposals'>,
): Promise<(ProposalFacts & { readonly job_id: string | null }) | undefined> {
  if (body.proposalId === null || body.end) return undefined;
  return proposals.get(body.proposalId);
}

async function requireOperation(
  id: string,
  { documents }: Pick<State, 'documents'>,
): Promise<OperationDocument> {
  const stored = await documents.get<DeployBody>(DEPLOY_DOCUMENT, id);
  if (stored) return stored;
  throw notFound('deploy operation', id.slice(0, 128));
}

const formatKeyedId = (by: string, key: string) =>
  `key-${computeFingerprint(canonical([by, key])).slice(7, 39)}`;

async function findKeyed(id: string, request: DeployRequest, documents: State['documents']) {
  const before = await documents.get<DeployBody>(DEPLOY_DOCUMENT, id);
  if (before && canonical(before.body.request) !== canonical(request))
    throw new ApiError('conflict', 'idempotencyKey: was used for another operation. Use another key.');
  return before;
}

function requireUnblocked({ blockingReasons }: DeployPlan): void {
  if (blockingReasons.length > 0) throw new ApiError('conflict', blockingReasons.join(' '));
}
