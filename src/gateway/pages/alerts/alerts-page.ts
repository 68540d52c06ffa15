import { ALERT_SEVERITIES, LIFECYCLES } from '../../../core/alerts/alerts.js';
import type { AlertsData } from '../../../core/catalog/alert-page-data.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { type PageFrame, page, renderSection, sitePath } from '../layout.js';
import { basemapData } from '../maps/basemap.js';
import { buildItemsUrl, createMapLayers, mergeBoxes } from '../maps/map-data.js';
import { mapFrame } from '../maps/map-frame.js';
import { formatMilliseconds } from '../processes/duration.js';
import { stackedTable } from '../table.js';
import { formatCount, renderTime } from '../values.js';
import {
  ALERTS_CRUMB,
  ALERTS_PATH,
  alertsHead,
  CHANNEL_NAMES,
  findZoneBounds,
  renderOptions,
  renderSeverity,
} from './parts.js';

/** An alert event, as the management API has it. */
interface PageEvent {
  readonly eventId: number;
  readonly ruleId: number | null;
  readonly ruleName: string | null;
  readonly layerId: number;
  readonly featureId: string;
  readonly severity: string;
  readonly triggerType: string;
  readonly incidentStatus: string;
  readonly lifecycleStatus: string;
  readonly incidentDurationMs: number;
  readonly occurredAt: string;
  readonly acknowledgedBy: string | null;
  readonly resolvedBy: string | null;
  readonly suppressedUntil: string | null;
  readonly note: string | null;
}

interface PageRule {
  readonly id: number;
  readonly name: string;
  readonly layer_id: number;
  readonly zone_id: number | null;
  readonly trigger_type: string;
  readonly severity: string;
  readonly is_active: number;
  readonly problem: string | null;
  readonly scan: string | null;
  readonly channels_json: string;
  readonly conditions_json: string;
}

interface PageZone {
  readonly id: number;
  readonly name: string;
  readonly is_active: number;
}

interface PageChannel {
  readonly channel: string;
  readonly paused: boolean;
  readonly isConfigured: boolean;
  readonly pendingCount: number;
  readonly failedCount: number;
  readonly deadLetterCount: number;
  readonly nextAttemptAt: string | null;
}

/** Filter of the list of events. Empty: all. */
export interface EventFilter {
  readonly severity: string;
  readonly status: string;
  readonly incident: string;
  readonly rule: string;
}

export interface AlertsPage extends PageFrame {
  readonly events: readonly PageEvent[];
  /** Query of the page with older events. */
  readonly older: string | undefined;
  /** Whether this is not the page with the newest events. */
  readonly isOlder: boolean;
  readonly filter: EventFilter;
  /** Number of open incidents. */
  readonly openCount: number;
  readonly openIsMore: boolean;
  /** Undefined if the caller may not read them. */
  readonly rules: readonly PageRule[] | undefined;
  readonly zones: readonly PageZone[] | undefined;
  /** Undefined if the caller may not read them. */
  readonly channels: readonly PageChannel[] | undefined;
  /** Readable layers by number. */
  readonly layers: ReadonlyMap<number, VectorCollection>;
  readonly mayAct: boolean;
  readonly mayChange: boolean;
  readonly data: AlertsData;
}

/** Layers of rules on the map. */
const MAX_LAYERS = 6;

/** Page of alerts: map of zones and open incidents, events, rules, zones and channels. */
export function alertsPage(input: AlertsPage): string {
  const { baseUrl, mayChange, data } = input;
  const path = `${sitePath(baseUrl)}${ALERTS_PATH}`;
  const body = html`<div data-alerts>
<h1>Alerts</h1>
<p class="lead" data-part="summary">${summary(input)}</p>
${data.stream === null ? undefined : html`<p class="live-state" role="status" data-live-state="connecting" data-live hidden>Connecting…</p>`}
<p role="alert" class="fault" data-fault hidden></p>
<p class="unseen" role="status" data-done></p>
${mayChange ? html`<p class="actions"><a class="button primary" href="${`${path}/rules/new`}">New rule</a></p>` : undefined}
${alertsMap(input)}
<section class="part"><h2>Alert events</h2>
${filterForm(input, path)}
<div data-part="events">${eventTable(input, path)}</div></section>
${input.rules && renderSection('Rules', html`<div data-part="rules">${ruleTable(input, path)}</div>`)}
${input.zones && renderSection('Zones', html`<div data-part="zones">${zoneTable(input)}</div>`)}
${input.channels && renderSection('Channels', html`<div data-part="channels">${channelTable(input)}</div>`)}
${input.mayAct || mayChange ? actionDialog() : undefined}
<script type="application/json" id="alerts-data">${scriptJson(data)}</script>
</div>`;
  return page({
    baseUrl,
    reader: input.reader,
    title: 'Alerts',
    crumbs: [{ title: ALERTS_CRUMB, href: `${baseUrl}${ALERTS_PATH}` }],
    body,
    head: alertsHead(baseUrl),
    scripts: ['alerts.js'],
  });
}

