import type { Box } from '../../core/box.js';
import { isExactNumber } from '../../core/exact-number.js';
import { html, type Markup } from '../../core/html.js';
import { stringifyExactly } from '../../core/json.js';

/** How single values read on a page. Text from data is isolated (`bdi`): its direction changes nothing around it. */

const MAX_TEXT = 400;
const NONE = html`<span class="none">–</span>`;

/** A property value of a feature: links for web addresses, code for structures. */
export function propertyValue(value: unknown): Markup {
  if (value === null || value === undefined || value === '') return NONE;
  if (typeof value === 'number' || typeof value === 'bigint') return html`${String(value)}`;
  if (isExactNumber(value)) return html`${String(value)}`;
  if (typeof value === 'boolean') return html`${value ? 'true' : 'false'}`;
  if (typeof value !== 'string') return html`<code>${shortened(stringifyExactly(value))}</code>`;
  if (/^https?:\/\/[^\s<>"']+$/i.test(value)) {
    return html`<a href="${value}" rel="noopener noreferrer nofollow">${shortened(value)}</a>`;
  }
  return html`<bdi>${shortened(value)}</bdi>`;
}

export function shortened(text: string, length = MAX_TEXT): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** Term and description pairs; pairs without a value are left out. */
export function facts(pairs: readonly (readonly [string, Markup | string | number | undefined])[]): Markup {
  const entries = pairs
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`);
  return html`<dl class="facts">${entries}</dl>`;
}

const COUNTS = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function count(value: number): string {
  return COUNTS.format(value);
}

/** `12.3456° W` style is for people: longitudes and latitudes of a CRS84 box with hemispheres. */
export function extentText(box: Box): string {
  const [west, south, east, north] = box;
  return `${degrees(west, 'E', 'W')} to ${degrees(east, 'E', 'W')}, ${degrees(south, 'N', 'S')} to ${degrees(north, 'N', 'S')}`;
}

function degrees(value: number, positive: string, negative: string): string {
  const rounded = Math.round(Math.abs(value) * 1e4) / 1e4;
  return `${rounded}°${rounded === 0 ? '' : ` ${value < 0 ? negative : positive}`}`;
}

/** `http://www.opengis.net/def/crs/EPSG/0/3857` reads as `EPSG:3857`. */
export function crsName(uri: string): string {
  const match = /\/def\/crs\/(\w+)\/[^/]+\/(\w+)$/.exec(uri);
  return match ? `${match[1]}:${match[2]}` : uri;
}
