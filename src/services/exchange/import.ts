import { rm } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { Collection, VectorCollection } from '../../core/catalog/collection.js';
import { ApiError } from '../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../core/exchange/limits.js';
import type { StagedLayer, StageProblem, StageTask } from '../../core/exchange/ogr.js';
import { exists } from '../../core/files/exists.js';
import { makeFolder } from '../../core/files/own-folder.js';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { LoadedTable, NamedSld } from '../../core/tasks/vector-tasks.js';
import { isCsv } from '../../core/values/csv.js';
import type { JobQuery, JobRow } from '../../stores/jobs/jobs.js';
import { wholeRightError } from '../access/access.js';
import type { CopySourceLayer } from '../access/rules/rules.js';
import type { FolderNames } from '../catalog/folder-names.js';
import { isGzipped, isZipped } from '../catalog/publish/formats.js';
import { RESERVED_NAMES } from '../catalog/table-name.js';
import { holdsBareGeometries, writeAsCsv } from '../edits/bare-geometries.js';
import type { Merges, StagedRows } from '../edits/merges.js';
import type { JobEngine, SubmitOptions } from '../jobs/engine.js';
import type { JobContext, JobKind, JobOutcome } from '../jobs/kinds.js';
import { parseTraceparent, withJobSpan } from '../telemetry/spans.js';
import { keepsUpload, removeStrays, trimUploads } from '../uploads/kept-uploads.js';
import { removeUpload } from '../uploads/upload-files.js';
import { findImportFormat } from './import-formats.js';
import type {
  FetchedFile,
  ImportedCollection,
  ImportInput,
  ImportResult,
  NewTable,
  RemoteInput,
  RemoteKind,
} from './import-input.js';
import { describeStageProblem, describeUndeclared, removeDatabase, removeStaged } from './import-staging.js';
import { type CrsHints, findStagedCrs, type UndeclaredCrs } from './undeclared-crs.js';

export interface ImportDeps {
  pools: Pools;
  jobs: JobEngine;
  /** Directory of uploads, staging files and stores. */
  dataDir: string;
  /** Makes the collection visible. Can be called twice for the same one. */
  publish(collection: ImportedCollection): Promise<void>;
  /** Whether a collection with this id is published. */
  isPublished(id: string): boolean;
  /** Names of collections in the data folders of several servers. Undefined with one server. */
  names?: Pick<FolderNames, 'refuse' | 'during' | 'release'>;
  /**
   * The file of a collection that is a table of a store. Undefined for other collections. `first` is the first file
   * of the store. Default: there are no such collections.
   */
  storeOf?(id: string, first: string): string | undefined;
  /**
   * Whether a principal can write all rows of the collection with this id, which a job replaces. Default: every
   * principal can.
   */
  mayReplace?(id: string, principal: Principal): boolean;
  /** Withdraws a deleted collection from every API. Default: no collection can be removed. */
  withdraw?(collection: VectorCollection): Promise<void>;
  /** Removes data attached to features of a collection, except data that this job created for the new features. */
  forget?(id: string, job?: string): Promise<void>;
  /** Records the layers that a collection is a copy of. */
  recordSources?(id: string, sources: readonly CopySourceLayer[]): Promise<void>;
  /** Milliseconds for reading a file. Default: `LIMITS.importReadMs`. */
  readMs?: number;
  /** Collections near which data without a declared CRS is searched. Default: none. */
  neighbours?(): readonly Collection[];
  /** Merges rows into collections. Default: merging is not available. */
  merges?: Merges;
}

/** Stored once the file is translated. A completed load removes the staging file. */
interface ImportCheckpoint {
  layer: string;
  format?: string;
  /** All of its columns are texts. */
  untyped?: boolean;
  /** Whether its rows have the ids of the features of the file. */
  keepsIds?: true;
  title: string;
  features: number;
  report?: unknown;
}

/** Input of the stages, with the file that OGR opens. */
interface StageInput extends Omit<ImportInput, 'file' | 'sourceCrs'> {
  path: string;
  sourceCrs: string | undefined;
}

/** Steps of a remote import before its file exists, and before its collection exists. */
interface ImportSteps {
  sources?: readonly CopySourceLayer[] | undefined;
  fetch?: () => Promise<FetchedFile>;
  precede?: () => Promise<void> | undefined;
}

