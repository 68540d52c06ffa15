import Type from 'typebox';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import { defineOperation, type Operation, type Param, type Principal } from '../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../core/http/params.js';
import { jobPath, PROCESSES_PATH } from '../../core/http/paths.js';
import { asciiJson } from '../../core/http/reply.js';
import { type JobPriority, parsePriorityHeader } from '../../core/jobs/job-priority.js';
import { permits } from '../../services/access/permissions.js';
import { PROCESS_PERMISSIONS } from '../../services/access/rules/policy.js';
import type { OutputDefinition, ProcessDefinition } from '../../services/processes/definition.js';
import { readExecution } from '../../services/processes/requests/execution.js';
import { resolveRasters } from '../../services/processes/requests/inputs.js';
import { formatTraceparent, type RequestSpan } from '../../services/telemetry/spans.js';
import type { JobRow } from '../../stores/jobs/jobs.js';
import { openApiDocument } from '../http/openapi.js';
import * as pages from '../pages/index.js';
import { processesPage, processPage } from '../pages/processes/processes.js';
import { documentReply, META_FORMATS, otherTypes, surfaceBasics } from '../surface/common.js';
import { PROCESSES_CONFORMANCE } from './conformance.js';
import { processDocument, processList, statusInfo } from './documents.js';
import { executeBody } from './execution.js';
import { ERRORS, JOB_OPERATION, type JobDeps, jobOperations, STATUS } from './jobs.js';
import { createResultsReply } from './results.js';

