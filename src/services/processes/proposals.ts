import { createHash, randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../../core/errors/errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import type { JobPriority } from '../../core/jobs/job-priority.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import type { JobState, JobStore } from '../../stores/jobs/jobs.js';
import type { DocumentStore, StoredDocument } from '../../stores/state/documents.js';
import type { Execution } from './execution.js';

/** Executions that another user must approve before they become jobs. */

/** A proposed execution. */
export interface ProposalDraft {
  readonly process: string;
  readonly execution: Execution;
  readonly principal: Principal;
  readonly baseUrl: string;
  readonly priority: JobPriority;
}

/** Decision on a proposal. */
interface Resolution {
  readonly by: string;
  readonly at: number;
  readonly reason: string | null;
}

/** Listed part of a proposal. The draft, which can be large, is a separate document with the same id. */
interface Body {
  readonly process: string;
  readonly proposer: Pick<Principal, 'kind' | 'id' | 'name' | 'tenantId'>;
  /** Ids of the collections that it would make. */
  readonly collections: readonly string[];
  /** Id of the job that results from the proposal. */
  readonly jobId: string;
  readonly status: 'AwaitingApproval' | 'Executing' | 'Rejected' | 'Failed';
  readonly resolution: Resolution | null;
  /** Why it could not be executed once it was approved. */
  readonly blockingReasons: readonly string[];
}

/** Owner and digest of a waiting proposal, stored with the same id. */
interface PendingProposal {
  readonly owner: string;
  readonly digest: string;
}

type ProposalStatus = Body['status'] | 'Submitted' | 'Succeeded';

/** A proposal with its present status: the status of its job. */
export interface Proposal
  extends Omit<Body, 'status' | 'jobId'>,
    Pick<StoredDocument, 'id' | 'createdAt' | 'updatedAt'> {
  readonly status: ProposalStatus;
  /** Id of the job, once there is one. */
  readonly jobId: string | undefined;
}

/** Filter for proposals. */
export interface ProposalFilter {
  readonly status?: string | undefined;
  /** Proposer in the notation of `formatActor`. */
  readonly requestedBy?: string | undefined;
}

export interface ProposalsDeps {
  documents: DocumentStore;
  jobs: Pick<JobStore, 'get'>;
  /**
   * Executes an approved draft, once for each job id, with the present rights. Throws if the draft is no longer
   * valid.
   */
  execute(draft: ProposalDraft, jobId: string): Promise<unknown>;
  /** See `sharesOrigin`. */
  sharesOrigin(decider: string, author: string): Promise<boolean>;
}

const PROPOSAL = 'process proposal';
const DRAFT = 'process proposal draft';
const WAITING = 'process proposal that waits';
const DAY_MS = 86_400_000;
/** Proposals that are read at a time. */
const PAGE = 200;

export class Proposals {
  readonly #deps: ProposalsDeps;

  constructor(deps: ProposalsDeps) {
    this.#deps = deps;
  }

  /**
   * Stores an execution until it is decided. An identical execution of the same caller is stored only once. Throws
   * 413 if it is too large, and `conflict` if the caller has too many waiting proposals.
   */
  async propose(draft: ProposalDraft): Promise<string> {
    const text = JSON.stringify(draft);
    if (Buffer.byteLength(text) > PROCESS_LIMITS.proposalBytes)
      throw new ApiError(
        'payload-too-large',
        `The execution is too large for an approval. The limit is ${PROCESS_LIMITS.proposalBytes} bytes. Send features by reference.`,
      );
    const digest = createHash('sha256').update(text).digest('hex');
    const owner = formatActor(draft.principal);
    return this.#deps.documents.together([PROPOSAL], async (store) => {
      await removeOld(store);
      const all = await store.list<PendingProposal>(WAITING);
      const own = all.filter(({ body }) => body.owner === owner);
      const before = own.find(({ body }) => body.digest === digest);
      if (before) return before.id;
      if (own.length >= PROCESS_LIMITS.proposals)
        throw new ApiError(
          'conflict',
          `The caller already has ${PROCESS_LIMITS.proposals} open proposals. Wait until one is approved or rejected.`,
        );
      if (all.length >= PROCESS_LIMITS.proposalsOfAll)
        throw new ApiError(
          'conflict',
          `The server already has ${PROCESS_LIMITS.proposalsOfAll} open proposals. Retry after one is approved or rejected.`,
        );
      const { id } = await store.create(PROPOSAL, randomUUID(), buildBody(draft), owner);
      await store.create(DRAFT, id, draft, owner);
      await store.create(WAITING, id, { owner, digest } satisfies PendingProposal, owner);
      return id;
    });
  }

  /** The newest matching proposals, newest first. A caller with a tenant sees only proposals of that tenant. */
  async list(reader: Principal, { status, requestedBy }: ProposalFilter = {}): Promise<Proposal[]> {
    const proposals: Proposal[] = [];
    let after: StoredDocument | undefined;
    let count = 0;
    do {
      const page: StoredDocument<Body>[] = await this.#deps.documents.page(PROPOSAL, { limit: PAGE, after });
      const own = page.filter(({ body }) => maySee(reader, body));
      count += own.length;
      const fit = own.filter(
        ({ body }) =>
          (requestedBy === undefined || requestedBy === formatActor(body.proposer)) &&
          // The status of executing proposals depends on their jobs.
          (status === undefined || status === body.status || body.status === 'Executing'),
      );
      const views = await Promise.all(fit.map((stored) => this.#view(stored)));
      proposals.push(...views.filter((view) => status === undefined || view.status === status));
      after = page.length < PAGE ? undefined : page.at(-1);
    } while (
      after &&
      proposals.length < PROCESS_LIMITS.proposalsListed &&
      count < PROCESS_LIMITS.proposalsRead
    );
    return proposals.slice(0, PROCESS_LIMITS.proposalsListed);
  }

  /** Throws `not-found`, also for one of another tenant. */
  async get(id: string, reader: Principal): Promise<Proposal & { readonly draft: ProposalDraft }> {
    const stored = await this.#required(id, reader);
    return { ...(await this.#view(stored)), draft: await this.#draft(id) };
  }

  /**
   * Executes a proposal with the present rights of the proposer. If a crash prevented the execution, a repeated call
   * executes it. Throws `forbidden` for the person of the proposer, and `conflict` for a decided proposal.
   */
  async approve(id: string, approver: Principal): Promise<Proposal & { readonly draft: ProposalDraft }> {
    const { body } = await this.#required(id, approver);
    const by = formatActor(approver);
    if (await this.#deps.sharesOrigin(by, formatActor(body.proposer)))
      throw new ApiError(
        'forbidden',
        'A proposal cannot be approved by its author, or with a key that the author or the same person made. Use the key of another person.',
      );
    const isCutOff = body.status === 'Executing' && !(await this.#deps.jobs.get(body.jobId));
    if (!isCutOff) await this.#resolve(id, by, 'Executing', null);
    try {
      await this.#deps.execute(await this.#draft(id), body.jobId);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      const fail = (before: Body): Body => ({
        ...before,
        status: 'Failed',
        blockingReasons: [error.message],
      });
      await this.#deps.documents.update<Body>(PROPOSAL, id, by, fail);
    }
    return this.get(id, approver);
  }

  /** Throws `not-found`, and `conflict` for one that is decided. */
  async reject(
    id: string,
    reason: string,
    reader: Principal,
  ): Promise<Proposal & { readonly draft: ProposalDraft }> {
    await this.#required(id, reader);
    await this.#resolve(id, formatActor(reader), 'Rejected', reason);
    return this.get(id, reader);
  }

  #resolve(id: string, by: string, status: Body['status'], reason: string | null): Promise<void> {
    return this.#deps.documents.together([PROPOSAL], async (store) => {
      await store.update<Body>(PROPOSAL, id, by, (body) => {
        if (body.status !== 'AwaitingApproval')
          throw new ApiError('conflict', `The proposal is already ${body.status}.`);
        return { ...body, status, resolution: { by, at: Date.now(), reason } };
      });
      await store.remove(WAITING, id);
    });
  }

  async #required(id: string, reader: Principal): Promise<StoredDocument<Body>> {
    const stored = await this.#deps.documents.get<Body>(PROPOSAL, id);
    if (stored && maySee(reader, stored.body)) return stored;
    throw notFound('proposal', id.slice(0, 128));
  }

  async #draft(id: string): Promise<ProposalDraft> {
    const stored = await this.#deps.documents.get<ProposalDraft>(DRAFT, id);
    if (!stored) throw notFound('proposal', id.slice(0, 128));
    return stored.body;
  }

  async #view({ id, body, createdAt, updatedAt }: StoredDocument<Body>): Promise<Proposal> {
    const job = body.status === 'Executing' ? await this.#deps.jobs.get(body.jobId) : undefined;
    return {
      ...body,
      id,
      createdAt,
      updatedAt,
      status: job ? STATUS[job.state] : body.status,
      jobId: job?.id,
      ...(job ? { updatedAt: Math.max(updatedAt, job.updated_at) } : {}),
      ...(job?.failure_message ? { blockingReasons: [job.failure_message] } : {}),
    };
  }
}

const STATUS: Readonly<Record<JobState, ProposalStatus>> = {
  Queued: 'Submitted',
  Running: 'Executing',
  Succeeded: 'Succeeded',
  Failed: 'Failed',
  Cancelled: 'Failed',
};

function buildBody({ process, execution, principal: { kind, id, name, tenantId } }: ProposalDraft): Body {
  return {
    process,
    proposer: { kind, id, name, ...(tenantId === undefined ? {} : { tenantId }) },
    collections: Object.values(execution.outputs).flatMap(({ publish }) =>
      publish ? [publish.collection] : [],
    ),
    jobId: randomUUID(),
    status: 'AwaitingApproval',
    resolution: null,
    blockingReasons: [],
  };
}

function maySee({ tenantId }: Principal, { proposer }: Body): boolean {
  return tenantId === undefined || tenantId === proposer.tenantId;
}

/** Removes old proposals, decided or not. */
async function removeOld(store: DocumentStore): Promise<void> {
  const oldest = Date.now() - PROCESS_LIMITS.proposalDays * DAY_MS;
  for (const id of await store.removeOld(PROPOSAL, oldest))
    for (const kind of [DRAFT, WAITING]) await store.remove(kind, id);
}
