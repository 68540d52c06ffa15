import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { exists } from '../../../core/files/exists.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import { TIFF_FORMAT } from '../../../core/http/media.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { RasterImportResult, RasterImportTask, RasterSource } from '../../../core/rasters/rasters.js';
import type { FileStyle } from '../../../core/styles/model.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { RegisteredRaster } from '../../../stores/rasters/rasters.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import type { JobContext, JobKind, JobOutcome } from '../../jobs/kinds.js';
import type { Storage } from '../../storage/storage.js';
import { failedJobs, keepsUpload, trimUploads } from '../../uploads/kept-uploads.js';
import { removeUpload } from '../../uploads/upload-files.js';
import { INSPECT_DEADLINE_MS } from '../publish/source.js';
import type { RasterBaggage } from './layers.js';
import { removeOrphans } from './orphans.js';
import type { RegisteredRasters } from './registered-rasters.js';

export interface RasterImportInput extends Pick<RasterImportTask, 'crs' | 'geoTransform'> {
  /** The uploaded file, which belongs to the job: it is removed when the job ends, or later when another attempt may succeed. */
  file: string;
  layerId: number;
  name: string;
  description: string | null;
  /** RFC 3339; what the file says when null. */
  acquired: string | null;
}

/** Stored facts about the file of an imported raster. */
export interface ImportAbout extends RasterBaggage {
  /** GDAL driver of the uploaded file. `COG` for a cloud optimized GeoTIFF. */
  format: 'GTiff' | 'COG' | 'PNG' | 'JPEG';
}

export type ImportedRaster = RegisteredRaster<ImportAbout>;

export interface RasterImportOutcome {
  rasterId: number;
}

export interface RasterImportDeps {
  pools: Pools;
  jobs: JobEngine;
  dataDir: string;
  /** Milliseconds for reading a file. Default: `LIMITS.importReadMs`. */
  readMs?: number;
  storage: Storage;
}

const KIND = 'import-raster';
/** Shares of the whole at the ends of the stages. */
const CONVERTED = 0.85;
const INSPECTED = 0.95;

/**
 * Imports rasters into the data folder: convert to a cloud optimized GeoTIFF, inspect, register. The file is created
 * before its row, and its name is the id of its job. Each stage can therefore be repeated, and a file without a row
 * is recognised as an orphan.
 */
export class RasterImports {
  /** Folder in which this process receives files. */
  readonly uploads: string;
  readonly #folder: string;

  constructor(
    readonly registered: RegisteredRasters,
    private readonly deps: RasterImportDeps,
  ) {
    const dataDir = resolve(deps.dataDir);
    this.uploads = join(dataDir, 'uploads', 'rasters', deps.jobs.instance);
    this.#folder = join(dataDir, 'rasters');
    deps.jobs.register(this.#kind());
  }

  /** Throws `not-found` and `invalid-request` for a layer that cannot take it. */
  async submit(input: RasterImportInput, options: SubmitOptions): Promise<JobRow> {
    await this.registered.requireLayer(input.layerId, true);
    const resources = [`layer:${input.layerId}`];
    const { job } = await this.deps.jobs.submit(KIND, input, { resources, ...options });
    return job;
  }

  /** The job that was submitted with the same key before. */
  before(options: Pick<SubmitOptions, 'owner' | 'idempotencyKey'>): Promise<JobRow | undefined> {
    return this.deps.jobs.before(KIND, options);
  }

  /** Removes a received file that no job has taken. */
  async discard(file: string): Promise<void> {
    await removeUpload(file);
  }

  /** See `JobEngine.finishedForRequest`. */
  finishedForRequest(id: string, signal: AbortSignal): Promise<JobRow> {
    return this.deps.jobs.finishedForRequest(id, signal);
  }

  /** Throws `not-found`. */
  get(id: number): Promise<ImportedRaster> {
    return this.registered.get<ImportAbout>('import', id);
  }

  /** Null clears. Throws `not-found`. */
  async update(
    id: number,
    to: { name?: string; description?: string | null; acquired?: string | null },
  ): Promise<ImportedRaster> {
    await this.get(id);
    return this.registered.change<ImportAbout>('import', id, { ...to, modifiedAt: Date.now() });
  }

  /**
   * Stores styles for the raster of a layer. A style replaces a style with the same name. Returns false for a layer
   * without an imported raster.
   */
  async addStyles(layerId: number, styles: readonly FileStyle[]): Promise<boolean> {
    const [first] = await this.registered.list<ImportAbout>('import', layerId);
    if (!first) return false;
    const names = new Set(styles.map(({ name }) => name));
    const others = (first.registration.styles ?? []).filter(({ name }) => !names.has(name));
    const registration = { ...first.registration, styles: [...others, ...styles].slice(-LIMITS.fileStyles) };
    await this.registered.change('import', first.id, { registration });
    return true;
  }

  /** Throws `not-found`. */
  remove(id: number): Promise<void> {
    return this.registered.remove('import', id);
  }

  /** Removes what processes that were killed left behind: files without a row, uploads without a job. */
  async sweep(): Promise<void> {
    const { jobs } = this.deps;
    await this.#trim();
    await removeOrphans({
      folder: this.#folder,
      uploads: join(this.uploads, '..'),
      instance: jobs.instance,
      // Jobs are listed first: a job that ends in between has already stored its row.
      inventory: async () => {
        const active = await jobs.store.list({ kinds: [KIND], states: ['Queued', 'Running'], limit: 10_000 });
        const failed = await failedJobs(jobs.store, KIND);
        const rows = await this.registered.deps.state.rasters.list({ kind: 'import' });
        return {
          jobs: new Set(active.map(({ id }) => id)),
          // A failed job may be run again.
          files: new Set([...active, ...failed].map(buildFile)),
          places: new Set(rows.map(({ dataKey }) => dataKey)),
        };
      },
    });
  }

  #trim(): Promise<void> {
    return trimUploads(this.deps.jobs.store, KIND, (input) => (input as RasterImportInput).file);
  }

