import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import { exists } from '../../../core/files/exists.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { type ArchiveDraft, isVectorArchive } from '../../../core/tiles/archives.js';
import { WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';
import type { PackagePart, TilePackage } from '../../../core/tiles/tile-packages.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import type { JobContext, JobKind, JobOutcome } from '../../jobs/kinds.js';
import { tileGrid } from '../../tiles/jobs/describe.js';
import { keepsUpload, trimUploads } from '../../uploads/kept-uploads.js';
import { removeUpload } from '../../uploads/upload-files.js';
import type { Tilesets } from './tilesets.js';

export interface PackageInput {
  /** The uploaded file, which belongs to the job. */
  file: string;
  /** Id of the collection that its tiles become. */
  name: string;
  minZoom: number;
  maxZoom: number;
}

/** Results of a package import. */
export interface PackageOutcome {
  imported: number;
  skipped: number;
  minZoom: number;
  maxZoom: number;
  format: TilePackage['format'];
  storageFormat: string;
}

export interface TilePackagesDeps {
  pools: Pick<Pools, 'run'>;
  jobs: JobEngine;
  tilesets: Tilesets;
}

const KIND = 'import-tiles';
/** Shares of the whole at the ends of the stages. */
const READ = 0.05;
const COPIED = 0.9;

/**
 * Imports tile packages. The tiles of a package become a PMTiles archive, part by part, which is published once it is
 * complete. The archive's draft stores the completed parts, so a job whose process ends resumes after them.
 */
export class TilePackages {
  constructor(private readonly deps: TilePackagesDeps) {
    deps.jobs.register(this.#kind());
  }

  /** Contents of a package. Rejects with a `TaskFailure`. */
  read(path: string, signal: AbortSignal): Promise<TilePackage> {
    return this.deps.pools.run('archive.package', { path }, { signal });
  }

  /**
   * Submits an import. Throws `conflict` for the id of a collection that is not a published archive of this server.
   */
  async submit(input: PackageInput, options: SubmitOptions): Promise<JobRow> {
    await this.deps.tilesets.refuseTakenAnywhere(input.name);
    const resources = [`collection:${input.name}`];
    return (await this.deps.jobs.submit(KIND, input, { resources, ...options })).job;
  }

  #kind(): JobKind<PackageInput, PackageOutcome> {
    return {
      kind: KIND,
      ofUpload: true,
      title: 'Import a tile package',
      console: 'TileCache',
      operationType: 1,
      resumable: true,
      ofFolder: true,
      run: (context) => this.#run(context),
      cleanup: (input, id, outcome) => this.#cleanup(input, id, outcome),
      refuseRetry: async ({ file }) =>
        (await exists(file)) ? undefined : 'Its file is not there any more: send it again.',
    };
  }

  async #run(context: JobContext<PackageInput>): Promise<PackageOutcome> {
    const { input, id, signal } = context;
    const path = this.#pathOf(id);
    const contents = await context.step('inspect', 'Reading what it holds', () =>
      this.read(input.file, signal),
    );
    context.progress(READ);
    const selection = selectedParts(contents, input);
    if (selection.parts.length === 0)
      throw new TaskFailure('invalid-input', 'The package has no tiles at the requested zooms.');
    if (!(await exists(path)) && context.saved !== DONE)
      await context.step('copy', `Copying ${selection.imported} tiles`, () =>
        this.#copy(context, { path, contents, ...selection }),
      );
    await context.checkpoint(DONE);
    context.progress(COPIED);
    await context.step('publish', `Publishing ${input.name}`, () =>
      this.deps.tilesets.publish(path, input.name, context),
    );
    const { format, storageFormat } = contents;
    const { imported, skipped, minZoom, maxZoom } = selection;
    return { imported, skipped, minZoom, maxZoom, format, storageFormat };
  }

  async #copy(
    context: JobContext<PackageInput>,
    {
      path,
      contents,
      parts,
      imported,
      minZoom,
      maxZoom,
    }: Selection & { path: string; contents: TilePackage },
  ): Promise<void> {
    const { pools } = this.deps;
    const { input, id, signal } = context;
    await makeFolder(this.deps.tilesets.drafts);
    const draft: ArchiveDraft = { output: path, container: 'pmtiles', format: contents.format, plan: id };
    const { cursor } = await pools.run('archive.open', { draft }, { signal });
    let from = cursor;
    let copied = parts.slice(0, Number(cursor ?? 0)).reduce((sum, { tiles }) => sum + tiles, 0);
    for (const [i, part] of parts.entries()) {
      if (i < Number(cursor ?? 0)) continue;
      const to = String(i + 1);
      const { storageFormat } = contents;
      await pools.run('archive.copy', { path: input.file, part, storageFormat, draft, from, to }, { signal });
      from = to;
      copied += part.tiles;
      context.progress(READ + (COPIED - READ) * (copied / imported));
    }
    const { title = input.name, description, attribution, extent84, vectorLayers } = contents;
    const texts = { ...(description ? { description } : {}), ...(attribution ? { attribution } : {}) };
    const zooms = { minZoom, maxZoom, grid: tileGrid(WEB_MERCATOR_QUAD, minZoom, maxZoom) };
    const layers = isVectorArchive(contents.format) ? { vectorLayers: [...vectorLayers] } : {};
    const about = { name: input.name, title, ...texts, bounds: extent84, ...zooms, ...layers };
    await pools.run('archive.finish', { draft, description: about }, { signal });
  }

  async #cleanup({ file }: PackageInput, id: string, outcome: JobOutcome): Promise<void> {
    if (!keepsUpload(outcome)) await removeUpload(file);
    await trimUploads(this.deps.jobs.store, KIND, (input) => (input as PackageInput).file);
    await this.deps.pools.run('archive.discard', { output: this.#pathOf(id) });
    await rm(this.#pathOf(id), { force: true });
  }

  #pathOf(id: string): string {
    return join(this.deps.tilesets.drafts, `${id}.pmtiles`);
  }
}

/** Saved once the archive is complete. */
const DONE = 'copied';

export interface Selection {
  parts: PackagePart[];
  imported: number;
  skipped: number;
  minZoom: number;
  maxZoom: number;
}

/** The parts of a package at some zooms. */
export function selectedParts(
  { parts }: TilePackage,
  { minZoom, maxZoom }: Pick<PackageInput, 'minZoom' | 'maxZoom'>,
): Selection {
  const inRange = parts.filter(({ zoom }) => zoom >= minZoom && zoom <= maxZoom);
  const count = (some: readonly PackagePart[]) => some.reduce((sum, { tiles }) => sum + tiles, 0);
  const zooms = inRange.map(({ zoom }) => zoom);
  return {
    parts: inRange,
    imported: count(inRange),
    skipped: count(parts) - count(inRange),
    minZoom: zooms[0] ?? minZoom,
    maxZoom: zooms.at(-1) ?? maxZoom,
  };
}
