import { html, type Markup } from '../../../core/values/html.js';
import { facts, propertyValue } from '../values.js';

/** Properties of STAC with names for people, grouped by extension. */

const EXTENSIONS: Readonly<Record<string, string>> = {
  eo: 'Electro-optical',
  proj: 'Projection',
  raster: 'Raster',
  view: 'View geometry',
  sat: 'Satellite',
  sar: 'SAR',
  sci: 'Scientific citation',
  processing: 'Processing',
  file: 'File',
  grid: 'Grid',
  mgrs: 'MGRS',
  landsat: 'Landsat',
  s2: 'Sentinel-2',
  s1: 'Sentinel-1',
  pc: 'Point cloud',
  cube: 'Data cube',
  table: 'Table',
};

const NAMES: Readonly<Record<string, string>> = {
  datetime: 'Time',
  start_datetime: 'Start',
  end_datetime: 'End',
  created: 'Created',
  updated: 'Updated',
  gsd: 'Ground sample distance (m)',
  license: 'Licence',
  'eo:cloud_cover': 'Cloud cover (%)',
  'eo:snow_cover': 'Snow cover (%)',
  'eo:bands': 'Bands',
  'proj:epsg': 'EPSG code',
  'proj:code': 'CRS code',
  'proj:wkt2': 'CRS (WKT2)',
  'proj:projjson': 'CRS (PROJJSON)',
  'proj:bbox': 'Extent in the CRS',
  'proj:shape': 'Rows and columns',
  'proj:transform': 'Affine transformation',
  'view:off_nadir': 'Off-nadir angle (°)',
  'view:incidence_angle': 'Incidence angle (°)',
  'view:azimuth': 'Azimuth (°)',
  'view:sun_azimuth': 'Sun azimuth (°)',
  'view:sun_elevation': 'Sun elevation (°)',
  'sat:orbit_state': 'Orbit state',
  'sat:relative_orbit': 'Relative orbit',
  'sat:absolute_orbit': 'Absolute orbit',
  'sci:doi': 'DOI',
  'raster:bands': 'Bands',
};

/** Years of items without a time. */
const UNBOUNDED = /^(0001-01-01|9999-12-31)T/;

/** Properties as facts, with a heading for each extension. Properties in `left` are omitted. */
export function renderProperties(
  properties: Readonly<Record<string, unknown>>,
  left: ReadonlySet<string> = new Set(),
): Markup | undefined {
  const groups = new Map<string, [string, unknown][]>();
  for (const [name, value] of Object.entries(properties)) {
    if (left.has(name) || value === null || (typeof value === 'string' && UNBOUNDED.test(value))) continue;
    const [prefix, rest] = name.split(':') as [string, string | undefined];
    const group = rest === undefined ? '' : prefix;
    groups.set(group, [...(groups.get(group) ?? []), [name, value]]);
  }
  if (groups.size === 0) return undefined;
  const sorted = [...groups].sort(([a], [b]) => a.localeCompare(b));
  return html`${sorted.map(([prefix, entries]) => group(prefix, entries))}`;
}

function group(prefix: string, entries: readonly [string, unknown][]): Markup {
  const heading =
    prefix === ''
      ? undefined
      : html`<h3 class="extension">${Object.hasOwn(EXTENSIONS, prefix) ? EXTENSIONS[prefix]! : prefix} <code>${prefix}</code></h3>`;
  return html`${heading}${facts(entries.map(([name, value]) => [nameProperty(name), renderValue(value)] as const))}`;
}

/** `view:off_nadir` is Off-nadir angle; a name without an entry is spelled out. */
function nameProperty(name: string): string {
  if (Object.hasOwn(NAMES, name)) return NAMES[name]!;
  const words = name.slice(name.indexOf(':') + 1).replaceAll(/[_-]+/g, ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function renderValue(value: unknown): Markup {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' || typeof one === 'number'))
    return html`<bdi>${value.join(', ')}</bdi>`;
  return propertyValue(value);
}

interface Band {
  readonly name?: unknown;
  readonly common_name?: unknown;
  readonly description?: unknown;
  readonly data_type?: unknown;
  readonly unit?: unknown;
  readonly nodata?: unknown;
}

/** Bands of an asset or a collection in words: `B4 (red), uint8`. */
export function describeBands(members: Readonly<Record<string, unknown>>): string[] {
  const lists = ['bands', 'eo:bands', 'raster:bands'].flatMap((name) =>
    Array.isArray(members[name]) ? [members[name] as Band[]] : [],
  );
  const count = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: count }, (_, i) => {
    const band: Band = Object.assign({}, ...lists.map((list) => list[i]));
    const name = text(band.name) ?? text(band.description) ?? `Band ${i + 1}`;
    const extra = [text(band.common_name), text(band.data_type), text(band.unit)].filter(Boolean);
    return extra.length > 0 ? `${name} (${extra.join(', ')})` : name;
  });
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
