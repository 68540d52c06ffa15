import type { Box } from '../../core/geometry/box.js';
import { html, type Markup } from '../../core/values/html.js';

export { propertyValue, shortenText } from '../../core/features/property-value.js';
export { formatInstant } from '../../core/values/instants.js';

/** Formats single values for pages. */

/** Pairs of a term and its description; pairs without a value are omitted. */
export function facts(pairs: readonly (readonly [string, Markup | string | number | undefined])[]): Markup {
  const entries = pairs
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`);
  return html`<dl class="facts">${entries}</dl>`;
}

/** Characters of an ISO 8601 time up to its minutes, and up to its seconds. */
const TIME_LENGTHS = { minute: 16, second: 19 } as const;

/** A time in UTC: `2026-11-30 06:40 UTC`. */
export function renderTime(iso: string, precision: keyof typeof TIME_LENGTHS): Markup {
  const text = iso.slice(0, TIME_LENGTHS[precision]).replace('T', ' ');
  return html`<time datetime="${iso}">${text} UTC</time>`;
}

const COUNTS = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function formatCount(value: number): string {
  return COUNTS.format(value);
}

/** `1 feature`, `2,500 features`. */
export function formatFeatures(count: number): string {
  return count === 1 ? '1 feature' : `${formatCount(count)} features`;
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `2.4 MB`: two digits are as many as an estimate is worth. */
export function formatBytes(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** unit;
  return `${unit === 0 ? Math.round(value) : Number(value.toPrecision(2))} ${UNITS[unit]}`;
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
