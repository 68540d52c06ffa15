import { randomUUID } from 'node:crypto';
import { ApiError } from '../../core/errors/errors.js';
import { decodeStoredJson, encodeStoredJson } from '../../core/values/json.js';
import type { JobParts } from '../../stores/jobs/job-parts.js';
import type { JobProgress, JobRuns, RunOutcome } from '../../stores/jobs/job-runs.js';
import type { JobArtifactRow, JobRow } from '../../stores/jobs/jobs.js';
import type { JobCaller, Submitter } from '../access/identity/submitter.js';
import { Lease } from '../cluster/lease.js';
import { divide } from './division.js';
import { describeJobFailure } from './failure.js';
import {
  type JobContext,
  type JobKind,
  type JobLogLevel,
  JobStopError,
  type PartState,
  type StopReason,
} from './kinds.js';

export interface JobRunOptions {
  runs: JobRuns;
  parts: JobParts;
  leaseMs: number;
  /** Milliseconds between progress checks of parts. */
  lookMs: number;
  /** Maximum milliseconds of the run. Default: no limit. */
  deadlineMs?: number | undefined;
  /** Called when there are parts to do. */
  onParts(): void;
  /** Throws `forbidden` if the caller has lost the right to the job. Default: no check. */
  requireCaller?: ((caller: JobCaller) => Promise<void>) | undefined;
  /** Called immediately with each progress. */
  onProgress(progress: JobProgress): void;
  /** Failures that are not the job's own, and causes that clients do not see. */
  onError(error: unknown): void;
}

/** Minimum fraction at which the rate is accurate enough to estimate the remaining time. */
const MIN_FRACTION = 0.02;

/** Maximum number of writes that wait while the work continues. */
const UNWRITTEN = 100;

/** One run of one leased job: keeps the lease, records progress, settles the outcome. */
export class JobRun implements JobContext {
  readonly id: string;
  readonly input: unknown;
  readonly submitter: Submitter;
  readonly attempt: number;
  readonly saved: unknown;
  readonly #stop = new AbortController();
  readonly #startedAt = Date.now();
  readonly #warnings: string[];
  readonly #progress: JobProgress = { phase: null, fraction: null, etaMs: null };
  readonly #lease: Lease;
  /** Writes that run in order while the work continues. */
  #writes: Promise<void> = Promise.resolve();
  #unwritten = 0;
  /** Why the caller has lost the right to the job. */
  #refusal: unknown;
  /** Another instance has the job, whatever else ended the run. */
  #isLost = false;

