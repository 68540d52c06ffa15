import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { ApiError } from '../../core/errors/errors.js';
import { suggestName } from '../../core/errors/near-names.js';
import { exists } from '../../core/files/exists.js';
import { makeFolder } from '../../core/files/own-folder.js';
import { formatActor, type Principal, withoutSession } from '../../core/http/operation.js';
import type { JobPriority } from '../../core/jobs/job-priority.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { decodeStoredJson } from '../../core/values/json.js';
import type { JobLogRow, JobQuery, JobRow } from '../../stores/jobs/jobs.js';
import { buildCaller } from '../access/identity/submitter.js';
import { permits } from '../access/permissions.js';
import { requireCompleteAccess } from '../access/rules/derivations.js';
import { PROCESS_PERMISSIONS } from '../access/rules/policy.js';
import type { CopySourceLayer } from '../access/rules/rules.js';
import type { JobEngine, SubmitOptions } from '../jobs/engine.js';
import type { JobKind } from '../jobs/kinds.js';
import { isInTenant, isOwn } from '../jobs/ownership.js';
import { removeOldFiles } from '../kit/old-files.js';
import { parseTraceparent, withJobSpan } from '../telemetry/spans.js';
import { removeStrays } from '../uploads/kept-uploads.js';
import type { Callbacks } from './callbacks.js';
import { findProcess, PROCESSES } from './catalogue/index.js';
import type { InputValues, ProcessDefinition } from './definition.js';
import type { Execution, ExecutionDraft, ExecutionInput, ProcessResult, ResultFile } from './execution.js';
import { executeProcess } from './job.js';
import { publishResult, type ResultPublishDeps } from './publish.js';
import type { PushDownSetting } from './push-down.js';
import { Refusals } from './refusals.js';
import { archivePath } from './run-tiles.js';
import type { SourceReference, SourceValue } from './source-input.js';
import { ProcessSources } from './sources.js';

export interface ProcessesDeps extends ResultPublishDeps {
  pools: Pools;
  jobs: JobEngine;
  dataDir: string;
  /** The catalog as a principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
  /** Ids of processes that require approval. */
  approval: readonly string[];
  /** Stores an execution until it is approved. Resolves with the id of the proposal. */
  propose(draft: ExecutionDraft, proposer: Principal): Promise<string>;
  /** Bytes that the steps of a plan may leave for each other. */
  spoolBytes: number;
  /** Processes that databases compute. */
  pushDown: PushDownSetting;
  /** Memory that the process of a job may need. */
  memoryBytes: number;
  callbacks: Callbacks;
}

interface ExecuteOptions extends Pick<SubmitOptions, 'id' | 'idempotencyKey' | 'correlationId' | 'priority'> {
  /** Whether another user has approved the execution. */
  isApproved?: boolean;
  baseUrl: string;
  /** Trace context of the request (W3C Trace Context). */
  trace: string | undefined;
}

export const PROCESS_KIND = 'process';

/** Names a process among the resources of a job. */
export const processResource = (id: string) => `process:${id}`;

const DAY_MS = 86_400_000;
/** Milliseconds between removals of expired files, while jobs end. */
const TRIM_MS = 600_000;
const EXCEPTIONS = 'http://www.opengis.net/def/exceptions/ogcapi-processes-1/1.0';

/** Processes, and the jobs that execute them (OGC 18-062r2). */
export class Processes {
  readonly #deps: ProcessesDeps;
  /** A folder for each job, and files of features that were sent. */
  readonly #folder: string;
  readonly #uploads: string;
  readonly #sources: ProcessSources;
  readonly #refusals: Refusals;
  #trimmedAt = 0;

