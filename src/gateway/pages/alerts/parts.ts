import type { TRIGGER_TYPES } from '../../../core/alerts/alerts.js';
import type { ZoneData } from '../../../core/catalog/alert-page-data.js';
import type { Principal } from '../../../core/http/operation.js';
import { html, type Markup } from '../../../core/values/html.js';
import { permits } from '../../../services/access/permissions.js';
import { assetUrl } from '../layout.js';
import { mapHead } from '../maps/map-frame.js';

export const ALERTS_PATH = '/alerts';
/** Permission to read alert events. */
export const ALERTS_PERMISSION = 'admin:observability:read';

/** Whether a caller can open the page of alerts. */
export const maySeeAlerts = (principal: Pick<Principal, 'permissions'>) =>
  permits(principal, ALERTS_PERMISSION);

export const ALERTS_CRUMB = 'Alerts';

type Trigger = (typeof TRIGGER_TYPES)[number];

/** Names of triggers in forms. */
export const TRIGGER_NAMES: Readonly<Record<Trigger, string>> = {
  enter: 'enters a zone',
  exit: 'leaves a zone',
  dwell: 'stays in a zone',
  threshold: 'reaches a value',
};

/** Names of channels. */
export const CHANNEL_NAMES: Readonly<Record<string, string>> = {
  webhook: 'Webhook',
  websocket: 'WebSocket',
  email: 'E-mail',
  digest: 'E-mail digest',
  aws_sns: 'Amazon SNS',
  azure_eventgrid: 'Azure Event Grid',
  slack: 'Slack',
  microsoft_teams: 'Microsoft Teams',
  aws_sqs: 'Amazon SQS',
  azure_eventhub: 'Azure Event Hubs',
};

/** Style sheets of the alert pages, for the head. */
export function alertsHead(baseUrl: string): Markup {
  return html`${mapHead(baseUrl)}<link rel="stylesheet" href="${assetUrl(baseUrl, 'alerts.css')}">\n`;
}

/** `label`: text in place of the severity. */
export function renderSeverity(severity: string, label = severity): Markup {
  return html`<span class="severity" data-severity="${severity}">${label}</span>`;
}

/** Option elements. `names` are the labels by value. */
export function renderOptions(
  names: readonly (readonly [value: string, label: string])[],
  selected: string,
): Markup[] {
  return names.map(
    ([value, label]) =>
      html`<option value="${value}"${value === selected ? html` selected` : undefined}>${label}</option>`,
  );
}

/** Characters of the areas in a page. Further zones are listed, and are not on its map. */
const AREA_CHARACTERS = 1_000_000;

interface DrawnZone {
  readonly id: number;
  readonly name: string;
  readonly is_active: number;
  readonly area_json: string | null;
}

/** Areas of zones for the map of a page, up to a total length. */
export function listZoneData(zones: readonly DrawnZone[]): ZoneData[] {
  let left = AREA_CHARACTERS;
  return zones.flatMap(({ id, name, is_active, area_json }) => {
    if (area_json === null || (left -= area_json.length) < 0) return [];
    return [{ zoneId: id, name, isActive: is_active === 1, area: JSON.parse(area_json) as ZoneData['area'] }];
  });
}

/** Box around the zones of a map, or undefined without zones. */
export function findZoneBounds(zones: readonly ZoneData[]): [number, number, number, number] | undefined {
  const positions = zones.flatMap(({ area }) => area.coordinates.flat(2));
  if (positions.length === 0) return undefined;
  let [west, south, east, north] = [180, 90, -180, -90];
  for (const [x, y] of positions) {
    [west, south] = [Math.min(west, x), Math.min(south, y)];
    [east, north] = [Math.max(east, x), Math.max(north, y)];
  }
  return [west, south, east, north];
}
