import { ApiError, notFound } from '../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { JobOutcomeRow, JobRow } from '../../../stores/jobs/jobs.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import { type JobContext, JobStopError } from '../../jobs/kinds.js';
import { nextToEnd } from '../../jobs/next-end.js';
import type { ImportService } from '../import.js';
import type { ImportResult, RemoteInput } from '../import-input.js';
import { GEOSERVICES } from '../remote/geoservices.js';
import type { GeoServicesReport, GeoServicesSource } from '../remote/geoservices-source.js';
import type { BatchRelationships, RelatedLayer } from './relationships.js';

/** A layer of a batch, and the ids of layers that must be imported first. */
export interface BatchLayer {
  /** Id of the layer at the source. */
  readonly id: string;
  readonly input: RemoteInput<GeoServicesSource>;
  readonly dependsOn: readonly string[];
}

export interface MigrationBatch {
  readonly sourceKind: string;
  readonly sourceUrl: string | null;
  readonly sourceDisplayName: string | null;
  readonly layers: readonly BatchLayer[];
  /** Whether relationships between the layers are imported. */
  readonly applyRelationships: boolean;
  /** The reviewed manifest in its original form. */
  readonly manifest: string | null;
}

/** The attempt to start the job of a layer: the job, or the reason why there is none. */
type LayerAttempt =
  | { readonly jobId: string }
  | { readonly state: 'failed' | 'cancelled'; readonly reason: string };

/** Stored after each change. */
interface BatchCheckpoint {
  /** By index of the layer in the batch. */
  readonly children: Readonly<Record<number, LayerAttempt>>;
  readonly relationshipsApplied: boolean;
}

const NOTHING: BatchCheckpoint = { children: {}, relationshipsApplied: false };

export interface BatchChild {
  readonly layer: BatchLayer;
  readonly state: 'pending' | 'running' | 'succeeded' | 'failed' | 'needs-review' | 'cancelled';
  readonly note: string | null;
  readonly jobId: string | null;
}

export interface BatchView {
  readonly job: JobRow;
  readonly batch: MigrationBatch;
  readonly relationshipsApplied: boolean;
  readonly children: readonly BatchChild[];
}

const KIND = 'migration-batch';

export interface BatchDeps {
  readonly jobs: JobEngine;
  readonly imports: Pick<ImportService, 'submitRemote'>;
  readonly relationships: Pick<BatchRelationships, 'apply'>;
}

/** Imports of many GeoServices layers, each as a separate job, in the order of their dependencies. */
export class MigrationBatches {
  readonly #deps: BatchDeps;

  constructor(deps: BatchDeps) {
    this.#deps = deps;
    deps.jobs.register<MigrationBatch, { layers: number }>({
      kind: KIND,
      title: 'Migrate layers of another server',
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      ofFolder: true,
      waits: true,
      lane: KIND,
      run: (context) => new BatchRun(deps, context).run(),
      refuseRetry: async () => 'Start a new batch with the missing layers.',
    });
  }

  async start(batch: MigrationBatch, options: SubmitOptions): Promise<BatchView> {
    const { job } = await this.#deps.jobs.submit(KIND, batch, options);
    return { job, batch, relationshipsApplied: false, children: [] };
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<BatchView> {
    const job = await this.#deps.jobs.get(id).catch(() => undefined);
    if (job?.kind !== KIND) throw notFound('migration batch', id);
    const batch = JSON.parse(job.input_json) as MigrationBatch;
    const saved =
      job.checkpoint_json === null ? NOTHING : (JSON.parse(job.checkpoint_json) as BatchCheckpoint);
    const isOver = job.state !== 'Queued' && job.state !== 'Running';
    const ids = Object.values(saved.children).flatMap((child) => ('jobId' in child ? [child.jobId] : []));
    const jobs = await this.#deps.jobs.store.outcomes(ids);
    const children = batch.layers.map((layer, i) => buildView(layer, saved.children[i], jobs, isOver));
    return { job, batch, relationshipsApplied: saved.relationshipsApplied, children };
  }
}

function buildView(
  layer: BatchLayer,
  child: LayerAttempt | undefined,
  jobs: ReadonlyMap<string, JobOutcomeRow>,
  isOver: boolean,
): BatchChild {
  if (child === undefined) {
    const note = isOver ? 'The batch ended before it was started.' : null;
    return { layer, state: isOver ? 'cancelled' : 'pending', note, jobId: null };
  }
  if (!('jobId' in child)) return { layer, state: child.state, note: child.reason, jobId: null };
  const job = jobs.get(child.jobId);
  if (!job) throw notFound('job', child.jobId);
  return { layer, jobId: child.jobId, ...parseOutcome(job) };
}

function parseOutcome({
  state,
  failure_message,
  warnings_json,
}: JobOutcomeRow): Pick<BatchChild, 'state' | 'note'> {
  switch (state) {
    case 'Queued':
      return { state: 'pending', note: null };
    case 'Running':
      return { state: 'running', note: null };
    case 'Succeeded': {
      const [warning] = JSON.parse(warnings_json) as string[];
      return warning === undefined
        ? { state: 'succeeded', note: null }
        : { state: 'needs-review', note: warning };
    }
    default:
      return { state: state === 'Failed' ? 'failed' : 'cancelled', note: failure_message };
  }
}

/** One run of a batch: starts the jobs of its layers, several at a time, and waits for them. */
class BatchRun {
  readonly #children: Record<number, LayerAttempt>;
  /** Whether the layer was imported, for layers with a recorded outcome. */
  readonly #imported = new Map<string, boolean>();

