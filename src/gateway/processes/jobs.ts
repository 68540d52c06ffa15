import Type from 'typebox';
import { badParameter } from '../../core/errors/errors.js';
import { HTML_FORMAT } from '../../core/http/media.js';
import {
  defineOperation,
  type Exchange,
  formatActor,
  type Operation,
  type Param,
} from '../../core/http/operation.js';
import { defineIntegerParam, defineListParam, pathString, words } from '../../core/http/params.js';
import { PROCESSES_PATH } from '../../core/http/paths.js';
import { decodeStoredJson, stringifyExactly } from '../../core/values/json.js';
import { PROCESS_PERMISSIONS } from '../../services/access/rules/policy.js';
import { findProcess } from '../../services/processes/catalogue/index.js';
import { type ExecutionInput, GEOPACKAGE, GEOTIFF } from '../../services/processes/execution.js';
import { describeSource, rebuildRequest } from '../../services/processes/requests/repeated-execution.js';
import { type Processes, processResource } from '../../services/processes/service.js';
import type { JobQuery, JobRow } from '../../stores/jobs/jobs.js';
import { type JobNames, type JobPageParts, jobPage, jobsPage } from '../pages/processes/jobs.js';
import { documentReply, formatLinks, LinkSchema, META_FORMATS, otherTypes } from '../surface/common.js';
import { parseJobStates, STATUS_CODES, statusInfo } from './documents.js';
import { createResultsReply, outputReply, pageOutputs, type ResultDeps } from './results.js';

const jobId = pathString('jobId', 'Id of a job.');
const outputId = pathString('outputId', 'Name of an output.');

const StatusInfo = Type.Object({
  processID: Type.String(),
  type: Type.Literal('process'),
  jobID: Type.String(),
  status: Type.String({ enum: STATUS_CODES }),
  message: Type.String(),
  created: Type.String(),
  started: Type.Optional(Type.String()),
  finished: Type.Optional(Type.String()),
  updated: Type.String(),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  links: Type.Array(LinkSchema),
});
export const STATUS = { 'application/json': StatusInfo };

const JOBS = {
  'application/json': Type.Object({ jobs: Type.Array(StatusInfo), links: Type.Array(LinkSchema) }),
  ...otherTypes(META_FORMATS),
};

export const ERRORS = {
  401: { description: 'Credentials are missing' },
  403: { description: 'The permission is missing' },
  503: { description: 'Jobs cannot be read or kept now' },
};
const NO_JOB = { 404: { description: 'No such job' } };

export const JOB_OPERATION = { surface: 'processes', protocol: 'OGC-Processes', tag: 'Jobs' } as const;

const USUAL_JOBS = 100;
const MAX_JOBS = 1000;
/** Maximum number of processes in a filter of the list. */
const MAX_PROCESSES = 100;

function seconds(name: string, description: string): Param<number | undefined> {
  return defineIntegerParam(name, { min: 0, max: 1_000_000_000, default: undefined }, { description });
}

/** The limit parameter. Larger values are accepted, but the list stays limited. */
function mostJobs(): Param<number> {
  const any = defineIntegerParam(
    'limit',
    { min: 1, max: Number.MAX_SAFE_INTEGER, default: USUAL_JOBS },
    { description: `Maximum number of jobs in the response, at most ${MAX_JOBS}.` },
  );
  return { ...any, parse: (raw) => Math.min(MAX_JOBS, any.parse(raw)) };
}

function instants(): Param<{ from?: number; to?: number } | undefined> {
  return {
    name: 'datetime',
    in: 'query',
    description: 'When the job was created: an instant, or an interval whose ends may be ..',
    schema: Type.String({ maxLength: 100 }),
    parse(raw) {
      if (raw === undefined || raw === '') return undefined;
      const [begin, end = begin] = raw.split('/');
      const from = instant(begin!);
      const to = instant(end!);
      // Instants of an interval belong to it.
      return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to: to + 1 }) };
    },
  };
}

function instant(text: string): number | undefined {
  if (text === '' || text === '..') return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw badParameter('datetime', 'must be an instant or an interval (RFC 3339)');
  return ms;
}

