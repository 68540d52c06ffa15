import type {
  LayerSpecification,
  Map as MapLibreMap,
  SpriteSpecification,
  StyleSpecification,
} from 'maplibre-gl';
import type { BasemapData } from '../../core/catalog/page-data.js';
import { onThisOrigin } from './page.js';
import type { MapColors } from './theme.js';

/** Style layers and sources of the base map have this before their names. */
const BASEMAP = 'basemap';
/** Fonts of a base map's style have this before their names: they come from where the style says. */
const FONT_PREFIX = 'basemap:';
/** Prefix of the names of data icons if the style of the base map has its own icons. */
const SPRITE_PREFIX = 'graticule';

/** Initial style of a map, and how its parts are requested. */
export interface BaseStyle {
  readonly style: StyleSpecification;
  /** Rewrites the URL of glyphs. */
  readonly glyphsUrl?: (url: string) => string;
  /** Prefix of the names of data icons; empty if there are no other icons. */
  readonly iconPrefix: string;
}

interface OwnParts {
  readonly glyphs: string;
  /** Absent when the data has no icons. */
  readonly sprite?: string;
  readonly colors: MapColors;
  readonly baseUrl: string;
}

/** The style under the data. One that cannot be loaded leaves the map without. */
export async function baseStyle(data: BasemapData | null, parts: OwnParts): Promise<BaseStyle> {
  const { glyphs, sprite, colors, baseUrl } = parts;
  const layers: LayerSpecification[] = [
    { id: 'background', type: 'background', paint: { 'background-color': colors.water } },
  ];
  const plain: StyleSpecification = { version: 8, sources: {}, layers, glyphs, ...(sprite && { sprite }) };
  if (data?.kind === 'style') {
    const href = onThisOrigin(data.href, baseUrl);
    const theirs = await loadStyle(href).catch((error: unknown) => console.warn('base map:', error));
    if (theirs) return merged(theirs, plain, data.attribution);
  }
  if (data?.kind === 'tiles') addTiles(plain, data);
  return { style: plain, iconPrefix: '' };
}

type Own = Extract<BasemapData, { kind: 'own' }>;

/** Puts our base map under the data, and its names above. */
export function addOwnBasemap(map: MapLibreMap, data: Own, baseUrl: string, colors: MapColors): void {
  map.addSource(BASEMAP, {
    type: 'vector',
    tiles: [onThisOrigin(data.tiles, baseUrl)],
    maxzoom: data.maxZoom,
    attribution: asText(data.attribution),
  });
  const layers = map.getStyle().layers.filter(({ id }) => id !== 'background');
  const lowest = layers[0]?.id;
  for (const layer of groundLayers(colors)) map.addLayer(layer, lowest);
  const labels = layers.find(({ type }) => type === 'symbol')?.id;
  for (const layer of nameLayers(colors)) map.addLayer(layer, labels);
}

function addTiles(style: StyleSpecification, data: Extract<BasemapData, { kind: 'tiles' }>): void {
  const attribution = asText(data.attribution);
  style.sources[BASEMAP] = { type: 'raster', tiles: [data.tiles], tileSize: 256, attribution };
  style.layers.push({ id: `${BASEMAP}/tiles`, type: 'raster', source: BASEMAP });
}

/** The library writes attributions as markup. */
function asText(attribution: string): string {
  const element = document.createElement('span');
  element.textContent = attribution;
  return element.innerHTML;
}

const width = (far: number, near: number) => ['interpolate', ['linear'], ['zoom'], 1, far, 6, near] as never;

function groundLayers(colors: MapColors): LayerSpecification[] {
  const of = (layer: string) => ({ id: `${BASEMAP}/${layer}`, source: BASEMAP, 'source-layer': layer });
  const round = { 'line-join': 'round', 'line-cap': 'round' } as const;
  return [
    { ...of('land'), type: 'fill', paint: { 'fill-color': colors.land, 'fill-antialias': false } },
    {
      ...of('regions'),
      type: 'line',
      minzoom: 3,
      layout: round,
      paint: { 'line-color': colors.region, 'line-width': width(0.4, 0.9), 'line-dasharray': [3, 2] },
    },
    {
      ...of('borders'),
      type: 'line',
      layout: round,
      paint: { 'line-color': colors.border, 'line-width': width(0.5, 1.2) },
    },
    {
      ...of('coast'),
      type: 'line',
      layout: round,
      paint: { 'line-color': colors.coast, 'line-width': width(0.5, 1) },
    },
  ];
}

