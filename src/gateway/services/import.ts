import { access, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ApiError } from '../../core/errors.js';
import type { OgrLayerInfo, Pools } from '../../core/tasks.js';
import type { JobRow } from '../stores/jobs.js';
import type { JobEngine, SubmitOptions } from './jobs/engine.js';
import type { JobContext, JobKind } from './jobs/kinds.js';

export interface ImportInput {
  /** Absolute path of any file that OGR opens. */
  file: string;
  /** Layer of the file; the first when absent. */
  layer?: string;
  /** Table in the store, and id of the collection. See `tableName`. */
  table: string;
  title?: string;
  /** CRS when the file names none: `EPSG:n`. */
  assumeCrs?: string;
  /** The file belongs to the job: it is removed when the job ends. */
  owned?: boolean;
}

/** What an import makes known to the catalog. */
export interface ImportedCollection {
  /** Table, and id of the collection. */
  id: string;
  title: string;
  /** GeoPackage that holds the table. */
  store: string;
  features: number;
}

export interface ImportResult {
  table: string;
  features: number;
  /** Layer of the file that was read. */
  layer: string;
}

export interface ImportDeps {
  pools: Pools;
  jobs: JobEngine;
  /** Directory of uploads, staging files and stores. */
  dataDir: string;
  /** Makes the collection visible. May be called twice for the same one. */
  publish(collection: ImportedCollection): Promise<void>;
  /** Whether a collection of this id is there. */
  isPublished(id: string): boolean;
}

/** Kept once the file is translated; a load that ends removes the staging file. */
interface Saved {
  layer: string;
  title: string;
  features: number;
}

const KIND = 'import';
const STAGING_TABLE = 'staged';

/** Shares of the whole that the stages take, as fractions at their ends. */
const INSPECTED = 0.05;
const TRANSLATED = 0.6;
const LOADED = 0.95;

/** A table name from any words: lower case letters, digits and underscores; at most 60 characters. */
export function tableName(words: string): string {
  const name = words
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);
  if (name === '') return 'imported';
  return /^[0-9]/.test(name) ? `t_${name}`.slice(0, 60) : name;
}

/**
 * Imports files into the embedded store: inspect, translate to a staging GeoPackage, load in one
 * transaction, publish. Each stage can be repeated, so the job resumes after a crash.
 */
export class ImportService {
  readonly uploads: string;
  readonly #store: string;
  readonly #staging: string;
  readonly #deps: ImportDeps;

  constructor(deps: ImportDeps) {
    this.#deps = deps;
    const directory = resolve(deps.dataDir);
    this.uploads = join(directory, 'uploads');
    this.#staging = join(directory, 'staging');
    this.#store = join(directory, 'stores', 'default.gpkg');
    deps.jobs.register(this.#kind());
  }

  /** Throws `conflict` when there is a collection of that name. */
  async submit(input: ImportInput, options: SubmitOptions): Promise<JobRow> {
    this.#refuseTaken(input.table);
    const resources = [`collection:${input.table}`];
    const { job } = await this.#deps.jobs.submit(KIND, input, { resources, ...options });
    return job;
  }

  /** Whether there is a collection of that id. */
  isTaken(table: string): boolean {
    return this.#deps.isPublished(table);
  }

  /** Removes an uploaded file that no job came to own. */
  async discard(file: string): Promise<void> {
    await rm(file, { force: true });
  }

  /** Imports, newest first; only those that have not ended when `active`. */
  list(active: boolean, limit = 200): Promise<JobRow[]> {
    const states = active ? ['Queued', 'Running'] : undefined;
    return this.#deps.jobs.store.list({ kinds: [KIND], limit, ...(states ? { states } : {}) });
  }

  /** Throws `not-found`, also for a job of another kind. */
  async get(id: string): Promise<JobRow> {
    const job = await this.#deps.jobs.get(id);
    if (job.kind !== KIND) throw new ApiError('not-found', `There is no import job '${id}'.`);
    return job;
  }

  #kind(): JobKind<ImportInput, ImportResult> {
    return {
      kind: KIND,
      title: 'Import a file',
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      run: (context) => this.#run(context),
      cleanup: (input, id) => this.#cleanup(input, id),
      refuseRetry: async ({ file }) =>
        (await exists(file)) ? undefined : 'The imported file is not there any more: import it again.',
    };
  }

