import { access, mkdir, rm } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { isCsv } from '../core/csv.js';
import { ApiError } from '../core/errors.js';
import { TaskFailure } from '../core/failure.js';
import { LIMITS } from '../core/limits.js';
import type { OgrLayerInfo } from '../core/ogr.js';
import type { Pools } from '../core/tasks.js';
import type { JobRow } from '../stores/jobs.js';
import { holdsBareGeometries, writeAsCsv } from './bare-geometries.js';
import { importFormatOf } from './import-formats.js';
import type { JobEngine, SubmitOptions } from './jobs/engine.js';
import { keepsUpload, removeStrays, trimUploads } from './jobs/kept-uploads.js';
import type { JobContext, JobKind, JobOutcome } from './jobs/kinds.js';
import { isGzipped, isZipped } from './publish/formats.js';

export interface ImportInput {
  /** Absolute path of any file that OGR opens. */
  file: string;
  /** Layer of the file; the first when absent. */
  layer?: string;
  /** Table in the store, and id of the collection. See `tableName`. */
  table: string;
  title?: string;
  /** CRS of the coordinates, whatever the file says: `EPSG:n`. */
  sourceCrs?: string;
  /** CRS to store the data in; that of the file when absent. */
  targetCrs?: string;
  /** Takes the place of the collection of that name. */
  replace?: boolean;
  /** The file belongs to the job: it is removed when the job ends, or later when another attempt may succeed. */
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
  /** Of what was in an archive. */
  format?: string;
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
  /** Whether the collection of this id is a table of that store. None is, when absent. */
  isIn?(id: string, store: string): boolean;
}

/** Kept once the file is translated; a load that ends removes the staging file. */
interface Saved {
  layer: string;
  format?: string;
  /** All of its columns are texts. */
  untyped?: boolean;
  title: string;
  features: number;
}

const KIND = 'import';
const STAGING_TABLE = 'staged';
/** Names that SQLite, GeoPackage and the store use themselves. */
const RESERVED = /^(sqlite|gpkg|rtree|graticule)_|^layer_styles$/i;

