import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { notFound } from '../../../core/errors.js';
import type { JobRow } from '../../../stores/jobs.js';
import type { SubmitOptions } from '../../jobs/engine.js';
import type { JobContext } from '../../jobs/kinds.js';
import { requestWith } from '../../remote-imports/secret-references.js';
import { unprocessable } from './choice.js';
import { MigrationDiscovery } from './discovery.js';
import { LayerImports, type LayerImportsDeps, progressOf } from './layer-imports.js';
import type { LayerWords } from './layer-words.js';
import { savedNotes, saveNotes } from './notes.js';
import { type MigrationPlan, policyOf, requireSupported } from './plan.js';
import { type LayerProgress, type MigrationProgress, MigrationState } from './progress.js';
import type { MigrationRequest } from './request.js';
import { settleLayers } from './settle-layers.js';

export interface GeoServerMigrationsDeps extends LayerImportsDeps {
  readonly dataDir: string;
  readonly words: LayerWords;
  /** References to secrets that may be followed. */
  readonly secrets: readonly string[];
}

/** A migration as people see it. */
export interface MigrationView {
  readonly job: JobRow;
  readonly request: MigrationRequest;
  /** Undefined until the source was read. */
  readonly plan: MigrationPlan | undefined;
  /** In the order of the plan; undefined for a layer that was not begun. */
  readonly layers: readonly (LayerProgress | undefined)[];
}

export interface MigrationResult {
  readonly imported: number;
  readonly skipped: number;
  readonly failed: number;
}

const KIND = 'migrate-geoserver';
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
      cleanup: (_request, id) => rm(join(this.#folder, id), { recursive: true, force: true }),
      refuseRetry: async () => 'Begin a migration of the layers that are missing.',
    });
  }

  async start(request: MigrationRequest, options: SubmitOptions): Promise<JobRow> {
    return (await this.#deps.jobs.submit(KIND, request, options)).job;
  }

  /** Newest first. */
  async list(): Promise<MigrationView[]> {
    const rows = await this.#deps.jobs.store.list({ kinds: [KIND], limit: LIST });
    return Promise.all(rows.map((job) => this.#viewOf(job)));
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<MigrationView> {
    return this.#viewOf(await this.#jobOf(id));
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
    return progressOf(await this.#deps.jobs.get(progress.jobId));
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
    await context.step('styles', 'Taking over descriptions and styles', () =>
      settleLayers(this.#deps.words, context, state),
    );
    return resultOf(context, state);
  }

  /** What an earlier run planned; else reads the source. */
  async #prepare(
    context: JobContext<MigrationRequest>,
    request: Awaited<ReturnType<typeof requestWith>>,
  ): Promise<MigrationState> {
    const folder = join(this.#folder, context.id);
    const notes = await savedNotes(folder);
    if (context.saved !== undefined && notes)
      return new MigrationState(context.saved as MigrationProgress, notes, context);
    const discovery = await new MigrationDiscovery(this.#deps.pools, context, request).run();
    await saveNotes(folder, discovery.notes);
    const state = new MigrationState({ plan: discovery.plan, layers: {} }, discovery.notes, context);
    await state.save();
    return state;
  }
}

/** Warns of what is not taken over, as far as it is to be told. Throws where that is to fail the migration. */
async function tellUnsupported(context: JobContext<MigrationRequest>, plan: MigrationPlan): Promise<void> {
  for (const gap of plan.gaps) await context.warn(gap);
  for (const { kind, id, reason } of plan.unsupported)
    if (policyOf(kind, context.input) === 'warn') await context.warn(`${kind} ${id}: ${reason}`);
  requireSupported(plan, context.input);
}

/** Throws `unprocessable` when all layers failed, or there was none. */
async function resultOf(
  context: JobContext<MigrationRequest>,
  state: MigrationState,
): Promise<MigrationResult> {
  const { layers } = state.plan;
  if (layers.length === 0) throw unprocessable('No layer of the GeoServer can be taken over.');
  const failed = state.count('failed') + state.count('cancelled');
  if (failed === layers.length) throw unprocessable('No layer was imported.');
  if (failed > 0) await context.warn(`${failed} of ${layers.length} layers were not imported.`);
  return { imported: state.count('imported'), skipped: state.count('skipped'), failed };
}
