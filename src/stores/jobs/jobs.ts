import { randomUUID } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { JOB_PRIORITIES, type JobPriority } from '../../core/jobs/job-priority.js';
import { encodeStoredJson } from '../../core/values/json.js';
import { auditResource } from '../audit/audit-scope.js';
import { getSignals, signalOthers } from '../database/signals.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { JobArtifactTable, JobLogTable, JobStepTable, JobTable } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';

export type JobState = 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Cancelled';
export type JobRow = Selectable<JobTable> & { state: JobState };
export type JobOutcomeRow = Pick<JobRow, 'id' | 'state' | 'failure_message' | 'warnings_json'>;
export type JobLogRow = Selectable<JobLogTable>;
export type JobStepRow = Selectable<JobStepTable>;
export type JobArtifactRow = Selectable<JobArtifactTable>;

export interface NewJob {
  /** Default: a new id. */
  id?: string;
  kind: string;
  input: unknown;
  owner: string;
  tenant?: string | undefined;
  caller?: object | undefined;
  /** Default: `Normal`. */
  priority?: JobPriority | undefined;
  idempotencyKey?: string;
  correlationId?: string;
  maxAttempts: number;
  resources: readonly string[];
  /** The data folder with its files. Default: any server can run the job. */
  folder?: string;
}

/** Filters, and a page: jobs older than `before`, newest first. */
export interface JobQuery {
  states?: readonly string[];
  kinds?: readonly string[];
  owner?: string;
  tenant?: string | undefined;
  correlationId?: string;
  resource?: string;
  from?: number;
  to?: number;
  before?: { createdAt: number; id: string };
  limit: number;
}

/** Jobs as submitters and administrators see them. Runs write through `JobRuns`. */
export class JobStore {
  constructor(readonly db: StateDb) {}

  /** Calls back when other processes may have added, ended or cancelled jobs. Returns how to stop that. */
  follow(listener: () => void): () => void {
    return getSignals(this.db).on('jobs', listener);
  }

  /** The new job, or the one that the same owner submitted with the same idempotency key. */
  async add(job: NewJob): Promise<{ job: JobRow; created: boolean }> {
    const now = Date.now();
    const { id = randomUUID() } = job;
    auditResource(id, { job: job.kind, resources: job.resources });
    const row = await this.db
      .insertInto('jobs')
      .values({
        id,
        kind: job.kind,
        state: 'Queued',
        input_json: encodeStoredJson(job.input),
        owner: job.owner,
        idempotency_key: job.idempotencyKey ?? null,
        correlation_id: job.correlationId ?? null,
        created_at: now,
        updated_at: now,
        attempt: 0,
        max_attempts: job.maxAttempts,
        warnings_json: '[]',
        resources_json: JSON.stringify(job.resources),
        folder: job.folder ?? null,
        tenant: job.tenant ?? null,
        caller_json: job.caller === undefined ? null : JSON.stringify(job.caller),
        priority: JOB_PRIORITIES.indexOf(job.priority ?? 'Normal'),
      })
      .onConflict((c) => c.columns(['owner', 'kind', 'idempotency_key']).doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row) {
      await signalOthers(this.db, 'jobs');
      return { job: row as JobRow, created: true };
    }
    return { job: (await this.byKey(job.kind, job.owner, job.idempotencyKey!))!, created: false };
  }

  /** The job that an owner submitted with an idempotency key. */
  async byKey(kind: string, owner: string, key: string): Promise<JobRow | undefined> {
    return (await this.db
      .selectFrom('jobs')
      .selectAll()
      .where('owner', '=', owner)
      .where('kind', '=', kind)
      .where('idempotency_key', '=', key)
      .executeTakeFirst()) as JobRow | undefined;
  }

  async get(id: string): Promise<JobRow | undefined> {
    return (await this.db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst()) as
      | JobRow
      | undefined;
  }