  constructor(deps: ProcessesDeps) {
    this.#deps = deps;
    this.#folder = join(resolve(deps.dataDir), 'processes');
    this.#uploads = join(this.#folder, 'sent');
    this.#sources = new ProcessSources({
      pools: deps.pools,
      visible: deps.visible,
      resultFile: async (jobId, output, principal) => (await this.file(jobId, output, principal)).path,
    });
    this.#refusals = new Refusals({
      sources: this.#sources,
      imports: deps.imports,
      storage: deps.storage,
      result: (jobId, output, principal) => this.file(jobId, output, principal),
    });
    deps.jobs.register(this.#kind());
  }

  get list(): readonly ProcessDefinition[] {
    return [...PROCESSES.values()];
  }

  /** Throws `not-found`. */
  get(id: string): ProcessDefinition {
    const process = findProcess(id);
    if (process) return process;
    throw new ApiError(
      'not-found',
      `There is no process '${id.slice(0, 100)}'.${suggestName(id, PROCESSES.keys())}`,
      {
        type: `${EXCEPTIONS}/no-such-process`,
      },
    );
  }

  /** Durable once resolved. Throws what the caller did wrong. */
  execute(
    process: ProcessDefinition,
    execution: Execution,
    principal: Principal,
    options: ExecuteOptions,
  ): Promise<JobRow> {
    const span = { name: 'svc.execution.admission', attributes: { 'svc.operation': process.id } };
    const admit = () => this.#admit(process, execution, principal, options);
    return withJobSpan(span, admit, parseTraceparent(options.trace));
  }

  /**
   * Throws the errors with which `execute` would refuse. Otherwise resolves with the id of the process that another
   * user must approve, if there is one. Starts nothing.
   */
  async review(
    process: ProcessDefinition,
    execution: Execution,
    principal: Principal,
  ): Promise<string | undefined> {
    const caller = withoutSession(principal);
    await this.#refuse(process, execution, caller);
    const gated = this.#findGated(process.id, execution);
    if (gated === undefined && isPublishing(execution)) await this.#layersOf(process, execution, caller);
    return gated;
  }

  /** Ids of the collections that an execution reads. */
  listRead(process: ProcessDefinition, execution: Execution): string[] {
    const { plan } = execution;
    const named = [
      ...readBy(process, execution.values),
      ...(plan?.steps ?? []).flatMap((step) => readBy(PROCESSES.get(step.process)!, step.values)),
    ];
    const sources = listSources<SourceValue>(execution);
    return [...named, ...sources.flatMap((one) => (one.kind === 'collection' ? [one.id] : []))];
  }

  async #refuse(process: ProcessDefinition, execution: Execution, caller: Principal): Promise<void> {
    if (execution.subscriber) this.#deps.callbacks.refuse(execution.subscriber);
    await this.#refusals.check(process, execution, caller);
  }

  async #admit(
    process: ProcessDefinition,
    execution: Execution,
    principal: Principal,
    { baseUrl, trace, isApproved, priority = 'Normal', ...options }: ExecuteOptions,
  ): Promise<JobRow> {
    const proposer = withoutSession(principal);
    // A job runs with the rights it was given. Only approvals store the origin of these rights.
    const { providerClaims: _claims, certificates: _certificates, ...caller } = proposer;
    const { callbacks } = this.#deps;
    await this.#refuse(process, execution, caller);
    if (!isApproved)
      await this.#requireApproval({ process: process.id, execution, baseUrl, priority }, proposer);
    const { values, outputs, response } = execution;
    const derivedFrom = isPublishing(execution)
      ? await this.#layersOf(process, execution, caller)
      : undefined;
    const input: ExecutionInput = {
      process: process.id,
      values,
      outputs,
      response,
      derivedFrom,
      principal: caller,
      sources: await this.#keep(execution.sources),
      ...(trace === undefined ? {} : { trace }),
      ...(execution.plan ? { plan: await this.#keepPlan(execution.plan) } : {}),
    };
    const resources = [processResource(process.id), ...listCollections(input)];
    let job: JobRow;
    try {
      const submit = {
        ...buildCaller(principal, { permission: PROCESS_PERMISSIONS.execute }),
        resources,
        ...options,
        priority: priorityFor(principal, priority),
      };
      job = (await this.#deps.jobs.submit(PROCESS_KIND, input, submit)).job;
    } catch (error) {
      await removeUploads(input);
      throw error;
    }
    if (!execution.subscriber) return job;
    try {
      await callbacks.subscribe(job, execution.subscriber, baseUrl);
      return job;
    } catch (error) {
      // Without notification the job is useless, and a repeated request would execute it twice.
      await this.#deps.jobs.cancel(job.id);
      throw error;
    }
  }

  /**
   * The layers that an execution reads, and the sources of the results that it reads. Throws `forbidden` for a layer
   * that the caller can read only in part.
   */
  async #layersOf(
    process: ProcessDefinition,
    execution: Pick<Execution, 'values'> & ExecutionSources<SourceValue | SourceReference>,
    principal: Principal,
  ): Promise<CopySourceLayer[]> {
    const references = listSources(execution);
    const names = [
      ...references.flatMap((one) => (one.kind === 'collection' ? [one.id] : [])),
      ...readBy(process, execution.values),
    ];
    const collections = names.flatMap((name) => this.#sources.find(name, principal) ?? []);
    for (const collection of collections) requireCompleteAccess(collection);
    const layers = this.#deps.derivations.sourcesOf(collections);
    for (const one of references) {
      if (one.kind !== 'result') continue;
      const { input } = await this.result(one.jobId, principal);
      layers.push(...(await this.#layersOf(this.get(input.process), input, principal)));
    }
    return [...new Map(layers.map((layer) => [layer.id, layer])).values()];
  }

  /** Throws `forbidden` with the id of the proposal if a process or a step requires approval. */
  async #requireApproval(draft: ExecutionDraft, proposer: Principal): Promise<void> {
    const gated = this.#findGated(draft.process, draft.execution);
    if (gated === undefined) return;
    const id = await this.#deps.propose(draft, proposer);
    throw new ApiError('forbidden', `Approval required: ${gated} runs after the proposal ${id} is approved.`);
  }

  /** The process or step of an execution that requires approval. */
  #findGated(process: string, { plan }: Execution): string | undefined {
    const all = [process, ...(plan?.steps ?? []).map((step) => step.process)];
    return all.find((id) => this.#deps.approval.includes(id));
  }

  /** A job of this caller. Job managers can read all jobs. Throws `not-found`. */
  async job(id: string, principal: Principal): Promise<JobRow> {
    const job = await this.#deps.jobs.store.get(id);
    if (job?.kind === PROCESS_KIND && mayRead(job, principal)) return job;
    throw noJob(id);
  }

  /** Log lines of a job, in order. */
  log({ id }: JobRow): Promise<JobLogRow[]> {
    return this.#deps.jobs.store.logs(id, 0, PROCESS_LIMITS.processLogLines);
  }

  /** Jobs of this caller, newest first. For job managers, all jobs. */
  jobs(query: Omit<JobQuery, 'kinds' | 'owner'>, principal: Principal): Promise<JobRow[]> {
    const owner = managesJobs(principal) ? { tenant: principal.tenantId } : { owner: formatActor(principal) };
    return this.#deps.jobs.store.list({ ...query, ...owner, kinds: [PROCESS_KIND] });
  }

  /**
   * Cancels a job, and deletes its results. A repeated call has no effect. Throws `conflict` if the job has ended in
   * another way.
   */
  async dismiss(id: string, principal: Principal): Promise<JobRow> {
    const job = await this.job(id, principal);
    if (job.owner !== formatActor(principal) && !permits(principal, 'admin:jobs:write'))
      throw new ApiError(
        'forbidden',
        'The job belongs to another user. Sign in as that user, or as an administrator.',
      );
    return this.#deps.jobs.cancel(job.id);
  }

  /**
   * Result of a job of exactly this caller, because it can contain data that other callers cannot read. Throws 404
   * before the job ends, 410 if it was dismissed, 500 if it failed.
   */
  async result(
    id: string,
    principal: Principal,
  ): Promise<{ job: JobRow; input: ExecutionInput; result: ProcessResult }> {
    const job = await this.job(id, principal);
    if (job.owner !== formatActor(principal)) throw noJob(id);
    switch (job.state) {
      case 'Succeeded':
        return {
          job,
          input: decodeStoredJson(job.input_json) as ExecutionInput,
          result: decodeStoredJson(job.result_json!) as ProcessResult,
        };
      case 'Cancelled':
        throw new ApiError('gone', 'The job was dismissed and has no results. Execute the process again.');
      case 'Failed':
        throw new ApiError('internal', `The job failed: ${job.failure_message}`);
      default:
        if (job.cancel_requested_at !== null)
          throw new ApiError('gone', 'The job was dismissed and has no results. Execute the process again.');
        throw new ApiError('not-found', 'The job has not ended yet. Retry after it has ended.', {
          type: `${EXCEPTIONS}/result-not-ready`,
        });
    }
  }

  /** The file of an output. */
  async file(id: string, output: string, principal: Principal): Promise<ResultFile> {
    const { result } = await this.result(id, principal);
    const file = Object.hasOwn(result.files, output) ? result.files[output] : undefined;
    if (!file) throw new ApiError('not-found', `The job has no output file '${output.slice(0, 100)}'.`);
    if (!(await exists(file.path)))
      throw new ApiError('gone', 'The results have expired and were removed. Execute the process again.');
    return file;
  }

  /** Removes results past their time, and features that were sent and belong to no job. */
  async trim(now = Date.now()): Promise<void> {
    this.#trimmedAt = now;
    await removeStrays(this.#deps.jobs.store, this.#uploads);
    const isJob = (name: string) => name !== 'sent';
    await removeOldFiles(
      this.#folder,
      (name) => (isJob(name) ? PROCESS_LIMITS.processResultDays * DAY_MS : Infinity),
      now,
    );
  }

  async #keepPlan(plan: NonNullable<Execution['plan']>): Promise<NonNullable<ExecutionInput['plan']>> {
    const steps = [];
    for (const step of plan.steps) steps.push({ ...step, sources: await this.#keep(step.sources) });
    return { ...plan, steps };
  }

  /** Writes the features in a request to files, which belong to the job. */
  async #keep(all: Execution['sources']): Promise<Record<string, SourceReference>> {
    const references: Record<string, SourceReference> = {};
    for (const [name, sent] of Object.entries(all)) {
      if (sent.kind !== 'inline' && sent.kind !== 'inline-raster') {
        references[name] = sent;
        continue;
      }
      const isRaster = sent.kind === 'inline-raster';
      await makeFolder(this.#uploads, 0o700);
      const isFeatureSet = sent.kind === 'inline' && sent.isFeatureSet;
      const ending = isRaster ? 'tif' : isFeatureSet ? 'json' : 'geojson';
      const path = join(this.#uploads, `${randomUUID()}.${ending}`);
      references[name] = { kind: 'file', path, ...(isFeatureSet ? { isFeatureSet } : {}) };
      await writeDurably(path, isRaster ? Buffer.from(sent.base64, 'base64') : sent.text);
    }
    return references;
  }

  #kind(): JobKind<ExecutionInput, ProcessResult> {
    const { pools, imports, spoolBytes, memoryBytes, pushDown } = this.#deps;
    return {
      kind: PROCESS_KIND,
      title: 'Process',
      console: 'Geoprocessing',
      operationType: 9,
      resumable: true,
      isLong: true,
      ofFolder: true,
      run: (context) =>
        executeProcess(context, this.#folderOf(context.id), {
          pools,
          imports,
          sources: this.#sources,
          spoolBytes,
          memoryBytes,
          pushDown,
          publish: (job, result) => publishResult(job, result, this.#folderOf(job.id), this.#deps),
        }),
      cleanup: async (input, id, { state }) => {
        await removeUploads(input);
        await this.#clear(input, id);
        if (state !== 'Succeeded') await rm(this.#folderOf(id), { recursive: true, force: true });
        if (Date.now() - this.#trimmedAt > TRIM_MS) await this.trim();
      },
      refuseRetry: async (input) =>
        listSources(input).some(({ kind }) => kind === 'file')
          ? 'The sent features no longer exist. Execute the process again.'
          : undefined,
    };
  }

  /** Removes data outside the folder of the job, and closes its open files there. */
  async #clear({ process, values }: ExecutionInput, id: string): Promise<void> {
    const work = PROCESSES.get(process)?.work;
    if (work?.kind === 'import') await this.#deps.imports.clear(id);
    if (work?.kind !== 'tiles') return;
    const output = archivePath(this.#folderOf(id), work, values);
    await this.#deps.pools.run('archive.discard', { output });
  }

  #folderOf(jobId: string): string {
    return join(this.#folder, jobId);
  }
}

function noJob(id: string): ApiError {
  const type = `${EXCEPTIONS}/no-such-job`;
  return new ApiError('not-found', `There is no job '${id.slice(0, 100)}'.`, { type });
}

/** Priority of a job. Only job managers can request a high priority, but all callers can request a low one. */
function priorityFor(principal: Principal, priority: JobPriority): JobPriority {
  return permits(principal, 'admin:jobs:write') || priority === 'Low' ? priority : 'Normal';
}

const managesJobs = (principal: Principal) => permits(principal, 'admin:jobs:read');

function mayRead(job: JobRow, principal: Principal): boolean {
  return isOwn(job, principal) || (managesJobs(principal) && isInTenant(job, principal));
}

/** Sources of an execution in all its steps. */
function listSources<S>({ sources, plan }: ExecutionSources<S>): S[] {
  return [sources, ...(plan?.steps ?? []).map((step) => step.sources)].flatMap((one) => Object.values(one));
}

interface ExecutionSources<S> {
  readonly sources: Readonly<Record<string, S>>;
  readonly plan?: { readonly steps: readonly { readonly sources: Readonly<Record<string, S>> }[] };
}

const isPublishing = ({ outputs }: Execution) =>
  Object.values(outputs).some(({ publish }) => publish !== undefined);

/** Collections that values of a process name, and that it reads. */
function readBy({ work }: ProcessDefinition, values: InputValues): readonly string[] {
  if (work.kind === 'tiles') return work.select(values).collections;
  return work.kind === 'map' ? ((values['layers'] as readonly string[] | undefined) ?? []) : [];
}

/** Collections that values name: the collections to read, and the collection that an import creates. */
function namedIn({ process, values }: ExecutionInput): readonly string[] {
  const definition = PROCESSES.get(process);
  if (definition?.work.kind === 'import') return [definition.work.read(values).table];
  return definition ? readBy(definition, values) : [];
}

function listCollections(input: ExecutionInput): string[] {
  const read = listSources(input).flatMap((one) => (one.kind === 'collection' ? [one.id] : []));
  const published = Object.values(input.outputs).flatMap(({ publish }) =>
    publish ? [publish.collection] : [],
  );
  return [...new Set([...namedIn(input), ...read, ...published])].map((id) => `collection:${id}`);
}

async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function removeUploads(input: ExecutionInput): Promise<void> {
  for (const one of listSources(input)) if (one.kind === 'file') await rm(one.path, { force: true });
}