export type ProcessesApiDeps = JobDeps & {
  /**
   * Resolves with a job when it ends. Resolves earlier with its current state after `ms`, or when the server stops.
   */
  waitFor(job: JobRow, ms: number, signal?: AbortSignal): Promise<JobRow>;
  isStopping(): boolean;
  /** The catalog as a principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
};

const REL = 'http://www.opengis.net/def/rel/ogc/1.0';
const DOCUMENT = {
  200: {
    description: 'The document',
    content: { 'application/json': Type.Object({}), ...otherTypes(META_FORMATS) },
  },
};

const processId = pathString('processId', 'Id of a process.');

const limit = defineIntegerParam(
  'limit',
  { min: 1, max: 1000, default: 1000 },
  { description: 'Maximum number of processes in the response.' },
);

/** Maximum seconds that a response waits for a job. */
const MAX_WAIT = 60;
/** The same for clients that execute synchronously without a time limit: they time out after 30 seconds. */
const SYNC_WAIT = 25;

interface Preference {
  /** Seconds that the client waits; 0 when it does not. */
  wait: number;
}

const prefer: Param<Preference> = {
  name: 'Prefer',
  in: 'header',
  description: `respond-async (default): the job; wait=N: the results if they are complete within N seconds (at most ${MAX_WAIT}); respond-sync: wait=${SYNC_WAIT}.`,
  schema: Type.String({ maxLength: 200 }),
  parse(raw) {
    // OWSLib says so, and takes what comes for the results.
    if (raw === 'respond-sync') return { wait: SYNC_WAIT };
    const wait = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(raw ?? '');
    if (wait) return { wait: Math.min(MAX_WAIT, Number(wait[1])) };
    if (raw !== undefined && raw.length > 200)
      throw badParameter('Prefer', 'must have at most 200 characters');
    return { wait: 0 };
  },
};

const priority: Param<JobPriority> = {
  name: 'Priority',
  in: 'header',
  description:
    'u=N: urgency of the job from 0 to 7 (RFC 9218). From 4, other jobs run first. Below 3, the job runs first; this requires permission to manage jobs.',
  schema: Type.String({ maxLength: 200 }),
  parse: parsePriorityHeader,
};

/** OGC API Processes 1.0 (OGC 18-062r2). */
export function processesOperations(deps: ProcessesApiDeps): Operation[] {
  const { processes } = deps;
  const operations: Operation[] = [];
  operations.push(
    ...surfaceBasics({
      surface: 'processes',
      protocol: 'OGC-Processes',
      path: PROCESSES_PATH,
      title: 'Processes',
      description: 'Geoprocessing of the published data, and of data that is sent.',
      conformance: PROCESSES_CONFORMANCE,
      apiPaths: [`${PROCESSES_PATH}/openapi.json`],
      formats: META_FORMATS,
      links: ({ baseUrl }) => [
        {
          href: `${baseUrl}${PROCESSES_PATH}/processes`,
          rel: `${REL}/processes`,
          type: 'application/json',
          title: 'Processes',
        },
        {
          href: `${baseUrl}${PROCESSES_PATH}/jobs`,
          rel: `${REL}/job-list`,
          type: 'application/json',
          title: 'Jobs',
        },
      ],
      landingPage: pages.buildLandingPage,
      conformancePage: pages.buildConformancePage,
      api: (x) =>
        openApiDocument(
          { title: 'Graticule Processes', description: 'OGC API Processes', serverUrl: x.baseUrl },
          operations,
        ),
    }),
    defineOperation({
      ...JOB_OPERATION,
      tag: 'Processes',
      id: 'processes.getProcesses',
      method: 'GET',
      path: `${PROCESSES_PATH}/processes`,
      summary: 'Process list',
      permission: 'public',
      params: { limit },
      formats: META_FORMATS,
      responses: DOCUMENT,
      run(x) {
        const document = processList(x, processes.list.slice(0, x.params.limit));
        return documentReply(x, document, () => processesPage(x, document));
      },
    }),
    defineOperation({
      ...JOB_OPERATION,
      tag: 'Processes',
      id: 'processes.getProcess',
      method: 'GET',
      path: `${PROCESSES_PATH}/processes/{processId}`,
      summary: 'Process description',
      permission: 'public',
      params: { processId },
      formats: META_FORMATS,
      responses: { ...DOCUMENT, 404: { description: 'No such process' } },
      run(x) {
        const process = processes.get(x.params.processId);
        const document = processDocument(x, process);
        const { collections } = deps.visible(x.principal);
        const form = {
          collections,
          publishable: findPublishableOutput(process),
          obstacle: findObstacle(x.principal),
        };
        return documentReply(x, document, () => processPage(x, document, form));
      },
    }),
    executeOperation(deps),
    ...jobOperations(deps),
  );
  return operations;
}

function findObstacle(principal: Principal): 'anonymous' | 'forbidden' | undefined {
  if (permits(principal, PROCESS_PERMISSIONS.execute)) return undefined;
  return principal.kind === 'anonymous' ? 'anonymous' : 'forbidden';
}

/** The output that may become a collection. */
function findPublishableOutput({ outputs }: ProcessDefinition): string | undefined {
  const isPublishable = ({ isFeatures, isRaster, isTiles }: OutputDefinition) =>
    isFeatures || isRaster || isTiles;
  return Object.entries(outputs).find(([, output]) => isPublishable(output))?.[0];
}

function executeOperation(deps: ProcessesApiDeps): Operation {
  const { processes } = deps;
  return defineOperation({
    ...JOB_OPERATION,
    tag: 'Processes',
    id: 'processes.execute',
    method: 'POST',
    path: `${PROCESSES_PATH}/processes/{processId}/execution`,
    summary: 'Execute a process',
    description:
      'A job is made, and does it. Features come by value, from a collection, or from the results of another job.',
    permission: PROCESS_PERMISSIONS.execute,
    audited: true,
    repeatable: true,
    callbacks: {
      jobSuccess: '{$request.body#/subscriber/successUri}',
      jobInProgress: '{$request.body#/subscriber/inProgressUri}',
      jobFailed: '{$request.body#/subscriber/failedUri}',
    },
    params: { processId, prefer, priority },
    body: executeBody,
    responses: {
      200: {
        description:
          'The outputs, for clients that wait. The header Graticule-Warnings lists the warnings of the job as a JSON array',
        content: { 'application/json': Type.Object({}) },
      },
      201: { description: 'The job', content: STATUS },
      400: { description: 'The inputs are wrong' },
      404: { description: 'No such process' },
      413: { description: 'The inputs are too large: publish them, or import them first' },
      501: { description: 'No such response mode' },
      ...ERRORS,
    },
    async run(x) {
      const process = processes.get(x.params.processId);
      const { collections } = deps.visible(x.principal);
      const inputs = resolveRasters(x.body.inputs ?? {}, collections);
      const execution = readExecution(process, { ...x.body, inputs }, x.baseUrl);
      const job = await processes.execute(process, execution, x.principal, {
        correlationId: x.correlationId,
        baseUrl: x.baseUrl,
        priority: x.params.priority,
        trace: formatTraceparent((x.span as RequestSpan | undefined)?.span),
      });
      const { wait } = x.params.prefer;
      const end = wait > 0 ? await deps.waitFor(job, wait * 1000) : job;
      if (end.state === 'Succeeded') {
        const reply = await createResultsReply(x, deps, job.id);
        const headers = { ...reply.headers, ...collectWarnings(end), 'preference-applied': `wait=${wait}` };
        return { ...reply, headers };
      }
      const headers = { location: `${x.baseUrl}${jobPath(job.id)}`, 'preference-applied': 'respond-async' };
      const body = JSON.stringify(statusInfo(x, end));
      return { status: 201, mediaType: 'application/json', headers, cacheControl: 'no-store', body };
    },
  });
}

/** The warnings of a job as a header, for clients that do not read its status. */
function collectWarnings({ warnings_json: json }: JobRow): Record<string, string> {
  const warnings = JSON.parse(json) as string[];
  return warnings.length === 0 ? {} : { 'graticule-warnings': formatHeader(warnings) };
}

/** Characters of a header that proxies pass. */
const MAX_HEADER = 4000;

function formatHeader(warnings: readonly string[]): string {
  const all = asciiJson(warnings);
  if (all.length <= MAX_HEADER) return all;
  return asciiJson([`The job has ${warnings.length} warnings. Read them in its status.`]);
}
