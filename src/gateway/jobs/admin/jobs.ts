import type { ParamValues, Principal } from '../../../core/http/operation.js';
import { defineIntegerParam, defineTextParam, pathString } from '../../../core/http/params.js';
import { BACKEND } from '../../../services/jobs/kinds.js';
import { isInTenant, requireJob } from '../../../services/jobs/ownership.js';
import type { JobQuery, JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import {
  cursor,
  defineFilterParam,
  defineTimeParam,
  encodeCursor,
  enumeration,
  enumerations,
  readPeriod,
} from '../../admin/params.js';
import { JobDiagnostics, readJobDiagnostics } from './job-diagnostics.js';
import {
  CONSOLE_KINDS,
  JOB_STATES,
  JobActed,
  JobActions,
  JobArtifacts,
  JobDetail,
  JobLogs,
  JobPage,
  JobSteps,
} from './job-schemas.js';
import {
  actionViews,
  artifactView,
  cancelMessage,
  detailView,
  type JobFacts,
  logView,
  stepView,
  summaryView,
} from './job-views.js';

const SERVICES = ['jobs'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const limit = (most: number, fallback: number) =>
  defineIntegerParam(
    'limit',
    { min: 1, max: most, default: fallback as number },
    { description: 'Maximum number of items in the response.' },
  );

const listParams = {
  status: enumerations('status', JOB_STATES, 'Only jobs in one of these states.'),
  kind: enumeration('kind', CONSOLE_KINDS, 'Only jobs of this kind.'),
  backend: defineFilterParam('backend', `Only jobs of this backend; all jobs run on ${BACKEND}.`),
  actor: defineFilterParam('actor', 'Only jobs that this actor asked for: api-key:{id}.', ['requestedBy']),
  resourceRef: defineFilterParam('resourceRef', 'Only jobs on this resource: collection:{id}.'),
  correlationId: defineFilterParam('correlationId', 'Only jobs of this request.'),
  from: defineTimeParam('from', 'Only jobs made at this time or later.'),
  to: defineTimeParam('to', 'Only jobs made before this time.'),
  queue: defineFilterParam('queue', 'Only jobs of this queue; jobs have none.'),
  environment: defineFilterParam('environment', 'Only jobs of this environment; jobs have none.'),
  server: defineFilterParam('server', 'Only jobs of this server; jobs have none.'),
  definitionId: defineFilterParam('definitionId', 'Only jobs of this definition; jobs have none.'),
  traceId: defineFilterParam('traceId', 'Only jobs of this trace; jobs have none.'),
  releaseId: defineFilterParam('releaseId', 'Only jobs of this release; jobs have none.'),
  alertId: defineFilterParam('alertId', 'Only jobs of this alert; jobs have none.'),
  changeSetId: defineFilterParam('changeSetId', 'Only jobs of this change set; jobs have none.'),
  limit: limit(200, 50),
  cursor: cursor('jobs'),
};

const byId = { jobId: pathString('jobId', 'Id of the job.') };
const unavailable = [404, 503];

const ABOUT = {
  tag: 'Console jobs',
  scope: 'jobs',
  envelope: 'raw',
  correlates: true,
  isForTenants: true,
} as const;

/** Background jobs of every kind. */
export const jobs = group(ABOUT, [
  report('GET /jobs', 'List Console Jobs', {
    params: listParams,
    data: JobPage,
    errors: [400, 503],
    answer: ({ params, principal }, deps) => page(params, principal, deps),
  }),
  report('GET /jobs/{jobId}', 'Get Console Job Detail', {
    params: byId,
    data: JobDetail,
    errors: unavailable,
    async answer({ params, principal }, deps) {
      const job = await jobFor(params.jobId, principal, deps);
      const { store } = deps.jobs;
      const [artifacts, steps] = await Promise.all([store.artifactCounts([job.id]), store.steps(job.id)]);
      return detailView(await facts(job, artifacts, deps), steps);
    },
  }),
  report('GET /jobs/{jobId}/logs', 'Get Console Job Logs', {
    params: { ...byId, limit: limit(500, 100), cursor: cursor('job-logs') },
    data: JobLogs,
    errors: unavailable,
    async answer({ params, principal }, deps) {
      const job = await jobFor(params.jobId, principal, deps);
      const after = Number(params.cursor?.[0] ?? 0);
      const rows = await deps.jobs.store.logs(job.id, after, params.limit + 1);
      const page = rows.slice(0, params.limit);
      const nextCursor = rows.length > page.length ? encodeCursor('job-logs', [page.at(-1)!.id]) : undefined;
      return { ...reference(job), state: 'available', items: page.map(logView), nextCursor };
    },
  }),
  report('GET /jobs/{jobId}/artifacts', 'Get Console Job Artifacts', {
    params: { ...byId, limit: limit(200, 100), cursor: cursor('job-artifacts') },
    data: JobArtifacts,
    errors: unavailable,
    async answer({ params, principal }, deps) {
      const job = await jobFor(params.jobId, principal, deps);
      const skip = Number(params.cursor?.[0] ?? 0);
      const rows = await deps.jobs.store.artifacts(job.id);
      const end = skip + params.limit;
      const nextCursor = rows.length > end ? encodeCursor('job-artifacts', [end]) : undefined;
      return { ...reference(job), items: rows.slice(skip, end).map(artifactView), nextCursor };
    },
  }),
  report('GET /jobs/{jobId}/actions', 'Get Console Job Actions', {
    params: byId,
    data: JobActions,
    errors: unavailable,
    async answer({ params, principal }, deps) {
      const job = await jobFor(params.jobId, principal, deps);
      return {
        ...reference(job),
        actions: actionViews({ job, retryRefusal: await deps.jobs.retryRefusal(job) }),
      };
    },
  }),
  action('POST /jobs/{jobId}/cancel', 'Cancel Console Job', {
    params: byId,
    data: JobActed,
    errors: [404, 409, 503],
    async answer({ params, principal }, deps) {
      const { id } = await jobFor(params.jobId, principal, deps);
      const job = await deps.jobs.cancel(id);
      const message = cancelMessage(job, 'job');
      return { ...reference(job), action: 'cancel', status: job.state, message };
    },
  }),
  action('POST /jobs/{jobId}/retry', 'Retry Console Job', {
    params: byId,
    data: JobActed,
    errors: [404, 409, 503],
    async answer({ params, principal }, deps) {
      const { id } = await jobFor(params.jobId, principal, deps);
      const job = await deps.jobs.retry(id);
      return { ...reference(job), action: 'retry', status: job.state, message: 'The job is queued again.' };
    },
  }),
  report('GET /jobs/{jobId}/steps', 'Get Console Job Steps', {
    params: byId,
    data: JobSteps,
    errors: unavailable,
    async answer({ params, principal }, deps) {
      const job = await jobFor(params.jobId, principal, deps);
      const steps = await deps.jobs.store.steps(job.id);
      return { ...reference(job), state: 'available', steps: steps.map(stepView) };
    },
  }),
]);

const events = defineIntegerParam(
  'events',
  { min: 1, max: 200, default: 50 as number },
  { description: 'Maximum number of events in the response.' },
);
const eventCursor = defineTextParam(
  'eventCursor',
  {
    description:
      'Position of the first event: start, or nextCursor of the previous page. Default: the last events of the job.',
  },
  { maxLength: 512 },
);

/** Beyond the contract's list: clients of it read the diagnostics of a job. */
export const jobDiagnostics = group(ABOUT, [
  report('GET /jobs/{jobId}/diagnostics', 'Get Console Job Diagnostics', {
    description: 'Returns the events, artifacts and failure of a job.',
    params: { ...byId, events, eventCursor },
    data: JobDiagnostics,
    errors: [400, ...unavailable],
    async answer({ params, principal }, deps) {
      const job = await jobFor(params.jobId, principal, deps);
      return readJobDiagnostics(job, { limit: params.events, cursor: params.eventCursor }, deps);
    },
  }),
]);

/** Throws `not-found`, also for a job of another tenant. */
async function jobFor(id: string, principal: Principal, { jobs }: Deps): Promise<JobRow> {
  return requireJob(await jobs.get(id), principal, isInTenant);
}

async function page(params: ParamValues<typeof listParams>, { tenantId: tenant }: Principal, deps: Deps) {
  if (asksForAbsent(params)) return { items: [] };
  const rows = await deps.jobs.store.list({ ...query(params, deps), tenant });
  const lines = rows.slice(0, params.limit);
  const artifacts = await deps.jobs.store.artifactCounts(lines.map(({ id }) => id));
  const last = lines.at(-1);
  const more = rows.length > lines.length && last;
  return {
    items: (await Promise.all(lines.map((job) => facts(job, artifacts, deps)))).map(summaryView),
    ...(more ? { nextCursor: encodeCursor('jobs', [last.created_at, last.id]) } : {}),
  };
}

/** Filters on properties that no job has here: nothing matches. */
function asksForAbsent(params: ParamValues<typeof listParams>): boolean {
  const { queue, environment, server, definitionId, traceId, releaseId, alertId, changeSetId } = params;
  const absent = [queue, environment, server, definitionId, traceId, releaseId, alertId, changeSetId];
  if (absent.some((value) => value !== undefined)) return true;
  return params.backend !== undefined && params.backend.toLowerCase() !== BACKEND;
}

/** Reads one row more than the page shows, to determine whether there is another page. */
function query(params: ParamValues<typeof listParams>, deps: Deps): JobQuery {
  const { kind, status, cursor: position } = params;
  const kinds = deps.jobs.kinds.filter((one) => one.console === kind).map((one) => one.kind);
  return {
    limit: params.limit + 1,
    ...(status ? { states: status } : {}),
    ...(kind ? { kinds } : {}),
    ...(params.actor === undefined ? {} : { owner: params.actor }),
    ...(params.correlationId === undefined ? {} : { correlationId: params.correlationId }),
    ...(params.resourceRef === undefined ? {} : { resource: params.resourceRef }),
    ...readPeriod(params),
    ...(position ? { before: { createdAt: Number(position[0]), id: String(position[1]) } } : {}),
  };
}

async function facts(job: JobRow, artifacts: ReadonlyMap<string, number>, { jobs }: Deps): Promise<JobFacts> {
  return {
    job,
    kind: jobs.kindOf(job.kind),
    artifactCount: artifacts.get(job.id) ?? 0,
    retryRefusal: await jobs.retryRefusal(job),
  };
}

function reference(job: JobRow) {
  return { jobId: job.id, correlationId: job.correlation_id };
}
