import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../../core/catalog/collection.js';
import { unreadNamed } from '../../../core/catalog/unread.js';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import { type Principal, withoutSession } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import type { JobContext, JobKind } from '../../jobs/kinds.js';
import { removeOldFiles } from '../../kit/old-files.js';
import { readOnceAndDelete } from '../../kit/passing-file.js';
import type { TaskContext } from '../../kit/run-task.js';
import { type ExportName, getExportFormat } from './formats.js';
import { type ExportPlan, type ExportRequest, planExport } from './plan.js';
import { countExport, type ExportFile, runExportJob } from './run.js';
import { findExportLosses, openExport, writeExport } from './write.js';

export interface ExportDeps {
  pools: Pools;
  jobs: JobEngine;
  dataDir: string;
  /** The catalog as this principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
}

/** Input of an export job. The job reads the data that its principal can read when it runs. */
interface ExportInput {
  collection: string;
  request: ExportRequest;
  principal: Principal;
}

const KIND = 'export';
const DAY_MS = 86_400_000;
/** Milliseconds after which the folder of a request counts as abandoned. */
const STRAY_MS = 3_600_000;

/**
 * Exports of the features of a layer. Small exports are returned directly. Larger ones are jobs that create a file.
 */
export class Exports {
  readonly #deps: ExportDeps;
  readonly #folder: string;

  constructor(deps: ExportDeps) {
    this.#deps = deps;
    this.#folder = join(resolve(deps.dataDir), 'exports');
    deps.jobs.register(this.#kind());
  }

  /** Number of features of an export. */
  count(x: TaskContext, plan: ExportPlan): Promise<number> {
    return countExport(x, this.#deps.pools, plan);
  }

  /** The bytes of a short export. `length` is set if a file was created. */
  async open(
    x: TaskContext,
    plan: ExportPlan,
  ): Promise<{ body: AsyncIterable<Uint8Array>; length?: number; notes: readonly string[] }> {
    const { pools } = this.#deps;
    if (!getExportFormat(plan.format).driver) {
      return { notes: await findExportLosses(x, pools, plan), body: await openExport(x, pools, plan) };
    }
    const folder = join(this.#folder, `request-${randomUUID()}`);
    await makeFolder(folder, 0o700);
    try {
      const path = join(folder, `${plan.collection.layerId}.${getEnding(plan.format)}`);
      const { notes } = await writeExport(x, pools, plan, path);
      return { length: (await stat(path)).size, body: await readOnceAndDelete(path), notes };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async submit(
    collection: VectorCollection,
    request: ExportRequest,
    principal: Principal,
    options: SubmitOptions,
  ): Promise<JobRow> {
    await this.trim();
    const input: ExportInput = { collection: collection.id, request, principal: withoutSession(principal) };
    const resources = [`collection:${collection.id}`];
    return (await this.#deps.jobs.submit(KIND, input, { resources, ...options })).job;
  }

  /** The file of a job of this owner. Throws `not-found`, and `conflict` for one that has not ended. */
  async file(id: string, owner: string): Promise<ExportFile> {
    const job = await this.#deps.jobs.get(id);
    if (job.kind !== KIND || job.owner !== owner) throw notFound('export', id.slice(0, 100));
    if (job.state === 'Queued' || job.state === 'Running')
      throw new ApiError('conflict', `The export is not ready (${job.state}). Retry after it has ended.`);
    const file = job.result_json ? (JSON.parse(job.result_json) as ExportFile) : undefined;
    if (!file || !existsSync(file.path))
      throw new ApiError(
        'not-found',
        'The export has no file, or the file was removed. Run the export again.',
      );
    return file;
  }

  /** Removes files of jobs that are past their time, and what requests of a killed server left. */
  async trim(now = Date.now()): Promise<void> {
    const computeLife = (name: string) =>
      name.startsWith('request-') ? STRAY_MS : LIMITS.exportDays * DAY_MS;
    await removeOldFiles(this.#folder, computeLife, now);
  }

  #kind(): JobKind<ExportInput, ExportFile> {
    return {
      kind: KIND,
      title: 'Export of a layer',
      console: 'ExtractTransformLoad',
      operationType: 6,
      resumable: true,
      lane: KIND,
      ofFolder: true,
      run: (context) => this.#run(context),
      cleanup: async (_input, id, { state }) => {
        if (state !== 'Succeeded') await rm(join(this.#folder, id), { recursive: true, force: true });
      },
    };
  }

  async #run(context: JobContext<ExportInput>): Promise<ExportFile> {
    const { id, input } = context;
    const catalog = this.#deps.visible(input.principal);
    const collection = catalog.byId(input.collection);
    if (!hasFeatures(collection))
      throw unreadNamed(catalog, input.collection) ?? notFound('layer', input.collection);
    return runExportJob(
      context,
      this.#deps.pools,
      planExport(collection, input.request),
      join(this.#folder, id),
    );
  }
}

const getEnding = (format: ExportName) => getExportFormat(format).ending;
