import { ApiError } from '../../../../core/errors/errors.js';
import type { TaskFailure } from '../../../../core/errors/failure.js';
import type { RemoteRequest } from '../../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import type { Pools } from '../../../../core/tasks/tasks.js';
import type { JobRow } from '../../../../stores/jobs/jobs.js';
import type { JobEngine, SubmitOptions } from '../../../jobs/engine.js';
import type { JobContext, JobStopError } from '../../../jobs/kinds.js';
import { nextToEnd } from '../../../jobs/next-end.js';
import type { ImportService } from '../../import.js';
import type { ImportResult, RemoteInput } from '../../import-input.js';
import type { CoverageImports } from '../../remote/coverages.js';
import { askAgain } from '../../remote/retries.js';
import { WFS, type WfsSource } from '../../remote/wfs.js';
import { unprocessable } from './choice.js';
import type { LayerNotes } from './notes.js';
import type { LayerPlan } from './plan.js';
import { type LayerProgress, limitNotes, type MigrationState } from './progress.js';
import type { MigrationRequest } from './request.js';
import { isSourceFailure } from './source-failure.js';

export interface LayerImportsDeps {
  readonly pools: Pick<Pools, 'run'>;
  readonly jobs: JobEngine;
  readonly imports: Pick<ImportService, 'submitRemote'>;
  readonly coverages: CoverageImports;
}

/** Features of a page. */
const PAGE = 1000;
/** Progress of the migration when all layers are imported. */
const IMPORTED = 0.8;

/** Imports the layers of a plan, each as a separate job, several at a time. */
export class LayerImports {
  constructor(
    private readonly deps: LayerImportsDeps,
    private readonly context: JobContext<MigrationRequest>,
    private readonly state: MigrationState,
    /** For the root of the REST API. */
    private readonly request: RemoteRequest,
  ) {}

  async run(): Promise<void> {
    try {
      do {
        await this.#beginSome();
        await this.#takeOne();
        this.#requireSuccess();
      } while (this.state.layers.some(({ progress }) => progress === undefined || isRunning(progress)));
    } catch (error) {
      const { signal } = this.context;
      // If another run resumes this one, the jobs also continue.
      if (!signal.aborted || (signal.reason as JobStopError).reason === 'cancelled') await this.#cancelAll();
      throw error;
    }
  }

