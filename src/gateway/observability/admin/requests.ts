import Type from 'typebox';
import { notFound } from '../../../core/errors/errors.js';
import { RESPONSE_STAGES } from '../../../core/http/operation.js';
import { defineIntegerParam, pathString } from '../../../core/http/params.js';
import { permits } from '../../../services/access/permissions.js';
import { type RequestRecord, SLOW_REQUEST_MS } from '../../../services/observability/request-records.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { BASE_PATH, createRowBuilders, group } from '../../admin/kit.js';
import { MissingInstances } from './missing-instances.js';
import { describeSlow, SlowQuery } from './queries.js';

const { report } = createRowBuilders(['requestRecords', 'observer', 'reports']);

const S = Type.String();
const I = Type.Integer();
const D = Type.Number();
const STATEMENTS_PERMISSION = 'admin:performance:read';

const RequestSchema = Type.Object({
  requestId: Type.String({ description: 'Value of X-Request-Id of the response.' }),
  completedAt: TimestampSchema,
  method: S,
  path: Type.String({ description: 'Path without its query.' }),
  operation: S,
  protocol: S,
  statusCode: I,
  durationMs: D,
  bytes: Type.Integer({ description: 'Size of the response body.' }),
  actor: Type.String({ description: 'Id of the caller.' }),
  longestStage: Type.Union([Type.Enum([...RESPONSE_STAGES]), Type.Null()], {
    description: 'Stage with the greatest duration. Null: no worker processed the request.',
  }),
  stages: Type.Array(
    Type.Object({ stage: Type.Enum([...RESPONSE_STAGES]), durationMs: D, place: OptionalStringSchema }),
    { description: 'Stages of the tasks. Tasks can run at the same time.' },
  ),
  tasks: Type.Array(Type.Object({ task: S, count: I, durationMs: D }), {
    description: 'Tasks of workers, with their wait for a thread.',
  }),
  traceId: OptionalStringSchema,
  instanceId: S,
});

const Link = Type.Object({ rel: S, label: S, url: S });

/** The last requests with the durations of their parts. */
export const requestRecords = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/requests', 'List Recent Requests', {
    description: `Requests of at least ${SLOW_REQUEST_MS} ms, and requests of callers with a key that a worker processed. Newest first, of all processes. They are kept in memory.`,
    params: {
      minDurationMs: defineIntegerParam(
        'minDurationMs',
        { min: 0, max: 3_600_000, default: 0 as number },
        { description: 'Only requests of at least this duration, in milliseconds.' },
      ),
      maxCount: defineIntegerParam(
        'maxCount',
        { min: 1, max: 500, default: 50 as number },
        { description: 'Maximum number of requests in the response.' },
      ),
    },
    data: Type.Object({
      totalCount: I,
      requests: Type.Array(RequestSchema),
      missingInstances: MissingInstances,
    }),
    errors: [400],
    async answer({ params: { minDurationMs, maxCount } }, { requestRecords: records }) {
      const { items, missing } = await records.list(minDurationMs);
      return {
        totalCount: items.length,
        requests: items.slice(0, maxCount).map(describeRequest),
        missingInstances: missing,
      };
    },
  }),
  report('GET /observability/requests/{requestId}', 'Get Recent Request', {
    description: `Everything that the processes keep about a request: durations, slow statements, failures and log lines. \`slowStatements\` is null without the permission ${STATEMENTS_PERMISSION}.`,
    params: { requestId: pathString('requestId', 'Value of X-Request-Id of the response.', 128) },
    data: Type.Object({
      requestId: S,
      requests: Type.Array(RequestSchema, {
        description: 'Several requests, if a client sent them with the same id.',
      }),
      slowStatements: Type.Union([Type.Array(SlowQuery), Type.Null()]),
      failures: Type.Array(Type.Object({ timestamp: TimestampSchema, statusCode: I, message: S })),
      logLines: Type.Array(
        Type.Object({ timestamp: TimestampSchema, level: Type.Enum(['warning', 'error']), message: S }),
      ),
      links: Type.Array(Link),
      missingInstances: MissingInstances,
    }),
    errors: [404],
    async answer({ params: { requestId }, principal }, { requestRecords: records, observer, reports }) {
      const mayReadStatements = permits(principal, STATEMENTS_PERMISSION);
      const [requests, failures, lines, statements] = await Promise.all([
        records.find(requestId),
        observer.failures(),
        observer.lines(),
        mayReadStatements ? reports.statements() : undefined,
      ]);
      const isOfRequest = (one: { correlationId?: string | undefined }) => one.correlationId === requestId;
      const slow = statements?.slow.filter(({ request }) => request === requestId);
      const failed = failures.items.filter(isOfRequest);
      const logged = lines.items.filter(isOfRequest);
      const isKnown = [requests.items, failed, logged, slow ?? []].some((found) => found.length > 0);
      if (!isKnown) throw notFound('recent request', requestId);
      return {
        requestId,
        requests: requests.items.map(describeRequest),
        slowStatements: slow?.map(describeSlow) ?? null,
        failures: failed.map(({ at, statusCode, message }) => ({
          ...{ timestamp: timestamp(at), statusCode, message },
        })),
        logLines: logged.map(({ at, level, message }) => ({ timestamp: timestamp(at), level, message })),
        links: buildLinks(requestId),
        missingInstances: [
          ...new Set(
            [requests, failures, lines, ...(statements ? [statements] : [])].flatMap(
              ({ missing }) => missing,
            ),
          ),
        ],
      };
    },
  }),
]);

function describeRequest({ at, instance, tasks, stages, traceId, isKeyed: _, ...request }: RequestRecord) {
  const longest = [...stages].sort((a, b) => b.ms - a.ms).at(0);
  return {
    ...request,
    durationMs: Math.round(request.durationMs * 1000) / 1000,
    completedAt: timestamp(at),
    longestStage: longest?.stage ?? null,
    stages: stages.map(({ stage, ms, place }) => ({ stage, durationMs: ms, place: place ?? null })),
    tasks: tasks.map(({ task, count, ms }) => ({ task, count, durationMs: ms })),
    traceId: traceId ?? null,
    instanceId: instance,
  };
}

function buildLinks(requestId: string) {
  const id = encodeURIComponent(requestId);
  const path = `${BASE_PATH}/observability`;
  return [
    { rel: 'events', label: 'Log lines and audit entries', url: `${path}/events?requestId=${id}` },
    { rel: 'audit', label: 'Audit entries', url: `${path}/audit?correlationId=${id}` },
  ];
}
