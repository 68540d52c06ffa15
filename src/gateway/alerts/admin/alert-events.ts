import Type from 'typebox';
import { ALERT_SEVERITIES, INCIDENT_STATUSES, LIFECYCLES } from '../../../core/alerts/alerts.js';
import { badMember, badParameter, notFound } from '../../../core/errors/errors.js';
import { formatActor, type Param, type Principal } from '../../../core/http/operation.js';
import { defineIntegerParam } from '../../../core/http/params.js';
import type { AlertEventRow, LifecycleChange } from '../../../stores/alerts/events.js';
import type { ServicesOf } from '../../admin/deps.js';
import { createRowBuilders, group, jsonBody } from '../../admin/kit.js';
import {
  cursor,
  defineFilterParam,
  defineTimeParam,
  encodeCursor,
  enumerations,
  idParam,
  readPeriod,
} from '../../admin/params.js';
import { AlertEventSchema } from './schemas.js';
import { restrictEvents, viewEvent } from './visible-events.js';

const SERVICES = ['alerts', 'state', 'visible'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const CURSOR = 'observability alerts';
const eventId = idParam('eventId', 'Id of an alert event.');
const Note = Type.Optional(Type.Union([Type.String({ maxLength: 1024 }), Type.Null()]));
const NoteBody = jsonBody(Type.Object({ note: Note }), false);
const idFilter = (name: string, description: string) =>
  defineIntegerParam(name, { min: 0, max: Number.MAX_SAFE_INTEGER, default: undefined }, { description });

/** Object ids have 64 bits, which a number cannot represent. */
const objectId: Param<string | undefined> = {
  name: 'objectId',
  in: 'query',
  description: 'Only of the feature with this object id.',
  schema: Type.Integer(),
  parse(raw) {
    if (raw === undefined || /^-?\d{1,19}$/.test(raw)) return raw === undefined ? raw : String(BigInt(raw));
    throw badParameter('objectId', 'must be an integer');
  },
};

/** Alert events and their lifecycle. */
export const alertEvents = group(
  { tag: 'Observability', scope: 'observability', envelope: 'raw', isForTenants: true },
  [
    report('GET /observability/alerts', 'List Observability Alerts', {
      description: 'Newest first. Only of layers that the caller can read.',
      params: {
        severity: enumerations('severity', ALERT_SEVERITIES, 'Only these severities, separated by commas.'),
        lifecycleStatus: enumerations('lifecycleStatus', LIFECYCLES, 'Only these lifecycle statuses.'),
        incidentStatus: enumerations('incidentStatus', INCIDENT_STATUSES, 'Only these incident statuses.'),
        ruleId: idFilter('ruleId', 'Only of this rule.'),
        serviceId: defineFilterParam('serviceId', 'Only of this service.'),
        layerId: idFilter('layerId', 'Only of this layer.'),
        objectId,
        from: defineTimeParam('from', 'Only events of this time or later.'),
        to: defineTimeParam('to', 'Only events of this time or earlier.'),
        pageSize: defineIntegerParam(
          'pageSize',
          { min: 1, max: 500, default: 50 as number },
          { description: 'Maximum number of events in the response.' },
        ),
        cursor: cursor(CURSOR),
      },
      data: Type.Object({ items: Type.Array(AlertEventSchema), nextCursor: Type.Optional(Type.String()) }),
      errors: [400],
      async answer({ params, principal }, deps) {
        const {
          pageSize,
          cursor: position,
          serviceId,
          severity,
          lifecycleStatus,
          incidentStatus,
          ...where
        } = params;
        const rows = await deps.state.alertEvents.list({
          ...where,
          ...readPeriod(params),
          service: serviceId,
          severities: severity,
          lifecycles: lifecycleStatus,
          statuses: incidentStatus,
          before: position?.[0] as number | undefined,
          ...restrictEvents(principal, deps),
          limit: pageSize + 1,
        });
        const page = rows.slice(0, pageSize);
        const isMore = rows.length > page.length;
        const now = Date.now();
        return {
          items: page.map((row) => viewEvent(row, now, principal, deps)),
          ...(isMore ? { nextCursor: encodeCursor(CURSOR, [page.at(-1)!.id]) } : {}),
        };
      },
    }),
    report('GET /observability/alerts/{eventId}', 'Get Observability Alert', {
      params: { eventId },
      data: AlertEventSchema,
      errors: [404],
      answer: async ({ params, principal }, deps) =>
        viewEvent(await requireEvent(params.eventId, principal, deps), Date.now(), principal, deps),
    }),
    action('POST /observability/alerts/{eventId}/acknowledge', 'Acknowledge Observability Alert', {
      params: { eventId },
      body: NoteBody,
      data: AlertEventSchema,
      errors: [400, 404],
      answer: ({ params, body, principal }, deps) =>
        change(params.eventId, { lifecycle: 'acknowledged', note: body?.note ?? undefined }, principal, deps),
    }),
    action('POST /observability/alerts/{eventId}/resolve', 'Resolve Observability Alert', {
      params: { eventId },
      body: NoteBody,
      data: AlertEventSchema,
      errors: [400, 404],
      answer: ({ params, body, principal }, deps) =>
        change(params.eventId, { lifecycle: 'resolved', note: body?.note ?? undefined }, principal, deps),
    }),
    action('POST /observability/alerts/{eventId}/suppress', 'Suppress Observability Alert', {
      description: 'Until then, the rule sends nothing about the feature.',
      params: { eventId },
      body: jsonBody(Type.Object({ suppressUntil: Type.String({ format: 'date-time' }), note: Note })),
      data: AlertEventSchema,
      errors: [400, 404],
      answer({ params, body, principal }, deps) {
        const until = Date.parse(body.suppressUntil);
        if (!(until > Date.now())) throw badMember('suppressUntil', 'must be a time in the future');
        const to = { lifecycle: 'suppressed', until, note: body.note ?? undefined } as const;
        return change(params.eventId, to, principal, deps);
      },
    }),
  ],
);

/** Throws `not-found` for an event that the caller cannot read. */
export async function requireEvent(id: number, principal: Principal, deps: Deps): Promise<AlertEventRow> {
  const row = await deps.state.alertEvents.get(id);
  const { layers, tenant } = restrictEvents(principal, deps);
  const isHidden =
    row === undefined ||
    (layers !== undefined && !layers.includes(row.layer_id)) ||
    (tenant !== undefined && row.tenant !== tenant);
  if (isHidden) throw notFound('alert event', String(id));
  return row;
}

async function change(id: number, to: Omit<LifecycleChange, 'by'>, principal: Principal, deps: Deps) {
  await requireEvent(id, principal, deps);
  const row = await deps.state.alertEvents.change(id, { ...to, by: formatActor(principal) });
  if (!row) throw notFound('alert event', String(id));
  return viewEvent(row, Date.now(), principal, deps);
}
