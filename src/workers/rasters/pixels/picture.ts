/** RGBA pixels of a window of a raster in any CRS. */

import type { RasterBand } from 'gdal-async';
import type { Cancellation } from '../../threads/cancellation.js';
import type { RasterHandle } from '../handles.js';
import type { ImageWindow } from '../warp.js';
import { draw, type PixelColors } from './look.js';
import { findAlphaBand, type PixelRendering } from './palette.js';
import { giveBack, takeBuffer } from './pixel-buffers.js';
import { GRAY, getPixelWords, OPAQUE, roundToByte } from './pixel-words.js';
import type { Stretch } from './stretch.js';
import { type WindowPixels, windowPixels } from './window-pixels.js';

/** Reads the window; pixels outside the raster and nodata pixels are transparent. */
export async function readPicture(
  handle: RasterHandle,
  rendering: PixelRendering,
  window: ImageWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const { width, height } = window;
  const rgba = new Uint8Array(takeBuffer(width * height * 4)).fill(0);
  const pixels = await windowPixels(handle, rendering, window);
  if (pixels === 'outside') return rgba;
  try {
    cancellation.check();
    if (rendering.kind === 'stretch') await stretchInto(rgba, pixels, rendering.stretches, window);
    else if (rendering.kind === 'drawing')
      await drawInto(rgba, pixels, rendering.drawing, window, cancellation);
    else if (rendering.kind === 'palette') await paletteInto(rgba, pixels, rendering.colors, window);
    else await bytesInto(rgba, pixels, window);
    return rgba;
  } finally {
    pixels.close();
  }
}

/**
 * Returns the values of one band, row by row from the top, with NaN for missing values. Undefined if the window is
 * outside the raster.
 */
export async function readBandValues(
  handle: RasterHandle,
  band: number,
  window: ImageWindow,
  cancellation: Cancellation,
): Promise<Float32Array | undefined> {
  const bands = [band, ...findAlphaBand(handle)];
  const values: PixelRendering = { kind: 'stretch', bands, samples: 1, stretches: [] };
  const pixels = await windowPixels(handle, values, window);
  if (pixels === 'outside') return undefined;
  try {
    cancellation.check();
    return await readFloats(pixels, 0, window);
  } finally {
    pixels.close();
  }
}

type Size = { width: number; height: number };

/** Images up to this many pixels are copied out of memory faster than a thread change takes. */
const COPY_AT_ONCE_PIXELS = 512 * 512;

/** Reads a band of the window. */
async function readBand<T extends Uint8Array | Float32Array>(
  band: RasterBand,
  { left, top, inMemory }: WindowPixels,
  { width, height }: Size,
  into: T,
  layout: { pixel_space?: number; line_space?: number; offset?: number } = {},
): Promise<T> {
  if (inMemory && width * height <= COPY_AT_ONCE_PIXELS)
    return band.pixels.read<T>(left, top, width, height, into, layout);
  return band.pixels.readAsync<T>(left, top, width, height, into, layout);
}

/** Returns the values of the window's band at this index, with NaN for missing values. */
async function readFloats(pixels: WindowPixels, index: number, size: Size): Promise<Float32Array> {
  const into = new Float32Array(takeBuffer(4 * size.width * size.height));
  const values = await readBand(pixels.bands[index]!, pixels, size, into);
  if (pixels.nodata === undefined) return values;
  const nodata = Math.fround(pixels.nodata);
  for (let i = 0; i < values.length; i++) if (values[i] === nodata) values[i] = Number.NaN;
  return values;
}

async function bytesInto(rgba: Uint8Array, pixels: WindowPixels, size: Size): Promise<void> {
  const { bands, alpha, isMask } = pixels;
  const layout = { pixel_space: 4, line_space: 4 * size.width };
  if (!alpha) rgba.fill(255);
  for (const [offset, band] of bands.entries())
    await readBand(band, pixels, size, rgba, { ...layout, offset });
  if (alpha) await readBand(alpha, pixels, size, rgba, { ...layout, offset: 3 });
  if (isMask) for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 0) rgba[at] = 255;
  if (bands.length === 3) return;
  for (let at = 0; at < rgba.length; at += 4) rgba[at + 1] = rgba[at + 2] = rgba[at]!;
}

async function drawInto(
  rgba: Uint8Array,
  pixels: WindowPixels,
  drawing: PixelColors,
  size: Size,
  cancellation: Cancellation,
): Promise<void> {
  const values = new Map<number, Float32Array>();
  for (const [index, band] of drawing.bands.entries())
    values.set(band, await readFloats(pixels, index, size));
  await draw(drawing, values, rgba, cancellation);
  for (const band of values.values()) giveBack(band);
}

async function paletteInto(
  rgba: Uint8Array,
  pixels: WindowPixels,
  colors: Uint8Array,
  size: Size,
): Promise<void> {
  const bytes = () => new Uint8Array(takeBuffer(size.width * size.height));
  const values = await readBand(pixels.bands[0]!, pixels, size, bytes());
  const { alpha } = pixels;
  const valid = alpha && (await readBand(alpha, pixels, size, bytes()));
  const [into, table] = [getPixelWords(rgba), getPixelWords(colors)];
  for (let pixel = 0; pixel < values.length; pixel++)
    if (valid?.[pixel] !== 0) into[pixel] = table[values[pixel]!]!;
  giveBack(values);
  if (valid) giveBack(valid);
}

async function stretchInto(
  rgba: Uint8Array,
  pixels: WindowPixels,
  stretches: Stretch[],
  size: Size,
): Promise<void> {
  const into = getPixelWords(rgba).fill(OPAQUE);
  for (const [sample, stretch] of stretches.entries()) {
    const values = await readFloats(pixels, sample, size);
    if (stretches.length === 1) grayInto(into, values, stretch);
    else channelInto(rgba, values, stretch, sample);
    giveBack(values);
  }
}

function grayInto(into: Uint32Array, values: Float32Array, { min, max }: Stretch): void {
  const factor = 255 / (max - min);
  for (let pixel = 0; pixel < into.length; pixel++) {
    const value = values[pixel]!;
    into[pixel] = Number.isNaN(value) ? 0 : (GRAY * roundToByte((value - min) * factor)) | OPAQUE;
  }
}

function channelInto(rgba: Uint8Array, values: Float32Array, { min, max }: Stretch, sample: number): void {
  const factor = 255 / (max - min);
  for (let pixel = 0, at = 0; pixel < values.length; pixel++, at += 4) {
    const value = values[pixel]!;
    if (Number.isNaN(value)) rgba[at + 3] = 0;
    else rgba[at + sample] = roundToByte((value - min) * factor);
  }
}