  #refuseTaken(table: string): void {
    if (this.isTaken(table)) throw new ApiError('conflict', `There is a collection '${table}' already.`);
  }

  async #run(context: JobContext<ImportInput>): Promise<ImportResult> {
    const staging = this.#stagingPath(context.id);
    const saved = (context.saved as Saved | undefined) ?? (await this.#prepare(context, staging));
    const { table } = context.input;
    // No staging file after it was written: the load of an earlier run has committed.
    if (!(context.saved && !(await exists(staging)))) await this.#load(context, staging, saved);
    context.progress(LOADED);
    const collection = { id: table, title: saved.title, store: this.#store, features: saved.features };
    // What is loaded is published, even when the job is asked to stop meanwhile: no half of it stays.
    await context.step('publish', `Publishing ${table}`, () => this.#deps.publish(collection), true);
    return { table, features: saved.features, layer: saved.layer };
  }

  async #prepare(context: JobContext<ImportInput>, staging: string): Promise<Saved> {
    const { input } = context;
    this.#refuseTaken(input.table);
    const layer = await context.step('inspect', 'Inspecting the file', () => this.#inspect(context));
    context.progress(INSPECTED);
    const work = () => this.#translate(context, layer.name, staging);
    const features = await context.step('translate', `Reading layer ${layer.name}`, work);
    const saved = { layer: layer.name, title: input.title ?? layer.name, features };
    await context.checkpoint(saved);
    return saved;
  }

  async #inspect({ input, signal }: JobContext<ImportInput>): Promise<OgrLayerInfo> {
    const layers = await this.#deps.pools.run('ogr.inspect', { path: input.file }, { signal });
    const layer = input.layer === undefined ? layers[0] : layers.find(({ name }) => name === input.layer);
    if (!layer) {
      const names = layers.map(({ name }) => name).slice(0, 20);
      throw new ApiError(
        'unprocessable',
        `The file has no such layer; it has: ${names.join(', ') || 'none'}.`,
      );
    }
    if (layer.crs === null && input.assumeCrs === undefined) {
      throw new ApiError(
        'unprocessable',
        'The file names no coordinate reference system: one has to be given.',
      );
    }
    return layer;
  }

  async #translate(context: JobContext<ImportInput>, layer: string, staging: string): Promise<number> {
    const { input, signal } = context;
    await mkdir(this.#staging, { recursive: true });
    await removeDatabase(staging);
    const task = {
      path: input.file,
      layer,
      output: staging,
      table: STAGING_TABLE,
      ...(input.assumeCrs ? { assumeCrs: input.assumeCrs } : {}),
    };
    const onProgress = (part: number) => context.progress(INSPECTED + part * (TRANSLATED - INSPECTED));
    const { features } = await this.#deps.pools.run('ogr.translate', task, { signal, onProgress });
    return features;
  }

  async #load(context: JobContext<ImportInput>, staging: string, saved: Saved): Promise<void> {
    const { id, input, signal } = context;
    await mkdir(join(this.#store, '..'), { recursive: true });
    const task = {
      staging,
      stagingTable: STAGING_TABLE,
      store: this.#store,
      table: input.table,
      title: saved.title,
      // The store knows by it that a load which was not heard of any more did commit.
      token: id,
    };
    const onProgress = (part: number) => context.progress(TRANSLATED + part * (LOADED - TRANSLATED));
    const work = () => this.#deps.pools.run('vector.load', task, { signal, onProgress });
    await context.step('load', `Loading ${saved.features} features into ${input.table}`, work);
  }

  async #cleanup({ file, owned }: ImportInput, id: string): Promise<void> {
    await removeDatabase(this.#stagingPath(id));
    if (owned) await rm(file, { force: true });
  }

  #stagingPath(id: string): string {
    return join(this.#staging, `${id}.gpkg`);
  }
}

async function removeDatabase(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(path + suffix, { force: true });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
