import Type, { type Static } from 'typebox';
import { LIFECYCLES } from '../../../core/alerts/alerts.js';
import { ALERT_LIMITS } from '../../../core/alerts/limits.js';
import { defineIntegerParam } from '../../../core/http/params.js';
import { buildCaller } from '../../../services/access/identity/submitter.js';
import { Acknowledgement, AcknowledgementSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { defineFilterParam, enumerations, idParam } from '../../admin/params.js';
import { ruleView, triggerView, zoneView } from './alert-views.js';
import { channelOperations } from './channels.js';
import { describeHealth } from './rule-health.js';
import {
  RuleBody,
  RuleHealthSchema,
  RuleSchema,
  RuleTestSchema,
  TriggerSchema,
  ZoneBody,
  ZoneSchema,
} from './schemas.js';
import { restrictEvents } from './visible-events.js';

const SERVICES = ['alertRules', 'alerts', 'catalog', 'state', 'visible'] as const;
const { action, implement, report } = createRowBuilders(SERVICES);

const service = defineFilterParam('serviceId', 'Only of this service.');
const layer = defineIntegerParam(
  'layerId',
  { min: 0, max: Number.MAX_SAFE_INTEGER, default: undefined },
  { description: 'Only rules of this layer.' },
);
const zoneId = idParam('zoneId', 'Id of a zone.');
const ruleId = idParam('ruleId', 'Id of a rule.');

/** Bytes around the text of a zone in its body. */
const ZONE_BYTES = ALERT_LIMITS.zoneCharacters + 65_536;
const zoneBody = { ...jsonBody(ZoneBody), maxBytes: ZONE_BYTES };

/** Alert zones and rules. */
export const alerts = group({ tag: 'Alerts', scope: 'alerts', envelope: 'wrapped', isForTenants: true }, [
  ...resource(
    '/alerts/zones/{zoneId}',
    {
      list: 'List Alert Zones',
      create: 'Create Alert Zone',
      get: 'Get Alert Zone',
      update: 'Update Alert Zone',
      remove: 'Delete Alert Zone',
    },
    {
      list: implement({
        params: { serviceId: service },
        data: Type.Array(ZoneSchema),
        async answer({ params, principal }, { alertRules }) {
          return (await alertRules.listZones(principal, params.serviceId)).map(zoneView);
        },
      }),
      create: implement({
        description:
          'Edges are straight in the CRS of srid. A zone across the antimeridian has longitudes beyond 180, several parts, or a clockwise ring with an edge longer than 180 degrees.',
        body: zoneBody,
        data: ZoneSchema,
        errors: [400, 409, 413],
        answer: async ({ body, principal }, { alertRules }) =>
          zoneView(await alertRules.addZone(body, principal)),
      }),
      get: implement({
        params: { zoneId },
        data: ZoneSchema,
        errors: [404],
        answer: async ({ params, principal }, { alertRules }) =>
          zoneView(await alertRules.getZone(params.zoneId, principal)),
      }),
      update: implement({
        description:
          'Ends incidents of features outside the new area. Features inside the new area trigger no alert.',
        params: { zoneId },
        body: zoneBody,
        data: ZoneSchema,
        errors: [400, 404, 413],
        answer: async ({ params, body, principal }, { alertRules }) =>
          zoneView(await alertRules.changeZone(params.zoneId, body, principal)),
      }),
      remove: implement({
        params: { zoneId },
        data: AcknowledgementSchema,
        errors: [404, 409],
        async answer({ params, principal }, { alertRules }) {
          await alertRules.removeZone(params.zoneId, principal);
          return new Acknowledgement('The zone has been deleted.');
        },
      }),
    },
  ),
  ...resource(
    '/alerts/rules/{ruleId}',
    {
      list: 'List Alert Rules',
      create: 'Create Alert Rule',
      get: 'Get Alert Rule',
      update: 'Update Alert Rule',
      remove: 'Delete Alert Rule',
    },
    {
      list: implement({
        params: { serviceId: service, layerId: layer },
        data: Type.Array(RuleSchema),
        async answer({ params, principal }, { alertRules }) {
          const where = { service: params.serviceId, layerId: params.layerId };
          return (await alertRules.listRules(principal, where)).map(ruleView);
        },
      }),
      create: implement({
        description:
          'Each evaluation uses the present rights of the author. A feature that is already inside triggers no alert.',
        body: jsonBody(RuleBody),
        data: RuleSchema,
        errors: [400, 409],
        answer: async ({ body, principal, operation }, { alertRules }) =>
          ruleView(await alertRules.addRule(body, buildCaller(principal, operation).caller)),
      }),
      get: implement({
        params: { ruleId },
        data: RuleSchema,
        errors: [404],
        answer: async ({ params, principal }, { alertRules }) =>
          ruleView(await alertRules.getRule(params.ruleId, principal)),
      }),
      update: implement({
        description:
          'The caller becomes the author. Open incidents end if the layer, the zone, the trigger or the conditions change.',
        params: { ruleId },
        body: jsonBody(RuleBody),
        data: RuleSchema,
        errors: [400, 404],
        answer: async ({ params, body, principal, operation }, { alertRules }) =>
          ruleView(
            await alertRules.changeRule(params.ruleId, body, buildCaller(principal, operation).caller),
          ),
      }),
      remove: implement({
        description: 'Open incidents end. The events of the rule stay.',
        params: { ruleId },
        data: AcknowledgementSchema,
        errors: [404],
        async answer({ params, principal }, { alertRules }) {
          await alertRules.removeRule(params.ruleId, principal);
          return new Acknowledgement('The rule has been deleted.');
        },
      }),
    },
  ),
  report('POST /alerts/rules/test', 'Test Alert Rule', {
    description:
      'Checks a draft, and applies it to the edits of the last hour, without storing or sending anything. For an invalid draft, the status is 200 and isValid is false.',
    body: {
      ...zoneBody,
      schema: Type.Object({ rule: RuleBody, zone: Type.Optional(Type.Union([ZoneBody, Type.Null()])) }),
    },
    data: RuleTestSchema,
    errors: [400],
    async answer({ body, principal, operation }, { alertRules }) {
      const { rule, zone } = body as { rule: Static<typeof RuleBody>; zone?: Static<typeof ZoneBody> | null };
      const result = await alertRules.testRule(
        rule,
        zone ?? undefined,
        buildCaller(principal, operation).caller,
      );
      return { ...result, evaluatedAt: timestamp(Date.now()) };
    },
  }),
  action('PUT /alerts/rules/{ruleId}/enabled', 'Set Alert Rule Enabled State', {
    params: { ruleId },
    shownBy: '/alerts/rules/{ruleId}',
    body: jsonBody(Type.Object({ enabled: Type.Boolean() })),
    data: RuleSchema,
    errors: [400, 404],
    answer: async ({ params, body, principal }, { alertRules }) =>
      ruleView(await alertRules.enableRule(params.ruleId, body.enabled, principal)),
  }),
  report('GET /alerts/rules/{ruleId}/health', 'Get Alert Rule Health', {
    params: { ruleId },
    description: 'If the caller cannot read the layer of the rule, the document contains no events.',
    data: RuleHealthSchema,
    errors: [404],
    async answer({ params, principal }, deps) {
      const rule = await deps.alertRules.getRule(params.ruleId, principal);
      return describeHealth(rule, restrictEvents(principal, deps), deps);
    },
  }),
  ...channelOperations,
  report('GET /alerts/rules/{ruleId}/events', 'List Alert Rule Events', {
    description: 'Newest first. Only of layers that the caller can read.',
    params: {
      ruleId,
      status: enumerations(
        'status',
        LIFECYCLES,
        'Only events of these lifecycle statuses, separated by commas.',
      ),
      before: defineIntegerParam(
        'before',
        { min: 1, max: Number.MAX_SAFE_INTEGER, default: undefined },
        { description: 'Only events before this one: nextCursor of the previous page.' },
      ),
      limit: defineIntegerParam(
        'limit',
        { min: 1, max: 200, default: 50 as number },
        { description: 'Maximum number of events in the response.' },
      ),
    },
    data: Type.Object({
      ruleId: Type.Integer(),
      items: Type.Array(TriggerSchema),
      nextCursor: Type.Optional(Type.String()),
    }),
    errors: [400, 404],
    async answer({ params, principal }, deps) {
      const { id } = await deps.alertRules.getRule(params.ruleId, principal);
      const { limit, before, status } = params;
      const rows = await deps.state.alertEvents.list({
        ...{ ruleId: id, lifecycles: status, before, limit: limit + 1 },
        ...restrictEvents(principal, deps),
      });
      const page = rows.slice(0, limit);
      const isMore = rows.length > page.length;
      return {
        ruleId: id,
        items: page.map(triggerView),
        ...(isMore ? { nextCursor: String(page.at(-1)!.id) } : {}),
      };
    },
  }),
]);
