/** A raster as a request wants it shown: band math, ranges, colour maps. */

import { type BandExpression, bandsOf } from '../../core/band-math/index.js';
import type { RasterLook } from '../../core/raster-look.js';
import type { RasterImageTask } from '../../core/rasters.js';
import { TaskFailure } from '../../core/tasks.js';
import { type BandValues, BLOCK, compile } from './band-math.js';
import { type Colorize, colorizer, shader } from './colorize.js';
import type { RasterHandle } from './handles.js';
import { type Rendering, renderingOf, type Stretch } from './palette.js';
import { cutRange } from './range.js';

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
export async function lookOf(
  handle: RasterHandle,
  look: RasterLook,
  known?: RasterImageTask['ranges'],
): Promise<Rendering> {
  const { bands, expressions, rescale, colormap, nodata } = look;
  const count = handle.dataset.bands.count();
  const named = [...(bands ?? []), ...bandsOf(expressions ?? [])];
  if (named.some((band) => band > count))
    throw new TaskFailure('invalid-input', `The raster has ${count} band${count === 1 ? '' : 's'}.`);
  if (!expressions && !rescale && !colormap && nodata === undefined) return renderingOf(handle, bands, known);
  const shown = expressions ?? (bands ?? (await usualBands(handle, look))).map((band) => ({ band }));
  const ranges = await Promise.all(
    shown.map((expression, i) => asked(rescale?.[i] ?? rescale?.[0]) ?? rangeOf(handle, expression, known)),
  );
  const channels = shown.map((expression, i) => {
    const range = ranges[i]!;
    const channel = shown.length === 1 ? 'gray' : i;
    return {
      expression,
      colorize: colormap ? colorizer(colormap, range) : shader(range, channel),
    };
  });
  const drawing: Drawing = { bands: bandsOf(shown), channels, nearest: colormap?.kind === 'values' };
  return {
    kind: 'drawing',
    bands: [...drawing.bands, ...alphaOf(handle)],
    drawing: { ...drawing, ...(nodata === undefined ? {} : { nodata }) },
  };
}

const asked = (pair: readonly [number, number] | undefined): Stretch | undefined =>
  pair && { min: pair[0], max: pair[1] };

async function rangeOf(
  handle: RasterHandle,
  expression: BandExpression,
  known: RasterImageTask['ranges'],
): Promise<Stretch> {
  if (!('band' in expression)) return cutRange(handle, expression);
  if (handle.dataset.bands.get(expression.band).dataType === 'Byte') return { min: 0, max: 255 };
  return asked(known?.[expression.band - 1] ?? undefined) ?? cutRange(handle, expression);
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