  constructor(
    private readonly deps: BatchDeps,
    private readonly context: JobContext<MigrationBatch>,
  ) {
    this.#children = { ...((context.saved ?? NOTHING) as BatchCheckpoint).children };
  }

  async run(): Promise<{ layers: number }> {
    const { layers } = this.context.input;
    try {
      while (this.#imported.size < layers.length) {
        await this.#startNext();
        await this.#waitForOne();
        this.context.progress(this.#imported.size / layers.length);
      }
    } catch (error) {
      if (error instanceof JobStopError && error.reason === 'cancelled') await this.#cancelAll();
      throw error;
    }
    if (this.context.input.applyRelationships) await this.#relate();
    const failures = [...this.#imported.values()].filter((isImported) => !isImported).length;
    if (failures > 0)
      throw new ApiError('unprocessable', `${failures} of ${layers.length} layers were not imported.`);
    return { layers: layers.length };
  }

  /**
   * Starts the jobs of the next layers, up to the limit of running jobs. Stops after a cancelled layer: `#waitForOne`
   * records it before its dependent layers.
   */
  async #startNext(): Promise<void> {
    const { layers } = this.context.input;
    for (const [i, layer] of layers.entries()) {
      if (this.#children[i] !== undefined || this.#imported.has(layer.id)) continue;
      const missing = layer.dependsOn.find((id) => this.#imported.get(id) === false);
      if (missing !== undefined) {
        await this.#set(i, {
          state: 'cancelled',
          reason: `It depends on ${missing}, which was not imported.`,
        });
        return;
      }
      if (!layer.dependsOn.every((id) => this.#imported.get(id))) continue;
      if (this.#unrecorded().length >= EXCHANGE_LIMITS.batchJobs) return;
      await this.#set(i, await this.#start(layer, i));
    }
  }

  /** Starts the job of a layer. If an earlier run started it, returns the same job. */
  async #start({ input }: BatchLayer, index: number): Promise<LayerAttempt> {
    const { context, deps } = this;
    const options = { ...context.submitter, idempotencyKey: `${context.id}:${index}` };
    try {
      const { id } = await deps.imports.submitRemote(GEOSERVICES, input, options);
      return { jobId: id };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      return { state: 'failed', reason: error.message };
    }
  }

  async #set(index: number, child: LayerAttempt): Promise<void> {
    this.#children[index] = child;
    await this.#save(false);
  }

  #save(relationshipsApplied: boolean): Promise<void> {
    return this.context.checkpoint({
      children: this.#children,
      relationshipsApplied,
    } satisfies BatchCheckpoint);
  }

  async #relate(): Promise<void> {
    const { context, deps } = this;
    const ends: RelatedLayer[] = [];
    for (const [i, layer] of context.input.layers.entries()) {
      const child = this.#children[i];
      if (!this.#imported.get(layer.id) || !child || !('jobId' in child)) continue;
      const { result_json: result } = await deps.jobs.get(child.jobId);
      const { report } = JSON.parse(result!) as ImportResult;
      ends.push({ ...layer, relationships: (report as GeoServicesReport).relationships });
    }
    const work = () => deps.relationships.apply(ends, context.signal);
    for (const warning of await context.step('relate', 'Importing relationships', work))
      await context.warn(warning);
    await this.#save(true);
  }

  /** Attempts without a recorded outcome: running jobs, and layers whose job could not be started. */
  #unrecorded(): [BatchLayer, LayerAttempt][] {
    const { layers } = this.context.input;
    return layers.flatMap((layer, i) => {
      const child = this.#children[i];
      return child === undefined || this.#imported.has(layer.id)
        ? []
        : [[layer, child] satisfies [BatchLayer, LayerAttempt]];
    });
  }

  async #waitForOne(): Promise<void> {
    const pending = this.#unrecorded();
    const withoutJob = pending.find(([, child]) => !('jobId' in child));
    if (withoutJob) return void this.#imported.set(withoutJob[0].id, false);
    const ids = pending.flatMap(([, child]) => ('jobId' in child ? [child.jobId] : []));
    const { id, state } = await nextToEnd(this.deps.jobs, ids, this.context.signal);
    const [layer] = pending[ids.indexOf(id)]!;
    this.#imported.set(layer.id, state === 'Succeeded');
  }

  async #cancelAll(): Promise<void> {
    for (const [, child] of this.#unrecorded())
      if ('jobId' in child) await this.deps.jobs.cancel(child.jobId).catch(() => {});
  }
}
