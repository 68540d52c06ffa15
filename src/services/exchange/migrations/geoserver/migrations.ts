import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ApiError, notFound } from '../../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { exists } from '../../../../core/files/exists.js';
import type { Pools } from '../../../../core/tasks/tasks.js';
import type { JobQuery, JobRow } from '../../../../stores/jobs/jobs.js';
import type { SubmitOptions } from '../../../jobs/engine.js';
import type { JobContext, JobOutcome } from '../../../jobs/kinds.js';
import { requestWith, type SecretSource } from '../../remote/secret-references.js';
import type { AssessmentDeps } from './assessment.js';
import { unprocessable } from './choice.js';
import { MigrationDiscovery } from './discovery.js';
import { importMetadata } from './import-metadata.js';
import { describeLayerProgress, LayerImports, type LayerImportsDeps } from './layer-imports.js';
import type { LayerMetadataWriter } from './metadata-writer.js';
import { savedNotes, saveNotes } from './notes.js';
import type { EvidencePack } from './parity/evidence.js';
import { getUnsupportedPolicy, type MigrationPlan, requireSupported } from './plan.js';
import { type LayerProgress, type MigrationProgress, MigrationState } from './progress.js';
import type { MigrationRequest } from './request.js';
import { settleGroups } from './settle-groups.js';
import { MigrationValidation, PACK, type ValidationDeps } from './validation.js';

export interface GeoServerMigrationsDeps extends LayerImportsDeps, ValidationDeps, AssessmentDeps {
  readonly pools: Pools;
  readonly dataDir: string;
  readonly words: LayerMetadataWriter;
  readonly secrets: SecretSource;
}

/** A migration as people see it. */
export interface MigrationView {
  readonly job: JobRow;
  readonly request: MigrationRequest;
  /** Undefined until the source was read. */
  readonly plan: MigrationPlan | undefined;
  /** Progress in the order of the plan. Undefined for a layer that was not started. */
  readonly layers: readonly (LayerProgress | undefined)[];
}

interface MigrationCounts {
  readonly imported: number;
  readonly skipped: number;
  readonly failed: number;
}

export interface MigrationResult extends MigrationCounts {
  /** Undefined for a plan. */
  readonly evidence?: EvidencePack;
}

const KIND = 'migrate-geoserver';
const PACK_TYPE = 'application/zip';
/** Migrations that are listed. */
const LIST = 100;

/** Migrations of GeoServers: each reads one over its REST API, and imports its layers from its services. */
export class GeoServerMigrations {
  readonly #deps: GeoServerMigrationsDeps;
  readonly #folder: string;

  constructor(deps: GeoServerMigrationsDeps) {
    this.#deps = deps;
    this.#folder = join(resolve(deps.dataDir), 'migrations');
    deps.jobs.register<MigrationRequest, MigrationResult>({
      kind: KIND,
      title: 'Migrate a GeoServer',
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      ofFolder: true,
      waits: true,
      lane: KIND,
      run: (context) => this.#run(context),
      cleanup: (_request, id, outcome) => this.#cleanup(id, outcome),
      refuseRetry: async () => 'Begin a migration of the layers that are missing.',
    });
  }

