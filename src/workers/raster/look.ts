/** A raster as a request wants it shown: band math, ranges, colour maps. */

import { type BandExpression, bandsOf } from '../../core/band-math/index.js';
import type { RasterLook } from '../../core/raster-look.js';
import { TaskFailure } from '../../core/tasks.js';
import { type BandValues, BLOCK, compile } from './band-math.js';
import { type Colorize, colorizer, shader } from './colorize.js';
import type { RasterHandle } from './handles.js';
import { type Rendering, renderingOf } from './palette.js';

/** Colours of pixels by the values of their bands. */
export interface Drawing {
  /** 1-based bands whose values are needed. */
  bands: number[];
  /** One, or red, green and blue. */
  channels: { expression: BandExpression; colorize: Colorize }[];
  /** Values of classes must not be mixed. */
  nearest: boolean;
  nodata?: number;
}

/** Chooses how to show a raster that a request has wishes for. Fails with `invalid-input` for what it does not have. */
export async function lookOf(handle: RasterHandle, look: RasterLook): Promise<Rendering> {
  const { bands, expressions, rescale, colormap, nodata } = look;
  const count = handle.dataset.bands.count();
  const named = [...(bands ?? []), ...bandsOf(expressions ?? [])];
  if (named.some((band) => band > count))
    throw new TaskFailure('invalid-input', `The raster has ${count} band${count === 1 ? '' : 's'}.`);
  if (!expressions && !rescale && !colormap && nodata === undefined) return renderingOf(handle, bands);
  const shown = expressions ?? (bands ?? (await usualBands(handle, look))).map((band) => ({ band }));
  const ranges = await Promise.all(
    shown.map((expression, i) => rescale?.[i] ?? rescale?.[0] ?? rangeOf(handle, expression)),
  );
  const channels = shown.map((expression, i) => {
    const [min, max] = ranges[i]!;
    const channel = shown.length === 1 ? 'gray' : i;
    return {
      expression,
      colorize: colormap ? colorizer(colormap, { min, max }) : shader({ min, max }, channel),
    };
  });
  const drawing: Drawing = { bands: bandsOf(shown), channels, nearest: colormap?.kind === 'values' };
  return {
    kind: 'drawing',
    bands: [...drawing.bands, ...alphaOf(handle)],
    drawing: { ...drawing, ...(nodata === undefined ? {} : { nodata }) },
  };
}

/** The bands that are shown without a wish; a colour map takes one. */
async function usualBands(handle: RasterHandle, { colormap }: RasterLook): Promise<number[]> {
  if (colormap) return [1];
  const usual = await renderingOf(handle);
  if (usual.kind === 'palette' || usual.kind === 'drawing')
    throw new TaskFailure('invalid-input', 'The raster has a colour table: its values are no quantities.');
  return usual.bands.slice(0, usual.samples);
}

/** Warping takes a last band of this kind for what is there and what is not. */
function alphaOf({ dataset }: RasterHandle): number[] {
  const last = dataset.bands.count();
  return dataset.bands.get(last).colorInterpretation === 'Alpha' ? [last] : [];
}

/** Colours the pixels whose bands all have a value, where each expression has one too. */
export function draw(drawing: Drawing, values: BandValues, rgba: Uint8Array): void {
  const pixels = rgba.length / 4;
  const missing = new Uint8Array(BLOCK);
  const channels = drawing.channels.map(({ expression, colorize }) => ({
    evaluate: compile(expression),
    colorize,
  }));
  for (let from = 0; from < pixels; from += BLOCK) {
    const count = Math.min(BLOCK, pixels - from);
    missing.fill(0);
    for (const band of values.values()) noteMissing(missing, band, from, count);
    for (const { evaluate, colorize } of channels) {
      const results = evaluate(values, from, count);
      noteMissing(missing, results, 0, count);
      colorize(results, count, rgba, from);
    }
    for (let i = 0, at = from * 4; i < count; i++, at += 4) if (missing[i] === 1) rgba.fill(0, at, at + 4);
  }
}

function noteMissing(missing: Uint8Array, values: ArrayLike<number>, from: number, count: number): void {
  for (let i = 0; i < count; i++) if (!Number.isFinite(values[from + i]!)) missing[i] = 1;
}

/** Largest side of the sample that a range is taken from, and the part of its values that is cut off on each side. */
const SAMPLE_SIDE = 256;
const CUT = 0.02;

/** Ranges by expression: a handle is of one state of one raster. */
const ranges = new WeakMap<RasterHandle, Map<string, readonly [number, number]>>();

/** The range of the values, of the whole raster, without the outermost 2 % of each side. */
async function rangeOf(handle: RasterHandle, expression: BandExpression): Promise<readonly [number, number]> {
  if ('band' in expression && handle.dataset.bands.get(expression.band).dataType === 'Byte') return [0, 255];
  const known = ranges.get(handle) ?? new Map<string, readonly [number, number]>();
  ranges.set(handle, known);
  const key = JSON.stringify(expression);
  let range = known.get(key);
  if (!range) {
    range = cutRange(await sample(handle, expression));
    if (known.size >= 64) known.clear();
    known.set(key, range);
  }
  return range;
}

function cutRange(values: Float64Array): readonly [number, number] {
  if (values.length === 0) return [0, 1];
  values.sort();
  const at = (part: number) => values[Math.round((values.length - 1) * part)]!;
  const [min, max] = [at(CUT), at(1 - CUT)];
  return max > min ? [min, max] : [min - 0.5, max + 0.5];
}

/** Values of an expression over the whole raster, from a decimated read. */
async function sample(handle: RasterHandle, expression: BandExpression): Promise<Float64Array> {
  const { x: width, y: height } = handle.dataset.rasterSize;
  const shrink = Math.max(1, Math.max(width, height) / SAMPLE_SIDE);
  const [columns, rows] = [Math.max(1, Math.round(width / shrink)), Math.max(1, Math.round(height / shrink))];
  const values = new Map<number, Float64Array>();
  for (const number of bandsOf([expression])) {
    const band = handle.dataset.bands.get(number);
    const size = { buffer_width: columns, buffer_height: rows, data_type: 'Float64' };
    const none = undefined as Float64Array | undefined;
    const read = await band.pixels.readAsync(0, 0, width, height, none, size);
    values.set(number, withoutNodata(read, band.noDataValue));
  }
  const evaluate = compile(expression);
  const found = new Float64Array(columns * rows);
  let length = 0;
  for (let from = 0; from < found.length; from += BLOCK) {
    const count = Math.min(BLOCK, found.length - from);
    const results = evaluate(values, from, count);
    for (let i = 0; i < count; i++) if (Number.isFinite(results[i]!)) found[length++] = results[i]!;
  }
  return found.subarray(0, length);
}

function withoutNodata(values: Float64Array, noData: number | null): Float64Array {
  if (noData === null) return values;
  return values.map((value) => (value === noData ? Number.NaN : value));
}