/** Names of countries and regions. */
function nameLayers(colors: MapColors): LayerSpecification[] {
  const common = { source: BASEMAP, 'source-layer': 'names', type: 'symbol' } as const;
  const paint = {
    'text-color': colors.name,
    'text-halo-color': colors.land,
    'text-halo-width': 1.4,
    'text-halo-blur': 0.4,
  };
  const layout = {
    'text-field': ['get', 'name'],
    'text-font': ['Noto Sans Regular'],
    'text-padding': 6,
    'text-max-width': 7,
    'symbol-sort-key': ['-', ['get', 'size']],
  } as const;
  const kind = (name: string) => ['==', ['get', 'kind'], name] as never;
  return [
    {
      ...common,
      id: `${BASEMAP}/names/region`,
      filter: kind('region'),
      minzoom: 4,
      layout: { ...layout, 'text-size': width(10, 12) } as never,
      paint: { ...paint, 'text-opacity': 0.75 },
    },
    {
      ...common,
      id: `${BASEMAP}/names/country`,
      filter: kind('country'),
      layout: {
        ...layout,
        'text-letter-spacing': 0.08,
        'text-transform': 'uppercase',
        'text-size': [
          'interpolate',
          ['linear'],
          ['zoom'],
          1,
          9,
          4,
          ['min', 14, ['+', 10, ['/', ['get', 'size'], 6]]],
        ],
      } as never,
      paint,
    },
  ];
}

/** The lowest of the labels of the base map: data goes below them. Undefined when there are none. */
export function findLabelLayer(map: MapLibreMap): string | undefined {
  return map.getStyle().layers.find(({ id, type }) => type === 'symbol' && id.startsWith(`${BASEMAP}/`))?.id;
}

/** The lowest line layer of our base map, otherwise the lowest of its label layers. */
export function findGroundLayer(map: MapLibreMap): string | undefined {
  return map.getLayer(`${BASEMAP}/regions`)?.id ?? findLabelLayer(map);
}

/** Applies the colours of the theme to our base map. */
export function recolorBasemap(map: MapLibreMap, colors: MapColors): void {
  const names = nameLayers(colors);
  for (const { id, paint } of [...groundLayers(colors), ...names]) {
    if (!map.getLayer(id)) continue;
    for (const [name, value] of Object.entries(paint ?? {}))
      map.setPaintProperty(id, name as never, value as never);
  }
}

/** A style with addresses that do not depend on where it is. */
async function loadStyle(href: string): Promise<StyleSpecification> {
  const response = await fetch(href, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`the style of the base map could not be loaded (${response.status})`);
  const style = (await response.json()) as StyleSpecification;
  const absolute = (url: string) => decodeURI(new URL(url, new URL(href, location.href)).href);
  for (const source of Object.values(style.sources) as { url?: string; tiles?: string[] }[]) {
    if (source.url) source.url = absolute(source.url);
    if (source.tiles) source.tiles = source.tiles.map(absolute);
  }
  if (style.glyphs) style.glyphs = absolute(style.glyphs);
  if (typeof style.sprite === 'string') style.sprite = absolute(style.sprite);
  return style;
}

/** Combines the style of the base map with our glyphs and icons, because a map has only one URL for glyphs. */
function merged(theirs: StyleSpecification, ours: StyleSpecification, attribution: string): BaseStyle {
  const { glyphs } = theirs;
  const sources = { ...theirs.sources };
  const [first] = Object.keys(sources);
  if (attribution !== '' && first !== undefined)
    sources[first] = { ...sources[first], attribution: asText(attribution) } as never;
  const layers = theirs.layers.map((layer) => ({
    ...layer,
    id: `${BASEMAP}/${layer.id}`,
    ...(layer.type === 'symbol' && { layout: withPrefixedFonts(layer.layout ?? {}) }),
  })) as LayerSpecification[];
  const style = { ...theirs, sources, layers, glyphs: ours.glyphs, ...sprites(theirs, ours) };
  return {
    style,
    iconPrefix: theirs.sprite && ours.sprite ? `${SPRITE_PREFIX}:` : '',
    glyphsUrl: (url) => theirGlyphs(url, glyphs) ?? url,
  };
}

function sprites({ sprite: theirs }: StyleSpecification, { sprite: ours }: StyleSpecification) {
  if (!theirs || !ours) return theirs || ours ? { sprite: theirs ?? ours } : {};
  const list: SpriteSpecification = typeof theirs === 'string' ? [{ id: 'default', url: theirs }] : theirs;
  return { sprite: [...list, { id: SPRITE_PREFIX, url: ours as string }] };
}

/** Fonts of a layout that names none are those of the specification. */
function withPrefixedFonts(layout: object): object {
  const fonts = (layout as { 'text-font'?: unknown })['text-font'] ?? [
    'Open Sans Regular',
    'Arial Unicode MS Regular',
  ];
  return { ...layout, 'text-font': prefixed(fonts) };
}

function prefixed(fonts: unknown): unknown {
  if (!Array.isArray(fonts)) return fonts;
  const [operator, list] = fonts as unknown[];
  if (operator === 'literal' && Array.isArray(list))
    return ['literal', list.map((name) => FONT_PREFIX + name)];
  if (fonts.every((name) => typeof name === 'string')) return fonts.map((name) => FONT_PREFIX + name);
  return fonts.map(prefixed);
}

function theirGlyphs(url: string, glyphs: string | undefined): string | undefined {
  const [, stack, range] = /\/fonts\/([^/]+)\/([^/]+)\.pbf/.exec(url) ?? [];
  const names = decodeURIComponent(stack ?? '');
  if (!glyphs || range === undefined || !names.startsWith(FONT_PREFIX)) return undefined;
  const plain = names.replaceAll(FONT_PREFIX, '');
  return glyphs.replace('{fontstack}', encodeURIComponent(plain)).replace('{range}', range);
}