  #kind(): JobKind<RasterImportInput, RasterImportOutcome> {
    return {
      kind: KIND,
      ofUpload: true,
      title: 'Import a raster',
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      ofFolder: true,
      run: (context) => this.#run(context),
      cleanup: (input, id, outcome) => this.#cleanup(input, id, outcome),
      refuseRetry: async ({ file }) =>
        (await exists(file)) ? undefined : 'Its file is not there any more: send it again.',
    };
  }

  async #run(context: JobContext<RasterImportInput>): Promise<RasterImportOutcome> {
    const { id, input, signal } = context;
    const dataKey = `${id}.tif`;
    const path = join(this.#folder, dataKey);
    const registration = await this.#convert(context, path);
    context.progress(CONVERTED);
    const source = await this.#store(context, path, buildKey(dataKey));
    const raster = await context.step('inspect', 'Reading what it holds', () =>
      this.deps.pools.run('raster.inspect', { source }, { signal, deadlineMs: INSPECT_DEADLINE_MS }),
    );
    this.registered.requireFit(input.layerId, raster);
    context.progress(INSPECTED);
    const { layerId, name, description } = input;
    const acquired = input.acquired ?? raster.acquired ?? null;
    const row = { layerId, name, description, dataKey, registration, grids: [raster], acquired };
    const add = async () =>
      (await this.#registration(dataKey)) ??
      this.registered.add({ kind: 'import', ...row }, { sources: [], by: 'system' });
    const { id: rasterId } = await context.step(
      'register',
      `Registering it with layer ${layerId}`,
      add,
      true,
    );
    return { rasterId };
  }

  /** Location that the file is read from after the import. */
  async #store(context: JobContext<RasterImportInput>, path: string, key: string): Promise<RasterSource> {
    const { storage } = this.deps;
    const { signal } = context;
    // No file here any more: a run before this one has sent it.
    if (await exists(path))
      await context.step('store', 'Storing it', () =>
        storage.take(path, key, { mediaType: TIFF_FORMAT.mediaType, signal }),
      );
    return storage.locateRaster(key);
  }

  /** A run before this one may have registered it. */
  async #registration(dataKey: string): Promise<RegisteredRaster | undefined> {
    return (await this.registered.deps.state.rasters.list({ kind: 'import' })).find(
      (one) => one.dataKey === dataKey,
    );
  }

  /** A completed conversion is not repeated: the file gets its name once it is complete. */
  async #convert(context: JobContext<RasterImportInput>, path: string): Promise<ImportAbout> {
    const { input, signal } = context;
    const isConverted = context.saved && ((await exists(path)) || (await this.#isStored(context.id)));
    if (isConverted) return context.saved as ImportAbout;
    await makeFolder(this.#folder);
    await rm(path, { force: true });
    const { file, crs, geoTransform } = input;
    const task = {
      path: file,
      output: path,
      limitMs: this.deps.readMs ?? LIMITS.importReadMs,
      ...(crs ? { crs } : {}),
      ...(geoTransform ? { geoTransform } : {}),
    };
    const onProgress = (part: number) => context.progress(part * CONVERTED);
    const result = await context.step('convert', 'Writing a cloud optimized GeoTIFF', () =>
      this.deps.pools.run('raster.import', task, { signal, onProgress }),
    );
    for (const what of result.ignored) await context.warn(WARNINGS[what]);
    const registration: ImportAbout = { format: chooseFormat(file, result) };
    await context.checkpoint(registration);
    return registration;
  }

  async #isStored(id: string): Promise<boolean> {
    return (await this.deps.storage.stat(buildKey(`${id}.tif`))) !== undefined;
  }

  async #cleanup({ file }: RasterImportInput, id: string, outcome: JobOutcome): Promise<void> {
    if (!keepsUpload(outcome)) await removeUpload(file);
    await this.#trim();
    const dataKey = `${id}.tif`;
    if (await this.#registration(dataKey)) return;
    await rm(join(this.#folder, dataKey), { force: true });
    if (await this.#isStored(id)) await this.deps.storage.remove(buildKey(dataKey));
  }
}

/** Storage key of an imported raster. */
const buildKey = (dataKey: string) => `rasters/${dataKey}`;

const WARNINGS = {
  crs: 'The file names its coordinate reference system: the one that was sent was not used.',
  geoTransform: 'The file has a georeference. The world file was not used.',
} as const;

function buildFile(job: JobRow): string {
  return (JSON.parse(job.input_json) as RasterImportInput).file;
}

function chooseFormat(file: string, { optimized }: RasterImportResult): ImportAbout['format'] {
  if (/\.png$/i.test(file)) return 'PNG';
  if (/\.jpe?g$/i.test(file)) return 'JPEG';
  return optimized ? 'COG' : 'GTiff';
}
