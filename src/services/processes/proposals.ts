import { createHash, randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../../core/errors.js';
import type { JobPriority } from '../../core/job-priority.js';
import { LIMITS } from '../../core/limits.js';
import { actorOf, type Principal } from '../../core/operation.js';
import type { DocumentStore, StoredDocument } from '../../stores/documents.js';
import type { JobState, JobStore } from '../../stores/jobs.js';
import type { Execution } from './execution.js';

/** Executions that somebody else has to approve before they become jobs. */

/** What somebody wants to have executed. */
export interface Draft {
  readonly process: string;
  readonly execution: Execution;
  readonly principal: Principal;
  readonly baseUrl: string;
  readonly priority: JobPriority;
}

/** How a proposal was decided. */
interface Resolution {
  readonly by: string;
  readonly at: number;
  readonly reason: string | null;
}

interface Body extends Draft {
  /** Of the draft, to know it again. */
  readonly digest: string;
  /** Of the job that it becomes. */
  readonly jobId: string;
  readonly status: 'AwaitingApproval' | 'Executing' | 'Rejected' | 'Failed';
  readonly resolution: Resolution | null;
  /** Why it could not be executed once it was approved. */
  readonly blockingReasons: readonly string[];
}

export type ProposalStatus = Body['status'] | 'Submitted' | 'Succeeded';

/** A proposal as it is now: its status is that of its job. */
export interface Proposal extends Pick<StoredDocument, 'id' | 'createdAt' | 'updatedAt'> {
  readonly draft: Draft;
  readonly status: ProposalStatus;
  readonly resolution: Resolution | null;
  readonly blockingReasons: readonly string[];
  /** Id of the job, once there is one. */
  readonly jobId: string | undefined;
}

export interface ProposalsDeps {
  documents: DocumentStore;
  jobs: Pick<JobStore, 'get'>;
  /** Executes what is approved, once for each job id. Throws what is wrong with it by now. */
  execute(draft: Draft, jobId: string): Promise<unknown>;
}

const PROPOSAL = 'operation proposal';
const DAY_MS = 86_400_000;

export class Proposals {
  readonly #deps: ProposalsDeps;

  constructor(deps: ProposalsDeps) {
    this.#deps = deps;
  }

  /**
   * Keeps an execution until somebody decides; the same one of the same caller is kept once. Throws 413 for one that is too
   * large to be kept, and `conflict` where too many of the caller wait.
   */
  async propose(draft: Draft): Promise<string> {
    const text = JSON.stringify(draft);
    if (Buffer.byteLength(text) > LIMITS.proposalBytes)
      throw new ApiError(
        'payload-too-large',
        `What needs approval has ${LIMITS.proposalBytes} bytes at most: name features by reference.`,
      );
    const digest = createHash('sha256').update(text).digest('hex');
    const owner = actorOf(draft.principal);
    return this.#deps.documents.together([PROPOSAL], async (store) => {
      const all = await store.list<Body>(PROPOSAL);
      await removeOld(all, store);
      const waiting = all.filter(
        ({ body }) => body.status === 'AwaitingApproval' && actorOf(body.principal) === owner,
      );
      const before = waiting.find(({ body }) => body.digest === digest);
      if (before) return before.id;
      if (waiting.length >= LIMITS.proposals)
        throw new ApiError('conflict', `${LIMITS.proposals} proposals of yours wait already.`);
      if (all.filter(({ body }) => body.status === 'AwaitingApproval').length >= LIMITS.proposalsOfAll)
        throw new ApiError('conflict', `${LIMITS.proposalsOfAll} proposals wait already.`);
      const body: Body = {
        ...{ ...draft, digest, jobId: randomUUID(), status: 'AwaitingApproval' },
        ...{ resolution: null, blockingReasons: [] },
      };
      return (await store.create(PROPOSAL, randomUUID(), body, owner)).id;
    });
  }

  /** Newest first; those of the tenant of a caller who has one. */
  async list(reader: Principal): Promise<Proposal[]> {
    const all = await this.#deps.documents.list<Body>(PROPOSAL);
    const own = all.filter(({ body }) => maySee(reader, body)).reverse();
    return Promise.all(own.map((stored) => this.#view(stored)));
  }

  /** Throws `not-found`, also for one of another tenant. */
  async get(id: string, reader: Principal): Promise<Proposal> {
    return this.#view(await this.#required(id, reader));
  }

  /**
   * Executes it, with the rights of who proposed it. Again, it executes what a crash has kept from that. Throws
   * `forbidden` for who proposed it, and `conflict` for one that is decided.
   */
  async approve(id: string, approver: Principal): Promise<Proposal> {
    const { body } = await this.#required(id, approver);
    const by = actorOf(approver);
    if (by === actorOf(body.principal)) throw new ApiError('forbidden', 'Who proposed it cannot approve it.');
    const isCutOff = body.status === 'Executing' && !(await this.#deps.jobs.get(body.jobId));
    if (!isCutOff) await this.#resolve(id, by, 'Executing', null);
    try {
      await this.#deps.execute(body, body.jobId);
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
  async reject(id: string, reason: string, reader: Principal): Promise<Proposal> {
    await this.#required(id, reader);
    await this.#resolve(id, actorOf(reader), 'Rejected', reason);
    return this.get(id, reader);
  }

  async #resolve(id: string, by: string, status: Body['status'], reason: string | null): Promise<void> {
    await this.#deps.documents.update<Body>(PROPOSAL, id, by, (body) => {
      if (body.status !== 'AwaitingApproval')
        throw new ApiError('conflict', `The proposal waits for nobody: it is ${body.status}.`);
      return { ...body, status, resolution: { by, at: Date.now(), reason } };
    });
  }

  async #required(id: string, reader: Principal): Promise<StoredDocument<Body>> {
    const stored = await this.#deps.documents.get<Body>(PROPOSAL, id);
    if (stored && maySee(reader, stored.body)) return stored;
    throw notFound('proposal', id.slice(0, 128));
  }

  async #view({ id, body, createdAt, updatedAt }: StoredDocument<Body>): Promise<Proposal> {
    const job = body.status === 'Executing' ? await this.#deps.jobs.get(body.jobId) : undefined;
    const { resolution, blockingReasons } = body;
    return {
      ...{ id, createdAt, updatedAt, draft: body, resolution, blockingReasons },
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

function maySee({ tenantId }: Principal, { principal }: Body): boolean {
  return tenantId === undefined || tenantId === principal.tenantId;
}

/** Those that nobody decided, or that were decided, long ago: rights are those of the time of a proposal. */
async function removeOld(all: readonly StoredDocument<Body>[], store: DocumentStore): Promise<void> {
  const oldest = Date.now() - LIMITS.proposalDays * DAY_MS;
  for (const { id, updatedAt } of all) if (updatedAt < oldest) await store.remove(PROPOSAL, id);
}
