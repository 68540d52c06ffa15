import { hasFeatures } from '../../catalog/abilities.js';
import type { RasterCollection, VectorCollection } from '../../catalog/collection.js';
import type { RasterLook } from '../../rasters/raster-look.js';
import { findClassifier } from '../../styles/drawing-info/export-classes.js';
import { DrawingReport } from '../../styles/drawing-info/report.js';
import { findLegendTitle, layersByFilter } from '../../styles/filter-groups.js';
import { LAYER_TYPES } from '../../styles/layer-types.js';
import type { StyleLayer } from '../../styles/model.js';
import { MAP_LIMITS } from '../limits.js';
import { type ColorEntry, describeRaster } from './raster-entries.js';

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

/** Line of text without a symbol. */
interface TextLine {
  readonly kind: 'text';
  readonly label: string;
}

/** Line of an image of a legend. */
export type LegendLine = LegendEntry | TextLine;

/** Zoom level of legends. Default for requests without one. */
export const LEGEND_ZOOM = 10;

export interface LegendOptions {
  readonly zoom?: number;
  /** Rendering of a raster. Default: its style. */
  readonly look?: RasterLook | undefined;
  /** First and last date of the data. */
  readonly dates?: readonly [string, string] | undefined;
}

/** Symbols of the legend of a layer, first line first. */
export function legendEntries(
  collection: VectorCollection | RasterCollection,
  { zoom = LEGEND_ZOOM, look }: LegendOptions = {},
): LegendEntry[] {
  const entries = hasFeatures(collection)
    ? vectorEntries(collection)
    : describeRaster(collection, zoom, look).entries;
  return entries.slice(0, MAP_LIMITS.legendEntries);
}

/** All lines of a legend: the quantity of a raster with its unit, the symbols, and the dates of the data. */
export function legendLines(
  collection: VectorCollection | RasterCollection,
  options: LegendOptions = {},
): LegendLine[] {
  const { zoom = LEGEND_ZOOM, look, dates } = options;
  const { name, unit } = hasFeatures(collection) ? {} : describeRaster(collection, zoom, look);
  const heading = name === undefined ? [] : [text(unit ? `${name} (${unit})` : name)];
  const times = dates ? [text(dates[0] === dates[1] ? dates[0] : `${dates[0]} to ${dates[1]}`)] : [];
  return [...heading, ...legendEntries(collection, options), ...times];
}

const text = (label: string): TextLine => ({ kind: 'text', label });

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
    return stops.values.map((value, i, { length }) =>
      entry(`${stops.field} ${i === 0 ? '≤ ' : i === length - 1 ? '≥ ' : ''}${value}`, visible, {
        [stops.field]: value,
      }),
    );
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
