import Type from 'typebox';
import type { ParamValues } from '../../../core/http/operation.js';
import { defineIntegerParam } from '../../../core/http/params.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import {
  defineFilterParam,
  defineTimeParam,
  enumeration,
  enumerations,
  readPeriod,
} from '../../admin/params.js';
import { EVENT_KINDS } from './event-kinds.js';
import { collectEvents, EVENT_SERVICES } from './event-sources.js';
import { EVENT_SEVERITIES, type OperateEvent } from './event-views.js';

const { report } = createRowBuilders(EVENT_SERVICES);

const S = Type.String();
const OptionalId = Type.Union([Type.Integer(), Type.Null()]);
const MAX_PAGE = 500;

const EventSchema = Type.Object({
  eventId: Type.String({
    description: 'Kind and id. To pin the event to an investigation, send this value as `eventRef`.',
  }),
  kind: Type.Enum([...EVENT_KINDS]),
  severity: Type.Enum([...EVENT_SEVERITIES]),
  title: S,
  summary: OptionalStringSchema,
  occurredAt: TimestampSchema,
  actor: OptionalStringSchema,
  serviceId: OptionalStringSchema,
  layerId: OptionalId,
  objectId: OptionalId,
  resourceRef: OptionalStringSchema,
  operationId: OptionalStringSchema,
  releaseId: OptionalStringSchema,
  replicaId: OptionalStringSchema,
  changeSetId: Type.Null(),
  correlationId: OptionalStringSchema,
  requestId: OptionalStringSchema,
  traceId: OptionalStringSchema,
  detailsJson: OptionalStringSchema,
  providerLinks: Type.Array(Type.Object({ provider: S, label: S, url: S })),
});

const only = (name: string, of: string) => defineFilterParam(name, `Only events of this ${of}.`);
const params = {
  kind: enumerations('kind', EVENT_KINDS, 'Only these kinds, separated by commas.'),
  minSeverity: enumeration('minSeverity', EVENT_SEVERITIES, 'Only events of this severity or above.'),
  serviceId: only('serviceId', 'service'),
  layerId: defineIntegerParam(
    'layerId',
    { min: 0, max: Number.MAX_SAFE_INTEGER, default: undefined },
    { description: 'Only events of this layer.' },
  ),
  resourceRef: only('resourceRef', 'resource'),
  actor: only('actor', 'actor'),
  correlationId: only('correlationId', 'request'),
  requestId: only('requestId', 'request. Same as `correlationId`'),
  traceId: only('traceId', 'trace'),
  operationId: only('operationId', 'job or release operation'),
  releaseId: only('releaseId', 'release package'),
  changeSetId: only('changeSetId', 'change set. The server has none'),
  from: defineTimeParam('from', 'Only events of this time or later.'),
  to: defineTimeParam('to', 'Only events of this time or earlier.'),
  pageSize: defineIntegerParam(
    'pageSize',
    { min: 1, max: MAX_PAGE, default: 50 as number },
    { description: 'Maximum number of events in the response.' },
  ),
};

/** Alerts, audit entries, jobs, releases, conflicts of replicas and log lines in one list. */
export const events = group({ tag: 'Observability', scope: 'observability', envelope: 'raw' }, [
  report('GET /observability/events', 'List Operate Events', {
    description:
      'Newest first. `sourceErrors` names each kind whose events are missing, and the reason: the source failed or was slow, or the caller cannot read it.',
    params,
    data: Type.Object({
      items: Type.Array(EventSchema),
      partialResult: Type.Boolean(),
      sourceErrors: Type.Union([Type.Record(S, S), Type.Null()]),
    }),
    errors: [400],
    async answer(x, deps) {
      const { kind: kinds, pageSize: limit } = x.params;
      const period = readPeriod(x.params);
      const matches = buildFilter(x.params);
      const page = await collectEvents({ kinds, ...period, limit, matches }, x.principal, deps);
      const isPartial = Object.keys(page.sourceErrors).length > 0;
      return {
        items: page.events.map(viewEvent),
        partialResult: isPartial,
        sourceErrors: isPartial ? page.sourceErrors : null,
      };
    },
  }),
]);

/** Each parameter selects by the member of its name. */
function buildFilter(where: ParamValues<typeof params>): (event: OperateEvent) => boolean {
  const least = where.minSeverity === undefined ? 0 : EVENT_SEVERITIES.indexOf(where.minSeverity);
  const wanted = [
    ...(['serviceId', 'layerId', 'resourceRef', 'actor', 'correlationId'] as const),
    ...(['traceId', 'operationId', 'releaseId'] as const),
  ].flatMap((member) => (where[member] === undefined ? [] : [[member, where[member]] as const]));
  return (event) =>
    EVENT_SEVERITIES.indexOf(event.severity) >= least &&
    where.changeSetId === undefined &&
    (where.requestId === undefined || event.correlationId === where.requestId) &&
    wanted.every(([member, value]) => event[member] === value);
}

function viewEvent({ at, kind, id, details, href, ...event }: OperateEvent) {
  return {
    eventId: `${kind}:${id}`,
    kind,
    ...event,
    occurredAt: timestamp(at),
    changeSetId: null,
    requestId: event.correlationId,
    detailsJson: details,
    providerLinks: href === null ? [] : [{ provider: 'graticule', label: 'Management API', url: href }],
  };
}