  constructor(
    readonly kind: JobKind,
    job: JobRow,
    private readonly options: JobRunOptions,
  ) {
    this.id = job.id;
    this.input = decodeStoredJson(job.input_json) as never;
    const caller = job.caller_json === null ? undefined : (JSON.parse(job.caller_json) as JobCaller);
    this.submitter = { owner: job.owner, ...(job.tenant === null ? {} : { tenant: job.tenant }), caller };
    this.attempt = job.attempt;
    this.saved = job.checkpoint_json === null ? undefined : (decodeStoredJson(job.checkpoint_json) as never);
    this.#warnings = JSON.parse(job.warnings_json) as string[];
    this.#lease = new Lease({
      leaseMs: options.leaseMs,
      prolong: () => this.#prolong(),
      lost: () => this.stop('lease-lost'),
      onError: options.onError,
    });
    // A job that was cancelled while no process ran it is only cleaned up.
    if (job.cancel_requested_at !== null) this.stop('cancelled');
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(reason: StopReason): void {
    this.#stop.abort(new JobStopError(reason));
  }

  /** Runs to an end and records it. Undefined: the job was handed on, or taken away. Never rejects. */
  async settle(): Promise<JobRow | undefined> {
    const { deadlineMs } = this.options;
    const late = deadlineMs ? setTimeout(() => this.stop('deadline'), deadlineMs) : undefined;
    try {
      return await this.#end(await this.#outcome());
    } catch (error) {
      this.options.onError(error);
      return undefined;
    } finally {
      clearTimeout(late);
      await this.#lease.close();
    }
  }

  async #outcome(): Promise<RunOutcome | 'shutdown' | 'lease-lost'> {
    try {
      this.signal.throwIfAborted();
      await this.requireCaller();
      const result = await this.kind.run(this);
      await this.#writes;
      return this.#isLost ? 'lease-lost' : { state: 'Succeeded', result };
    } catch (error) {
      // Before anything is removed that another instance may work with.
      await this.#writes;
      if (this.#isLost) return 'lease-lost';
      const reason = this.signal.aborted ? (this.signal.reason as JobStopError).reason : undefined;
      if (reason === 'shutdown' || reason === 'lease-lost') return reason;
      if (reason === 'cancelled') {
        return { state: 'Cancelled', failure: { code: 'cancelled', message: 'Cancelled.' } };
      }
      if (reason === 'revoked')
        return { state: 'Failed', failure: describeJobFailure(this.#refusal, this.options.onError) };
      if (reason === 'deadline') return { state: 'Failed', failure: this.#lateness() };
      return { state: 'Failed', failure: describeJobFailure(error, this.options.onError) };
    }
  }

  #lateness(): { code: string; message: string } {
    const minutes = Math.round((this.options.deadlineMs ?? 0) / 60_000);
    const message = `The job exceeded ${minutes} minutes, the limit of jobs.deadlines.${this.kind.kind}.`;
    return { code: 'deadline-exceeded', message };
  }

  async #end(outcome: RunOutcome | 'shutdown' | 'lease-lost'): Promise<JobRow | undefined> {
    const { runs } = this.options;
    if (outcome === 'lease-lost') return undefined;
    if (outcome === 'shutdown') {
      await this.#writes;
      await runs.release(this.id);
      return undefined;
    }
    // Failures of the cleanup must not prevent the job from ending.
    await this.kind.cleanup?.(this.input, this.id, outcome).catch(this.options.onError);
    if (outcome.failure) void this.log('error', outcome.failure.message);
    await this.#writes;
    return runs.finish(this.id, outcome);
  }

  progress(fraction: number): void {
    const now = Date.now();
    this.#progress.fraction = Math.min(Math.max(fraction, 0), 1);
    const done = this.#progress.fraction;
    this.#progress.etaMs =
      done < MIN_FRACTION ? null : Math.round(((now - this.#startedAt) * (1 - done)) / done);
    this.options.onProgress(this.#progress);
    this.#lease.tell();
  }

  /** False: the lease is lost. */
  async #prolong(): Promise<boolean> {
    const { runs, leaseMs } = this.options;
    const lease = await runs.beat(this.id, leaseMs, { ...this.#progress });
    if (lease?.cancelRequested) this.stop('cancelled');
    return lease !== undefined;
  }

  async step<T>(phase: string, message: string, work: () => Promise<T>, always = false): Promise<T> {
    if (!always) {
      this.signal.throwIfAborted();
      await this.requireCaller();
    }
    const { runs } = this.options;
    this.#progress.phase = phase;
    this.options.onProgress(this.#progress);
    let ordinal: number | undefined;
    this.#tell(async () => {
      ordinal = await runs.beginStep(this.id, { attempt: this.attempt, phase, message });
      return ordinal !== undefined;
    });
    await this.log('info', message);
    this.#lease.prolong();
    // If the start of a step could not be written, its end is not written.
    const end = (status: string) =>
      this.#tell(async () => ordinal === undefined || runs.endStep(this.id, ordinal, status));
    try {
      const result = await work();
      end('Succeeded');
      return result;
    } catch (error) {
      end(this.signal.aborted ? 'Cancelled' : 'Failed');
      throw error;
    }
  }

  async requireCaller(): Promise<void> {
    const { caller } = this.submitter;
    if (caller) await this.options.requireCaller?.(caller);
  }

  /** Stops the run if its caller has lost the right to the job. Never rejects: steps look again. */
  async lookAtCaller(): Promise<void> {
    try {
      await this.requireCaller();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'forbidden') return this.options.onError(error);
      this.#refusal = error;
      this.stop('revoked');
    }
  }

  /** Resolves before the line is written, unless many wait for that. */
  log(level: JobLogLevel, message: string): Promise<void> {
    const line = { at: Date.now(), level, message, phase: this.#progress.phase };
    this.#tell(() => this.options.runs.log(this.id, line));
    return this.#unwritten < UNWRITTEN ? Promise.resolve() : this.#writes;
  }

  async warn(message: string): Promise<void> {
    if (this.#warnings.includes(message)) return;
    this.#warnings.push(message);
    const warnings = [...this.#warnings];
    await this.#write(() => this.options.runs.warn(this.id, warnings));
    await this.log('warning', message);
  }

  /** Durable once resolved. Earlier log lines are also written then. */
  checkpoint(data: unknown): Promise<void> {
    const text = encodeStoredJson(data);
    return this.#write(() => this.options.runs.checkpoint(this.id, text));
  }

  artifact(artifact: Omit<JobArtifactRow, 'id' | 'job_id' | 'created_at'>): Promise<void> {
    const row = { ...artifact, id: randomUUID(), created_at: Date.now() };
    return this.#write(() => this.options.runs.addArtifact(this.id, row));
  }

  divide(parts: readonly unknown[], tell: (states: readonly PartState[]) => void): Promise<unknown[]> {
    const { id, signal, options } = this;
    const { parts: store, leaseMs, lookMs, onParts: added } = options;
    return divide({ jobId: id, signal, store, leaseMs, lookMs, added }, parts, tell);
  }

  /** Writes reports about the work, in order and while it continues. A failed report does not fail the work. */
  #tell(write: () => Promise<boolean>): void {
    this.#write(write).catch((error: unknown) => {
      if (!(error instanceof JobStopError)) this.options.onError(error);
    });
  }

  /** Resolves once it is written, after all earlier writes. */
  #write(write: () => Promise<boolean>): Promise<void> {
    this.#unwritten += 1;
    const end = this.#writes.then(() => this.#held(write()));
    this.#writes = end
      .catch(() => {})
      .finally(() => {
        this.#unwritten -= 1;
      });
    return end;
  }

  /** Resolves when what was written is written; ends the run when it was not, as the job is another's. */
  async #held(written: Promise<boolean>): Promise<void> {
    if (await written) return;
    this.#isLost = true;
    this.stop('lease-lost');
    throw new JobStopError('lease-lost');
  }
}