function summary({ openCount, openIsMore }: AlertsPage): string {
  if (openCount === 0) return 'There are no open incidents.';
  const number = `${openIsMore ? 'At least ' : ''}${formatCount(openCount)}`;
  return `${number} open ${openCount === 1 ? 'incident' : 'incidents'}.`;
}

function alertsMap({ baseUrl, rules = [], layers, data }: AlertsPage): Markup {
  const watched = [...new Set(rules.map(({ layer_id }) => layer_id))].flatMap((id) => layers.get(id) ?? []);
  const shown = watched.slice(0, MAX_LAYERS);
  const boxes = shown.flatMap(({ extent84 }) => (extent84 ? [extent84] : []));
  const map: MapData = {
    baseUrl,
    bounds: findZoneBounds(data.zones) ?? mergeBoxes(boxes) ?? null,
    layers: createMapLayers(shown, baseUrl),
    basemap: basemapData(baseUrl),
    features: null,
  };
  return mapFrame({ data: map, label: 'Map of zones and open incidents' });
}

const ALL = ['', 'All'] as const;
const named = (names: readonly string[]) => [ALL, ...names.map((name) => [name, capitalize(name)] as const)];
const capitalize = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function filterForm({ filter, rules = [] }: AlertsPage, path: string): Markup {
  const incidents = [ALL, ['open', 'Open'], ['ended', 'Ended']] as const;
  const ruleNames = [ALL, ...rules.map(({ id, name }) => [String(id), name] as const)];
  const select = (name: keyof EventFilter, label: string, names: readonly (readonly [string, string])[]) =>
    html`<label><span>${label}</span><select name="${name}">${renderOptions(names, filter[name])}</select></label>`;
  return html`<form class="finder alert-filter" method="get" action="${path}">
${select('severity', 'Severity', named(ALERT_SEVERITIES))}
${select('incident', 'Incident', incidents)}
${select('status', 'Status', named(LIFECYCLES))}
${rules.length > 0 ? select('rule', 'Rule', ruleNames) : undefined}
<button class="finder-button" type="submit">Show</button>
</form>`;
}

function eventTable(input: AlertsPage, path: string): Markup {
  const { events, older, isOlder, mayAct, filter } = input;
  const columns = [
    ...['Time', 'Severity', 'Rule', 'Feature', 'Incident', 'Status'],
    ...(mayAct ? ['Actions'] : []),
  ];
  const rows = events.map((event) => eventRow(event, input));
  const isFiltered = Object.values(filter).some((value) => value !== '');
  const none = isFiltered ? 'No alert event matches.' : 'There are no alert events.';
  const newest = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  const first = isOlder
    ? html`<a class="button" href="${`${path}?${newest}`}">Newest events</a> `
    : undefined;
  const next =
    older === undefined
      ? undefined
      : html`<a class="button" rel="next" href="${`${path}?${older}`}">Older events</a>`;
  return html`${rows.length === 0 ? html`<p class="none">${none}</p>` : stackedTable('Alert events', { names: columns, head: 2 }, rows)}
${first || next ? html`<nav class="paging" aria-label="Pages of events">${first}${next}</nav>` : undefined}`;
}

function eventRow(event: PageEvent, { layers, baseUrl, mayAct }: AlertsPage) {
  const { eventId, severity, ruleName, featureId, layerId, incidentStatus } = event;
  const layer = layers.get(layerId);
  const feature = layer
    ? html`<span><a href="${`${buildItemsUrl(layer, baseUrl)}/${encodeURIComponent(featureId)}?f=html`}"><bdi>${featureId}</bdi></a> <span class="muted"><bdi>${layer.title}</bdi></span></span>`
    : html`<bdi>${featureId}</bdi>`;
  const isOpen = incidentStatus !== 'ended';
  const duration = formatMilliseconds(event.incidentDurationMs);
  return {
    attributes: html`data-event="${eventId}" data-open="${String(isOpen)}"`,
    cells: [
      renderTime(event.occurredAt, 'second'),
      renderSeverity(severity),
      html`<bdi>${ruleName ?? 'Deleted rule'}</bdi>`,
      feature,
      html`<span>${isOpen ? 'Open' : 'Ended'}, ${duration}</span>`,
      html`<span>${lifecycle(event)}</span>`,
      ...(mayAct ? [html`<span>${actions(event)}</span>`] : []),
    ],
  };
}

