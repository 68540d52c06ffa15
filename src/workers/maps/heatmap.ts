import type { Color } from '@maplibre/maplibre-gl-style-spec';
import { compileStyleProperty } from '../../core/styles/values.js';
import { decodeAttributes, decodePositions, type MvtLayer } from '../../core/tiles/tile-layers.js';
import type { Cancellation } from '../threads/cancellation.js';
import type { CompiledLayer } from './compiled-style.js';
import type { StyledFeature } from './layer-values.js';

interface Canvas {
  width: number;
  height: number;
  /** Pixels of the canvas per pixel of the style. */
  scale: number;
}

/** Height of the bell curve over one point of weight 1, and how fast it falls: as in MapLibre. */
const PEAK = 1 / Math.sqrt(2 * Math.PI);
const FALL = 4.5;
/** Radii from a point up to which it counts. */
const REACH = 1.1;
/** Kernels that differ by less are one. */
const RADIUS_CLASSES = 32;

interface Grid extends Canvas {
  /** Pixels around the canvas from which points reach into it. */
  margin: number;
  values: Float32Array;
}

/** Weights by radius in pixels, with their positions on the canvas. */
type Points = Map<number, { x: number; y: number; weight: number }[]>;

/** The `heatmap` layer over the points of a tile: RGBA of the canvas, not premultiplied. */
export function drawHeatmap(
  source: MvtLayer,
  style: CompiledLayer,
  canvas: Canvas,
  cancellation: Cancellation,
): Uint8Array {
  const points = computePoints(source, style, canvas);
  const density = emptyGrid(canvas, Math.ceil(Math.max(0, ...points.keys()) * REACH));
  for (const [radius, each] of points) {
    cancellation.check();
    addKernels(density, each, radius);
  }
  return coloured(density, style);
}

function computePoints(source: MvtLayer, style: CompiledLayer, { width, height, scale }: Canvas): Points {
  const { values, filter } = style;
  const weightOf = values.evaluator('heatmap-weight');
  const radiusOf = values.evaluator('heatmap-radius');
  const points: Points = new Map();
  for (const feature of source.features) {
    if (feature.type !== 1) continue;
    const styled: StyledFeature = {
      type: feature.type,
      id: feature.id,
      properties: decodeAttributes(source, feature.tags),
    };
    if (filter?.(styled) === false) continue;
    const weight = Math.max(0, Number(weightOf(styled)));
    const radius = computeClass(Number(radiusOf(styled)) * scale);
    let same = points.get(radius);
    if (!same) points.set(radius, (same = []));
    for (const [x, y] of decodePositions(feature.geometry))
      same.push({ x: (x * width) / source.extent, y: (y * height) / source.extent, weight });
  }
  return points;
}

/** Whole pixels; steps grow with the radius, so that there are few different ones. */
function computeClass(radius: number): number {
  const bounded = Math.min(Math.max(radius, 1), 512);
  const step = Math.max(1, 2 ** Math.floor(Math.log2(bounded / RADIUS_CLASSES) + 1));
  return Math.max(1, Math.round(bounded / step) * step);
}

function emptyGrid(canvas: Canvas, margin: number): Grid {
  const values = new Float32Array((canvas.width + 2 * margin) * (canvas.height + 2 * margin));
  return { ...canvas, margin, values };
}

/** Adds a bell curve for each point: one after another, or for all points along both axes, whichever is faster. */
function addKernels(density: Grid, points: { x: number; y: number; weight: number }[], radius: number): void {
  const reach = Math.ceil(radius * REACH);
  const width = density.width + 2 * density.margin;
  const height = density.height + 2 * density.margin;
  const side = 2 * reach + 1;
  const kernel = Float32Array.from({ length: side }, (_, i) => Math.exp(-FALL * ((i - reach) / radius) ** 2));
  const weights = gathered(density, points, width, height);
  if (weights.size * side < width * height * 2) {
    for (const [cell, weight] of weights) splat(density.values, cell, weight, kernel, width, height);
  } else convolve(density.values, weights, kernel, width, height);
}

/** Weights by grid cell. */
function gathered(
  { margin }: Grid,
  points: { x: number; y: number; weight: number }[],
  width: number,
  height: number,
): Map<number, number> {
  const weights = new Map<number, number>();
  for (const { x, y, weight } of points) {
    const [column, row] = [Math.floor(x) + margin, Math.floor(y) + margin];
    if (column < 0 || row < 0 || column >= width || row >= height) continue;
    const cell = row * width + column;
    weights.set(cell, (weights.get(cell) ?? 0) + weight);
  }
  return weights;
}

function splat(
  values: Float32Array,
  cell: number,
  weight: number,
  kernel: Float32Array,
  width: number,
  height: number,
): void {
  const reach = (kernel.length - 1) / 2;
  const [column, row] = [cell % width, Math.floor(cell / width)];
  const [left, right] = [Math.max(0, column - reach), Math.min(width - 1, column + reach)];
  for (let y = Math.max(0, row - reach); y <= Math.min(height - 1, row + reach); y++) {
    const factor = weight * kernel[y - row + reach]!;
    for (let x = left; x <= right; x++) values[y * width + x]! += factor * kernel[x - column + reach]!;
  }
}

/** The bell curve is a product of one along x and one along y. */
function convolve(
  values: Float32Array,
  weights: ReadonlyMap<number, number>,
  kernel: Float32Array,
  width: number,
  height: number,
): void {
  const reach = (kernel.length - 1) / 2;
  const rows = new Float32Array(values.length);
  for (const [cell, weight] of weights) {
    const [column, row] = [cell % width, Math.floor(cell / width)];
    const [left, right] = [Math.max(0, column - reach), Math.min(width - 1, column + reach)];
    for (let x = left; x <= right; x++) rows[row * width + x]! += weight * kernel[x - column + reach]!;
  }
  for (let y = 0; y < height; y++) {
    for (let from = Math.max(0, y - reach); from <= Math.min(height - 1, y + reach); from++) {
      const factor = kernel[from - y + reach]!;
      for (let x = 0; x < width; x++) values[y * width + x]! += factor * rows[from * width + x]!;
    }
  }
}

function coloured({ width, height, margin, values }: Grid, { values: style }: CompiledLayer): Uint8Array {
  const colors = buildRamp(style.layer, style.place.zoom, style.constant<number>('heatmap-opacity'));
  const intensity = style.constant<number>('heatmap-intensity') * PEAK * 255;
  const rgba = new Uint8Array(width * height * 4);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const density = values[(y + margin) * (width + 2 * margin) + x + margin]!;
      if (density === 0) continue;
      const color = Math.min(255, Math.round(density * intensity)) * 4;
      for (let channel = 0; channel < 4; channel++) rgba[at + channel] = colors[color + channel]!;
    }
  }
  return rgba;
}

/** RGBA for 256 densities from 0 to 1. */
function buildRamp(layer: CompiledLayer['values']['layer'], zoom: number, opacity: number): Uint8Array {
  const expression = compileStyleProperty(layer, 'heatmap-color');
  const colors = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i++) {
    const color = expression.evaluate({ zoom, heatmapDensity: i / 255 }) as unknown as Color;
    const [r, g, b, a] = color.rgb;
    colors.set([r * 255, g * 255, b * 255, a * opacity * 255].map(Math.round), i * 4);
  }
  return colors;
}
