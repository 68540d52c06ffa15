import Type from 'typebox';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { ApiError, notFound } from '../../../core/errors/errors.js';
import { asksForHtml } from '../../../core/http/media.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Param,
  type Principal,
  type Reply,
} from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { permits } from '../../../services/access/permissions.js';
import { PROCESS_PERMISSIONS } from '../../../services/access/rules/policy.js';
import type { ProcessDefinition } from '../../../services/processes/definition.js';
import type { ExecutionInput, ProcessResult } from '../../../services/processes/execution.js';
import { readExecution } from '../../../services/processes/requests/execution.js';
import { resolveRasters } from '../../../services/processes/requests/inputs.js';
import type { Processes } from '../../../services/processes/service.js';
import { formatTraceparent, type RequestSpan } from '../../../services/telemetry/spans.js';
import type { JobLogRow, JobRow, JobState } from '../../../stores/jobs/jobs.js';
import { isBasic } from '../../auth/credentials.js';
import { taskPage } from '../../pages/geoservices/task-page.js';
import { createPageReply } from '../../pages/page-reply.js';
import {
  common,
  documentFormat,
  FORM_TYPES,
  mergeParameters,
  readingOperation,
} from '../features/feature-server.js';
import { jsonReply, textReply } from '../images/in-band.js';
import { CURRENT_VERSION } from '../layer-documents.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import type { Members } from '../members.js';
import { readGpInputs, taskDocument } from './gp-parameters.js';
import { resultText } from './gp-results.js';