const KIND = 'import';
/** Kinds of jobs that merge into an existing collection: within the rights of a caller, or by the command line. */
const MERGE_KIND = 'merge';
const COMMAND_MERGE_KIND = 'command-merge';
const KINDS = [KIND, MERGE_KIND, COMMAND_MERGE_KIND];
const STAGING_TABLE = 'staged';
/** Progress of an import that fetches, when the file is complete. */
export const FETCHED = 0.5;
/** Phase at whose end the collection exists, regardless of later phases. */
export const LOAD_PHASE = 'load';
/** Shares of the whole that the stages take, as fractions at their ends. */
const UNPACKED = 0.03;
const TRANSLATED = 0.6;
const LOADED = 0.95;

/**
 * Imports files into the embedded store: inspect, translate to a staging GeoPackage, load in one
 * transaction, publish. Each stage can be repeated, so the job resumes after a crash.
 */
export class ImportService {
  readonly uploads: string;
  readonly #store: string;
  readonly #staging: string;
  readonly #deps: ImportDeps;
  readonly #readMs: number;

  constructor(deps: ImportDeps) {
    this.#deps = deps;
    this.#readMs = deps.readMs ?? LIMITS.importReadMs;
    const directory = resolve(deps.dataDir);
    this.uploads = join(directory, 'uploads');
    this.#staging = join(directory, 'staging');
    this.#store = join(directory, 'stores', 'default.gpkg');
    deps.jobs.register(this.#kind(KIND));
    if (deps.merges) deps.jobs.register(this.#kind(COMMAND_MERGE_KIND));
    // A process that does not know the rights of callers leaves their jobs to servers.
    if (deps.merges?.knowsCallers) deps.jobs.register(this.#kind(MERGE_KIND));
  }

  /**
   * Collections near which data without a declared CRS is searched: the imported ones, as a file has those of its
   * folder, and the collection that receives the rows.
   */
  neighboursOf(collections: readonly Collection[], target?: string): readonly Collection[] {
    return collections.filter(({ id, file }) => id === target || file === this.#store);
  }

  /** Throws what `submit` would throw now. */
  refuse(input: Pick<ImportInput, 'table' | 'replace' | 'merge'>): void {
    if (input.merge) return this.#merges.refuse(input.table, input.merge);
    this.#refuseReserved(input.table);
    this.#refuseTaken(input);
  }

  async #refuseAll(input: Pick<ImportInput, 'table' | 'replace' | 'merge'>): Promise<void> {
    this.refuse(input);
    if (!input.merge) await this.#deps.names?.refuse(input.table.toLowerCase());
  }

  /** Registers a kind of remote source for imports. */
  addRemote<S>(remote: RemoteKind<S>): void {
    const { kind, title } = remote;
    this.#deps.jobs.register<RemoteInput<S>, ImportResult>({
      kind,
      title,
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      ofFolder: true,
      run: (context) => this.#runRemote(context, remote),
      cleanup: async (input, id, outcome) => {
        if (outcome.state !== 'Succeeded') await remote.withdraw?.(input);
        await this.#cleanup({ ...input, file: '' }, id, outcome);
      },
      refuseRetry: async ({ retryRefusal }) => retryRefusal,
    });
  }

  /** Like `submit`, for an added kind. */
  async submitRemote<S>(kind: string, input: RemoteInput<S>, options: SubmitOptions): Promise<JobRow> {
    // The earlier job can already have created the collection, so its name is not free for another one.
    const before = await this.#deps.jobs.before(kind, options);
    if (before) return before;
    await this.#refuseAll(input);
    const resources = [`collection:${input.table}`];
    const traced = withTrace(input, options);
    return (await this.#deps.jobs.submit(kind, traced, { resources, ...options })).job;
  }

  /** Throws `conflict` when there is a collection of that name which it cannot replace. */
  async submit(input: ImportInput, options: SubmitOptions): Promise<JobRow> {
    await this.#refuseAll(input);
    const resources = [`collection:${input.table}`];
    const traced = withTrace(input, options);
    const { job } = await this.#deps.jobs.submit(chooseKind(input), traced, { resources, ...options });
    return job;
  }

  /** Imports a file within a job of another kind, which calls `clear` at its end. */
  runWithin(context: JobContext<ImportInput>): Promise<ImportResult> {
    return this.#run(context);
  }

  /** Removes what a job has left on its way. */
  async clear(jobId: string): Promise<void> {
    await removeStaged(this.#stagingPath(jobId));
    await rm(this.#unpackedPath(jobId), { recursive: true, force: true });
  }

  /** Loads a table that a job has made, and makes it a collection; once for each job. */
  async publishTable(context: JobContext, table: NewTable): Promise<void> {
    const { staging, stagingTable, collection: id, title, features, token = context.id } = table;
    await makeFolder(dirname(this.#store));
    const task = {
      staging,
      stagingTable,
      keepsStaging: true,
      table: id,
      title,
      token,
      store: this.#store,
      maxTables: EXCHANGE_LIMITS.storeTables,
    };
    const loaded = await this.#naming(id, context.id, async () => {
      const result = await this.#deps.pools.run('vector.load', task, { signal: context.signal });
      if ('occupant' in result) throw takenError(id);
      return result;
    });
    await this.#deps.forget?.(id, context.id);
    await this.#deps.publish({ id, title, store: loaded.store, features });
  }

  /** Stores styles by name for an imported collection. Returns false for another collection. */
  async addStyles({ id, title, source }: VectorCollection, styles: readonly NamedSld[]): Promise<boolean> {
    const store = this.#storeOf(id);
    if (store === undefined) return false;
    await this.#deps.pools.run('vector.layerStyles', { store, table: source.table, styles }, {});
    await this.#deps.publish({ id: source.table, title, store, features: 0 });
    return true;
  }

  /**
   * Removes an imported collection with its table. Then calls `follow` while the name is still taken, and `follow`
   * calls `forget`. Throws `conflict` for another collection.
   */
  async remove(collection: VectorCollection, follow: () => Promise<void>): Promise<void> {
    const { id, source } = collection;
    const store = this.#storeOf(id);
    if (!this.#deps.withdraw || store === undefined)
      throw new ApiError('conflict', `The collection '${id}' was not created by an import.`);
    await this.#deps.pools.run('vector.drop', { store, table: source.table }, {});
    await follow();
    await this.#deps.withdraw(collection);
    await this.#deps.names?.release(id);
  }

  /** Removes the data of a collection whose table was dropped, and then the record of its sources. */
  async forget(id: string): Promise<void> {
    await this.#deps.forget?.(id);
    await this.#deps.recordSources?.(id, []);
  }

  /** Removes interrupted uploads, and uploads of failed imports that are not retried. */
  async trim(): Promise<void> {
    await removeStrays(this.#deps.jobs.store, this.uploads);
    const findUpload = (input: unknown) => uploadPath(input as ImportInput);
    for (const kind of KINDS) await trimUploads(this.#deps.jobs.store, kind, findUpload);
    await this.#deps.merges?.trim();
  }

  /** Removes an uploaded file that no job has taken. */
  async discard(file: string): Promise<void> {
    await removeUpload(file);
  }

  /** Imports of these callers, newest first. With `active`, only imports that have not ended. */
  list(active: boolean, callers: Pick<JobQuery, 'owner' | 'tenant'> = {}, limit = 200): Promise<JobRow[]> {
    const states = active ? ['Queued', 'Running'] : undefined;
    return this.#deps.jobs.store.list({ ...callers, kinds: KINDS, limit, ...(states ? { states } : {}) });
  }

  /** Throws `not-found`, also for a job of another kind. */
  async get(id: string): Promise<JobRow> {
    const job = await this.#deps.jobs.get(id);
    if (!KINDS.includes(job.kind)) throw new ApiError('not-found', `There is no import job '${id}'.`);
    return job;
  }

  /** Loads a table under a name that no other data folder has. */
  #naming<T>(table: string, job: string, load: () => Promise<T>): Promise<T> {
    const { names } = this.#deps;
    return names ? names.during(table.toLowerCase(), job, load) : load();
  }

  get #merges(): Merges {
    const { merges } = this.#deps;
    if (!merges)
      throw new ApiError('invalid-request', 'This server does not import: it only reads its collections.');
    return merges;
  }

  #kind(kind: string): JobKind<ImportInput, ImportResult> {
    return {
      kind,
      ofUpload: true,
      title: kind === KIND ? 'Import a file' : 'Import a file into a layer',
      console: 'ExtractTransformLoad',
      operationType: 1,
      resumable: true,
      ofFolder: true,
      run: (context) => this.#run(context),
      cleanup: (input, id, outcome) => this.#cleanup(input, id, outcome),
      refuseRetry: async ({ file }) =>
        (await exists(file)) ? undefined : 'The file no longer exists. Import it again.',
    };
  }

  #storeOf(id: string): string | undefined {
    return this.#deps.storeOf?.(id, this.#store);
  }

  #refuseReserved(table: string): void {
    if (RESERVED_NAMES.test(table)) throw new ApiError('invalid-request', `The name ${table} is reserved.`);
  }

  #refuseTaken({ table, replace }: Pick<ImportInput, 'table' | 'replace'>): void {
    const id = table.toLowerCase();
    if (!this.#deps.isPublished(id)) return;
    if (!replace) throw takenError(id);
    if (this.#storeOf(id) === undefined)
      throw new ApiError(
        'conflict',
        `The collection '${id}' was not created by an import, so an import cannot replace it. Choose another name.`,
      );
  }

  /** Rights may have been taken since the job was submitted, or the collection may have come. Throws `forbidden`. */
  #refuseReplacing({
    table,
    replace,
    principal,
  }: Pick<ImportInput, 'table' | 'replace' | 'principal'>): void {
    const id = table.toLowerCase();
    if (!replace || !principal || !this.#deps.isPublished(id)) return;
    if (this.#deps.mayReplace?.(id, principal) ?? true) return;
    throw wholeRightError(id, 'write');
  }

  async #runRemote<S>(context: JobContext<RemoteInput<S>>, remote: RemoteKind<S>): Promise<ImportResult> {
    const folder = this.#unpackedPath(context.id);
    const fetch = async () => {
      if (!remote.goesOn || context.saved === undefined) await rm(folder, { recursive: true, force: true });
      await makeFolder(folder);
      return context.step('fetch', 'Reading the other server', () => remote.fetch(context, folder));
    };
    const precede = () => remote.precede?.(context);
    const { sources } = context.input;
    const job = context as unknown as JobContext<ImportInput>;
    const result = await this.#run(job, { fetch, precede, sources });
    if (remote.follow)
      await context.step(
        'settle',
        'Taking over settings',
        () => remote.follow!(context, result.report, folder),
        true,
      );
    if (remote.attach)
      await context.step('attach', 'Copying attachments', () =>
        remote.attach!(context, result.report, folder),
      );
    return result;
  }

  #run(context: JobContext<ImportInput>, steps: ImportSteps = {}): Promise<ImportResult> {
    const attributes = { 'svc.job.id': context.id, 'svc.collection.id': context.input.table };
    const ofRequest = parseTraceparent(context.input.trace);
    return withJobSpan(
      { name: 'svc.import.file', attributes },
      () => this.#import(context, steps),
      ofRequest,
    );
  }

  async #import(
    context: JobContext<ImportInput>,
    { sources = [], fetch, precede }: ImportSteps,
  ): Promise<ImportResult> {
    const staging = this.#stagingPath(context.id);
    const saved = findSaved(context) ?? (await this.#prepare(context, staging, fetch));
    const { table, merge } = context.input;
    if (merge) return this.#merge(context, { collection: table, merge, staging }, saved);
    await precede?.();
    const record = () => this.#deps.recordSources?.(table.toLowerCase(), sources);
    // Loaded rows can be visible before they are announced.
    if (sources.length > 0) await record();
    // No staging file after it was written: the load of an earlier run has committed.
    const isLoaded = findSaved(context) !== undefined && !(await exists(staging));
    const store = await this.#load(context, staging, saved, isLoaded);
    // Remove attached data of an earlier collection with that name.
    await this.#deps.forget?.(table.toLowerCase(), context.id);
    await record();
    tell(context, LOADED);
    const collection = { id: table, title: saved.title, store, features: saved.features };
    // Loaded rows are published even if the job is stopped during this step, so no half-published collection remains.
    await context.step('publish', `Publishing ${table}`, () => this.#deps.publish(collection), true);
    const { features, layer, format, report } = saved;
    return { table, features, layer, ...(format ? { format } : {}), ...(fetch ? { report } : {}) };
  }

  async #merge(
    context: JobContext<ImportInput>,
    rows: Omit<StagedRows, 'stagingTable' | 'isText'>,
    { layer, format, untyped = false }: ImportCheckpoint,
  ): Promise<ImportResult> {
    const tellPart = (part: number) => tell(context, TRANSLATED + part * (1 - TRANSLATED));
    const staged = { ...rows, stagingTable: STAGING_TABLE, isText: untyped };
    const merge = await this.#merges.run(context, staged, tellPart);
    const features = merge.inserted + merge.updated + merge.unchanged;
    return { table: rows.collection, features, layer, ...(format ? { format } : {}), merge };
  }

  async #prepare(
    context: JobContext<ImportInput>,
    staging: string,
    fetch?: () => Promise<FetchedFile>,
  ): Promise<ImportCheckpoint> {
    if (!context.input.merge) this.#refuseTaken(context.input);
    if (!fetch) return this.#stage(context, await this.#unpack(context), staging, {});
    const { path, ...fetched } = await fetch();
    return this.#stage(context, path, staging, fetched);
  }

