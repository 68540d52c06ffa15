import { type Insertable, sql, type UpdateObject } from 'kysely';
import { encodeStoredJson } from '../../core/values/json.js';
import { signalOthers } from '../database/signals.js';
import type { StateDb } from '../schema/database.js';
import type { JobArtifactTable, JobLogTable, StateTables } from '../schema/schema.js';
import { acquireLock, getVocabulary } from '../schema/vocabulary.js';
import {
  hasLimits,
  hasShareLeft,
  type JobLimits,
  NO_LIMITS,
  runningShares,
  withinLimits,
  writeOwnerCountSql,
  writeTenantCountSql,
} from './job-shares.js';
import type { JobRow } from './jobs.js';

/** Search for a job that an instance can run. */
export interface JobSearch {
  readonly kinds: readonly string[];
  readonly leaseMs: number;
  /** Jobs that run in this instance. A job with a late heartbeat continues, and is not started again. */
  readonly running?: readonly string[];
  /** The data folder whose jobs it takes, in addition to jobs without a folder. Default: jobs of every folder. */
  readonly folder?: string;
  /** Kinds among these whose jobs only wait for other jobs. They do not count in the share of their owner. */
  readonly waiting?: readonly string[];
  readonly limits?: JobLimits;
  /** Shares of the instance that are used up: see `FullShares` in src/services/jobs/places.ts. */
  readonly held?: HeldShares | undefined;
  /** The owner whose jobs it takes. Default: all owners. */
  readonly owner?: string | undefined;
}

/** Owners none of whose jobs, or none of whose long jobs, an instance takes. */
interface HeldShares {
  readonly owners: readonly string[];
  readonly ownersOfLong: readonly string[];
  readonly longKinds: readonly string[];
}

const NOTHING_HELD: HeldShares = { owners: [], ownersOfLong: [], longKinds: [] };

/** A job that an instance may run now. */
export interface Claim {
  job: JobRow;
  /** The instance that ran it before let its lease expire. */
  takenOver: boolean;
}

export interface JobProgress {
  phase: string | null;
  fraction: number | null;
  etaMs: number | null;
}

export interface RunOutcome {
  state: 'Succeeded' | 'Failed' | 'Cancelled';
  result?: unknown;
  failure?: { code: string; message: string };
}

type Log = Omit<Insertable<JobLogTable>, 'job_id'>;
type Artifact = Omit<Insertable<JobArtifactTable>, 'job_id'>;

/**
 * The jobs that one instance runs. Each belongs to the instance in its lease. A run can write only while its lease is
 * valid, so a run that was considered dead cannot overwrite data of its successor.
 */
export class JobRuns {
  constructor(
    private readonly db: StateDb,
    private readonly instance: string,
  ) {}