/** Services that execute processes. */
export interface GpDeps {
  readonly processes: Processes;
  readonly pools: Pools;
  /**
   * Resolves with a job when it ends. Resolves earlier with its current state after `ms`, or when the server stops.
   */
  waitFor(job: JobRow, ms: number, signal?: AbortSignal): Promise<JobRow>;
  isStopping(): boolean;
  /** The catalog as a principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
}

/** The one geoprocessing service: its tasks are the processes of OGC API Processes. */
export const GP_SERVICE = 'Processes';

const ROOT = `/rest/services/${GP_SERVICE}/GPServer`;
const TASK = `${ROOT}/{task}`;
const JOB = `${TASK}/jobs/{jobId}`;
const task = pathString('task', 'Id of a process.');
const jobId = pathString('jobId', 'Id of a job.');
const parameter = pathString('parameter', 'Name of an output.');

/** Maximum milliseconds that `execute` waits for the job. */
const EXECUTE_MS = 60_000;

const about = (verb: string) => common('GPServer', verb, 'GPServer');

export function gpServerOperations(deps: GpDeps): Operation[] {
  const { processes } = deps;
  return [
    ...readingOperation({
      about: about('service'),
      name: 'gpService',
      path: ROOT,
      pathParams: {},
      params: {},
      summary: 'The geoprocessing service',
      run: (_x, _path, members) =>
        jsonReply(serviceDocument(processes.list.map(({ id }) => id)), documentFormat(members)),
    }),
    ...readingOperation({
      about: about('task'),
      name: 'gpTask',
      path: TASK,
      pathParams: { task },
      params: {},
      summary: 'A geoprocessing task',
      run(x, path, members) {
        const document = taskDocument(processes.get(path['task']!));
        return wantsTaskPage(x)
          ? createPageReply(taskPage(x, document))
          : jsonReply(document, documentFormat(members));
      },
    }),
    ...submission(deps, 'execute', 'Execute a task, and wait for it', async (x, process, members) => {
      const job = await submit(x, deps, process, members);
      const end = await loadEnd(job, x, deps);
      if (isOpen(end)) return continuedReply(x, process, end, members);
      if (end.state !== 'Succeeded')
        throw new ApiError('unprocessable', end.failure_message ?? 'The task was cancelled.');
      const names = listOutputs(process, end);
      const results = [];
      for (const name of names) results.push(await resultText(x, deps, { job, process, name, members }));
      const messages = JSON.stringify((await processes.log(end)).map(buildMessage));
      return textReply(`{"results":[${results.join(',')}],"messages":${messages}}`);
    }),
    ...submission(deps, 'submitJob', 'Submit a job', async (x, process, members) => {
      const job = await submit(x, deps, process, members);
      return jsonReply({ jobId: job.id, jobStatus: chooseStatus(job) }, documentFormat(members));
    }),
    ...readingOperation({
      about: about('job'),
      name: 'gpJob',
      path: JOB,
      pathParams: { task, jobId },
      params: {},
      summary: 'Get the status of a job',
      async run(x, path, members) {
        const { job, process } = await loadJob(x, deps, path);
        const messages = (await processes.log(job)).map(buildMessage);
        return jsonReply(jobDocument(job, process, messages), documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('result'),
      name: 'gpResult',
      path: `${JOB}/results/{parameter}`,
      pathParams: { task, jobId, parameter },
      params: {},
      summary: 'A result of a job',
      async run(x, path, members) {
        const { job, process } = await loadJob(x, deps, path);
        const name = path['parameter']!;
        if (!Object.hasOwn(process.outputs, name)) throw notFound('output', name.slice(0, 100));
        return textReply(await resultText(x, deps, { job, process, name, members }));
      },
    }),
    ...changing({
      verb: 'cancel',
      path: `${JOB}/cancel`,
      params: { task, jobId },
      summary: 'Cancel a job',
      async run(x) {
        const { job } = await loadJob(x, deps, x.params as unknown as Record<string, string>);
        const end = await processes.dismiss(job.id, x.principal);
        return jsonReply({ jobId: end.id, jobStatus: chooseStatus(end) }, documentFormat(mergeParameters(x)));
      },
    }),
  ];
}

/** Whether a browser requests a page, and no other format. */
function wantsTaskPage(x: Exchange): boolean {
  const f = new URLSearchParams(x.query).get('f') ?? 'html';
  return x.method === 'GET' && f === 'html' && asksForHtml(x.header('accept'));
}

/**
 * Waits for the end of the job. When the server stops, returns its current state: the job continues after the next
 * start. The job is dismissed if it takes too long, and if the client disconnects, unless the client can repeat the
 * request. Throws `deadline-exceeded`.
 */
async function loadEnd(
  job: JobRow,
  x: Exchange,
  { processes, waitFor, isStopping }: GpDeps,
): Promise<JobRow> {
  const end = await waitFor(
    job,
    EXECUTE_MS,
    x.header('idempotency-key') === undefined ? x.signal : undefined,
  );
  if (!isOpen(end) || isStopping()) return end;
  const late = await processes.dismiss(job.id, x.principal).catch((error: unknown) => {
    // The job has ended in the meantime.
    if (error instanceof ApiError && error.code === 'conflict') return processes.job(job.id, x.principal);
    throw error;
  });
  if (late.state === 'Succeeded' || late.state === 'Failed') return late;
  throw new ApiError(
    'deadline-exceeded',
    'The task takes too long for a synchronous response. Use submitJob.',
  );
}

const isOpen = ({ state }: JobRow) => state === 'Queued' || state === 'Running';

/** The reply to `execute` when the server stops before the job has ended: the document of `submitJob`. */
function continuedReply(x: Exchange, { id }: ProcessDefinition, job: JobRow, members: Members): Reply {
  const location = `${x.baseUrl}${ROOT}/${encodeURIComponent(id)}/jobs/${job.id}`;
  const document = { jobId: job.id, jobStatus: chooseStatus(job) };
  return { ...jsonReply(document, documentFormat(members)), status: 201, headers: { location } };
}

const serviceDocument = (tasks: readonly string[]) => ({
  currentVersion: CURRENT_VERSION,
  serviceDescription: 'The processes of this server.',
  tasks,
  executionType: 'esriExecutionTypeAsynchronous',
  resultMapServerName: '',
  maximumRecords: GEOSERVICES_LIMITS.geoServicesRecordsMax,
  capabilities: '',
});

type Run = (x: Exchange, process: ProcessDefinition, members: Members) => Promise<Reply>;

/** An operation that starts a job. */
function submission(deps: GpDeps, verb: string, summary: string, run: Run): Operation[] {
  return changing({
    verb,
    summary,
    path: `${TASK}/${verb}`,
    params: { task },
    run(x) {
      const { task: id } = x.params as unknown as { task: string };
      return run(x, deps.processes.get(id), mergeParameters(x));
    },
  });
}

interface Change {
  readonly verb: string;
  readonly path: string;
  readonly params: Record<string, Param<string>>;
  readonly summary: string;
  run(x: Exchange): Reply | Promise<Reply>;
}

/** An operation that changes jobs, by GET and by POST, as GeoServices clients call it. */
function changing({ verb, path, params, summary, run }: Change): Operation[] {
  const spec = {
    ...about(verb),
    path,
    summary,
    audited: true,
    params,
    run(x: Exchange) {
      requirePermission(x, PROCESS_PERMISSIONS.execute);
      return run(x);
    },
  };
  const body = {
    schema: Type.Object({}),
    mediaTypes: [...FORM_TYPES, 'application/json'],
    required: false,
    maxBytes: LIMITS.processBodyBytes,
  };
  return [
    defineOperation({ ...spec, method: 'GET', id: `geoservices.gp.get.${verb}` }),
    defineOperation({ ...spec, method: 'POST', id: `geoservices.gp.post.${verb}`, body, repeatable: true }),
  ];
}

/** Throws where the caller may not: also where any page could have it done by an address, with what a browser sends along. */
function requirePermission(x: Exchange, permission: string): void {
  const { principal } = x;
  const isSentAlong =
    principal.sessionHash !== undefined ||
    principal.kind === 'certificate' ||
    isBasic(x.header('authorization'));
  if (isSentAlong && x.method !== 'POST')
    throw new ApiError(
      'forbidden',
      'The request is not allowed by GET with cookies. Use POST, or send a token.',
    );
  if (!permits(principal, permission)) throw missing(principal, permission);
}

const missing = ({ kind }: Principal, permission: string) =>
  new ApiError(
    kind === 'anonymous' ? 'unauthenticated' : 'forbidden',
    `This operation requires the permission ${permission}, which the caller does not have.`,
  );

function submit(
  x: Exchange,
  { processes, visible }: GpDeps,
  process: ProcessDefinition,
  members: Members,
): Promise<JobRow> {
  const sent = readGpInputs(process, members, x.baseUrl);
  const inputs = resolveRasters(sent, visible(x.principal).collections);
  const execution = readExecution(process, { inputs }, x.baseUrl);
  return processes.execute(process, execution, x.principal, {
    correlationId: x.correlationId,
    baseUrl: x.baseUrl,
    priority: 'Normal',
    trace: formatTraceparent((x.span as RequestSpan | undefined)?.span),
  });
}

/** A job of the task that the path names. */
async function loadJob(x: Exchange, { processes }: GpDeps, path: Readonly<Record<string, string>>) {
  if (!permits(x.principal, PROCESS_PERMISSIONS.read)) throw missing(x.principal, PROCESS_PERMISSIONS.read);
  const process = processes.get(path['task']!);
  const job = await processes.job(path['jobId']!, x.principal);
  if ((JSON.parse(job.input_json) as ExecutionInput).process !== process.id) throw notFound('job', job.id);
  return { job, process };
}

const STATUS: Readonly<Record<JobState, string>> = {
  Queued: 'esriJobSubmitted',
  Running: 'esriJobExecuting',
  Succeeded: 'esriJobSucceeded',
  Failed: 'esriJobFailed',
  Cancelled: 'esriJobCancelled',
};

function chooseStatus({ state, cancel_requested_at: dismissedAt }: JobRow): string {
  return state === 'Running' && dismissedAt !== null ? 'esriJobCancelling' : STATUS[state];
}

function jobDocument(job: JobRow, process: ProcessDefinition, messages: object[]) {
  const names = job.state === 'Succeeded' ? listOutputs(process, job) : [];
  const results = names.map((name) => [name, { paramUrl: `results/${name}` }] as const);
  const failure = { type: 'esriJobMessageTypeError', description: job.failure_message };
  return {
    jobId: job.id,
    jobStatus: chooseStatus(job),
    ...(names.length === 0 ? {} : { results: Object.fromEntries(results) }),
    inputs: {},
    messages: job.failure_message === null || messages.length > 0 ? messages : [failure],
  };
}

/** Names of the outputs that a job has. */
function listOutputs({ outputs }: ProcessDefinition, { result_json: json }: JobRow): string[] {
  const { values, files } = JSON.parse(json!) as ProcessResult;
  return Object.keys(outputs).filter((name) => Object.hasOwn(values, name) || Object.hasOwn(files, name));
}

const MESSAGE_TYPES: Readonly<Record<string, string>> = { warning: 'Warning', error: 'Error' };

function buildMessage({ level, message }: JobLogRow) {
  return { type: `esriJobMessageType${MESSAGE_TYPES[level] ?? 'Informative'}`, description: message };
}
