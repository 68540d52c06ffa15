/** The simple style model as Mapnik maps. */

import mapnik, { type MapnikMap } from '@mapnik/mapnik';
import { type GeometryType, type SimpleStyle, TaskFailure } from '../../core/tasks.js';

const DEFAULTS = {
  fill: '#6aa2d8',
  fillOpacity: 0.5,
  stroke: '#1f4e79',
  strokeWidth: 1,
  strokeOpacity: 1,
  pointColor: '#c8431a',
  pointRadius: 4,
} as const satisfies Required<SimpleStyle>;

const MAX_LENGTH = 1000;

/** A CSS colour as Mapnik's own `rgba()` text. Fails with `invalid-input`, so that no foreign text reaches the XML. */
export function checkedColor(css: unknown): string {
  const { r, g, b, a } = parseColor(css);
  return `rgba(${r},${g},${b},${(a / 255).toFixed(4)})`;
}

export function parseColor(css: unknown): { r: number; g: number; b: number; a: number } {
  if (css === 'transparent') return { r: 0, g: 0, b: 0, a: 0 };
  if (typeof css === 'string' && css.length <= 64) {
    try {
      return new mapnik.Color(css);
    } catch {
      // Falls through to the failure.
    }
  }
  throw new TaskFailure('invalid-input', 'A colour of the style is not a CSS colour.');
}

function checkedNumber(name: string, value: unknown, max: number): number {
  if (typeof value === 'number' && value >= 0 && value <= max) return value;
  throw new TaskFailure('invalid-input', `${name} of the style needs a number from 0 to ${max}.`);
}

function escapeXml(text: string): string {
  // Characters that XML 1.0 cannot hold at all are refused by the caller; these are the ones with a meaning.
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Symbolizers of the simple style for one geometry type. */
function symbolizers(style: SimpleStyle, geometryType: GeometryType): string {
  const all = { ...DEFAULTS, ...withoutUndefined(style) };
  const strokeWidth = checkedNumber('strokeWidth', all.strokeWidth, MAX_LENGTH);
  const strokeOpacity = checkedNumber('strokeOpacity', all.strokeOpacity, 1);
  const stroke = checkedColor(all.stroke);
  const line =
    strokeWidth > 0
      ? `<LineSymbolizer stroke="${stroke}" stroke-width="${strokeWidth}" stroke-opacity="${strokeOpacity}" stroke-linejoin="round" stroke-linecap="round"/>`
      : '';
  const fillOpacity = checkedNumber('fillOpacity', all.fillOpacity, 1);
  const polygon = `<PolygonSymbolizer fill="${checkedColor(all.fill)}" fill-opacity="${fillOpacity}"/>`;
  const size = 2 * checkedNumber('pointRadius', all.pointRadius, MAX_LENGTH);
  const point =
    `<MarkersSymbolizer marker-type="ellipse" width="${size}" height="${size}" fill="${checkedColor(all.pointColor)}"` +
    ` stroke="${stroke}" stroke-width="${strokeWidth}" stroke-opacity="${strokeOpacity}" allow-overlap="true" ignore-placement="true" multi-policy="each"/>`;
  if (geometryType === 'Point' || geometryType === 'MultiPoint') return rule(point);
  if (geometryType === 'LineString' || geometryType === 'MultiLineString') return rule(line);
  if (geometryType === 'Polygon' || geometryType === 'MultiPolygon') return rule(polygon + line);
  return (
    rule(point, '[mapnik::geometry_type]=point') +
    rule(line, '[mapnik::geometry_type]=linestring') +
    rule(polygon + line, '[mapnik::geometry_type]=polygon')
  );
}

function withoutUndefined(style: SimpleStyle): SimpleStyle {
  return Object.fromEntries(Object.entries(style).filter(([, value]) => value !== undefined));
}

function rule(content: string, filter?: string): string {
  if (content === '') return '';
  return `<Rule>${filter ? `<Filter>${filter}</Filter>` : ''}${content}</Rule>`;
}

function mapXml(style: SimpleStyle, geometryType: GeometryType, layerName: string): string {
  return (
    '<?xml version="1.0" encoding="utf-8"?><Map srs="epsg:3857">' +
    `<Style name="style">${symbolizers(style, geometryType)}</Style>` +
    `<Layer name="${escapeXml(layerName)}" srs="epsg:3857"><StyleName>style</StyleName></Layer></Map>`
  );
}

const CACHED_STYLES = 200;
/** Maps per style that wait for the next use; a map must not be rendered by two threads at once. */
const MAPS_PER_STYLE = 4;
const free = new Map<string, MapnikMap[]>();

/** Runs `use` with a map of one layer in this style; maps are built once and kept by content. */
export async function withStyledMap<T>(
  style: SimpleStyle,
  geometryType: GeometryType,
  layerName: string,
  use: (map: MapnikMap) => Promise<T>,
): Promise<T> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly the characters that XML 1.0 forbids.
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(layerName)) {
    throw new TaskFailure('invalid-input', 'The name of the layer holds control characters.');
  }
  const xml = mapXml(style, geometryType, layerName);
  const map = free.get(xml)?.pop() ?? build(xml);
  const result = await use(map);
  keep(xml, map);
  return result;
}

function build(xml: string): MapnikMap {
  const map = new mapnik.Map(1, 1);
  try {
    map.fromStringSync(xml, { strict: true });
  } catch (error) {
    throw new TaskFailure('invalid-input', 'The style cannot be used.', String(error));
  }
  return map;
}

function keep(xml: string, map: MapnikMap): void {
  const maps = free.get(xml) ?? [];
  if (maps.length < MAPS_PER_STYLE) maps.push(map);
  // Reinserting moves the style to the young end.
  free.delete(xml);
  free.set(xml, maps);
  if (free.size > CACHED_STYLES) free.delete(free.keys().next().value as string);
}
