import Type from 'typebox';
import { ALERT_SEVERITIES, INCIDENT_STATUSES, LIFECYCLES } from '../../core/alerts/alerts.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { AlertsData, IncidentData } from '../../core/catalog/alert-page-data.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import { HTML_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Principal } from '../../core/http/operation.js';
import { defineIntegerParam, defineTextParam } from '../../core/http/params.js';
import { permits } from '../../services/access/permissions.js';
import type { AlertDispatch } from '../../services/alerts/dispatch.js';
import type { AlertRules } from '../../services/alerts/rules.js';
import { BASE_PATH } from '../admin/base-path.js';
import { idParam } from '../admin/params.js';
import { alertsPage, type EventFilter } from '../pages/alerts/alerts-page.js';
import { ALERTS_PATH, ALERTS_PERMISSION, listZoneData } from '../pages/alerts/parts.js';
import { rulePage } from '../pages/alerts/rule-page.js';
import { buildFrame } from '../pages/crumbs.js';
import { sitePath } from '../pages/layout.js';
import { mapLayer } from '../pages/maps/map-data.js';
import { createPageReply } from '../pages/page-reply.js';
import { channelView } from './admin/channels.js';
import { type EventListDeps, restrictEvents, viewEvent } from './admin/visible-events.js';

export interface AlertPagesDeps extends EventListDeps {
  readonly alertRules: AlertRules;
  readonly alertDispatch: Pick<AlertDispatch, 'list' | 'configured'>;
  /** Whether edits of a collection reach the change feed. */
  hasEvents(collectionId: string): boolean;
}

const RULES = { read: 'admin:alerts:read', write: 'admin:alerts:write' } as const;
const EVENTS_CHANGE = 'admin:observability:write';
const STREAM = { path: '/operations/streaming/alerts', permission: 'admin:service-operations:read' } as const;

const PAGE = {
  method: 'GET',
  surface: 'site',
  protocol: 'Site',
  formats: [HTML_FORMAT],
} as const;
const RESPONSES = { 200: { description: 'The page.', content: { 'text/html': Type.String() } } };

/** Events of a page, and open incidents on its map. */
const PAGE_SIZE = 50;
const MAX_INCIDENTS = 500;
const OPEN = INCIDENT_STATUSES.filter((status) => status !== 'ended');

/** A value of a form, in which an empty string means all. */
const choice = (name: string, description: string) =>
  defineTextParam(name, { description }, { maxLength: 20 });

const eventParams = {
  severity: choice('severity', 'Only events of this severity.'),
  status: choice('status', 'Only events with this lifecycle status.'),
  incident: choice('incident', 'open or ended: only events of such incidents.'),
  rule: choice('rule', 'Id of a rule: only its events.'),
  before: defineIntegerParam(
    'before',
    { min: 1, max: Number.MAX_SAFE_INTEGER, default: undefined },
    { description: 'Only events before the event with this id.' },
  ),
};

/** Pages of alert events and rules. */
export function alertPageOperations(deps: AlertPagesDeps): Operation[] {
  return [
    defineOperation({
      ...PAGE,
      permission: ALERTS_PERMISSION,
      id: 'site.alerts',
      path: ALERTS_PATH,
      summary: 'Page with alerts',
      params: eventParams,
      responses: RESPONSES,
      run: async (x) => createPageReply(await renderAlerts(x, deps)),
    }),
    defineOperation({
      ...PAGE,
      permission: RULES.write,
      id: 'site.newAlertRule',
      path: `${ALERTS_PATH}/rules/new`,
      summary: 'Form for a new alert rule',
      params: {
        layer: defineIntegerParam(
          'layer',
          { min: 0, max: Number.MAX_SAFE_INTEGER, default: undefined },
          { description: 'Number of the layer to watch.' },
        ),
      },
      responses: RESPONSES,
      run: async (x) => createPageReply(await renderRule(x, deps, undefined, x.params.layer)),
    }),
    defineOperation({
      ...PAGE,
      permission: RULES.write,
      id: 'site.alertRule',
      path: `${ALERTS_PATH}/rules/{ruleId}`,
      summary: 'Form of an alert rule',
      params: { ruleId: idParam('ruleId', 'Id of a rule.') },
      responses: { ...RESPONSES, 404: { description: 'The rule does not exist.' } },
      async run(x) {
        const rule = await deps.alertRules.getRule(x.params.ruleId, x.principal);
        return createPageReply(await renderRule(x, deps, rule, rule.layer_id));
      },
    }),
  ];
}