const jobListParams = {
  limit: mostJobs(),
  type: words('type', ['process'], 'Only process.'),
  processID: {
    ...defineListParam('processID', MAX_PROCESSES, 'Jobs of these processes.'),
    repeatable: true,
  },
  status: words('status', STATUS_CODES, 'Jobs of these states.'),
  datetime: instants(),
  minDuration: seconds('minDuration', 'Jobs that took at least so many seconds, or run for as long.'),
  maxDuration: seconds('maxDuration', 'Jobs that took at most so many seconds.'),
};

/** Jobs read at a time if the store cannot apply a filter. */
const PAGE = 500;
/** Maximum number of jobs read for one response. */
const LOOKS = 20_000;

export interface JobDeps extends ResultDeps {
  processes: Processes;
}

export function jobOperations(deps: JobDeps): Operation[] {
  const { processes } = deps;
  return [
    defineOperation({
      ...JOB_OPERATION,
      id: 'processes.getJobs',
      method: 'GET',
      path: `${PROCESSES_PATH}/jobs`,
      summary: 'Job list',
      description:
        'Lists the jobs of the caller, newest first. Callers with permission to read jobs of the management API get all jobs.',
      permission: PROCESS_PERMISSIONS.read,
      params: jobListParams,
      formats: META_FORMATS,
      responses: {
        200: { description: 'Jobs', content: JOBS },
        400: { description: 'A parameter is wrong' },
        ...ERRORS,
      },
      async run(x) {
        const rows = await select(deps, x);
        const jobs = rows.map((job) => statusInfo(x, job));
        const document = { jobs, links: formatLinks(x, `${PROCESSES_PATH}/jobs`, META_FORMATS, x.query) };
        const names = () => new Map(rows.map((job) => [job.id, nameJob(job)]));
        return documentReply(x, document, () => jobsPage(x, document, names()));
      },
    }),
    defineOperation({
      ...JOB_OPERATION,
      id: 'processes.getJob',
      method: 'GET',
      path: `${PROCESSES_PATH}/jobs/{jobId}`,
      summary: 'Job status',
      permission: PROCESS_PERMISSIONS.read,
      params: { jobId },
      formats: META_FORMATS,
      responses: {
        200: { description: 'Status of the job', content: { ...STATUS, ...otherTypes(META_FORMATS) } },
        ...NO_JOB,
        ...ERRORS,
      },
      async run(x) {
        const job = await processes.job(x.params.jobId, x.principal);
        const document = statusInfo(x, job);
        // Only pages show these.
        if (x.format !== HTML_FORMAT) return documentReply(x, document, () => '');
        const parts = await loadParts(x, deps, job);
        return documentReply(x, document, () => jobPage(x, document, parts));
      },
    }),
    defineOperation({
      ...JOB_OPERATION,
      id: 'processes.dismissJob',
      method: 'DELETE',
      path: `${PROCESSES_PATH}/jobs/{jobId}`,
      summary: 'Dismiss a job',
      description:
        'Cancels a waiting or running job and deletes its results. A repeated request also succeeds.',
      permission: PROCESS_PERMISSIONS.execute,
      audited: true,
      params: { jobId },
      responses: {
        200: { description: 'The job is dismissed', content: STATUS },
        ...NO_JOB,
        409: { description: 'The job has ended' },
        ...ERRORS,
      },
      async run(x) {
        const job = await processes.dismiss(x.params.jobId, x.principal);
        return { status: 200, mediaType: 'application/json', body: JSON.stringify(statusInfo(x, job)) };
      },
    }),
    defineOperation({
      ...JOB_OPERATION,
      id: 'processes.getResults',
      method: 'GET',
      path: `${PROCESSES_PATH}/jobs/{jobId}/results`,
      summary: 'Job results',
      permission: PROCESS_PERMISSIONS.read,
      params: { jobId },
      responses: {
        200: { description: 'The outputs', content: { 'application/json': Type.Object({}) } },
        204: { description: 'The outputs are elsewhere: see the Link header' },
        404: { description: 'No such job, or it has not ended' },
        410: { description: 'The job was dismissed' },
        500: { description: 'The job failed' },
        ...ERRORS,
      },
      run: (x) => createResultsReply(x, deps, x.params.jobId),
    }),
    defineOperation({
      ...JOB_OPERATION,
      id: 'processes.getOutput',
      method: 'GET',
      path: `${PROCESSES_PATH}/jobs/{jobId}/results/{outputId}`,
      summary: 'One output of a job',
      description:
        'Features as GeoJSON in WGS 84, or as the GeoPackage that the job made, in their own CRS; rasters as GeoTIFF.',
      permission: PROCESS_PERMISSIONS.read,
      params: { jobId, outputId, f: words('f', ['geojson', 'gpkg'], 'geojson or gpkg.') },
      responses: {
        200: {
          description: 'The output',
          content: { 'application/geo+json': Type.Object({}), [GEOPACKAGE]: null, [GEOTIFF]: null },
        },
        404: { description: 'No such job or output, or it has not ended' },
        410: { description: 'The job was dismissed, or its results are past their time' },
        500: { description: 'The job failed' },
        ...ERRORS,
      },
      async run(x) {
        const { jobId: id, outputId: output, f } = x.params;
        return outputReply(x, deps, id, output, f?.[0] === 'gpkg');
      },
    }),
  ];
}

