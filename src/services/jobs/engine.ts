import { ApiError, notFound } from '../../core/errors/errors.js';
import type { JobPriority } from '../../core/jobs/job-priority.js';
import { instanceName } from '../../stores/database/instance.js';
import { JobParts } from '../../stores/jobs/job-parts.js';
import { type Claim, type JobProgress, JobRuns } from '../../stores/jobs/job-runs.js';
import type { JobLimits } from '../../stores/jobs/job-shares.js';
import type { JobRow, JobState, JobStore, NewJob } from '../../stores/jobs/jobs.js';
import type { JobCaller, Submitter } from '../access/identity/submitter.js';
import { recordJobSpan } from '../telemetry/spans.js';
import * as metrics from '../telemetry/store-metrics.js';
import { JobContinues } from './job-continues.js';
import { BACKEND, type JobKind } from './kinds.js';
import { PartRun } from './part-run.js';
import { fullShares, type JobPlaces } from './places.js';
import { JobRun } from './run.js';

export interface JobEngineOptions {
  /** Maximum number of jobs that this instance runs at the same time. */
  concurrency?: number;
  /** Milliseconds after which another instance takes the job of a silent instance. */
  leaseMs?: number;
  /** Milliseconds between looks while jobs wait, or run elsewhere: who runs them may be lost. */
  pollMs?: number;
  /** Maximum numbers of jobs at the same time on all servers together. */
  limits?: JobLimits;
  /** Distribution of the places of this instance. Default: first come, first served. */
  places?: JobPlaces;
  /** Maximum milliseconds of a run, by kind. Default: no limit. */
  deadlinesMs?: Readonly<Record<string, number>>;
  /** Name of the data folder among the servers of one state. Default: the state is in the data folder. */
  folder?: string;
  /**
   * The owner whose jobs this instance runs. Default: all owners. An instance that cannot check callers must not run
   * their jobs.
   */
  owner?: string;
  /** Throws `forbidden` if a caller has lost the right to a job. Default: no check. */
  requireCaller?(caller: JobCaller): Promise<void>;
  onError?(error: unknown): void;
}

export interface SubmitOptions extends Submitter {
  /** Default: `Normal`. */
  priority?: JobPriority;
  /** Idempotency key. The same key of the same owner returns the same job. */
  idempotencyKey?: string;
  /** Id of the job. Default: a new one. */
  id?: string;
  correlationId?: string;
  /** The span of the request that submits it, as W3C Trace Context: kinds keep it in their input. */
  trace?: string;
  /** References to the resources of the job: `collection:roads`. */
  resources?: readonly string[];
}

/** Message to observers: progress while the job runs here, the state at its end. */
export interface JobNews extends JobProgress {
  state: JobState;
}

const DEFAULTS = { concurrency: 2, leaseMs: 10_000, pollMs: 1000 };
const MAX_ATTEMPTS = 3;

/**
 * Runs durable jobs. A job is a row, and the instance that leases the row runs it. A lease that is not prolonged
 * passes to the next instance that checks. A killed process therefore delays a job, but never loses one.
 */
export class JobEngine {
  /** Names this instance in leases. */
  readonly instance = instanceName();
  readonly #kinds = new Map<string, JobKind>();
  readonly #runs: JobRuns;
  readonly #parts: JobParts;
  readonly #running = new Map<string, { run: JobRun; done: Promise<void>; since: number }>();
  /** The part that is done here: each keeps all threads of this process busy. */
  #part: { run: PartRun; done: Promise<void> } | undefined;
  readonly #observers = new Map<string, Set<(news: JobNews) => void>>();
  readonly #options: JobEngineOptions & typeof DEFAULTS & { onError(error: unknown): void };
  #timer: NodeJS.Timeout | undefined;
  #unfollow: (() => void) | undefined;
  /** Whether there are jobs that this process may have to take without a signal. */
  #mustLook = true;
  #claiming: Promise<void> | undefined;
  #again = false;
  /** Number of jobs started here. */
  #begun = 0;
  /** Aborted once the server stops: requests wait for no job from then on. */
  readonly #stopping = new AbortController();

  constructor(
    readonly store: JobStore,
    options: JobEngineOptions = {},
  ) {
    this.#options = { ...DEFAULTS, onError: () => {}, ...options };
    this.#runs = new JobRuns(store.db, this.instance);
    this.#parts = new JobParts(store.db, this.instance);
  }

