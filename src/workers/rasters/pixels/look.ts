/**
 * A raster as a request wants it shown: band math, ranges, colour maps. The range of a mosaic comes from its statistics
 * and not from the window, or neighbouring tiles would differ.
 */

import { setImmediate } from 'node:timers/promises';
import { TaskFailure } from '../../../core/errors/failure.js';
import { type BandExpression, listBands } from '../../../core/rasters/band-math/index.js';
import type { RasterLook } from '../../../core/rasters/raster-look.js';
import type { RasterImageTask } from '../../../core/rasters/rasters.js';
import type { Cancellation } from '../../threads/cancellation.js';
import type { RasterHandle } from '../handles.js';
import { type BandValues, BLOCK, compile, type Evaluate } from './band-math.js';
import { hasByteValues } from './byte-values.js';
import { type Colorize, colorizer, shader } from './colorize.js';
import { chooseRendering, findAlphaBand, type PixelRendering } from './palette.js';
import { cutRange } from './range.js';
import type { Stretch } from './stretch.js';

/** Colours of pixels by the values of their bands. */
export interface PixelColors {
  /** 1-based bands whose values are needed. */
  bands: number[];
  /** One, or red, green and blue. */
  channels: { expression: BandExpression; colorize: Colorize }[];
  /** Values of classes must not be mixed. */
  nearest: boolean;
  nodata?: number;
}

/**
 * Selects the rendering of a raster for a request with colour settings. Fails with `invalid-input` for bands that the
 * raster does not have.
 */
export async function chooseRequestedRendering(
  handle: RasterHandle,
  look: RasterLook,
  stretches?: RasterImageTask['ranges'],
): Promise<PixelRendering> {
  const { bands, expressions, rescale, colormap, nodata } = look;
  const count = handle.dataset.bands.count();
  const named = [...(bands ?? []), ...listBands(expressions ?? [])];
  if (named.some((band) => band > count))
    throw new TaskFailure('invalid-input', `The raster has ${count} band${count === 1 ? '' : 's'}.`);
  if (!expressions && !rescale && !colormap && nodata === undefined)
    return chooseRendering(handle, bands, stretches);
  const layers = expressions ?? (bands ?? (await usualBands(handle, look))).map((band) => ({ band }));
  const ranges = await Promise.all(
    layers.map(
      (expression, i) =>
        findStretch(rescale?.[i] ?? rescale?.[0]) ?? loadRange(handle, expression, stretches),
    ),
  );
  const channels = layers.map((expression, i) => {
    const range = ranges[i]!;
    const channel = layers.length === 1 ? 'gray' : i;
    return {
      expression,
      colorize: colormap ? colorizer(colormap, range) : shader(range, channel),
    };
  });
  const drawing: PixelColors = { bands: listBands(layers), channels, nearest: colormap?.kind === 'values' };
  return {
    kind: 'drawing',
    bands: [...drawing.bands, ...findAlphaBand(handle)],
    drawing: { ...drawing, ...(nodata === undefined ? {} : { nodata }) },
  };
}

const findStretch = (pair: readonly [number, number] | undefined): Stretch | undefined =>
  pair && { min: pair[0], max: pair[1] };

async function loadRange(
  handle: RasterHandle,
  expression: BandExpression,
  ranges: RasterImageTask['ranges'],
): Promise<Stretch> {
  if (!('band' in expression)) return cutRange(handle, expression);
  if (hasByteValues(handle.dataset.bands.get(expression.band))) return { min: 0, max: 255 };
  return findStretch(ranges?.[expression.band - 1] ?? undefined) ?? cutRange(handle, expression);
}

/** Bands that are shown if the request does not select any. A colour map uses one band. */
async function usualBands(handle: RasterHandle, { colormap }: RasterLook): Promise<number[]> {
  if (colormap) return [1];
  const usual = await chooseRendering(handle);
  if (usual.kind === 'palette' || usual.kind === 'drawing')
    throw new TaskFailure(
      'invalid-input',
      'The raster has a colour table, so its values are not quantities.',
    );
  return usual.bands.slice(0, usual.samples);
}

/** Pixels after which other tasks get their turn. */
const TURN = 1 << 19;

/** Colours the pixels whose bands and expressions all have a value. */
export async function draw(
  drawing: PixelColors,
  values: BandValues,
  rgba: Uint8Array,
  cancellation: Pick<Cancellation, 'check'>,
): Promise<void> {
  const pixels = rgba.length / 4;
  const channels = drawing.channels.map(({ expression, colorize }) => ({
    evaluate: compile(expression),
    colorize,
  }));
  for (let from = 0; from < pixels; from += BLOCK) {
    if (from > 0 && from % TURN === 0) {
      await setImmediate();
      cancellation.check();
    }
    drawBlock(channels, values, rgba, from, Math.min(BLOCK, pixels - from));
  }
}

const missing = new Uint8Array(BLOCK);

function drawBlock(
  channels: readonly { evaluate: Evaluate; colorize: Colorize }[],
  values: BandValues,
  rgba: Uint8Array,
  from: number,
  count: number,
): void {
  missing.fill(0);
  for (const band of values.values()) noteMissing(band, from, count);
  for (const { evaluate, colorize } of channels) {
    const results = evaluate(values, from, count);
    noteInfinite(results, count);
    colorize(results, count, rgba, from);
  }
  for (let i = 0, at = from * 4; i < count; i++, at += 4)
    if (missing[i] === 1) rgba[at] = rgba[at + 1] = rgba[at + 2] = rgba[at + 3] = 0;
}

/** Sets missing values to NaN. */
function noteMissing(band: Float32Array, from: number, count: number): void {
  for (let i = 0; i < count; i++) {
    const value = band[from + i]!;
    // Only of finite numbers the difference is 0.
    if (value - value !== 0) missing[i] = 1;
  }
}

/** Like `noteMissing`, for the other type of array: one function for both would be slow. */
function noteInfinite(results: Float64Array, count: number): void {
  for (let i = 0; i < count; i++) {
    const value = results[i]!;
    if (value - value !== 0) missing[i] = 1;
  }
}