  /** Throws `unprocessable` if a failure must end the migration. */
  #requireSuccess(): void {
    if (this.context.input.continueOnFailure) return;
    for (const { layer, progress } of this.state.layers)
      if (progress?.state === 'failed')
        throw unprocessable(`${layer.id} was not imported: ${progress.notes[0]}`);
  }

  /** Jobs that have not ended, with the places of their layers. */
  #running(): { ordinal: number; jobId: string }[] {
    return this.state.layers.flatMap(({ ordinal, progress }) =>
      isRunning(progress) ? [{ ordinal, jobId: progress.jobId }] : [],
    );
  }

  async #beginSome(): Promise<void> {
    const lanes = Math.min(this.context.input.lanes, EXCHANGE_LIMITS.batchJobs);
    for (const { ordinal, layer, progress } of this.state.layers) {
      if (progress !== undefined) continue;
      if (this.#running().length >= lanes) return;
      this.context.signal.throwIfAborted();
      await this.state.set(ordinal, await this.#begin(layer));
      this.#requireSuccess();
    }
  }

  /** Starts the job of a layer. If an earlier run started it, returns the same job. */
  async #begin(layer: LayerPlan): Promise<LayerProgress> {
    const { id, submitter } = this.context;
    const options = { ...submitter, idempotencyKey: `${id}:${layer.id}` };
    const notes = this.state.notes.layers[layer.id]!;
    try {
      const jobId =
        layer.kind === 'featureType'
          ? await this.#beginType(layer, notes, options)
          : await this.#beginCoverage(layer, notes, options);
      return { state: 'running', jobId, notes: [] };
    } catch (error) {
      if (error instanceof ApiError && error.code === 'conflict')
        return { state: 'skipped', notes: [error.message] };
      if (!isOfLayer(error)) throw error;
      return { state: 'failed', notes: [error.message] };
    }
  }

  async #beginType(layer: LayerPlan, notes: LayerNotes, options: SubmitOptions): Promise<string> {
    const { credentials, requestMs, maxRetries, targetCrs, overwrite, principal } = this.context.input;
    const { name, version, geoJson, srid } = notes.type!;
    const remote: WfsSource = {
      serviceUrl: notes.serviceUrl,
      version,
      typeName: name,
      geoJson,
      srid,
      title: (notes.title ?? notes.name).slice(0, 200),
      pageSize: PAGE,
      requestMs,
      credentials,
      maxRetries,
    };
    const input: RemoteInput<WfsSource> = {
      table: layer.collection,
      remote,
      ...(targetCrs === undefined ? {} : { targetCrs }),
      ...(overwrite ? { replace: true, principal } : {}),
    };
    return (await this.deps.imports.submitRemote(WFS, input, options)).id;
  }

  async #beginCoverage(layer: LayerPlan, notes: LayerNotes, options: SubmitOptions): Promise<string> {
    const { context, deps, request } = this;
    const { maxRetries } = context.input;
    const before = await deps.coverages.before(options);
    if (before) return before.id;
    const target = { name: layer.collection, description: null };
    if (deps.coverages.isTaken(target))
      throw new ApiError(
        'conflict',
        `The collection '${layer.collection}' already exists, and coverages do not replace collections. Choose another name.`,
      );
    const task = {
      ...request,
      url: notes.serviceUrl,
      protocol: 'wcs' as const,
      ids: [coverageId(notes)],
    };
    const { coverages } = await askAgain(deps.pools, context, maxRetries, 'ingest.coveragePlan', task);
    const { id } = await deps.coverages.begin(
      { ...request, url: coverages[0]!.url },
      target,
      options,
      (download) => askAgain(deps.pools, context, maxRetries, 'ingest.coverage', download),
    );
    return id;
  }

  async #takeOne(): Promise<void> {
    const running = this.#running();
    if (running.length === 0) return;
    const ids = running.map(({ jobId }) => jobId);
    const job = await nextToEnd(this.deps.jobs, ids, this.context.signal);
    await this.state.set(running[ids.indexOf(job.id)]!.ordinal, describeLayerProgress(job));
    const ended = this.state.layers.filter(({ progress }) => progress && !isRunning(progress)).length;
    this.context.progress((IMPORTED * ended) / this.state.plan.layers.length);
  }

  async #cancelAll(): Promise<void> {
    for (const { jobId } of this.#running()) await this.deps.jobs.cancel(jobId).catch(() => {});
  }
}

/** Whether the source or the layer caused an error. Other failures concern this server, and end the migration. */
function isOfLayer(error: unknown): error is ApiError | TaskFailure {
  if (error instanceof ApiError) return error.status < 500;
  return isSourceFailure(error);
}

function isRunning(
  progress: LayerProgress | undefined,
): progress is LayerProgress & { readonly jobId: string } {
  return progress?.state === 'running';
}

/** Coverage id in WCS 2.0. GeoServer joins the names with two underscores, because an id cannot contain a colon. */
function coverageId({ workspace, name }: LayerNotes): string {
  return workspace === undefined ? name : `${workspace}__${name}`;
}

/** Progress of a layer from its job. */
export function describeLayerProgress(job: JobRow): LayerProgress {
  const warnings = JSON.parse(job.warnings_json) as string[];
  const jobId = job.id;
  switch (job.state) {
    case 'Queued':
    case 'Running':
      return { state: 'running', jobId, notes: [] };
    case 'Succeeded': {
      const { features } = JSON.parse(job.result_json!) as Partial<ImportResult>;
      return {
        state: 'imported',
        jobId,
        notes: limitNotes(warnings),
        ...(features === undefined ? {} : { features }),
      };
    }
    default: {
      const state = job.state === 'Failed' ? 'failed' : 'cancelled';
      return { state, jobId, notes: limitNotes([job.failure_message ?? job.state, ...warnings]) };
    }
  }
}