async function renderAlerts(x: Exchange<typeof eventParams>, deps: AlertPagesDeps): Promise<string> {
  const { params, principal, baseUrl } = x;
  const { state, alertRules, alertDispatch, visible } = deps;
  const { alertEvents } = state;
  const mayReadRules = permits(principal, RULES.read);
  const filter: EventFilter = {
    severity: pick('severity', params.severity, ALERT_SEVERITIES),
    status: pick('status', params.status, LIFECYCLES),
    incident: pick('incident', params.incident, ['open', 'ended']),
    rule: readRule(params.rule),
  };
  // The position comes first: changes after it reach the page through the stream.
  const { newest } = await alertEvents.changeBounds();
  const restriction = restrictEvents(principal, deps);
  const [rows, open, rules, zones, channels] = await Promise.all([
    alertEvents.list({ ...restriction, ...buildQuery(filter), before: params.before, limit: PAGE_SIZE + 1 }),
    alertEvents.list({ ...restriction, statuses: OPEN, limit: MAX_INCIDENTS }),
    mayReadRules ? alertRules.listRules(principal, {}) : undefined,
    mayReadRules ? alertRules.listZones(principal, undefined) : undefined,
    // Channels belong to all tenants.
    mayReadRules && principal.tenantId === undefined ? alertDispatch.list() : undefined,
  ]);
  const now = Date.now();
  const events = rows.slice(0, PAGE_SIZE).map((row) => viewEvent(row, now, principal, deps));
  const older = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  older.set('before', String(events.at(-1)?.eventId));
  const path = sitePath(baseUrl);
  const data: AlertsData = {
    api: `${path}${BASE_PATH}`,
    stream: permits(principal, STREAM.permission) ? `${path}${BASE_PATH}${STREAM.path}` : null,
    cursor: newest,
    zones: listZoneData(zones ?? []),
    incidents: open.flatMap((row): IncidentData[] => {
      const { position, eventId, ruleName, severity, featureId } = viewEvent(row, now, principal, deps);
      return position ? [{ eventId, severity, position, title: `${ruleName ?? ''}: ${featureId}` }] : [];
    }),
  };
  return alertsPage({
    ...buildFrame(x),
    events,
    older: rows.length > PAGE_SIZE ? String(older) : undefined,
    isOlder: params.before !== undefined,
    filter,
    openCount: open.length,
    openIsMore: open.length === MAX_INCIDENTS,
    rules,
    zones,
    channels: channels?.map(channelView),
    layers: mapLayers(visible(principal)),
    mayAct: permits(principal, EVENTS_CHANGE),
    mayChange: permits(principal, RULES.write),
    data,
  });
}

const mapLayers = ({ collections }: CatalogSnapshot): ReadonlyMap<number, VectorCollection> =>
  new Map(collections.filter(hasFeatures).map((one) => [one.layerId, one]));

function buildQuery({ severity, status, incident, rule }: EventFilter) {
  return {
    ...(severity === '' ? {} : { severities: [severity] }),
    ...(status === '' ? {} : { lifecycles: [status] }),
    ...(incident === '' ? {} : { statuses: incident === 'open' ? OPEN : ['ended'] }),
    ...(rule === '' ? {} : { ruleId: Number(rule) }),
  };
}

function pick(name: string, value = '', values: readonly string[]): string {
  if (value !== '' && !values.includes(value))
    throw badParameter(name, `must be one of ${values.join(', ')}`);
  return value;
}

function readRule(value = ''): string {
  if (!/^\d{0,15}$/.test(value)) throw badParameter('rule', 'must be the id of a rule: an integer');
  return value;
}

/** Layers that the form of a rule can draw. */
const DRAWN_LAYERS = 30;

interface ShownRule {
  readonly id: number;
  readonly name: string;
}

async function renderRule(
  x: Pick<Exchange, 'baseUrl' | 'path' | 'query'> & { readonly principal: Principal },
  { alertRules, alertDispatch, visible, hasEvents }: AlertPagesDeps,
  rule: ShownRule | undefined,
  layerId: number | undefined,
): Promise<string> {
  const { principal, baseUrl } = x;
  const zones = await alertRules.listZones(principal, undefined);
  const layers = visible(principal)
    .collections.filter(hasFeatures)
    .filter(({ id }) => hasEvents(id));
  const path = sitePath(baseUrl);
  return rulePage({
    ...buildFrame(x),
    rule,
    layers,
    layer: layers.find((one) => one.layerId === layerId) ?? layers[0],
    zones,
    configured: alertDispatch.configured,
    data: {
      api: `${path}${BASE_PATH}`,
      alerts: `${path}${ALERTS_PATH}`,
      ruleId: rule?.id ?? null,
      zones: listZoneData(zones),
      layers: layers.map((one, i) => ({
        layerId: one.layerId,
        title: one.title,
        collection: `${path}/ogc/features/collections/${encodeURIComponent(one.id)}`,
        map: i < DRAWN_LAYERS && !one.storageCrs.isPlane ? mapLayer(one, baseUrl) : null,
      })),
    },
  });
}