  async start(request: MigrationRequest, options: SubmitOptions): Promise<JobRow> {
    return (await this.#deps.jobs.submit(KIND, request, options)).job;
  }

  /** Migrations of these callers, newest first. */
  async list(callers: Pick<JobQuery, 'owner' | 'tenant'>): Promise<MigrationView[]> {
    const rows = await this.#deps.jobs.store.list({ ...callers, kinds: [KIND], limit: LIST });
    return Promise.all(rows.map((job) => this.#viewOf(job)));
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<MigrationView> {
    return this.#viewOf(await this.#jobOf(id));
  }

  /** The evidence of a migration of this owner; undefined for a job of another kind. Throws `not-found` and `conflict`. */
  async evidence(id: string, owner: string): Promise<{ path: string; mediaType: string } | undefined> {
    const job = await this.#deps.jobs.get(id);
    if (job.kind !== KIND) return undefined;
    if (job.owner !== owner) throw notFound('export', id.slice(0, 100));
    if (job.state === 'Queued' || job.state === 'Running')
      throw new ApiError('conflict', `The migration has not ended (${job.state}). Retry after it has ended.`);
    const path = join(this.#folderOf(id), PACK);
    if (!(await exists(path)))
      throw new ApiError('not-found', 'The migration has no evidence, or the evidence was removed.');
    return { path, mediaType: PACK_TYPE };
  }

  /** Throws `not-found`, and `conflict` for one that has ended. */
  async cancel(id: string): Promise<JobRow> {
    return this.#deps.jobs.cancel((await this.#jobOf(id)).id);
  }

  async #jobOf(id: string): Promise<JobRow> {
    const job = await this.#deps.jobs.get(id).catch(() => undefined);
    if (job?.kind !== KIND) throw notFound('GeoServer migration', id.slice(0, 100));
    return job;
  }

  async #viewOf(job: JobRow): Promise<MigrationView> {
    const request = JSON.parse(job.input_json) as MigrationRequest;
    if (job.checkpoint_json === null) return { job, request, plan: undefined, layers: [] };
    const { plan, layers } = JSON.parse(job.checkpoint_json) as MigrationProgress;
    const views = plan.layers.map((_layer, ordinal) => this.#current(layers[ordinal]));
    return { job, request, plan, layers: await Promise.all(views) };
  }

  /** A job that was under way when this was kept may have ended since. */
  async #current(progress: LayerProgress | undefined): Promise<LayerProgress | undefined> {
    if (progress?.state !== 'running' || progress.jobId === undefined) return progress;
    return describeLayerProgress(await this.#deps.jobs.get(progress.jobId));
  }

  async #run(context: JobContext<MigrationRequest>): Promise<MigrationResult> {
    const { restUrl, credentials, requestMs, dryRun } = context.input;
    const request = await requestWith(new URL(restUrl), credentials, requestMs, this.#deps.secrets);
    const state = await this.#prepare(context, request);
    await tellUnsupported(context, state.plan);
    if (dryRun) return { imported: 0, skipped: 0, failed: 0 };
    if (state.plan.layers.length > 0)
      await context.step('layers', `Importing ${state.plan.layers.length} layers`, () =>
        new LayerImports(this.#deps, context, state, request).run(),
      );
    await context.step('styles', 'Taking over descriptions, styles and groups', async () => {
      await importMetadata(this.#deps.words, context, state);
      for (const warning of await settleGroups(this.#deps.words, state, context.signal))
        await context.warn(warning);
    });
    const counts = await loadCounts(context, state);
    const evidence = await context.step('validate', 'Comparing the layers with their source', () =>
      new MigrationValidation(this.#deps, context, state, this.#folderOf(context.id)).run(request),
    );
    await this.#tellOf(context, evidence);
    return { ...counts, evidence };
  }

  /** Lists the pack among the artifacts of the job, once. */
  async #tellOf(context: JobContext<MigrationRequest>, { bytes, path }: EvidencePack): Promise<void> {
    if ((await this.#deps.jobs.store.artifacts(context.id)).length > 0) return;
    await context.artifact({
      label: PACK,
      kind: 'migration-evidence',
      content_type: PACK_TYPE,
      size_bytes: bytes,
      location: path,
    });
  }

  /** Removes the files of a migration. After success its evidence is kept, up to a number of the newest packs. */
  async #cleanup(id: string, { state }: JobOutcome): Promise<void> {
    const folder = this.#folderOf(id);
    if (state !== 'Succeeded') await rm(folder, { recursive: true, force: true });
    for (const name of await readdir(folder).catch(() => []))
      if (name !== PACK) await rm(join(folder, name), { recursive: true, force: true });
    const packs = await readdir(this.#folder).catch(() => []);
    const times = await Promise.all(
      packs.map(async (name) => {
        const pack = await stat(join(this.#folder, name, PACK)).catch(() => undefined);
        return { name, time: pack?.mtimeMs };
      }),
    );
    const ended = times.flatMap(({ name, time }) => (time === undefined ? [] : [{ name, time }]));
    for (const { name } of ended.sort((a, b) => b.time - a.time).slice(EXCHANGE_LIMITS.evidencePacks))
      await rm(this.#folderOf(name), { recursive: true, force: true });
  }

  #folderOf(id: string): string {
    return join(this.#folder, id);
  }

  /** The plan of an earlier run; otherwise reads the source. */
  async #prepare(
    context: JobContext<MigrationRequest>,
    request: Awaited<ReturnType<typeof requestWith>>,
  ): Promise<MigrationState> {
    const folder = this.#folderOf(context.id);
    const notes = await savedNotes(folder);
    if (context.saved !== undefined && notes)
      return new MigrationState(context.saved as MigrationProgress, notes, context);
    const discovery = await new MigrationDiscovery(this.#deps, context, request).run();
    await saveNotes(folder, discovery.notes);
    const state = new MigrationState({ plan: discovery.plan, layers: {} }, discovery.notes, context);
    await state.save();
    return state;
  }
}

/**
 * Warns about unreadable parts, and about unsupported parts with the policy `warn`. Throws if the policy of a part is
 * `fail`.
 */
async function tellUnsupported(context: JobContext<MigrationRequest>, plan: MigrationPlan): Promise<void> {
  for (const gap of plan.gaps) await context.warn(gap);
  for (const { kind, id, reason } of plan.unsupported)
    if (getUnsupportedPolicy(kind, context.input) === 'warn') await context.warn(`${kind} ${id}: ${reason}`);
  requireSupported(plan, context.input);
}

/** Throws `unprocessable` when all layers failed, or there was none. */
async function loadCounts(
  context: JobContext<MigrationRequest>,
  state: MigrationState,
): Promise<MigrationCounts> {
  const { layers } = state.plan;
  if (layers.length === 0) throw unprocessable('No layer of the GeoServer can be imported.');
  const failed = state.count('failed') + state.count('cancelled');
  if (failed === layers.length) throw unprocessable('No layer was imported.');
  if (failed > 0) await context.warn(`${failed} of ${layers.length} layers were not imported.`);
  return { imported: state.count('imported'), skipped: state.count('skipped'), failed };
}
