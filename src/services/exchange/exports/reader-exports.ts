import { rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { exists } from '../../../core/files/exists.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import { formatActor, type Principal, withoutSession } from '../../../core/http/operation.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import { BACKGROUND, type Caller } from '../../../core/kit/callers.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { canonical, computeFingerprint } from '../../../core/values/fingerprint.js';
import { decodeStoredJson } from '../../../core/values/json.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import { type Catalogs, type CollectionView, findView } from '../../features/view.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import type { JobContext, JobKind } from '../../jobs/kinds.js';
import { isOwn } from '../../jobs/ownership.js';
import { removeOldFiles } from '../../kit/old-files.js';
import { listFormatNotes } from './format-notes.js';
import { type ExportPlan, planSelection, type SelectionExport } from './plan.js';
import { type ExportFile, runExportJob } from './run.js';

const { readerExports, readerExportsPerCaller, readerFiles, readerFileMs, readerFreeBytes } = EXCHANGE_LIMITS;

export interface ReaderExportDeps extends Catalogs {
  pools: Pools;
  jobs: JobEngine;
  dataDir: string;
}

/** A request without members that JSON cannot represent. */
type StoredRequest = Omit<SelectionExport, 'selection'> & {
  selection: Omit<SelectionExport['selection'], 'others'> & {
    others: readonly (readonly [string, string])[];
  };
};

interface ReaderExportInput {
  collection: string;
  /** Changes that are known before the job reads the values. */
  notes?: readonly string[];
  request: StoredRequest;
  principal: Principal;
}

/** File of a job, and what its reader could read of the collection. */
interface ReaderFile extends ExportFile {
  rights: string;
}

/** An export job with its file, if that still exists. */
export interface ReaderExport {
  readonly job: JobRow;
  /** Id of the collection. */
  readonly collection: string;
  /** Warnings that are known, also before the job has ended. */
  readonly warnings: readonly string[];
  readonly format: SelectionExport['format'];
  readonly file: ExportFile | undefined;
  /** Milliseconds since 1970. */
  readonly expires: number | undefined;
}

/** Caller of a request. */
interface Reader {
  readonly principal: Principal;
  readonly caller?: Caller;
}

const KIND = 'reader-export';
/** Path of the list of a reader's exports. */
export const READER_EXPORTS_PATH = `${FEATURES_PATH}/exports`;
const describeList = (isAnonymous: boolean) =>
  isAnonymous
    ? `A browser lists the exports that it started at ${READER_EXPORTS_PATH}. Other clients need the URL in the header Location of the response that started an export.`
    : `Your exports are listed at ${READER_EXPORTS_PATH}.`;
/** Seconds after which a refused client should retry. */
const RETRY = { headers: { 'retry-after': '60' } };

/**
 * Files of features that jobs write for readers. Only the caller who started a job can see it, and only callers who
 * still have the same rights receive the file.
 */
export class ReaderExports {
  readonly #deps: ReaderExportDeps;
  readonly #folder: string;
  /** Submissions run one at a time, so that each counts the jobs of the one before. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: ReaderExportDeps) {
    this.#deps = deps;
    this.#folder = join(resolve(deps.dataDir), 'exports', 'readers');
    deps.jobs.register(this.#kind());
  }

  /** Starts a job. Throws 400 for a wrong parameter, and 429, 503 or 507 if a limit of the reader or server is reached. */
  async submit(
    view: CollectionView,
    request: SelectionExport,
    { principal, caller: { class: kind, id: network } = BACKGROUND }: Reader,
    options: SubmitOptions,
  ): Promise<JobRow> {
    const { fields } = planSelection(view, request);
    const notes = listFormatNotes(request.format, fields);
    const caller = `caller:${computeFingerprint(`${kind} ${network}`).slice(-16)}`;
    const submit = async () => {
      await this.trim();
      await this.#requirePlace(caller, describeList(kind === 'anonymous'));
      const { selection, ...rest } = request;
      const stored = { ...rest, selection: { ...selection, others: [...selection.others] } };
      const { id } = view.visible;
      const input: ReaderExportInput = {
        collection: id,
        notes,
        request: stored,
        principal: withoutSession(principal),
      };
      const resources = [`collection:${id}`, caller];
      return (await this.#deps.jobs.submit(KIND, input, { ...options, resources })).job;
    };
    const submission = this.#last.then(submit, submit);
    this.#last = submission.catch(() => {});
    return submission;
  }

  /** An export of this caller. Throws `not-found`. */
  async find(collection: string, id: string, principal: Principal): Promise<ReaderExport> {
    const job = await this.#deps.jobs.store.get(id);
    const input = job?.kind === KIND ? readInput(job) : undefined;
    if (!job || input?.collection !== collection || !isOwn(job, principal))
      throw notFound('export', id.slice(0, 100));
    return describeExport(job, input);
  }

  /**
   * Exports of a caller of the last day that run or have a file, newest first. `ids`: those of a caller who is not
   * signed in, because all such callers are one principal.
   */
  async list(principal: Principal, ids?: readonly string[]): Promise<ReaderExport[]> {
    const { store } = this.#deps.jobs;
    const known = ids && (await Promise.all(ids.map((id) => store.get(id))));
    const from = Date.now() - readerFileMs;
    const jobs =
      known?.filter((job) => job !== undefined) ??
      (await store.list({ kinds: [KIND], owner: formatActor(principal), from, limit: 200 }));
    const own = jobs.filter((job) => job.kind === KIND && isOwn(job, principal));
    const found = await Promise.all(own.map((job) => describeExport(job, readInput(job))));
    return found.filter(({ job, file }) => isOpen(job) || file !== undefined);
  }

  /** The file of an export. Throws 404, 409 before the job has ended, and 410 for a file that may not be sent any more. */
  async file(view: CollectionView, id: string, principal: Principal): Promise<ExportFile> {
    const { job, file } = await this.find(view.visible.id, id, principal);
    if (isOpen(job))
      throw new ApiError('conflict', `The export is not ready (${job.state}). Retry after it has ended.`);
    if (!file) throw new ApiError('gone', 'The export has no file, or the file has expired. Export again.');
    if (currentRights(view, readInput(job)) !== readResult(job)!.rights)
      throw new ApiError('gone', 'The rights to read the collection have changed. Export again.');
    return file;
  }

  /** Cancels an export, or removes its file. A repeated call has no effect. */
  async remove(collection: string, id: string, principal: Principal): Promise<ReaderExport> {
    const { job } = await this.find(collection, id, principal);
    if (isOpen(job)) await this.#deps.jobs.cancel(id);
    else await rm(join(this.#folder, job.id), { recursive: true, force: true });
    return this.find(collection, id, principal);
  }

  /** Removes files past their time. */
  trim(now = Date.now()): Promise<void> {
    return removeOldFiles(this.#folder, () => readerFileMs, now);
  }

  async #requirePlace(caller: string, where: string): Promise<void> {
    const { store } = this.#deps.jobs;
    const kinds = [KIND];
    const own = await store.list({ kinds, resource: caller, from: Date.now() - readerFileMs, limit: 200 });
    if (own.filter(isOpen).length >= readerExportsPerCaller)
      throw new ApiError(
        'too-many-requests',
        `A reader can run at most ${readerExportsPerCaller} export jobs at the same time. Wait for one of them, or cancel it. ${where}`,
        RETRY,
      );
    const files = own.flatMap((job) => readResult(job) ?? []);
    const kept = await Promise.all(files.map(({ path }) => exists(path)));
    if (kept.filter(Boolean).length >= readerFiles)
      throw new ApiError(
        'too-many-requests',
        `A reader can have at most ${readerFiles} files of export jobs. Delete one of them, or retry after the oldest has expired, ${readerFileMs / 3_600_000} hours after its end. ${where}`,
        RETRY,
      );
    const open = await store.list({ kinds, states: ['Queued', 'Running'], limit: readerExports });
    if (open.length >= readerExports)
      throw new ApiError(
        'unavailable',
        `The server has ${readerExports} export jobs, which is the limit. Retry after one of them has ended.`,
        RETRY,
      );
    await makeFolder(this.#folder, 0o700);
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < readerFreeBytes)
      throw new ApiError(
        'insufficient-storage',
        `The disk of the server has less than ${readerFreeBytes / 2 ** 30} GiB of free space. Retry after the operator has freed space.`,
      );
  }

  #kind(): JobKind<ReaderExportInput, ReaderFile> {
    return {
      kind: KIND,
      title: 'Export for a reader',
      console: 'ExtractTransformLoad',
      operationType: 6,
      resumable: true,
      isLong: true,
      ofFolder: true,
      run: (context) => this.#run(context),
      cleanup: async (_input, id, { state }) => {
        if (state !== 'Succeeded') await rm(join(this.#folder, id), { recursive: true, force: true });
      },
    };
  }

  async #run(context: JobContext<ReaderExportInput>): Promise<ReaderFile> {
    const { id, input } = context;
    const view = findView(this.#deps, input.principal, input.collection);
    const plan = planSelection(view, restore(input.request));
    const rights = fingerprintRights(view, plan);
    const file = await runExportJob(context, this.#deps.pools, plan, join(this.#folder, id));
    return { ...file, rights };
  }
}

async function describeExport(
  job: JobRow,
  { collection, notes = [], request }: ReaderExportInput,
): Promise<ReaderExport> {
  const result = readResult(job);
  const expires = (job.completed_at ?? 0) + readerFileMs;
  const isKept = result && Date.now() < expires && (await exists(result.path));
  const warnings = [...new Set([...notes, ...(JSON.parse(job.warnings_json) as string[])])];
  const found = { job, collection, warnings, format: request.format };
  return isKept ? { ...found, file: result, expires } : { ...found, file: undefined, expires: undefined };
}

const isOpen = ({ state }: JobRow) => state === 'Queued' || state === 'Running';

const readInput = ({ input_json }: JobRow) => decodeStoredJson(input_json) as ReaderExportInput;

function readResult({ result_json }: JobRow): ReaderFile | undefined {
  return result_json ? (decodeStoredJson(result_json) as ReaderFile) : undefined;
}

function restore({ selection, ...request }: StoredRequest): SelectionExport {
  return { ...request, selection: { ...selection, others: new Map(selection.others) } };
}

/** Fingerprint of the rows and values that the view shows of an export. */
function fingerprintRights({ rows, source }: CollectionView, { fields }: ExportPlan): string {
  const masks = fields.map(({ name }) => [name, source.fields.find((field) => field.name === name)?.mask]);
  return computeFingerprint(canonical({ rows, masks }));
}

/** The same for the rights of now. Undefined if the export names something that the view does not show. */
function currentRights(view: CollectionView, { request }: ReaderExportInput): string | undefined {
  try {
    return fingerprintRights(view, planSelection(view, restore(request)));
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