/** Shares of the whole that the stages take, as fractions at their ends. */
const UNPACKED = 0.03;
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

  /** Throws `conflict` when there is a collection of that name which it cannot replace. */
  async submit(input: ImportInput, options: SubmitOptions): Promise<JobRow> {
    if (RESERVED.test(input.table))
      throw new ApiError('invalid-request', `The name ${input.table} is reserved.`);
    this.#refuseTaken(input);
    const resources = [`collection:${input.table}`];
    const { job } = await this.#deps.jobs.submit(KIND, input, { resources, ...options });
    return job;
  }

  /** Removes uploads of failed imports that nobody tries again, and those that were cut off. */
  async trim(): Promise<void> {
    await removeStrays(this.#deps.jobs.store, this.uploads);
    const uploadOf = (input: unknown) => uploadPath(input as ImportInput);
    await trimUploads(this.#deps.jobs.store, KIND, uploadOf);
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
      ofUpload: true,
      title: 'Import a file',
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      ofFolder: true,
      run: (context) => this.#run(context),
      cleanup: (input, id, outcome) => this.#cleanup(input, id, outcome),
      refuseRetry: async ({ file }) =>
        (await exists(file)) ? undefined : 'The file is not there any more: import it again.',
    };
  }

  #refuseTaken({ table, replace }: ImportInput): void {
    const id = table.toLowerCase();
    if (!this.#deps.isPublished(id)) return;
    if (!replace) throw new ApiError('conflict', `There is a collection '${id}' already.`);
    if (!this.#deps.isIn?.(id, this.#store))
      throw new ApiError('conflict', `The collection '${id}' was not imported: an import cannot replace it.`);
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
    const { features, layer, format } = saved;
    return { table, features, layer, ...(format ? { format } : {}) };
  }

  async #prepare(context: JobContext<ImportInput>, staging: string): Promise<Saved> {
    const { input } = context;
    this.#refuseTaken(input);
    const path = await this.#unpack(context);
    const layer = await context.step('inspect', 'Inspecting the file', () => this.#inspect(context, path));
    context.progress(INSPECTED);
    const work = () => this.#translate(context, path, layer.name, staging);
    const features = await context.step('translate', `Reading layer ${layer.name}`, work);
    const saved: Saved = { layer: layer.name, title: input.title ?? layer.name, features };
    if (isPacked(input.file)) saved.format = importFormatOf(path)?.name;
    saved.untyped = isCsv(path) && !holdsBareGeometries(input.file);
    await context.checkpoint(saved);
    return saved;
  }

  /** What OGR opens of the file. */
  async #unpack(context: JobContext<ImportInput>): Promise<string> {
    const { id, input, signal } = context;
    const bare = holdsBareGeometries(input.file);
    if (!bare && !isPacked(input.file)) return input.file;
    await mkdir(this.#staging, { recursive: true });
    const output = this.#unpackedPath(id);
    await rm(output, { recursive: true, force: true });
    if (bare) return this.#tabulate(input.file, output);
    const task = { path: input.file, output, ...(input.layer === undefined ? {} : { layer: input.layer }) };
    const work = () => this.#deps.pools.run('ogr.unpack', task, { signal });
    const { path } = await context.step('unpack', 'Unpacking the archive', work);
    context.progress(UNPACKED);
    return path;
  }

  /** Geometries without attributes as a table, named as the file is. */
  async #tabulate(file: string, folder: string): Promise<string> {
    await mkdir(folder, { recursive: true });
    const table = join(folder, `${basename(file, extname(file))}.csv`);
    await writeAsCsv(file, table);
    return table;
  }

  async #inspect(context: JobContext<ImportInput>, path: string): Promise<OgrLayerInfo> {
    const { input, signal } = context;
    const layers = await this.#deps.pools.run('ogr.inspect', { path }, { signal });
    const spatial = layers.filter(({ hasGeometry }) => hasGeometry !== false);
    const layer =
      input.layer === undefined
        ? (spatial[0] ?? layers[0])
        : (layers.find(({ name }) => name === input.layer) ?? (path === input.file ? undefined : spatial[0]));
    if (!layer) {
      const names = layers.map(({ name }) => name).slice(0, 20);
      throw new ApiError(
        'unprocessable',
        `The file has no such layer; it has: ${names.join(', ') || 'none'}.`,
      );
    }
    if (layer.crs === null && input.sourceCrs === undefined) {
      throw new ApiError(
        'unprocessable',
        'The file names no coordinate reference system: one has to be given.',
      );
    }
    if (layer.featureCount > LIMITS.importFeatures)
      throw new TaskFailure('too-large', `The file has more than ${LIMITS.importFeatures} features.`);
    if (input.layer === undefined && spatial.length > 1)
      await context.warn(`The file has ${spatial.length} layers; this one is imported: ${layer.name}.`);
    return layer;
  }

  async #translate(
    context: JobContext<ImportInput>,
    path: string,
    layer: string,
    staging: string,
  ): Promise<number> {
    const { input, signal } = context;
    await mkdir(this.#staging, { recursive: true });
    await removeDatabase(staging);
    const task = {
      path,
      layer,
      output: staging,
      table: STAGING_TABLE,
      ...(input.sourceCrs ? { sourceCrs: input.sourceCrs } : {}),
      ...(input.targetCrs ? { targetCrs: input.targetCrs } : {}),
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
      untyped: saved.untyped,
      ...(input.replace ? { replace: true } : {}),
      // The store knows by it that a load which was not heard of any more did commit.
      token: id,
    };
    const onProgress = (part: number) => context.progress(TRANSLATED + part * (LOADED - TRANSLATED));
    const work = () => this.#deps.pools.run('vector.load', task, { signal, onProgress });
    await context.step('load', `Loading ${saved.features} features into ${input.table}`, work);
  }

  async #cleanup(input: ImportInput, id: string, outcome: JobOutcome): Promise<void> {
    await removeDatabase(this.#stagingPath(id));
    await rm(this.#unpackedPath(id), { recursive: true, force: true });
    const upload = uploadPath(input);
    if (upload !== undefined && !keepsUpload(outcome)) await rm(upload, { force: true });
    await this.trim();
  }

  #unpackedPath(id: string): string {
    return join(this.#staging, id);
  }

  #stagingPath(id: string): string {
    return join(this.#staging, `${id}.gpkg`);
  }
}

const isPacked = (path: string) => isZipped(path) || isGzipped(path);

/** The file that goes with the job. */
function uploadPath({ file, owned }: ImportInput): string | undefined {
  return owned ? file : undefined;
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