  /**
   * Leases a job that waits, whose lease has expired, or whose process has ended. Among the most urgent jobs, it
   * takes the oldest job of the tenant, and then of the owner, with the fewest running jobs.
   */
  claim(search: JobSearch): Promise<Claim | undefined> {
    const {
      kinds,
      leaseMs,
      running = [],
      folder,
      limits = NO_LIMITS,
      waiting = [],
      held = NOTHING_HELD,
      owner,
    } = search;
    return this.db.transaction().execute(async (trx) => {
      const { now, forUpdateOfFree } = getVocabulary(trx);
      // With the lock, no other instance counts before the transaction ends.
      if (hasLimits(limits)) await acquireLock(trx, 'job claims');
      const shares = await runningShares(trx, waiting);
      const { ended } = shares;
      const free = kinds.filter((kind) => hasShareLeft(shares.ofKind, kind, limits.kinds[kind]));
      const candidates = trx
        .selectFrom('jobs')
        .select(['id', 'state'])
        .where('kind', 'in', free)
        .where('id', 'not in', running)
        .$if(folder !== undefined, (jobs) =>
          jobs.where((w) => w.or([w('folder', 'is', null), w('folder', '=', folder!)])),
        )
        .$if(owner !== undefined, (jobs) => jobs.where('owner', '=', owner!))
        .where(withinLimits(shares, limits, waiting))
        .where((w) => w.or([w('kind', 'in', waiting), w('owner', 'not in', held.owners)]))
        .where((w) => w.or([w('kind', 'not in', held.longKinds), w('owner', 'not in', held.ownersOfLong)]))
        .where((w) =>
          w.or([
            w('state', '=', 'Queued'),
            w.and([
              w('state', '=', 'Running'),
              w.or([w('lease_expires_at', '<=', now()), w('lease_owner', 'in', ended)]),
            ]),
          ]),
        )
        .orderBy('priority', 'desc')
        .$if(shares.ofOwner.size > 0, (jobs) =>
          jobs.orderBy(writeTenantCountSql(shares)).orderBy(writeOwnerCountSql(shares)),
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
          lease_owner: this.instance,
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
    leaseMs: number,
    progress: JobProgress,
  ): Promise<{ cancelRequested: boolean } | undefined> {
    const { now } = getVocabulary(this.db);
    const row = await this.#update(id, {
      lease_expires_at: sql<number>`${now()} + ${leaseMs}`,
      heartbeat_at: now(),
      updated_at: now(),
      phase: progress.phase,
      fraction: progress.fraction,
      eta_ms: progress.etaMs,
    });
    return row && { cancelRequested: row.cancel_requested_at !== null };
  }

  /**
   * Stores a checkpoint. Like the following methods, returns false if the lease is lost and the write had no effect.
   */
  async checkpoint(id: string, json: string): Promise<boolean> {
    const row = await this.#update(id, { checkpoint_json: json, updated_at: Date.now() });
    return row !== undefined;
  }

  async warn(id: string, warnings: readonly string[]): Promise<boolean> {
    const row = await this.#update(id, { warnings_json: JSON.stringify(warnings) });
    return row !== undefined;
  }

  async log(id: string, { at, level, message, phase }: Log): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.db
      .insertInto('job_logs')
      .columns(['job_id', 'at', 'level', 'message', 'phase'])
      .expression(
        this.#held(id).select([
          'id',
          ...[bigint(at).as('at'), text(level).as('level'), text(message).as('message')],
          text(phase ?? null).as('phase'),
        ]),
      )
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  addArtifact(id: string, artifact: Artifact): Promise<boolean> {
    return this.#whileHeld(id, (trx) =>
      trx
        .insertInto('job_artifacts')
        .values({ ...artifact, job_id: id })
        .execute(),
    );
  }

  /** Opens a step, and returns its ordinal, counted from 1 over all attempts. Undefined: the lease is lost. */
  async beginStep(
    id: string,
    { attempt, phase, message }: { attempt: number; phase: string; message: string },
  ): Promise<number | undefined> {
    const last = this.db
      .selectFrom('job_steps')
      .select((w) => w.fn.max('ordinal').as('ordinal'))
      .where('job_id', '=', id);
    const row = await this.db
      .insertInto('job_steps')
      .columns(['job_id', 'ordinal', 'attempt', 'phase', 'message', 'status', 'started_at'])
      .expression(
        this.#held(id).select((w) => [
          'id',
          sql<number>`${w.fn.coalesce(last, sql<number>`0`)} + 1`.as('ordinal'),
          ...[bigint(attempt).as('attempt'), text(phase).as('phase'), text(message).as('message')],
          ...[text('Running').as('status'), bigint(Date.now()).as('started_at')],
        ]),
      )
      .returning('ordinal')
      .executeTakeFirst();
    return row?.ordinal;
  }

  async endStep(id: string, ordinal: number, status: string): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('job_steps')
      .set({ status, completed_at: Date.now() })
      .where('job_id', 'in', this.#held(id).select('id'))
      .where('ordinal', '=', ordinal)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** Ends the open steps of an ended run. */
  closeSteps(id: string, status: string): Promise<boolean> {
    return this.#whileHeld(id, (trx) =>
      trx
        .updateTable('job_steps')
        .set({ status, completed_at: Date.now() })
        .where('job_id', '=', id)
        .where('completed_at', 'is', null)
        .execute(),
    );
  }

  /** Ends a job and returns it. Undefined if the lease is lost. All its parts are deleted. */
  finish(id: string, outcome: RunOutcome): Promise<JobRow | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const job = await new JobRuns(trx, this.instance).#update(id, buildEnd(outcome));
      if (job) await trx.deleteFrom('job_parts').where('job_id', '=', id).execute();
      await signalOthers(trx, 'jobs');
      return job;
    });
  }

  /** Returns a running job to the queue, where it can be taken immediately. The run does not count as an attempt. */
  async release(id: string): Promise<void> {
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
      .where('lease_owner', '=', this.instance)
      .where('state', '=', 'Running')
      .execute();
    await signalOthers(this.db, 'jobs');
  }

  async #update(id: string, set: UpdateObject<StateTables, 'jobs'>): Promise<JobRow | undefined> {
    const row = await this.db
      .updateTable('jobs')
      .set(set)
      .where('id', '=', id)
      .where('lease_owner', '=', this.instance)
      .where('state', '=', 'Running')
      .returningAll()
      .executeTakeFirst();
    return row as JobRow | undefined;
  }

  #whileHeld(id: string, write: (trx: StateDb) => Promise<unknown>): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      const lease = new JobRuns(trx, this.instance).#held(id).select('id');
      if (!(await lease.executeTakeFirst())) return false;
      await write(trx);
      return true;
    });
  }

  /** The job while its lease is valid. The row is locked until the statement or the transaction ends. */
  #held(id: string) {
    const jobs = this.db
      .selectFrom('jobs')
      .where('id', '=', id)
      .where('lease_owner', '=', this.instance)
      .where('state', '=', 'Running');
    return getVocabulary(this.db).forUpdate(jobs);
  }
}

/** Values of a selection, whose types PostgreSQL does not guess. */
const bigint = (value: number) => sql<number>`CAST(${value} AS bigint)`;
const text = <T extends string | null>(value: T) => sql<T>`CAST(${value} AS text)`;

function buildEnd({ state, result, failure }: RunOutcome): UpdateObject<StateTables, 'jobs'> {
  const now = Date.now();
  return {
    state,
    result_json: result === undefined ? null : encodeStoredJson(result),
    failure_code: failure?.code ?? null,
    failure_message: failure?.message ?? null,
    completed_at: now,
    updated_at: now,
    lease_owner: null,
    lease_expires_at: null,
    eta_ms: null,
    ...(state === 'Succeeded' ? { fraction: 1 } : {}),
  };
}
