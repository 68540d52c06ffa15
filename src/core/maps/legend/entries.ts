import { hasFeatures } from '../../catalog/abilities.js';
import type { RasterCollection, VectorCollection } from '../../catalog/collection.js';
import type { Color } from '../../rasters/color-ramps.js';
import type { Colormap } from '../../rasters/raster-look.js';
import { findClassifier } from '../../styles/drawing-info/export-classes.js';
import { DrawingReport } from '../../styles/drawing-info/report.js';
import { findLegendTitle, layersByFilter } from '../../styles/filter-groups.js';
import { LAYER_TYPES } from '../../styles/layer-types.js';
import type { StyleLayer } from '../../styles/model.js';
import { rasterSteps } from '../../styles/raster-steps.js';
import { MAP_LIMITS } from '../limits.js';

/** Line of a legend. */
export type LegendEntry = SymbolEntry | ColorEntry;

/** The layers that draw one class of features, and attributes of a feature of that class. */
export interface SymbolEntry {
  readonly kind: 'symbol';
  readonly label: string;
  readonly shape: 'polygon' | 'line' | 'point';
  /** Bottom first; they draw every feature, at any zoom. */
  readonly layers: readonly StyleLayer[];
  readonly properties: Readonly<Record<string, string | number>>;
}

/** A colour of a raster. */
interface ColorEntry {
  readonly kind: 'color';
  readonly label: string;
  readonly color: Color;
}

/** Zoom level of legends. Default for requests without one. */
export const LEGEND_ZOOM = 10;

/** Lines of the legend of a layer, first line first. */
export function legendEntries(
  collection: VectorCollection | RasterCollection,
  zoom = LEGEND_ZOOM,
): LegendEntry[] {
  const entries = hasFeatures(collection) ? vectorEntries(collection) : rasterEntries(collection, zoom);
  return entries.slice(0, MAP_LIMITS.legendEntries);
}

function vectorEntries({ title, source, style }: VectorCollection): SymbolEntry[] {
  const layers = style.layers.filter(({ layout }) => layout?.visibility !== 'none').filter(hasSwatch);
  const type = source.geometryType;
  const shape = type.endsWith('Point') ? 'point' : type.endsWith('LineString') ? 'line' : 'polygon';
  const entry = (
    label: string,
    layers: readonly StyleLayer[],
    properties: SymbolEntry['properties'] = {},
  ): SymbolEntry => ({ kind: 'symbol', label, shape, layers: layers.map(unfiltered), properties });
  const visible = layers.length > 0 ? layers : style.layers;
  const classes = findClassifier(visible, new DrawingReport());
  if (classes) {
    const { kind, field } = classes;
    const named = classes.classes.map(({ layers: own, value, label }) =>
      entry(label ?? (kind === 'breaks' ? `${field} < ${value}` : String(value)), own, { [field]: value }),
    );
    return [
      ...named,
      ...(classes.others ? [entry(classes.others.label ?? 'other', classes.others.layers)] : []),
    ];
  }
  const stops = buildStops(visible);
  if (stops)
    return stops.values.map((value) => entry(`${stops.field} ${value}`, visible, { [stops.field]: value }));
  return byFilter(visible).map(({ label, layers: own }) => entry(label ?? title, own));
}

/** Labels do not have a swatch. */
function hasSwatch({ type, layout }: StyleLayer): boolean {
  return !LAYER_TYPES[type].isMark || (layout !== undefined && 'icon-image' in layout);
}

/** A layer that takes every feature at every zoom: which ones it has is decided already. */
function unfiltered(layer: StyleLayer): StyleLayer {
  const { minzoom: _min, maxzoom: _max, ...own } = layer;
  const { filter: _filter, ...all } = own as typeof own & { filter?: unknown };
  return all as StyleLayer;
}

/** Groups layers by filter: layers with the same filter draw the same features and share a line. */
function byFilter(layers: readonly StyleLayer[]): { label: string | undefined; layers: StyleLayer[] }[] {
  const groups = layersByFilter(layers);
  return [...groups.values()].map((own) => ({
    label: findLegendTitle(own[0]!) ?? (groups.size > 1 ? own[0]!.id : undefined),
    layers: own,
  }));
}

/** The stops of the first interpolation over one attribute. */
function buildStops(layers: readonly StyleLayer[]): { field: string; values: number[] } | undefined {
  for (const value of layers.flatMap(({ paint, layout }) => Object.values({ ...layout, ...paint }))) {
    if (!Array.isArray(value) || value[0] !== 'interpolate') continue;
    const [, , input, ...stops] = value as unknown[];
    const [operator, field] = Array.isArray(input) ? (input as unknown[]) : [];
    if (operator !== 'get' || typeof field !== 'string') continue;
    return { field, values: stops.filter((_, i) => i % 2 === 0) as number[] };
  }
  return undefined;
}

function rasterEntries({ style, bands, title }: RasterCollection, zoom: number): ColorEntry[] {
  const maps = (rasterSteps(style, zoom) ?? []).map(({ look }) => look?.colormap);
  const colormap = maps.find((map) => map !== undefined);
  const statistics = bands[0]?.statistics;
  const range: [number, number] = statistics ? [statistics.min, statistics.max] : [0, 255];
  if (colormap) return colormapEntries(colormap, range);
  if (bands.length >= 3) return [{ kind: 'color', label: title, color: [128, 128, 128, 255] }];
  return [
    { kind: 'color', label: rounded(range[0]), color: [0, 0, 0, 255] },
    { kind: 'color', label: rounded(range[1]), color: [255, 255, 255, 255] },
  ];
}

function colormapEntries(colormap: Colormap, [low, high]: [number, number]): ColorEntry[] {
  const { colors } = colormap;
  const entry = (label: string, i: number): ColorEntry => ({ kind: 'color', label, color: colors[i]! });
  switch (colormap.kind) {
    case 'ramp':
      return colors.map((_, i) => entry(rounded(low + ((high - low) * i) / (colors.length - 1)), i));
    case 'intervals':
      return colormap.bounds.map(([from, to], i) => entry(intervalLabel(from, to), i));
    default:
      return colormap.values.map((value, i) => entry(rounded(value), i));
  }
}

/** Limits beyond this value mean no limit. */
const UNBOUNDED = 1e300;

function intervalLabel(from: number, to: number): string {
  if (from <= -UNBOUNDED) return `< ${rounded(to)}`;
  return to >= UNBOUNDED ? `≥ ${rounded(from)}` : `${rounded(from)} – ${rounded(to)}`;
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(6)));
}
