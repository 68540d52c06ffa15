import { type Selectable, sql, type UpdateObject } from 'kysely';
import { encodeStoredJson } from '../../core/values/json.js';
import { hasEnded } from '../database/instance.js';
import { getSignals, signalAll, signalOthers } from '../database/signals.js';
import type { StateDb } from '../schema/database.js';
import type { JobPartTable, StateTables } from '../schema/schema.js';
import { getVocabulary } from '../schema/vocabulary.js';
import type { JobRow } from './jobs.js';

/** A part that an instance has leased, and its job. */
export interface PartClaim {
  readonly part: Pick<Selectable<JobPartTable>, 'job_id' | 'ordinal' | 'input_json' | 'attempt'>;
  readonly job: JobRow;
}

/** Present state of a part. */
export type PartRow = Pick<
  Selectable<JobPartTable>,
  'ordinal' | 'state' | 'progress_json' | 'result_json' | 'failure_code' | 'failure_message' | 'updated_at'
>;

/** Search for parts that an instance can run. */
export interface PartSearch {
  /** Kinds of the jobs. */
  readonly kinds: readonly string[];
  /** Kinds among these whose parts run in every folder. */
  readonly anywhere: readonly string[];
  readonly leaseMs: number;
  /** The data folder whose jobs it works on, in addition to jobs without a folder. Default: jobs of every folder. */
  readonly folder?: string;
}

/**
 * Parts of running jobs, which all instances of a state run together. A part belongs to the instance in its lease.
 * Reports of a run are written only while the lease is valid and the job runs.
 */
export class JobParts {
  constructor(
    private readonly db: StateDb,
    private readonly instance: string,
  ) {}