async function loadParts(x: Exchange, { processes }: JobDeps, job: JobRow): Promise<JobPageParts> {
  const log = await processes.log(job);
  const names = nameJob(job);
  if (job.owner !== formatActor(x.principal)) return { ...names, log, outputs: [], inputs: [] };
  const input = decodeStoredJson(job.input_json) as ExecutionInput;
  return {
    ...names,
    log,
    outputs: job.state === 'Succeeded' ? pageOutputs(job, x.baseUrl) : [],
    inputs: describeInputs(input),
    body: rebuildRequest(input, x.baseUrl),
  };
}

/** Names of a job for people. The process can be of another release. */
function nameJob(job: JobRow): JobNames {
  const { process, principal } = decodeStoredJson(job.input_json) as ExecutionInput;
  return { title: findProcess(process)?.title ?? process, by: principal.name };
}

/** Inputs in the order of the process, then the collection that the result became. */
function describeInputs({ process, sources, values, outputs }: ExecutionInput): JobPageParts['inputs'] {
  const { inputs = {} } = findProcess(process) ?? {};
  const names = Object.keys({ ...inputs, ...sources, ...values });
  const given = names.flatMap((name) => {
    const title = inputs[name]?.title ?? name;
    const source = sources[name];
    if (source) return [{ title, value: describeSource(source) }];
    const value = values[name];
    return value === undefined
      ? []
      : [{ title, value: typeof value === 'string' ? value : stringifyExactly(value) }];
  });
  const published = Object.values(outputs).flatMap(({ publish }) =>
    publish ? [{ title: 'New collection', value: publish.collection }] : [],
  );
  return [...given, ...published];
}

type ListExchange = Exchange<typeof jobListParams>;

/** Jobs that match all parameters. Filters that the store cannot apply are applied here. */
async function select({ processes }: JobDeps, { params, principal }: ListExchange): Promise<JobRow[]> {
  const { limit, status, processID, datetime, minDuration, maxDuration } = params;
  const query: Omit<JobQuery, 'kinds' | 'owner' | 'limit'> = {
    ...datetime,
    ...(status ? { states: parseJobStates(status) } : {}),
    ...(processID?.length === 1 ? { resource: processResource(processID[0]!) } : {}),
  };
  const isWhole = (processID?.length ?? 0) <= 1 && minDuration === undefined && maxDuration === undefined;
  const size = isWhole ? limit : PAGE;
  const rows: JobRow[] = [];
  let before: JobQuery['before'];
  for (let looks = 0; looks < LOOKS; looks += size) {
    const page = await processes.jobs({ ...query, ...(before ? { before } : {}), limit: size }, principal);
    rows.push(...page.filter((job) => passes(job, params)));
    if (rows.length >= limit || page.length < size) break;
    const last = page.at(-1)!;
    before = { createdAt: last.created_at, id: last.id };
  }
  return rows.slice(0, limit);
}

function passes(job: JobRow, { processID, minDuration, maxDuration }: ListExchange['params']): boolean {
  const { process } = JSON.parse(job.input_json) as { process: string };
  if (processID && !processID.includes(process)) return false;
  if (minDuration === undefined && maxDuration === undefined) return true;
  if (job.started_at === null) return false;
  const length = ((job.completed_at ?? Date.now()) - job.started_at) / 1000;
  return length >= (minDuration ?? 0) && length <= (maxDuration ?? Number.POSITIVE_INFINITY);
}