function lifecycle(event: PageEvent): Markup {
  const { lifecycleStatus: status, acknowledgedBy, resolvedBy, suppressedUntil, note } = event;
  const by = status === 'acknowledged' ? acknowledgedBy : status === 'resolved' ? resolvedBy : null;
  const until =
    status === 'suppressed' && suppressedUntil !== null
      ? html` until ${renderTime(suppressedUntil, 'minute')}`
      : undefined;
  return html`${capitalize(status)}${until}${by === null ? undefined : html` by <bdi>${by}</bdi>`}${note === null || note === '' ? undefined : html`<br><span class="muted"><bdi>${note}</bdi></span>`}`;
}

/** Buttons that the script shows. */
function actions({ eventId, lifecycleStatus, ruleName }: PageEvent): Markup {
  const button = (action: string, label: string) =>
    html`<button type="button" class="button small" data-action="${action}" data-key="${action}-${eventId}" hidden>${label}<span class="unseen"> event ${eventId}${ruleName === null ? '' : `, ${ruleName}`}</span></button> `;
  return html`${lifecycleStatus === 'open' ? button('acknowledge', 'Acknowledge') : undefined}${lifecycleStatus === 'resolved' ? undefined : html`${button('suppress', 'Suppress')}${button('resolve', 'Resolve')}`}`;
}

function ruleTable(input: AlertsPage, path: string): Markup {
  const { rules = [], zones = [], layers, mayChange } = input;
  if (rules.length === 0) return html`<p class="none">There are no rules.</p>`;
  const zoneNames = new Map(zones.map(({ id, name }) => [id, name]));
  const rows = rules.map((rule) => {
    const { id, name, severity } = rule;
    const channels = (JSON.parse(rule.channels_json) as string[]).map((one) => CHANNEL_NAMES[one] ?? one);
    const isActive = rule.is_active === 1;
    const toggle = html`<button type="button" class="button small" data-enable="${id}" data-to="${String(!isActive)}" data-key="enable-${id}" hidden>${isActive ? 'Disable' : 'Enable'}<span class="unseen"> ${name}</span></button> `;
    const remove = html`<button type="button" class="button small" data-remove="rules/${id}" data-name="${name}" data-key="remove-rule-${id}" hidden>Delete<span class="unseen"> the rule ${name}</span></button>`;
    return {
      attributes: html`data-rule="${id}"`,
      cells: [
        mayChange
          ? html`<a href="${`${path}/rules/${id}`}"><bdi>${name}</bdi></a>`
          : html`<bdi>${name}</bdi>`,
        html`<span>${describeRule(rule, layers.get(rule.layer_id)?.title, zoneNames)}</span>`,
        renderSeverity(severity),
        html`<span>${channels.length === 0 ? 'None' : channels.join(', ')}</span>`,
        html`<span>${describeState(rule)}</span>`,
        ...(mayChange ? [html`<span>${toggle}${remove}</span>`] : []),
      ],
    };
  });
  const columns = ['Rule', 'Condition', 'Severity', 'Channels', 'State', ...(mayChange ? ['Actions'] : [])];
  return stackedTable('Rules', { names: columns, head: 0 }, rows);
}

const VERBS: Readonly<Record<string, string>> = { enter: 'enters', exit: 'leaves', dwell: 'stays in' };

function describeRule(
  { layer_id, zone_id, trigger_type, conditions_json }: PageRule,
  title: string | undefined,
  zones: ReadonlyMap<number, string>,
): Markup {
  const layer = html`A feature of <bdi>${title ?? `layer ${layer_id}`}</bdi>`;
  const conditions = JSON.parse(conditions_json) as Record<string, unknown>;
  if (trigger_type === 'threshold') {
    const { field, operator, value } = conditions;
    const text =
      operator === 'changed' ? `${field} changes` : `${field} ${operator} ${JSON.stringify(value)}`;
    return html`${layer}: <bdi>${text}</bdi>`;
  }
  const time =
    trigger_type === 'dwell' ? ` for ${formatMilliseconds(Number(conditions['dwellSeconds']) * 1000)}` : '';
  return html`${layer} ${VERBS[trigger_type]} <bdi>${zones.get(zone_id ?? 0) ?? `zone ${zone_id}`}</bdi>${time}`;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  unauthorized: 'The author can no longer read the layer',
  'layer-unpublished': 'The layer is not published',
  'zone-inactive': 'The zone is not active',
  invalid: 'The conditions do not fit the layer',
};