  register<I, R>(kind: JobKind<I, R>): void {
    if (this.#kinds.has(kind.kind)) throw new Error(`the job kind ${kind.kind} is registered twice`);
    // A kind only ever sees the inputs that were submitted for it.
    this.#kinds.set(kind.kind, kind as unknown as JobKind);
  }

  /** Undefined for a kind that is not known here: a row of another version can name one. */
  kindOf(name: string): JobKind | undefined {
    return this.#kinds.get(name);
  }

  /** Leases of the jobs that this instance runs. Milliseconds since 1970. */
  get leases(): readonly { id: string; kind: string; since: number }[] {
    return [...this.#running].map(([id, { run, since }]) => ({ id, kind: run.kind.kind, since }));
  }

  get kinds(): readonly JobKind[] {
    return [...this.#kinds.values()];
  }

  /** Starts running jobs. */
  start(): void {
    this.#timer ??= setInterval(() => {
      if (this.#mustLook) this.#look();
    }, this.#options.pollMs).unref();
    this.#unfollow ??= this.store.follow(() => this.#look());
    this.#look();
  }

  /** Stops the jobs that run here for callers who have lost the right to them. Called when rights change. */
  async lookAtCallers(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ run }) => run.lookAtCaller()));
  }

  /** Ends the waits of requests; the jobs run on until `stop`. */
  endWaits(): void {
    this.#stopping.abort(new Error('the server is stopping'));
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Stops the runs and hands their jobs on. Resolves when every run has stopped. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#unfollow?.();
    this.#unfollow = undefined;
    await this.#claiming;
    const runs = [...this.#running.values(), ...(this.#part ? [this.#part] : [])];
    for (const { run } of runs) run.stop('shutdown');
    await Promise.all(runs.map(({ done }) => done));
  }

  /** Durable once resolved. */
  async submit(
    kind: string,
    input: unknown,
    options: SubmitOptions,
  ): Promise<{ job: JobRow; created: boolean }> {
    const added = await this.store.add(this.describe(kind, input, options));
    if (added.created) this.followSubmission();
    else this.#look();
    return added;
  }

  /** A job for a transaction of the caller, which calls `followSubmission` after its commit. */
  describe(kind: string, input: unknown, options: SubmitOptions): NewJob {
    const current = this.#kinds.get(kind);
    if (!current) throw new Error(`the job kind ${kind} is not registered`);
    const { resources = [], ...rest } = options;
    const maxAttempts = current.maxAttempts ?? MAX_ATTEMPTS;
    const folder = current.ofFolder ? this.#options.folder : undefined;
    return { kind, input, maxAttempts, resources, folder, ...rest };
  }

  /** Counts a job that was added, and starts it if there is a free place. */
  followSubmission(): void {
    metrics.jobsSubmitted.cell().inc();
    this.#look();
  }

  /** Starts jobs that a transaction of the caller returned to the queue, if there are free places. */
  followRetry(): void {
    this.#look();
  }

  /** Stops and cleans up a job that a transaction of the caller has cancelled. A repeated call has no effect. */
  async followCancel(job: JobRow): Promise<void> {
    this.#running.get(job.id)?.run.stop('cancelled');
    if (job.state !== 'Cancelled') return;
    await this.#kinds.get(job.kind)?.cleanup?.(JSON.parse(job.input_json), job.id, { state: 'Cancelled' });
    this.#tell(job.id, news(job));
  }

  /** Maximum number of further runs of a job that is retried. */
  attemptsOf(kind: string): number {
    return this.#kinds.get(kind)?.maxAttempts ?? MAX_ATTEMPTS;
  }

  /** The job that was submitted with the same key before. */
  async before(
    kind: string,
    { owner, idempotencyKey }: Pick<SubmitOptions, 'owner' | 'idempotencyKey'>,
  ): Promise<JobRow | undefined> {
    return idempotencyKey === undefined ? undefined : this.store.byKey(kind, owner, idempotencyKey);
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<JobRow> {
    return (await this.store.get(id)) ?? missing(id);
  }

  /**
   * Cancels a job. A repeated call has no effect. Throws `not-found`, and `conflict` for a job that has ended in
   * another way.
   */
  async cancel(id: string): Promise<JobRow> {
    const { job, changed } = (await this.store.cancel(id)) ?? missing(id);
    if (!changed && job.state !== 'Cancelled') {
      throw new ApiError('conflict', `The job has already ended (${job.state}).`);
    }
    if (changed) await this.followCancel(job);
    return job;
  }

  /** Throws `not-found`, and `conflict` for a job that cannot be run again. */
  async retry(id: string): Promise<JobRow> {
    const before = await this.get(id);
    const refusal = await this.retryRefusal(before);
    if (refusal !== undefined) throw new ApiError('conflict', refusal);
    const { job, changed } = (await this.store.retry(id, this.attemptsOf(before.kind))) ?? missing(id);
    if (!changed) throw new ApiError('conflict', notEnded(job));
    this.#look();
    return job;
  }

  /** Why a job cannot be run again; undefined when it can. */
  async retryRefusal(job: JobRow): Promise<string | undefined> {
    if (job.state !== 'Failed' && job.state !== 'Cancelled') return notEnded(job);
    const kind = this.#kinds.get(job.kind);
    return kind ? kind.refuseRetry?.(JSON.parse(job.input_json)) : 'Its kind is not known here.';
  }

  /** Calls back on progress of a job that runs here, and at its end. Returns how to stop that. */
  observe(id: string, listener: (news: JobNews) => void): () => void {
    const listeners = this.#observers.get(id) ?? new Set();
    this.#observers.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#observers.delete(id);
    };
  }

  /** The job once it has ended, wherever it runs. Rejects with the signal's reason. */
  async finished(id: string, signal?: AbortSignal): Promise<JobRow> {
    for (;;) {
      signal?.throwIfAborted();
      const news = this.#nextNews(id, signal);
      const job = await this.get(id);
      if (job.state !== 'Queued' && job.state !== 'Running') return job;
      await news;
    }
  }

  /** Like `finished`, for a request. Rejects with `JobContinues` if the server stops before the job has ended. */
  async finishedForRequest(id: string, signal?: AbortSignal): Promise<JobRow> {
    const stop = this.#stopping.signal;
    try {
      return await this.finished(id, signal ? AbortSignal.any([stop, signal]) : stop);
    } catch (error) {
      if (error === stop.reason) throw new JobContinues(id);
      throw error;
    }
  }

  #nextNews(id: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        stop();
        signal?.removeEventListener('abort', end);
        resolve();
      };
      // A signal of another process can be lost, so the job is read again after a while.
      const timer = setTimeout(end, this.#options.pollMs);
      const stop = this.observe(id, ({ state }) => {
        if (state !== 'Running') end();
      });
      signal?.addEventListener('abort', end);
    });
  }

  #tell(id: string, message: JobNews): void {
    for (const listener of this.#observers.get(id) ?? []) listener(message);
  }

  /** Updates the metrics of waiting and running jobs. Returns whether one of them may be for this process. */
  async #countOpen(): Promise<boolean> {
    const depths = await this.store.depths();
    const sum = (fits: (one: (typeof depths)[number]) => boolean) =>
      depths.filter(fits).reduce((all, { count }) => all + count, 0);
    for (const state of ['Queued', 'Running'] as const)
      metrics.jobQueue.cell(state, BACKEND).set(sum((one) => one.state === state));
    metrics.uploads.waiting = sum(
      ({ kind, state }) => state === 'Queued' && this.#kinds.get(kind)?.ofUpload === true,
    );
    const known = depths.flatMap(({ kind, state, count }) => {
      const found = this.#kinds.get(kind);
      return found ? [{ kind: found, state, count }] : [];
    });
    const running = known.filter(({ state }) => state === 'Running');
    return (
      known.length > running.length ||
      running.some(({ kind }) => kind.doPart) ||
      running.reduce((all, { count }) => all + count, 0) > this.#running.size
    );
  }

  /** Claims jobs while there are free places. One round at a time. A call during a round requests one more round. */
  #look(): void {
    if (!this.#timer || this.#kinds.size === 0) return;
    this.#again = true;
    this.#claiming ??= this.#claimAll()
      .catch(this.#options.onError)
      .finally(() => {
        this.#claiming = undefined;
        if (this.#again) this.#look();
      });
  }

  async #claimAll(): Promise<void> {
    this.#again = false;
    this.#mustLook = true;
    metrics.jobCycles.cell().inc();
    await this.#hearOthers();
    this.#mustLook = await this.#countOpen();
    if (!this.#mustLook) return;
    const begin = Date.now();
    const before = this.#begun;
    await this.#claimJobs();
    await this.#claimPart();
    // Most rounds find no job, so only rounds that started jobs are recorded.
    if (this.#begun > before)
      recordJobSpan({ name: 'svc.orchestration.scheduler_tick', attributes: {} }, begin);
  }

  /** Applies changes by other processes to jobs that run here, or whose end is awaited here. */
  async #hearOthers(): Promise<void> {
    const ids = new Set([...this.#running.keys(), ...this.#observers.keys()]);
    for (const job of await this.store.ending([...ids])) {
      const here = this.#running.get(job.id);
      if (here && job.cancel_requested_at !== null) here.run.stop('cancelled');
      else if (!here && job.state !== 'Queued' && job.state !== 'Running') this.#tell(job.id, news(job));
    }
    const part = this.#part?.run;
    if (part && !(await this.#parts.isHeld(part.jobId, part.ordinal))) part.stop('lease-lost');
  }

  async #claimJobs(): Promise<void> {
    const { concurrency, leaseMs, limits, folder, owner } = this.#options;
    const waiting = this.kinds.filter(({ waits }) => waits).map(({ kind }) => kind);
    while (this.#timer && concurrency > 0) {
      const held = this.#held();
      const kinds = this.#free().filter((kind) => !(held?.long && this.#isLong(kind)));
      if (kinds.length === 0) return;
      const running = [...this.#running.keys()];
      const claim = await this.#runs.claim({ kinds, waiting, leaseMs, running, limits, folder, held, owner });
      if (!claim) return;
      this.#begun++;
      this.#begin(claim);
    }
  }

  async #claimPart(): Promise<void> {
    const { concurrency, leaseMs, folder, owner, onError } = this.#options;
    // Parts belong to jobs of whomever.
    const divided = owner === undefined ? this.kinds.filter(({ doPart }) => doPart) : [];
    if (!this.#timer || this.#part || concurrency === 0 || divided.length === 0) return;
    const kinds = divided.map(({ kind }) => kind);
    const anywhere = divided.filter(({ partsAnywhere }) => partsAnywhere).map(({ kind }) => kind);
    const claim = await this.#parts.claim({ kinds, anywhere, leaseMs, folder });
    if (!claim) return;
    const run = new PartRun(this.#kinds.get(claim.job.kind)!, claim, {
      parts: this.#parts,
      leaseMs,
      onError,
    });
    const done = run.settle().then(() => {
      this.#part = undefined;
      this.#look();
    });
    this.#part = { run, done };
  }

  /** Kinds with a free place and a free lane, because long work of one sort must not block the rest. */
  #free(): string[] {
    const running = [...this.#running.values()].map(({ run }) => run.kind);
    const lanes = new Set(running.map(({ lane }) => lane));
    const hasRoom = running.filter(({ waits }) => !waits).length < this.#options.concurrency;
    return this.kinds
      .filter(({ lane, waits }) => (waits || hasRoom) && (lane === undefined || !lanes.has(lane)))
      .map(({ kind }) => kind);
  }

  #isLong(kind: string): boolean {
    return this.#kinds.get(kind)?.isLong === true;
  }

  /** Exhausted shares of this instance. Jobs that only wait for other jobs do not count. */
  #held() {
    const { places } = this.#options;
    if (!places) return undefined;
    const working = [...this.#running.values()].filter(({ run }) => !run.kind.waits);
    const placed = working.map(({ run: { kind, submitter } }) => ({
      owner: submitter.owner,
      isLong: kind.isLong === true,
    }));
    const longKinds = this.kinds.filter(({ isLong }) => isLong).map(({ kind }) => kind);
    return { ...fullShares(placed, places), longKinds };
  }

  #begin({ job, takenOver }: Claim): void {
    const { leaseMs, pollMs, onError, deadlinesMs = {}, requireCaller } = this.#options;
    const kind = this.#kinds.get(job.kind)!;
    const refusal = job.cancel_requested_at === null ? unfit(job, kind, takenOver) : undefined;
    const onProgress = (progress: JobProgress) => this.#tell(job.id, { ...progress, state: 'Running' });
    const fit = refusal === undefined ? kind : { ...kind, cleanup: kind.cleanup?.bind(kind), run: refusal };
    const run = new JobRun(fit, job, {
      runs: this.#runs,
      parts: this.#parts,
      leaseMs,
      lookMs: pollMs / 2,
      deadlineMs: deadlinesMs[job.kind],
      requireCaller,
      onProgress,
      onParts: () => this.#look(),
      onError,
    });
    const began = performance.now();
    metrics.jobTransitions.cell(job.kind, 'Running').inc();
    const closed = takenOver ? this.#runs.closeSteps(job.id, 'Interrupted').catch(onError) : undefined;
    const done = Promise.resolve(closed)
      .then(() => run.settle())
      .then((ended) => {
        this.#running.delete(job.id);
        metrics.jobDuration.cell(job.kind).observe(performance.now() - began);
        if (ended) metrics.jobTransitions.cell(job.kind, ended.state).inc();
        if (ended) this.#tell(job.id, news(ended));
        this.#look();
      });
    this.#running.set(job.id, { run, done, since: Date.now() });
  }
}

/** Why a job that another instance left behind is not run again, as a run that fails with that reason. */
function unfit(job: JobRow, kind: JobKind, takenOver: boolean): (() => Promise<never>) | undefined {
  if (!takenOver) return undefined;
  if (!kind.resumable) return refuse('The server stopped while the job ran, and it cannot be resumed.');
  if (job.attempt <= job.max_attempts) return undefined;
  return refuse(`The server stopped ${job.max_attempts} times while the job ran. The job failed.`);
}

function notEnded({ state }: JobRow): string {
  return `Only failed and cancelled jobs are run again, not ${state}.`;
}

function refuse(reason: string): () => Promise<never> {
  return () => Promise.reject(new ApiError('unavailable', reason));
}

function news(job: JobRow): JobNews {
  return { state: job.state, phase: job.phase, fraction: job.fraction, etaMs: job.eta_ms };
}

function missing(id: string): never {
  throw notFound('job', id);
}
