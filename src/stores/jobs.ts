import { randomUUID } from 'node:crypto';
import { type Insertable, type Selectable, sql, type UpdateObject } from 'kysely';
import { auditResource } from './audit-scope.js';
import type { StateDb } from './database.js';
import { hasEnded } from './instance.js';
import type { JobArtifactTable, JobLogTable, JobStepTable, JobTable, StateTables } from './schema.js';
import { vocabularyOf } from './vocabulary.js';

export type JobState = 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Cancelled';
export type JobRow = Selectable<JobTable> & { state: JobState };
export type JobLogRow = Selectable<JobLogTable>;
export type JobStepRow = Selectable<JobStepTable>;
export type JobArtifactRow = Selectable<JobArtifactTable>;

export interface NewJob {
  kind: string;
  input: unknown;
  owner: string;
  idempotencyKey?: string;
  correlationId?: string;
  maxAttempts: number;
  resources: readonly string[];
}

/** Filters, and a page: jobs older than `before`, newest first. */
export interface JobQuery {
  states?: readonly string[];
  kinds?: readonly string[];
  owner?: string;
  correlationId?: string;
  resource?: string;
  from?: number;
  to?: number;
  before?: { createdAt: number; id: string };
  limit: number;
}

/** A job that an instance may run now. */
export interface Claim {
  job: JobRow;
  /** The instance that ran it before let its lease expire. */
  takenOver: boolean;
}

export interface Progress {
  phase: string | null;
  fraction: number | null;
  etaMs: number | null;
}

export interface Outcome {
  state: 'Succeeded' | 'Failed' | 'Cancelled';
  result?: unknown;
  failure?: { code: string; message: string };
}

/**
 * Job rows. A running job belongs to the instance named in its lease: every write of a run checks that the
 * lease is still held, so a run that was thought dead cannot write over its successor.
 */
export class JobStore {
  constructor(readonly db: StateDb) {}

  /** The new job, or the one that the same owner submitted with the same idempotency key. */
  async add(job: NewJob): Promise<{ job: JobRow; created: boolean }> {
    const now = Date.now();
    const id = randomUUID();
    auditResource(id, { job: job.kind, resources: job.resources });
    const row = await this.db
      .insertInto('jobs')
      .values({
        id,
        kind: job.kind,
        state: 'Queued',
        input_json: JSON.stringify(job.input),
        owner: job.owner,
        idempotency_key: job.idempotencyKey ?? null,
        correlation_id: job.correlationId ?? null,
        created_at: now,
        updated_at: now,
        attempt: 0,
        max_attempts: job.maxAttempts,
        warnings_json: '[]',
        resources_json: JSON.stringify(job.resources),
      })
      .onConflict((c) => c.columns(['owner', 'kind', 'idempotency_key']).doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row) return { job: row as JobRow, created: true };
    const before = await this.db
      .selectFrom('jobs')
      .selectAll()
      .where('owner', '=', job.owner)
      .where('kind', '=', job.kind)
      .where('idempotency_key', '=', job.idempotencyKey!)
      .executeTakeFirstOrThrow();
    return { job: before as JobRow, created: false };
  }

  async get(id: string): Promise<JobRow | undefined> {
    return (await this.db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst()) as
      | JobRow
      | undefined;
  }

