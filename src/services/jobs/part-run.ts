import { TaskFailure } from '../../core/errors/failure.js';
import { decodeStoredJson } from '../../core/values/json.js';
import type { JobParts, PartClaim } from '../../stores/jobs/job-parts.js';
import { Lease } from '../cluster/lease.js';
import { describeJobFailure } from './failure.js';
import { type JobKind, JobStopError, type PartContext, type StopReason } from './kinds.js';

export interface PartRunOptions {
  readonly parts: JobParts;
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
}

/** Runs of a part that may fail before its job fails. */
const ATTEMPTS = 3;
/** Maximum number of runs of a part, because the part itself can be the reason why processes end. */
const MAX_ATTEMPTS = 10;

/** One run of one leased part of a job. */
export class PartRun implements PartContext {
  readonly jobId: string;
  readonly input: unknown;
  readonly part: unknown;
  readonly ordinal: number;
  readonly #attempt: number;
  readonly #stop = new AbortController();
  readonly #lease: Lease;
  #progress: unknown;

  constructor(
    readonly kind: JobKind,
    { job, part }: PartClaim,
    private readonly options: PartRunOptions,
  ) {
    const { parts, leaseMs, onError } = options;
    this.jobId = job.id;
    this.input = decodeStoredJson(job.input_json) as never;
    this.part = decodeStoredJson(part.input_json) as never;
    this.ordinal = part.ordinal;
    this.#attempt = part.attempt;
    this.#lease = new Lease({
      leaseMs,
      prolong: () => parts.beat(this.jobId, this.ordinal, leaseMs, this.#progress),
      lost: () => this.stop('lease-lost'),
      onError,
    });
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(reason: StopReason): void {
    this.#stop.abort(new JobStopError(reason));
  }

  progress(value: unknown): void {
    this.#progress = value;
    this.#lease.tell();
  }

  /** Runs to an end and records it. Never rejects. */
  async settle(): Promise<void> {
    const { parts, onError } = this.options;
    try {
      if (this.#attempt > MAX_ATTEMPTS)
        throw new TaskFailure(
          'worker-lost',
          `The server stopped ${MAX_ATTEMPTS} times while it processed a part of the job.`,
        );
      const result = await this.kind.doPart!(this);
      await this.#lease.close();
      const isTaken = await parts.finish(this.jobId, this.ordinal, result);
      // The end of the job waits until no process has one of its parts.
      if (!isTaken) await parts.release(this.jobId, this.ordinal, { counts: false });
    } catch (error) {
      await this.#lease.close();
      await this.#end(error).catch(onError);
    }
  }

  async #end(error: unknown): Promise<void> {
    const { parts } = this.options;
    const stopped = this.signal.aborted;
    if (stopped || this.#attempt < ATTEMPTS)
      await parts.release(this.jobId, this.ordinal, { counts: !stopped });
    else await parts.fail(this.jobId, this.ordinal, describeJobFailure(error, this.options.onError));
  }
}
