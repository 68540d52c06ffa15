import type { Color as StyleColor } from '@maplibre/maplibre-gl-style-spec';
import type { Color } from '../rasters/color-ramps.js';
import type { Colormap } from '../rasters/raster-look.js';
import type { Hillshade, PixelAdjustment, RasterStep } from '../rasters/rasters.js';
import { styleLook } from './look.js';
import type { MapStyle, StyleLayer } from './model.js';
import { compileStyleProperty, evaluateAtZoom, isVisible, sets } from './values.js';

const stepsByStyle = new WeakMap<MapStyle, Map<number, readonly RasterStep[] | undefined>>();
const KNOWN_ZOOMS = 100;

/**
 * Rendering steps of a raster in a checked style at a zoom level, bottom first; undefined for the default rendering.
 */
export function rasterSteps(style: MapStyle, zoom: number): readonly RasterStep[] | undefined {
  let zooms = stepsByStyle.get(style);
  if (!zooms || zooms.size >= KNOWN_ZOOMS) {
    zooms = new Map();
    stepsByStyle.set(style, zooms);
  }
  if (!zooms.has(zoom)) zooms.set(zoom, stepsAt(style, zoom));
  return zooms.get(zoom);
}

function stepsAt({ layers }: MapStyle, zoom: number): readonly RasterStep[] | undefined {
  const steps = layers
    .filter((layer) => isVisible(layer, zoom))
    .map((layer) => findStep(layer, zoom))
    .filter((step) => step !== undefined);
  const [only] = steps;
  return steps.length === 1 && Object.keys(only!).length === 0 ? undefined : steps;
}

function findStep(layer: StyleLayer, zoom: number): RasterStep | undefined {
  switch (layer.type) {
    case 'raster': {
      const [look, adjustment] = [styleLook(layer), findAdjustment(layer, zoom)];
      return { ...(look && { look }), ...(adjustment && { adjustment }) };
    }
    case 'color-relief': {
      const opacity = evaluateAtZoom<number>(layer, 'color-relief-opacity', zoom);
      return { look: { colormap: buildRelief(layer) }, ...(opacity < 1 && { adjustment: { opacity } }) };
    }
    case 'hillshade':
      return { hillshade: buildHillshade(layer, zoom) };
    default:
      return undefined;
  }
}

const ADJUSTMENTS = {
  opacity: 'raster-opacity',
  brightnessMin: 'raster-brightness-min',
  brightnessMax: 'raster-brightness-max',
  contrast: 'raster-contrast',
  saturation: 'raster-saturation',
  hueRotate: 'raster-hue-rotate',
} as const;

function findAdjustment(layer: StyleLayer, zoom: number): PixelAdjustment | undefined {
  const set = Object.entries(ADJUSTMENTS).filter(([, name]) => sets(layer, name));
  if (set.length === 0) return undefined;
  return Object.fromEntries(set.map(([key, name]) => [key, evaluateAtZoom<number>(layer, name, zoom)]));
}

function buildHillshade(layer: StyleLayer, zoom: number): Hillshade {
  const first = <T>(name: string): T => {
    const value = evaluateAtZoom<T | { values: T[] }>(layer, name, zoom);
    return typeof value === 'object' && value !== null && 'values' in value ? value.values[0]! : (value as T);
  };
  const color = (name: string) => buildColor(first<StyleColor>(name));
  return {
    azimuth: first<number>('hillshade-illumination-direction'),
    exaggeration: evaluateAtZoom<number>(layer, 'hillshade-exaggeration', zoom),
    // MapLibre makes slopes steeper the further away one is.
    steepness: 2 ** ((15 - Math.min(zoom, 15)) * (zoom < 2 ? 0.4 : zoom < 4.5 ? 0.35 : 0.3)),
    shadow: color('hillshade-shadow-color'),
    highlight: color('hillshade-highlight-color'),
    accent: color('hillshade-accent-color'),
  };
}

function buildColor(color: StyleColor): Color {
  const [r, g, b, a] = color.rgb;
  return [Math.round(r * 255), Math.round(g * 255), Math.round(b * 255), Math.round(a * 255)];
}

/** Between two stops, interpolations that are not straight lines in RGB are followed by this many. */
const BETWEEN = 8;

/** Colours of `color-relief-color` at the elevations in the expression, which depends only on the elevation. */
function buildRelief(layer: StyleLayer): Colormap {
  const { paint } = layer as { paint?: Record<string, unknown> };
  const ramp = paint?.['color-relief-color'] as unknown[] | undefined;
  const expression = compileStyleProperty(layer, 'color-relief-color');
  const at = (elevation: number) =>
    buildColor(expression.evaluate({ zoom: 0, elevation } as never) as unknown as StyleColor);
  const stops = [...new Set(numbersIn(ramp))].sort((a, b) => a - b);
  if (stops.length === 0) return { kind: 'stops', values: [0, 1], colors: [at(0), at(1)] };
  if (ramp?.[0] === 'step') return stepped(stops, at);
  const isStraight = ramp?.[0] === 'interpolate' && JSON.stringify(ramp[1]) === '["linear"]';
  const values = stops.flatMap((stop, i) => {
    const next = stops[i + 1];
    if (next === undefined || isStraight) return [stop];
    return Array.from({ length: BETWEEN }, (_, part) => stop + ((next - stop) * part) / BETWEEN);
  });
  if (values.length === 1) values.push(values[0]! + 1);
  return { kind: 'stops', values, colors: values.map(at) };
}

function stepped(stops: readonly number[], at: (elevation: number) => Color): Colormap {
  const edges = [-Number.MAX_VALUE, ...stops, Number.MAX_VALUE];
  const bounds = edges.slice(1).map((high, i) => [edges[i]!, high] as const);
  return { kind: 'intervals', bounds, colors: bounds.map(([low]) => at(low)) };
}

function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return Array.isArray(value) ? value.flatMap(numbersIn) : [];
}
