import { randomUUID } from 'node:crypto';
import { ApiError } from '../../core/errors.js';
import { TaskFailure } from '../../core/failure.js';
import { storageFailure } from '../../core/storage-faults.js';
import type { JobArtifactRow, JobRow, JobStore, Outcome, Progress } from '../../stores/jobs.js';
import { type JobContext, type JobKind, JobStopped, type LogLevel, type StopReason } from './kinds.js';

export interface RunOptions {
  store: JobStore;
  instance: string;
  leaseMs: number;
  /** Told of each progress, at once. */
  onProgress(progress: Progress): void;
  /** Failures that are not the job's own, and causes that clients do not see. */
  onError(error: unknown): void;
}

/** Milliseconds between writes of progress. */
const PROGRESS_MS = 500;
/** Below this fraction the rate is too rough to tell the time left. */
const MIN_FRACTION = 0.02;

/** One run of one leased job: keeps the lease, records progress, settles the outcome. */
export class JobRun implements JobContext {
  readonly id: string;
  readonly input: unknown;
  readonly attempt: number;
  readonly saved: unknown;
  readonly #stop = new AbortController();
  readonly #startedAt = Date.now();
  readonly #warnings: string[];
  readonly #progress: Progress = { phase: null, fraction: null, etaMs: null };
  #lastBeat = Date.now();
  #beating: Promise<void> | undefined;

  constructor(
    readonly kind: JobKind,
    job: JobRow,
    private readonly options: RunOptions,
  ) {
    this.id = job.id;
    this.input = JSON.parse(job.input_json);
    this.attempt = job.attempt;
    this.saved = job.checkpoint_json === null ? undefined : JSON.parse(job.checkpoint_json);
    this.#warnings = JSON.parse(job.warnings_json) as string[];
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
    const timer = setInterval(() => this.#beat(), this.options.leaseMs / 3);
    try {
      return await this.#end(await this.#outcome());
    } catch (error) {
      this.options.onError(error);
      return undefined;
    } finally {
      clearInterval(timer);
      await this.#beating;
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
      return { state: 'Failed', failure: this.#failure(error) };
    }
  }

  #failure(error: unknown): { code: string; message: string } {
    const failure = error instanceof ApiError || error instanceof TaskFailure ? error : storageFailure(error);
    if (failure) return { code: failure.code, message: failure.message };
    this.options.onError(error);
    return { code: 'internal', message: 'The job failed because of an internal error.' };
  }

  async #end(outcome: Outcome | 'shutdown' | 'lease-lost'): Promise<JobRow | undefined> {
    const { store, instance } = this.options;
    if (outcome === 'lease-lost') return undefined;
    if (outcome === 'shutdown') {
      await store.release(this.id, instance);
      return undefined;
    }
    // What cleanup could not remove must not keep the job from ending.
    await this.kind.cleanup?.(this.input, this.id, outcome).catch(this.options.onError);
    if (outcome.failure) await this.log('error', outcome.failure.message).catch(this.options.onError);
    return store.finish(this.id, instance, outcome);
  }

  progress(fraction: number): void {
    const now = Date.now();
    this.#progress.fraction = Math.min(Math.max(fraction, 0), 1);
    const done = this.#progress.fraction;
    this.#progress.etaMs =
      done < MIN_FRACTION ? null : Math.round(((now - this.#startedAt) * (1 - done)) / done);
    this.options.onProgress(this.#progress);
    if (now - this.#lastBeat >= PROGRESS_MS) this.#beat();
  }

  /** One write at a time; the next one carries what came in between. */
  #beat(): void {
    if (this.#beating) return;
    this.#lastBeat = Date.now();
    const { store, instance, leaseMs, onError } = this.options;
    this.#beating = store
      .beat(this.id, instance, leaseMs, { ...this.#progress })
      .then((isHeld) => {
        if (!isHeld) this.stop('lease-lost');
        else if (isHeld.cancelRequested) this.stop('cancelled');
      })
      .catch(onError)
      .finally(() => {
        this.#beating = undefined;
      });
  }

  async step<T>(phase: string, message: string, work: () => Promise<T>, always = false): Promise<T> {
    if (!always) this.signal.throwIfAborted();
    const { store } = this.options;
    this.#progress.phase = phase;
    this.options.onProgress(this.#progress);
    const ordinal = await store.beginStep({ jobId: this.id, attempt: this.attempt, phase, message });
    await this.log('info', message);
    this.#beat();
    try {
      const result = await work();
      await store.endStep(this.id, ordinal, 'Succeeded');
      return result;
    } catch (error) {
      await store.endStep(this.id, ordinal, this.signal.aborted ? 'Cancelled' : 'Failed');
      throw error;
    }
  }

  log(level: LogLevel, message: string): Promise<void> {
    const { phase } = this.#progress;
    return this.options.store.log({ job_id: this.id, at: Date.now(), level, message, phase });
  }

  async warn(message: string): Promise<void> {
    this.#warnings.push(message);
    await this.options.store.warn(this.id, this.options.instance, this.#warnings);
    await this.log('warning', message);
  }

  async checkpoint(data: unknown): Promise<void> {
    if (await this.options.store.checkpoint(this.id, this.options.instance, data)) return;
    this.stop('lease-lost');
    this.signal.throwIfAborted();
  }

  artifact(artifact: Omit<JobArtifactRow, 'id' | 'job_id' | 'created_at'>): Promise<void> {
    const row = { ...artifact, id: randomUUID(), job_id: this.id, created_at: Date.now() };
    return this.options.store.addArtifact(row);
  }
}
