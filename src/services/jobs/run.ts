import { randomUUID } from 'node:crypto';
import type { JobParts } from '../../stores/job-parts.js';
import type { JobRuns, Outcome, Progress } from '../../stores/job-runs.js';
import type { JobArtifactRow, JobRow } from '../../stores/jobs.js';
import { divide } from './divided.js';
import { failureOf } from './failure.js';
import {
  type JobContext,
  type JobKind,
  JobStopped,
  type LogLevel,
  type PartState,
  type StopReason,
} from './kinds.js';
import { Lease } from './lease.js';
import type { Submitter } from './submitter.js';

export interface RunOptions {
  runs: JobRuns;
  parts: JobParts;
  leaseMs: number;
  /** Called when there are parts to do. */
  onParts(): void;
  /** Told of each progress, at once. */
  onProgress(progress: Progress): void;
  /** Failures that are not the job's own, and causes that clients do not see. */
  onError(error: unknown): void;
}

/** Below this fraction the rate is too rough to tell the time left. */
const MIN_FRACTION = 0.02;

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
  readonly #progress: Progress = { phase: null, fraction: null, etaMs: null };
  readonly #lease: Lease;

  constructor(
    readonly kind: JobKind,
    job: JobRow,
    private readonly options: RunOptions,
  ) {
    this.id = job.id;
    this.input = JSON.parse(job.input_json);
    this.submitter = { owner: job.owner, ...(job.tenant === null ? {} : { tenant: job.tenant }) };
    this.attempt = job.attempt;
    this.saved = job.checkpoint_json === null ? undefined : JSON.parse(job.checkpoint_json);
    this.#warnings = JSON.parse(job.warnings_json) as string[];
    this.#lease = new Lease({
      leaseMs: options.leaseMs,
      prolong: () => this.#prolong(),
      lost: () => this.stop('lease-lost'),
      onError: options.onError,
    });
    // A job that was asked to stop while nobody ran it is only cleaned up.
    if (job.cancel_requested_at !== null) this.stop('cancelled');
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(reason: StopReason): void {
    this.#stop.abort(new JobStopped(reason));
  }

  /** Runs to an end and records it. Undefined: the job was handed on, or taken away. Never rejects. */
  async settle(): Promise<JobRow | undefined> {
    try {
      return await this.#end(await this.#outcome());
    } catch (error) {
      this.options.onError(error);
      return undefined;
    } finally {
      await this.#lease.close();
    }
  }

  async #outcome(): Promise<Outcome | 'shutdown' | 'lease-lost'> {
    try {
      this.signal.throwIfAborted();
      return { state: 'Succeeded', result: await this.kind.run(this) };
    } catch (error) {
      const reason = this.signal.aborted ? (this.signal.reason as JobStopped).reason : undefined;
      if (reason === 'shutdown' || reason === 'lease-lost') return reason;
      if (reason === 'cancelled') {
        return { state: 'Cancelled', failure: { code: 'cancelled', message: 'Cancelled.' } };
      }
      return { state: 'Failed', failure: failureOf(error, this.options.onError) };
    }
  }

  async #end(outcome: Outcome | 'shutdown' | 'lease-lost'): Promise<JobRow | undefined> {
    const { runs } = this.options;
    if (outcome === 'lease-lost') return undefined;
    if (outcome === 'shutdown') {
      await runs.release(this.id);
      return undefined;
    }
    // What cleanup could not remove must not keep the job from ending.
    await this.kind.cleanup?.(this.input, this.id, outcome).catch(this.options.onError);
    if (outcome.failure) await this.log('error', outcome.failure.message).catch(this.options.onError);
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
    if (!always) this.signal.throwIfAborted();
    const { runs } = this.options;
    this.#progress.phase = phase;
    this.options.onProgress(this.#progress);
    let ordinal = 0;
    const opening = runs.beginStep(this.id, { attempt: this.attempt, phase, message }).then((opened) => {
      ordinal = opened ?? 0;
      return opened !== undefined;
    });
    await Promise.all([this.#held(opening), this.log('info', message)]);
    this.#lease.prolong();
    try {
      const result = await work();
      await this.#held(runs.endStep(this.id, ordinal, 'Succeeded'));
      return result;
    } catch (error) {
      await runs.endStep(this.id, ordinal, this.signal.aborted ? 'Cancelled' : 'Failed');
      throw error;
    }
  }

  log(level: LogLevel, message: string): Promise<void> {
    const { phase } = this.#progress;
    return this.#held(this.options.runs.log(this.id, { at: Date.now(), level, message, phase }));
  }

  async warn(message: string): Promise<void> {
    if (this.#warnings.includes(message)) return;
    this.#warnings.push(message);
    await this.#held(this.options.runs.warn(this.id, this.#warnings));
    await this.log('warning', message);
  }

  checkpoint(data: unknown): Promise<void> {
    return this.#held(this.options.runs.checkpoint(this.id, data));
  }

  artifact(artifact: Omit<JobArtifactRow, 'id' | 'job_id' | 'created_at'>): Promise<void> {
    const row = { ...artifact, id: randomUUID(), created_at: Date.now() };
    return this.#held(this.options.runs.addArtifact(this.id, row));
  }

  divide(parts: readonly unknown[], tell: (states: readonly PartState[]) => void): Promise<unknown[]> {
    const { id, signal, options } = this;
    return divide(
      { jobId: id, signal, store: options.parts, leaseMs: options.leaseMs, added: options.onParts },
      parts,
      tell,
    );
  }

  /** Resolves when what was written is written; ends the run when it was not, as the job is another's. */
  async #held(written: Promise<boolean>): Promise<void> {
    if (await written) return;
    this.stop('lease-lost');
    throw new JobStopped('lease-lost');
  }
}
