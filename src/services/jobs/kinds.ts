import type { JobArtifactRow } from '../../stores/jobs/jobs.js';
import type { Submitter } from '../access/identity/submitter.js';

/** Where jobs run: in the server itself. Jobs have no other backend, queue or definition. */
export const BACKEND = 'embedded';

/** What kind of work a job does, as the console groups it. */
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
  /** It may keep processors busy for hours: some places of each process stay free of such jobs. */
  readonly isLong?: boolean;
  /** Its run only waits for other jobs: it takes no room of those that work. */
  readonly waits?: boolean;
  /** Its input is a file that a client sent. */
  readonly ofUpload?: boolean;
  /** Runs before the job is given up; 3 when absent. */
  readonly maxAttempts?: number;
  /** Its files lie in the data folder: only a server of that folder runs it. */
  readonly ofFolder?: boolean;
  /** Its parts need no files: servers of every folder do them. */
  readonly partsAnywhere?: boolean;
  run(context: JobContext<I>): Promise<R>;
  /** Does a part of a job that its run has divided. Any server may be asked; a part that fails is tried again. */
  doPart?(context: PartContext<I>): Promise<unknown>;
  /** Removes what a job leaves on disk. Called before every end, perhaps twice, also for jobs that never ran. */
  cleanup?(input: I, jobId: string, outcome: JobOutcome): Promise<void>;
  /** Why a failed job cannot be run again; undefined when it can. */
  refuseRetry?(input: I): Promise<string | undefined>;
}

/** How a job is about to end. */
export interface JobOutcome {
  state: 'Succeeded' | 'Failed' | 'Cancelled';
  failure?: { code: string };
}

export type JobLogLevel = 'info' | 'warning' | 'error';

/** What a run sees of its job. Writes reject when the job has been given to another instance. */
export interface JobContext<I = unknown> {
  readonly id: string;
  readonly input: I;
  /** Whose job it is: what it submits is theirs, too. */
  readonly submitter: Submitter;
  /** Counted from 1. */
  readonly attempt: number;
  /** What the last run saved with `checkpoint`; undefined in a first run. */
  readonly saved: unknown;
  /** Aborted on cancellation, when the server stops, and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Part of the whole job that is done, 0..1. Cheap: written at most twice a second. */
  progress(fraction: number): void;
  /**
   * Runs one phase and keeps its beginning, end and outcome. A phase does not begin once the signal is
   * aborted, unless it must `always` follow the one before it.
   */
  step<T>(phase: string, message: string, work: () => Promise<T>, always?: boolean): Promise<T>;
  /** Throws `forbidden` if the caller of the job has lost the right to it. Steps look before they begin. */
  requireCaller(): Promise<void>;
  log(level: JobLogLevel, message: string): Promise<void>;
  /** A warning that stays with the job, once. */
  warn(message: string): Promise<void>;
  /** Durable once resolved. */
  checkpoint(data: unknown): Promise<void>;
  artifact(artifact: Omit<JobArtifactRow, 'id' | 'job_id' | 'created_at'>): Promise<void>;
  /**
   * Has all servers do the parts of the job, and resolves with their results, in order. Tells now and then what has become
   * of them. A run that takes the job over goes on with the parts of the run before it, whatever these are. Rejects when
   * a part has failed for good, and when the job is to end; then nobody works on a part any more.
   */
  divide(parts: readonly unknown[], tell: (states: readonly PartState[]) => void): Promise<unknown[]>;
}

/** A part of a job that its run has divided, and what has become of it so far. */
export interface PartState {
  readonly isDone: boolean;
  /** What its run told last. */
  readonly progress: unknown;
  /** Of a part that is done. */
  readonly result: unknown;
}

/** What the run of a part sees. */
export interface PartContext<I = unknown> {
  readonly jobId: string;
  readonly input: I;
  readonly part: unknown;
  /** Aborted when the job ends or is cancelled, when the server stops, and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Kept, with the part, for the run that divided the job. Cheap: written at most twice a second. */
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