  async #getForUpdate(id: string): Promise<JobRow | undefined> {
    const one = this.db.selectFrom('jobs').selectAll().where('id', '=', id);
    return (await vocabularyOf(this.db).forUpdate(one).executeTakeFirst()) as JobRow | undefined;
  }

  async list(query: JobQuery): Promise<JobRow[]> {
    let rows = this.db.selectFrom('jobs').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc');
    if (query.states) rows = rows.where('state', 'in', query.states);
    if (query.kinds) rows = rows.where('kind', 'in', query.kinds);
    if (query.owner !== undefined) rows = rows.where('owner', '=', query.owner);
    if (query.correlationId !== undefined) rows = rows.where('correlation_id', '=', query.correlationId);
    if (query.from !== undefined) rows = rows.where('created_at', '>=', query.from);
    if (query.to !== undefined) rows = rows.where('created_at', '<', query.to);
    if (query.resource !== undefined) {
      const { resource } = query;
      rows = rows.where(vocabularyOf(this.db).hasElement('resources_json', resource));
    }
    if (query.before) {
      const { createdAt, id } = query.before;
      rows = rows.where((w) =>
        w.or([w('created_at', '<', createdAt), w.and([w('created_at', '=', createdAt), w('id', '<', id)])]),
      );
    }
    return (await rows.limit(query.limit).execute()) as JobRow[];
  }

  /**
   * Leases the oldest job of these kinds that waits, whose lease has expired, or whose process has ended. Jobs
   * that run in this instance (`running`) are left alone: one whose heartbeat was late goes on, and is not begun again.
   */
  claim(
    instance: string,
    kinds: readonly string[],
    leaseMs: number,
    running: readonly string[] = [],
  ): Promise<Claim | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const { now, forUpdateOfFree } = vocabularyOf(trx);
      const owners = await trx
        .selectFrom('jobs')
        .select('lease_owner')
        .distinct()
        .where('state', '=', 'Running')
        .$narrowType<{ lease_owner: string }>()
        .where('lease_owner', 'is not', null)
        .execute();
      const ended = owners.map(({ lease_owner }) => lease_owner).filter(hasEnded);
      const candidates = trx
        .selectFrom('jobs')
        .select(['id', 'state'])
        .where('kind', 'in', kinds)
        .where('id', 'not in', running)
        .where((w) =>
          w.or([
            w('state', '=', 'Queued'),
            w.and([
              w('state', '=', 'Running'),
              w.or([w('lease_expires_at', '<=', now()), w('lease_owner', 'in', ended)]),
            ]),
          ]),
        )
        .orderBy('created_at')
        .orderBy('id')
        .limit(1);
      const candidate = await forUpdateOfFree(candidates).executeTakeFirst();
      if (!candidate) return undefined;
      const row = await trx
        .updateTable('jobs')
        .set((w) => ({
          state: 'Running',
          attempt: w('attempt', '+', 1),
          lease_owner: instance,
          lease_expires_at: sql<number>`${now()} + ${leaseMs}`,
          heartbeat_at: now(),
          started_at: w.fn.coalesce('started_at', now()),
          updated_at: now(),
          fraction: null,
          eta_ms: null,
        }))
        .where('id', '=', candidate.id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return { job: row as JobRow, takenOver: candidate.state === 'Running' };
    });
  }

  /** Prolongs the lease and records progress. Undefined: the lease is lost. */
  async beat(
    id: string,
    instance: string,
    leaseMs: number,
    progress: Progress,
  ): Promise<{ cancelRequested: boolean } | undefined> {
    const { now } = vocabularyOf(this.db);
    const row = await this.#held(id, instance, {
      lease_expires_at: sql<number>`${now()} + ${leaseMs}`,
      heartbeat_at: now(),
      updated_at: now(),
      phase: progress.phase,
      fraction: progress.fraction,
      eta_ms: progress.etaMs,
    });
    return row && { cancelRequested: row.cancel_requested_at !== null };
  }

  /** False: the lease is lost. */
  async checkpoint(id: string, instance: string, data: unknown): Promise<boolean> {
    const row = await this.#held(id, instance, {
      checkpoint_json: JSON.stringify(data),
      updated_at: Date.now(),
    });
    return row !== undefined;
  }

  async warn(id: string, instance: string, warnings: readonly string[]): Promise<void> {
    await this.#held(id, instance, { warnings_json: JSON.stringify(warnings) });
  }

  /** The job at its end; undefined when the lease is lost. */
  finish(id: string, instance: string, outcome: Outcome): Promise<JobRow | undefined> {
    const now = Date.now();
    return this.#held(id, instance, {
      state: outcome.state,
      result_json: outcome.result === undefined ? null : JSON.stringify(outcome.result),
      failure_code: outcome.failure?.code ?? null,
      failure_message: outcome.failure?.message ?? null,
      completed_at: now,
      updated_at: now,
      lease_owner: null,
      lease_expires_at: null,
      eta_ms: null,
      ...(outcome.state === 'Succeeded' ? { fraction: 1 } : {}),
    });
  }

  /** Gives a running job back, to be taken over at once; the run does not count as an attempt. */
  async release(id: string, instance: string): Promise<void> {
    await this.db
      .updateTable('jobs')
      // Without an owner, so that a heartbeat still on its way does not prolong the lease.
      .set((w) => ({
        lease_owner: null,
        lease_expires_at: 0,
        attempt: w('attempt', '-', 1),
        updated_at: Date.now(),
      }))
      .where('id', '=', id)
      .where('lease_owner', '=', instance)
      .where('state', '=', 'Running')
      .execute();
  }

  async #held(
    id: string,
    instance: string,
    set: UpdateObject<StateTables, 'jobs'>,
  ): Promise<JobRow | undefined> {
    const row = await this.db
      .updateTable('jobs')
      .set(set)
      .where('id', '=', id)
      .where('lease_owner', '=', instance)
      .where('state', '=', 'Running')
      .returningAll()
      .executeTakeFirst();
    return row as JobRow | undefined;
  }

  /** A waiting job ends at once, a running one is asked to; `changed` is false when it had ended before. */
  cancel(id: string): Promise<{ job: JobRow; changed: boolean } | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const job = await new JobStore(trx).#getForUpdate(id);
      if (!job) return undefined;
      if (job.state !== 'Queued' && job.state !== 'Running') return { job, changed: false };
      const now = Date.now();
      const ended = {
        state: 'Cancelled',
        completed_at: now,
        failure_code: 'cancelled',
        failure_message: 'Cancelled.',
      };
      const row = await trx
        .updateTable('jobs')
        .set({ cancel_requested_at: now, updated_at: now, ...(job.state === 'Queued' ? ended : {}) })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return { job: row as JobRow, changed: true };
    });
  }

  /** Puts a failed or cancelled job back in the queue; `changed` is false for any other. */
  retry(id: string, attempts: number): Promise<{ job: JobRow; changed: boolean } | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const job = await new JobStore(trx).#getForUpdate(id);
      if (!job) return undefined;
      if (job.state !== 'Failed' && job.state !== 'Cancelled') return { job, changed: false };
      const row = await trx
        .updateTable('jobs')
        .set({
          state: 'Queued',
          max_attempts: job.attempt + attempts,
          checkpoint_json: null,
          cancel_requested_at: null,
          completed_at: null,
          failure_code: null,
          failure_message: null,
          fraction: null,
          phase: null,
          updated_at: Date.now(),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return { job: row as JobRow, changed: true };
    });
  }

  async log(row: Insertable<JobLogTable>): Promise<void> {
    await this.db.insertInto('job_logs').values(row).execute();
  }

  /** Log lines after number `after`, oldest first. */
  logs(jobId: string, after: number, limit: number): Promise<JobLogRow[]> {
    return this.db
      .selectFrom('job_logs')
      .selectAll()
      .where('job_id', '=', jobId)
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  lastLog(jobId: string): Promise<JobLogRow | undefined> {
    return this.db
      .selectFrom('job_logs')
      .selectAll()
      .where('job_id', '=', jobId)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /** Opens a step; returns its ordinal, counted from 1 over all attempts. */
  beginStep(step: { jobId: string; attempt: number; phase: string; message: string }): Promise<number> {
    return this.db.transaction().execute(async (trx) => {
      const last = await trx
        .selectFrom('job_steps')
        .select((w) => w.fn.max('ordinal').as('ordinal'))
        .where('job_id', '=', step.jobId)
        .executeTakeFirst();
      const ordinal = (last?.ordinal ?? 0) + 1;
      await trx
        .insertInto('job_steps')
        .values({
          job_id: step.jobId,
          ordinal,
          attempt: step.attempt,
          phase: step.phase,
          status: 'Running',
          message: step.message,
          started_at: Date.now(),
        })
        .execute();
      return ordinal;
    });
  }

  async endStep(jobId: string, ordinal: number, status: string, message?: string): Promise<void> {
    await this.db
      .updateTable('job_steps')
      .set({ status, completed_at: Date.now(), ...(message === undefined ? {} : { message }) })
      .where('job_id', '=', jobId)
      .where('ordinal', '=', ordinal)
      .execute();
  }

  /** Steps that a run which is gone left open. */
  async closeSteps(jobId: string, status: string): Promise<void> {
    await this.db
      .updateTable('job_steps')
      .set({ status, completed_at: Date.now() })
      .where('job_id', '=', jobId)
      .where('completed_at', 'is', null)
      .execute();
  }

  steps(jobId: string): Promise<JobStepRow[]> {
    return this.db
      .selectFrom('job_steps')
      .selectAll()
      .where('job_id', '=', jobId)
      .orderBy('ordinal')
      .execute();
  }

  async addArtifact(artifact: Insertable<JobArtifactTable>): Promise<void> {
    await this.db.insertInto('job_artifacts').values(artifact).execute();
  }

  /** How many jobs wait and run, by kind. */
  depths(): Promise<{ kind: string; state: 'Queued' | 'Running'; count: number }[]> {
    return this.db
      .selectFrom('jobs')
      .select((w) => ['kind', 'state', w.fn.countAll<number>().as('count')])
      .where('state', 'in', ['Queued', 'Running'])
      .groupBy(['kind', 'state'])
      .execute() as Promise<{ kind: string; state: 'Queued' | 'Running'; count: number }[]>;
  }

  /** Number of artifacts of each of these jobs that has any. */
  async artifactCounts(jobIds: readonly string[]): Promise<Map<string, number>> {
    if (jobIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('job_artifacts')
      .select((w) => ['job_id', w.fn.countAll<number>().as('count')])
      .where('job_id', 'in', jobIds)
      .groupBy('job_id')
      .execute();
    return new Map(rows.map((row) => [row.job_id, row.count]));
  }

  artifacts(jobId: string): Promise<JobArtifactRow[]> {
    return this.db
      .selectFrom('job_artifacts')
      .selectAll()
      .where('job_id', '=', jobId)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
  }
}