  async #getForUpdate(id: string): Promise<JobRow | undefined> {
    const one = this.db.selectFrom('jobs').selectAll().where('id', '=', id);
    return (await getVocabulary(this.db).forUpdate(one).executeTakeFirst()) as JobRow | undefined;
  }

  async list(query: JobQuery): Promise<JobRow[]> {
    let rows = this.db.selectFrom('jobs').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc');
    if (query.states) rows = rows.where('state', 'in', query.states);
    if (query.kinds) rows = rows.where('kind', 'in', query.kinds);
    if (query.owner !== undefined) rows = rows.where('owner', '=', query.owner);
    if (query.tenant !== undefined) rows = rows.where('tenant', '=', query.tenant);
    if (query.correlationId !== undefined) rows = rows.where('correlation_id', '=', query.correlationId);
    if (query.from !== undefined) rows = rows.where('created_at', '>=', query.from);
    if (query.to !== undefined) rows = rows.where('created_at', '<', query.to);
    if (query.resource !== undefined) {
      const { resource } = query;
      rows = rows.where(getVocabulary(this.db).hasElement('resources_json', resource));
    }
    if (query.before) {
      const { createdAt, id } = query.before;
      rows = rows.where((w) =>
        w.or([w('created_at', '<', createdAt), w.and([w('created_at', '=', createdAt), w('id', '<', id)])]),
      );
    }
    return (await rows.limit(query.limit).execute()) as JobRow[];
  }

  /** Running jobs that no server continues: their lease ended at least some milliseconds ago. */
  async stuck(silentMs: number): Promise<JobRow[]> {
    const oldest = sql<number>`${getVocabulary(this.db).now()} - ${silentMs}`;
    return (await this.db
      .selectFrom('jobs')
      .selectAll()
      .where('state', '=', 'Running')
      .where('lease_expires_at', '<', oldest)
      .orderBy('id')
      .limit(100)
      .execute()) as JobRow[];
  }

  /**
   * Cancels a job. A waiting job ends immediately. A running job receives a request to stop. `changed` is false if
   * the job had already ended.
   */
  cancel(id: string): Promise<{ job: JobRow; changed: boolean } | undefined> {
    return runInTransaction(this.db, async (trx) => {
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
      await signalOthers(trx, 'jobs');
      return { job: row as JobRow, changed: true };
    });
  }

  /** Reads the states of these jobs, by id. */
  async outcomes(ids: readonly string[]): Promise<ReadonlyMap<string, JobOutcomeRow>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('jobs')
      .select(['id', 'state', 'failure_message', 'warnings_json'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row as JobOutcomeRow]));
  }

  /** Reads the jobs among these that have ended or were cancelled. */
  async ending(ids: readonly string[]): Promise<JobRow[]> {
    if (ids.length === 0) return [];
    const rows = await this.db
      .selectFrom('jobs')
      .selectAll()
      .where('id', 'in', ids)
      .where((w) =>
        w.or([w('state', 'not in', ['Queued', 'Running']), w('cancel_requested_at', 'is not', null)]),
      )
      .execute();
    return rows as JobRow[];
  }

  /** Puts a failed or cancelled job back in the queue; `changed` is false for any other. */
  retry(id: string, attempts: number): Promise<{ job: JobRow; changed: boolean } | undefined> {
    return runInTransaction(this.db, async (trx) => {
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
      await signalOthers(trx, 'jobs');
      return { job: row as JobRow, changed: true };
    });
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

  /** The last log lines of a job, oldest first. */
  async lastLogs(jobId: string, limit: number): Promise<JobLogRow[]> {
    const rows = await this.db
      .selectFrom('job_logs')
      .selectAll()
      .where('job_id', '=', jobId)
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
    return rows.reverse();
  }

  async logCount(jobId: string): Promise<number> {
    const { count } = await this.db
      .selectFrom('job_logs')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('job_id', '=', jobId)
      .executeTakeFirstOrThrow();
    return Number(count);
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

  steps(jobId: string): Promise<JobStepRow[]> {
    return this.db
      .selectFrom('job_steps')
      .selectAll()
      .where('job_id', '=', jobId)
      .orderBy('ordinal')
      .execute();
  }

  /** Numbers of waiting and running jobs, by kind. */
  depths(): Promise<{ kind: string; state: 'Queued' | 'Running'; count: number }[]> {
    return this.db
      .selectFrom('jobs')
      .select((w) => ['kind', 'state', w.fn.countAll<number>().as('count')])
      .where('state', 'in', ['Queued', 'Running'])
      .groupBy(['kind', 'state'])
      .execute() as Promise<{ kind: string; state: 'Queued' | 'Running'; count: number }[]>;
  }

  /** Numbers of jobs of a kind by their resources and states, with the submission time of the newest. */
  tally(kind: string): Promise<{ resources_json: string; state: JobState; count: number; newest: number }[]> {
    return this.db
      .selectFrom('jobs')
      .select((w) => [
        'resources_json',
        'state',
        w.fn.countAll<number>().as('count'),
        w.fn.max('created_at').as('newest'),
      ])
      .where('kind', '=', kind)
      .groupBy(['resources_json', 'state'])
      .execute() as Promise<{ resources_json: string; state: JobState; count: number; newest: number }[]>;
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