  async #stage(
    context: JobContext<ImportInput>,
    path: string,
    staging: string,
    { title, sourceCrs, report }: Partial<FetchedFile>,
  ): Promise<ImportCheckpoint> {
    const { file, ...given } = context.input;
    const input: StageInput = { ...given, sourceCrs: sourceCrs ?? given.sourceCrs, path };
    const { layer, features, driver, keepsIds } = await context.step('translate', 'Reading the file', () =>
      this.#read(context, input, path !== file, staging),
    );
    const saved: ImportCheckpoint = { layer, title: input.title ?? title ?? layer, features };
    if (keepsIds) saved.keepsIds = true;
    if (report !== undefined) saved.report = report;
    else {
      if (driver === 'ESRIJSON') saved.format = 'EsriJson';
      else if (isPacked(file)) saved.format = findImportFormat(path)?.name;
      saved.untyped = isCsv(path) && !holdsBareGeometries(file);
    }
    await context.checkpoint(saved);
    return saved;
  }

  /** The path that OGR opens for the file. */
  async #unpack(context: JobContext<ImportInput>): Promise<string> {
    const { id, input, signal } = context;
    const bare = holdsBareGeometries(input.file);
    if (!bare && !isPacked(input.file)) return input.file;
    await makeFolder(this.#staging);
    const output = this.#unpackedPath(id);
    await rm(output, { recursive: true, force: true });
    if (bare) return this.#tabulate(input.file, output);
    const layer = input.layer === undefined ? {} : { layer: input.layer };
    const task = { path: input.file, output, limitMs: this.#readMs, ...layer };
    const work = () => this.#deps.pools.run('ogr.unpack', task, { signal });
    const { path } = await context.step('unpack', 'Unpacking the archive', work);
    tell(context, UNPACKED);
    return path;
  }

  /** Geometries without attributes as a table, named as the file is. */
  async #tabulate(file: string, folder: string): Promise<string> {
    await makeFolder(folder);
    const table = join(folder, `${basename(file, extname(file))}.csv`);
    await writeAsCsv(file, table);
    return table;
  }

  /** Writes the layer that is meant into the staging file. */
  async #read(
    context: JobContext<ImportInput>,
    { path, layer, sourceCrs, targetCrs }: StageInput,
    isUnpacked: boolean,
    staging: string,
  ): Promise<StagedLayer> {
    const { signal } = context;
    await makeFolder(this.#staging);
    await removeDatabase(staging);
    const task = {
      path,
      isUnpacked,
      output: staging,
      table: STAGING_TABLE,
      limitMs: this.#readMs,
      ...(layer === undefined ? {} : { layer }),
      ...(sourceCrs ? { sourceCrs } : {}),
      ...(targetCrs ? { targetCrs } : {}),
      // Rows become values of fields that may have more digits than a column of the file.
      ...(context.input.merge ? { keepsValues: true } : {}),
    };
    const onProgress = (part: number) => tell(context, UNPACKED + part * (TRANSLATED - UNPACKED));
    const stage = (more: Partial<StageTask> = {}) =>
      this.#deps.pools.run('ogr.stage', { ...task, ...more }, { signal, onProgress });
    let result = await stage();
    if ('problem' in result && result.problem === 'no-crs') {
      const { merge, table } = context.input;
      const neighbours = this.neighboursOf(this.#deps.neighbours?.() ?? [], merge && table);
      const hints = { namesDegrees: result.namesDegrees, neighbours };
      const undeclared = await this.#findUndeclaredCrs(stage, staging, hints, signal);
      if (undeclared) result = await stage({ sourceCrs: undeclared.crs });
      if (undeclared?.assumed) await context.warn(describeUndeclared(undeclared.assumed));
    }
    if ('problem' in result) throw describeStageProblem(result);
    if (layer === undefined && result.spatialLayers > 1)
      await context.warn(
        `The file has ${result.spatialLayers} layers; this one is imported: ${result.layer}.`,
      );
    for (const note of result.notes ?? []) await context.warn(note);
    return result;
  }

  /** Stages the file without a CRS, which shows where its coordinates are. */
  async #findUndeclaredCrs(
    stage: (more: Partial<StageTask>) => Promise<StagedLayer | StageProblem>,
    staging: string,
    hints: CrsHints,
    signal: AbortSignal,
  ): Promise<UndeclaredCrs | undefined> {
    const output = `${staging}.part-crs.gpkg`;
    await removeDatabase(output);
    try {
      const staged = await stage({ output, targetCrs: undefined, mayLackCrs: true });
      if ('problem' in staged) throw describeStageProblem(staged);
      return await findStagedCrs(output, hints, this.#deps.pools, { signal });
    } finally {
      await removeDatabase(output);
    }
  }

  /** Resolves with the file that has the table. */
  async #load(
    context: JobContext<ImportInput>,
    staging: string,
    saved: ImportCheckpoint,
    isLoaded: boolean,
  ): Promise<string> {
    const { id, input, signal } = context;
    if (!isLoaded) this.#refuseReplacing(input);
    await makeFolder(dirname(this.#store));
    const task = {
      staging,
      stagingTable: STAGING_TABLE,
      store: this.#store,
      maxTables: EXCHANGE_LIMITS.storeTables,
      table: input.table,
      title: saved.title,
      untyped: saved.untyped,
      ...(saved.keepsIds ? { idsAsColumn: true } : {}),
      replace: input.replace === true,
      // With the token, the store recognises that a load committed although its result was lost.
      token: id,
    };
    const onProgress = (part: number) => tell(context, TRANSLATED + part * (LOADED - TRANSLATED));
    const loadTable = async () => {
      for (let replaced: LoadedTable | undefined; ; ) {
        const load = { ...task, ...(replaced ? { replaced } : {}) };
        const result = await this.#deps.pools.run('vector.load', load, { signal, onProgress });
        if ('features' in result) return result.store;
        replaced = result.occupant;
        await this.#refuseOccupied(input, replaced);
      }
    };
    const work = () => this.#naming(input.table, id, loadTable);
    if (isLoaded) return work();
    return context.step(LOAD_PHASE, `Loading ${saved.features} features into ${input.table}`, work);
  }

  /** The catalog may not know yet what another job has loaded. Throws `conflict`, or `forbidden` as `#refuseReplacing`. */
  async #refuseOccupied(input: ImportInput, { token }: LoadedTable): Promise<void> {
    if (!input.replace) throw takenError(input.table);
    // Tokens start with the id of their job, which ends when all processes know its collection.
    const maker = token === null ? undefined : await this.#deps.jobs.store.get(token.split('/')[0]!);
    if (maker?.state === 'Queued' || maker?.state === 'Running')
      throw new ApiError(
        'conflict',
        `The collection '${input.table}' is being created by the job ${maker.id}. Import again after that job has ended.`,
      );
    this.#refuseReplacing(input);
  }

  async #cleanup(input: ImportInput, id: string, outcome: JobOutcome): Promise<void> {
    await this.clear(id);
    await this.#deps.merges?.discard(id);
    const upload = uploadPath(input);
    if (upload !== undefined && !keepsUpload(outcome)) await removeUpload(upload);
    await this.trim();
  }

  #unpackedPath(id: string): string {
    return join(this.#staging, id);
  }

  #stagingPath(id: string): string {
    return join(this.#staging, `${id}.gpkg`);
  }
}

const takenError = (id: string) =>
  new ApiError('conflict', `The collection '${id}' already exists. Choose another name, or replace it.`);

function chooseKind({ merge }: ImportInput): string {
  if (!merge) return KIND;
  return merge.principal ? MERGE_KIND : COMMAND_MERGE_KIND;
}

/** The checkpoint of an earlier run after the translation. Before that, a fetch stores its progress there. */
function findSaved({ saved }: JobContext<ImportInput>): ImportCheckpoint | undefined {
  return typeof saved === 'object' && saved !== null && 'layer' in saved
    ? (saved as ImportCheckpoint)
    : undefined;
}

function tell(context: JobContext<ImportInput>, fraction: number): void {
  const begin = 'remote' in context.input ? FETCHED : 0;
  context.progress(begin + fraction * (1 - begin));
}

const isPacked = (path: string) => isZipped(path) || isGzipped(path);

/** The file that belongs to the job. */
function uploadPath({ file, owned }: ImportInput): string | undefined {
  return owned ? file : undefined;
}

const withTrace = <T extends object>(input: T, { trace }: SubmitOptions): T =>
  trace === undefined ? input : { ...input, trace };
