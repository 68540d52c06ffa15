import type { JobArtifactRow } from '../../stores/jobs/jobs.js';
import type { Submitter } from '../access/identity/submitter.js';

/** Backend of jobs: the server itself. Jobs have no other backend, queue or definition. */
export const BACKEND = 'embedded';

/** Kind of work of a job. The console groups jobs by it. */
type ConsoleKind = 'Geoprocessing' | 'ExtractTransformLoad' | 'TileCache';

/** A sort of job: how it is run, and what becomes of it when its process dies. */
export interface JobKind<I = unknown, R = unknown> {
  readonly kind: string;
  /** Shown to people. */
  readonly title: string;
  readonly console: ConsoleKind;
  /** Ordinal of the operation type on the wire: 1 Import, 4 TileCache, 6 Export ... */
  readonly operationType: number;
  /** Whether `run` may be called again after a run that ended without a trace. */
  readonly resumable: boolean;
  /** Jobs of kinds with the same lane run one at a time in each process; absent: as many as there is room for. */
  readonly lane?: string;
  /** Whether the job can keep processors busy for hours. Some places of each process stay free of such jobs. */
  readonly isLong?: boolean;
  /** Whether the run only waits for other jobs. Then it takes no place of working jobs. */
  readonly waits?: boolean;
  /** Whether its input is a file that a client sent. */
  readonly ofUpload?: boolean;
  /** Maximum number of runs of the job. Default: 3. */
  readonly maxAttempts?: number;
  /** Whether its files are in the data folder. Then only a server with that folder runs it. */
  readonly ofFolder?: boolean;
  /** Whether its parts need no files, so that servers of every folder can run them. */
  readonly partsAnywhere?: boolean;
  run(context: JobContext<I>): Promise<R>;
  /** Runs one part of a divided job. Any server can run it. A failed part is retried. */
  doPart?(context: PartContext<I>): Promise<unknown>;
  /** Removes the job's files from the disk. Called before every end, possibly twice, also for jobs that never ran. */
  cleanup?(input: I, jobId: string, outcome: JobOutcome): Promise<void>;
  /** Why a failed job cannot be run again; undefined when it can. */
  refuseRetry?(input: I): Promise<string | undefined>;
}

/** Outcome of a job that is about to end. */
export interface JobOutcome {
  state: 'Succeeded' | 'Failed' | 'Cancelled';
  failure?: { code: string };
}

export type JobLogLevel = 'info' | 'warning' | 'error';

/** Interface of a job for its run. Writes reject if another instance has taken the job. */
export interface JobContext<I = unknown> {
  readonly id: string;
  readonly input: I;
  /** Submitter of the job, who also submits its further jobs. */
  readonly submitter: Submitter;
  /** Counted from 1. */
  readonly attempt: number;
  /** Data that the last run saved with `checkpoint`. Undefined in a first run. */
  readonly saved: unknown;
  /** Aborted on cancellation, when the server stops, and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Part of the whole job that is done, 0..1. Cheap: written at most twice a second. */
  progress(fraction: number): void;
  /**
   * Runs one phase and stores its start, end and outcome. A phase does not start once the signal is aborted, unless
   * it must `always` follow the preceding one.
   */
  step<T>(phase: string, message: string, work: () => Promise<T>, always?: boolean): Promise<T>;
  /** Throws `forbidden` if the caller of the job has lost the right to it. Steps check this before they start. */
  requireCaller(): Promise<void>;
  log(level: JobLogLevel, message: string): Promise<void>;
  /** Adds a warning to the job, once. */
  warn(message: string): Promise<void>;
  /** Durable once resolved. */
  checkpoint(data: unknown): Promise<void>;
  artifact(artifact: Omit<JobArtifactRow, 'id' | 'job_id' | 'created_at'>): Promise<void>;
  /**
   * Lets all servers run the parts of the job, and resolves with their results, in order. Reports the states of the
   * parts at intervals.
   * A run that resumes the job continues with the parts of the earlier run, and ignores its `parts` argument. Rejects
   * if a part has finally failed, or if the job must end. Then no server works on a part.
   */
  divide(parts: readonly unknown[], tell: (states: readonly PartState[]) => void): Promise<unknown[]>;
}

/** A part of a job that its run has divided, and what has become of it so far. */
export interface PartState {
  readonly isDone: boolean;
  /** Last progress reported by the run of the part. */
  readonly progress: unknown;
  /** Result of a completed part. */
  readonly result: unknown;
}

/** Interface of a job part for its run. */
export interface PartContext<I = unknown> {
  readonly jobId: string;
  readonly input: I;
  readonly part: unknown;
  /** Aborted when the job ends or is cancelled, when the server stops, and when the lease is lost. */
  readonly signal: AbortSignal;
  /**
   * Reports progress, which is stored with the part for the run that divided the job. Cheap: written at most twice a
   * second.
   */
  progress(value: unknown): void;
}

/** Why a run's signal was aborted. */
export type StopReason = 'cancelled' | 'revoked' | 'deadline' | 'shutdown' | 'lease-lost';

/** Reason of the abort signal of a run. */
export class JobStopError extends Error {
  override readonly name = 'JobStopError';
  constructor(readonly reason: StopReason) {
    super(`The job was stopped: ${reason}.`);
  }
}
