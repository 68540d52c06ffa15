import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import type { Download, DownloadTask, RemoteCoverage, RemoteRequest } from '../../../core/exchange/ingest.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { CollectionStore } from '../../../stores/catalog/collections.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { RasterImportInput, RasterImportOutcome, RasterImports } from '../../catalog/rasters/import.js';
import type { SubmitOptions } from '../../jobs/engine.js';
import { createCollectionId } from '../../kit/slug.js';

export interface CoverageImportsDeps {
  pools: Pick<Pools, 'run'>;
  imports: RasterImports;
  collections: Pick<CollectionStore, 'find' | 'idOf'>;
  catalog(): CatalogSnapshot;
}

/** Target of an imported coverage. */
export interface CoverageTarget {
  /** Layer that the coverage joins. Default: a new layer. */
  layerId?: number | undefined;
  name: string;
  description: string | null;
}

export interface ImportedCoverage {
  layerId: number;
  rasterId: number;
  bytes: number;
  warnings: string[];
}

/** Imports of whole coverages of other servers: each is downloaded, and then imported as an upload is. */
export class CoverageImports {
  constructor(private readonly deps: CoverageImportsDeps) {}

  /** Whether a layer with that name exists. A second import would mix two coverages. */
  isTaken({ layerId, name }: CoverageTarget): boolean {
    return layerId === undefined && this.deps.catalog().byId(createCollectionId(name)) !== undefined;
  }

  /** Imports a coverage. Rejects with a `TaskFailure` or `ApiError`, after which no part of it remains. */
  async run(
    request: RemoteRequest,
    target: CoverageTarget,
    options: SubmitOptions & { signal: AbortSignal },
  ): Promise<{ job: JobRow; imported?: ImportedCoverage }> {
    const { signal, ...rest } = options;
    const ask = (task: DownloadTask) => this.deps.pools.run('ingest.coverage', task, { signal });
    const { id, layerId, bytes } = await this.begin(request, target, rest, ask);
    const job = await this.deps.imports.finishedForRequest(id, signal);
    if (job.state !== 'Succeeded') return { job };
    const { rasterId } = JSON.parse(job.result_json!) as RasterImportOutcome;
    return {
      job,
      imported: { layerId, rasterId, bytes, warnings: JSON.parse(job.warnings_json) as string[] },
    };
  }

  /** The earlier import with the same key. */
  before(options: SubmitOptions): Promise<JobRow | undefined> {
    return this.deps.imports.before(options);
  }

  /** Downloads a coverage by `ask`, and submits the job that imports it. Rejects as `run` does. */
  async begin(
    request: RemoteRequest,
    target: CoverageTarget,
    options: SubmitOptions,
    ask: (task: DownloadTask) => Promise<Download>,
  ): Promise<{ id: string; layerId: number; bytes: number }> {
    const { imports, collections } = this.deps;
    await makeFolder(imports.uploads);
    const file = join(imports.uploads, `${randomUUID()}.tif`);
    const { bytes } = await ask({ ...request, path: file, maxBytes: LIMITS.uploadBytes });
    const layerId = target.layerId ?? (await collections.idOf(createCollectionId(target.name)));
    const { name, description } = target;
    const input = { file, layerId, name, description, acquired: null };
    const job = await imports.submit(input, options).catch(async (error) => {
      await imports.discard(file);
      throw error;
    });
    // A job with the same key exists already, with another file.
    if ((JSON.parse(job.input_json) as RasterImportInput).file !== file) await imports.discard(file);
    return { id: job.id, layerId, bytes };
  }
}

/** The name of a coverage here, when none is given. */
export function getCoverageName({ id, title }: RemoteCoverage): string {
  return (title ?? id).slice(0, 256);
}