  /** Adds the parts of a job, unless a run before has; returns how many it has. Undefined: the job's lease is lost. */
  add(jobId: string, inputs: readonly unknown[]): Promise<number | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const { now, forUpdate } = getVocabulary(trx);
      const lease = trx
        .selectFrom('jobs')
        .select('id')
        .where('id', '=', jobId)
        .where('state', '=', 'Running')
        .where('lease_owner', '=', this.instance);
      if (!(await forUpdate(lease).executeTakeFirst())) return undefined;
      const { count } = await trx
        .selectFrom('job_parts')
        .select((w) => w.fn.countAll<number>().as('count'))
        .where('job_id', '=', jobId)
        .executeTakeFirstOrThrow();
      if (count > 0) return count;
      await signalOthers(trx, 'jobs');
      for (let from = 0; from < inputs.length; from += ROWS) {
        const rows = inputs.slice(from, from + ROWS).map((input, i) => ({
          job_id: jobId,
          ordinal: from + i,
          state: 'open',
          input_json: encodeStoredJson(input),
          attempt: 0,
          updated_at: now(),
        }));
        await trx.insertInto('job_parts').values(rows).execute();
      }
      return inputs.length;
    });
  }

  /** Leases the first part that waits, of the oldest job. */
  claim({ kinds, anywhere, leaseMs, folder }: PartSearch): Promise<PartClaim | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const { now, forUpdateOfFree } = getVocabulary(trx);
      const jobs = await trx
        .selectFrom('jobs')
        .selectAll()
        .where('state', '=', 'Running')
        .where('kind', 'in', kinds)
        .where('cancel_requested_at', 'is', null)
        .$if(folder !== undefined, (q) =>
          q.where((w) =>
            w.or([w('folder', 'is', null), w('folder', '=', folder!), w('kind', 'in', anywhere)]),
          ),
        )
        .orderBy('created_at')
        .orderBy('id')
        .execute();
      const ended = await endedOwners(trx);
      for (const job of jobs) {
        const free = trx
          .selectFrom('job_parts')
          .select('ordinal')
          .where('job_id', '=', job.id)
          .where('state', '=', 'open')
          .where((w) =>
            w.or([
              w('lease_owner', 'is', null),
              w('lease_expires_at', '<=', now()),
              w('lease_owner', 'in', ended),
            ]),
          )
          .orderBy('ordinal')
          .limit(1);
        const first = await forUpdateOfFree(free).executeTakeFirst();
        if (!first) continue;
        const part = await trx
          .updateTable('job_parts')
          .set((w) => ({
            attempt: w('attempt', '+', 1),
            lease_owner: this.instance,
            lease_expires_at: sql<number>`${now()} + ${leaseMs}`,
            updated_at: now(),
          }))
          .where('job_id', '=', job.id)
          .where('ordinal', '=', first.ordinal)
          .returning(['job_id', 'ordinal', 'input_json', 'attempt'])
          .executeTakeFirstOrThrow();
        return { part, job: job as JobRow };
      }
      return undefined;
    });
  }

  /** Prolongs the lease and records progress. Returns false if the lease is lost, or the job must end. */
  beat(jobId: string, ordinal: number, leaseMs: number, progress: unknown): Promise<boolean> {
    const { now } = getVocabulary(this.db);
    return this.#update(jobId, ordinal, {
      lease_expires_at: sql<number>`${now()} + ${leaseMs}`,
      updated_at: now(),
      ...(progress === undefined ? {} : { progress_json: encodeStoredJson(progress) }),
    });
  }

  /** Calls back when parts may have changed, here or elsewhere. Returns how to stop that. */
  follow(listener: () => void): () => void {
    return getSignals(this.db).on('jobs', listener);
  }

  /** Completes a part. Like the following methods, returns false if the lease is lost, or the job must end. */
  finish(jobId: string, ordinal: number, result: unknown): Promise<boolean> {
    const { now } = getVocabulary(this.db);
    return this.#end(jobId, ordinal, {
      state: 'done',
      result_json: encodeStoredJson(result ?? null),
      lease_owner: null,
      updated_at: now(),
    });
  }

  fail(
    jobId: string,
    ordinal: number,
    { code, message }: { code: string; message: string },
  ): Promise<boolean> {
    const { now } = getVocabulary(this.db);
    return this.#end(jobId, ordinal, {
      state: 'failed',
      failure_code: code,
      failure_message: message,
      lease_owner: null,
      updated_at: now(),
    });
  }

  /**
   * Returns a part to the queue. A part that was stopped here did not fail, so the run does not count as an attempt.
   */
  async release(jobId: string, ordinal: number, { counts }: { counts: boolean }): Promise<void> {
    await this.db
      .updateTable('job_parts')
      .set((w) => ({ lease_owner: null, ...(counts ? {} : { attempt: w('attempt', '-', 1) }) }))
      .where('job_id', '=', jobId)
      .where('ordinal', '=', ordinal)
      .where('lease_owner', '=', this.instance)
      .execute();
    await signalAll(this.db, 'jobs');
  }

  /** Ends the open parts of a job. Instances that work on one are notified. */
  async withdraw(jobId: string): Promise<void> {
    await this.db
      .updateTable('job_parts')
      .set({ state: 'failed' })
      .where('job_id', '=', jobId)
      .where('state', '=', 'open')
      .execute();
    await signalAll(this.db, 'jobs');
  }

  /** Whether this instance must continue a part. */
  async isHeld(jobId: string, ordinal: number): Promise<boolean> {
    const row = await this.db
      .selectFrom('job_parts')
      .innerJoin('jobs', 'jobs.id', 'job_parts.job_id')
      .select('ordinal')
      .where('job_id', '=', jobId)
      .where('ordinal', '=', ordinal)
      .where('job_parts.state', '=', 'open')
      .where('job_parts.lease_owner', '=', this.instance)
      .where('jobs.state', '=', 'Running')
      .where('jobs.cancel_requested_at', 'is', null)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Parts of a job that changed at a time, in milliseconds since 1970, or later. */
  since(jobId: string, time: number): Promise<PartRow[]> {
    return this.db
      .selectFrom('job_parts')
      .select([
        'ordinal',
        'state',
        'progress_json',
        'result_json',
        'failure_code',
        'failure_message',
        'updated_at',
      ])
      .where('job_id', '=', jobId)
      .where('updated_at', '>=', time)
      .execute();
  }

  /** Whether an instance still works on a part of a job. */
  async isWorkedOn(jobId: string): Promise<boolean> {
    const rows = await this.db
      .selectFrom('job_parts')
      .select('lease_owner')
      .where('job_id', '=', jobId)
      .where('lease_owner', 'is not', null)
      .where('lease_expires_at', '>', getVocabulary(this.db).now())
      .execute();
    return rows.some(({ lease_owner }) => !hasEnded(lease_owner!));
  }

  async #end(jobId: string, ordinal: number, set: UpdateObject<StateTables, 'job_parts'>): Promise<boolean> {
    const isHeld = await this.#update(jobId, ordinal, set);
    if (isHeld) await signalAll(this.db, 'jobs');
    return isHeld;
  }

  async #update(
    jobId: string,
    ordinal: number,
    set: UpdateObject<StateTables, 'job_parts'>,
  ): Promise<boolean> {
    const row = await this.db
      .updateTable('job_parts')
      .set(set)
      .where('job_id', '=', jobId)
      .where('ordinal', '=', ordinal)
      .where('state', '=', 'open')
      .where('lease_owner', '=', this.instance)
      .where((w) =>
        w.exists(
          w
            .selectFrom('jobs')
            .select('jobs.id')
            .whereRef('jobs.id', '=', 'job_parts.job_id')
            .where('jobs.state', '=', 'Running')
            .where('jobs.cancel_requested_at', 'is', null),
        ),
      )
      .returning('ordinal')
      .executeTakeFirst();
    return row !== undefined;
  }
}

/** Rows that one statement adds: SQLite takes 32,766 parameters, PostgreSQL 65,535. */
const ROWS = 1000;

async function endedOwners(trx: StateDb): Promise<string[]> {
  const owners = await trx
    .selectFrom('job_parts')
    .select('lease_owner')
    .distinct()
    .where('state', '=', 'open')
    .$narrowType<{ lease_owner: string }>()
    .where('lease_owner', 'is not', null)
    .execute();
  return owners.map(({ lease_owner }) => lease_owner).filter(hasEnded);
}