function describeState({ is_active, problem, scan }: PageRule): string {
  if (is_active === 0) return 'Disabled';
  if (problem !== null) return PROBLEMS[problem] ?? problem;
  return scan === null ? 'Active' : 'Comparing all features';
}

function zoneTable({ zones = [], rules = [], mayChange }: AlertsPage): Markup {
  if (zones.length === 0) return html`<p class="none">There are no zones.</p>`;
  const rows = zones.map(({ id, name, is_active }) => {
    const used = rules.filter(({ zone_id }) => zone_id === id).length;
    const remove = html`<button type="button" class="button small" data-remove="zones/${id}" data-name="${name}" data-key="remove-zone-${id}" hidden>Delete<span class="unseen"> the zone ${name}</span></button>`;
    const show = html`<button type="button" class="button small" data-show="${id}" data-key="show-zone-${id}" hidden>Show<span class="unseen"> ${name} on the map</span></button> `;
    return {
      attributes: html`data-zone="${id}"`,
      cells: [
        html`<bdi>${name}</bdi>`,
        html`<span>${is_active === 1 ? 'Active' : 'Not active'}</span>`,
        html`<span>${formatCount(used)}</span>`,
        html`<span>${show}${mayChange ? remove : undefined}</span>`,
      ],
    };
  });
  const names = ['Zone', 'State', 'Rules', 'Actions'];
  return stackedTable('Zones', { names, head: 0, numbers: [2] }, rows);
}

function channelTable({ channels = [], mayChange }: AlertsPage): Markup {
  const used = channels.filter(
    (one) => one.isConfigured || one.paused || one.pendingCount + one.deadLetterCount > 0,
  );
  const others = channels.filter((one) => !used.includes(one)).map(({ channel }) => CHANNEL_NAMES[channel]);
  const rows = used.map(({ channel, paused, pendingCount, failedCount, deadLetterCount, ...one }) => {
    const name = CHANNEL_NAMES[channel] ?? channel;
    const button = html`<button type="button" class="button small" data-pause="${channel}" data-to="${paused ? 'resume' : 'pause'}" data-key="pause-${channel}" hidden>${paused ? 'Resume' : 'Pause'}<span class="unseen"> ${name}</span></button>`;
    return {
      attributes: html`data-channel="${channel}"`,
      cells: [
        html`<span>${name}</span>`,
        html`<span>${describeChannel({ paused, ...one })}</span>`,
        ...[pendingCount, failedCount, deadLetterCount].map(
          (count) => html`<span>${formatCount(count)}</span>`,
        ),
        ...(mayChange ? [html`<span>${button}</span>`] : []),
      ],
    };
  });
  const columns = [
    'Channel',
    'State',
    'Waiting',
    'Failing',
    'Dead letters',
    ...(mayChange ? ['Actions'] : []),
  ];
  const dead = channels.some(({ deadLetterCount }) => deadLetterCount > 0);
  return html`${rows.length === 0 ? html`<p class="none">No channel is configured.</p>` : stackedTable('Channels', { names: columns, head: 0, numbers: [2, 3, 4] }, rows)}
${dead && mayChange ? html`<p><button type="button" class="button" data-redrive data-key="redrive" hidden>Send the dead letters again</button></p>` : undefined}
${others.length > 0 ? html`<p class="hint">Not configured: ${others.join(', ')}. See the setting <code>alerts.channels</code>.</p>` : undefined}`;
}

function describeChannel({
  paused,
  isConfigured,
  nextAttemptAt,
}: Pick<PageChannel, 'paused' | 'isConfigured' | 'nextAttemptAt'>): Markup {
  if (paused) return html`Paused`;
  if (!isConfigured) return html`Not configured`;
  if (nextAttemptAt !== null) return html`Failing; next attempt ${renderTime(nextAttemptAt, 'second')}`;
  return html`Sending`;
}

function actionDialog(): Markup {
  return html`<dialog class="alert-dialog" aria-labelledby="alert-dialog-title" data-dialog>
<form method="dialog" class="builder">
<h2 id="alert-dialog-title" data-dialog-title>Acknowledge</h2>
<p data-dialog-text></p>
<p class="field" data-until hidden><label for="alert-until">Suppress until (your local time)</label><input id="alert-until" name="until" type="datetime-local"></p>
<p class="field"><label for="alert-note">Note (optional)</label><textarea id="alert-note" name="note" rows="3" maxlength="1024"></textarea></p>
<p role="alert" class="fault" data-dialog-fault hidden></p>
<p class="actions"><button type="submit" class="button primary" data-confirm>Acknowledge</button><button type="button" class="button" data-cancel>Cancel</button></p>
</form></dialog>`;
}
