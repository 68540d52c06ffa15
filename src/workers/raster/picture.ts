/** RGBA pixels of a window of a raster in any CRS. */

import type { RasterBand } from 'gdal-async';
import type { Cancellation } from '../cancellation.js';
import type { Dataset } from './gdal.js';
import type { RasterHandle } from './handles.js';
import { type Drawing, draw } from './look.js';
import type { Rendering } from './palette.js';
import type { Stretch } from './stretch.js';
import { kernelOptions, type PictureWindow, sourceWindow, warpToMemory } from './warp.js';

/** Reads the window; pixels outside the raster and nodata pixels are transparent. */
export async function readPicture(
  handle: RasterHandle,
  rendering: Rendering,
  window: PictureWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const { width, height } = window;
  const rgba = new Uint8Array(width * height * 4);
  const source = sourceWindow(handle, window);
  if (source === 'nothing') return rgba;
  const view = await handle.bands(rendering.bands);
  cancellation.check();
  const warped = await warpToMemory(view, rendering, window, kernelOptions(handle, source));
  try {
    cancellation.check();
    if (rendering.kind === 'stretch') await stretchInto(rgba, warped, rendering.stretches, window);
    else if (rendering.kind === 'drawing')
      await drawInto(rgba, warped, rendering.drawing, window, cancellation);
    else if (rendering.kind === 'palette') await paletteInto(rgba, warped, rendering.colors, window);
    else await bytesInto(rgba, warped, rendering.samples, window);
    return rgba;
  } finally {
    warped.close();
  }
}

/** Values of one band, row by row from the top, NaN where there are none; undefined when the window is beside the raster. */
export async function readValues(
  handle: RasterHandle,
  band: number,
  window: PictureWindow,
  cancellation: Cancellation,
): Promise<Float32Array | undefined> {
  const source = sourceWindow(handle, window);
  if (source === 'nothing') return undefined;
  const values: Rendering = { kind: 'stretch', bands: [band], samples: 1, stretches: [] };
  const view = await handle.bands(values.bands);
  cancellation.check();
  const warped = await warpToMemory(view, values, window, kernelOptions(handle, source));
  try {
    cancellation.check();
    return await readBand(warped.bands.get(1), window, new Float32Array(window.width * window.height));
  } finally {
    warped.close();
  }
}

type Size = { width: number; height: number };

/** Images up to this many pixels are copied out of memory faster than a thread change takes. */
const COPY_AT_ONCE_PIXELS = 512 * 512;

/** Reads a whole band of an in-memory dataset. */
async function readBand<T extends Uint8Array | Float32Array>(
  band: RasterBand,
  { width, height }: Size,
  into: T,
  layout: { pixel_space?: number; line_space?: number; offset?: number } = {},
): Promise<T> {
  if (width * height <= COPY_AT_ONCE_PIXELS) return band.pixels.read<T>(0, 0, width, height, into, layout);
  return band.pixels.readAsync<T>(0, 0, width, height, into, layout);
}

async function bytesInto(
  rgba: Uint8Array,
  warped: Dataset,
  samples: 1 | 3,
  { width, height }: Size,
): Promise<void> {
  const bands = Array.from({ length: samples + 1 }, (_, index) => warped.bands.get(index + 1));
  const targets = samples === 3 ? [0, 1, 2, 3] : [0, 3];
  for (const [index, band] of bands.entries()) {
    const interleaved = { pixel_space: 4, line_space: 4 * width, offset: targets[index]! };
    await readBand(band, { width, height }, rgba, interleaved);
  }
  if (samples === 3) return;
  for (let at = 0; at < rgba.length; at += 4) rgba[at + 1] = rgba[at + 2] = rgba[at]!;
}

async function drawInto(
  rgba: Uint8Array,
  warped: Dataset,
  drawing: Drawing,
  size: Size,
  cancellation: Cancellation,
): Promise<void> {
  const values = new Map<number, Float32Array>();
  for (const [index, band] of drawing.bands.entries()) {
    const pixels = new Float32Array(size.width * size.height);
    values.set(band, await readBand(warped.bands.get(index + 1), size, pixels));
  }
  await draw(drawing, values, rgba, cancellation);
}

async function paletteInto(
  rgba: Uint8Array,
  warped: Dataset,
  colors: Uint8Array,
  { width, height }: Size,
): Promise<void> {
  const [indices, alpha] = [warped.bands.get(1), warped.bands.get(2)];
  const values = await readBand(indices, { width, height }, new Uint8Array(width * height));
  const valid = await readBand(alpha, { width, height }, new Uint8Array(width * height));
  for (let pixel = 0; pixel < values.length; pixel++) {
    if (valid[pixel] === 0) continue;
    const color = values[pixel]! * 4;
    rgba.set(colors.subarray(color, color + 4), pixel * 4);
  }
}

async function stretchInto(
  rgba: Uint8Array,
  warped: Dataset,
  stretches: Stretch[],
  { width, height }: Size,
): Promise<void> {
  rgba.fill(255);
  const gray = stretches.length === 1;
  const bands = stretches.map((_, index) => warped.bands.get(index + 1));
  for (const [sample, { min, max }] of stretches.entries()) {
    const values = await readBand(bands[sample]!, { width, height }, new Float32Array(width * height));
    const factor = 255 / (max - min);
    for (let pixel = 0, at = 0; pixel < values.length; pixel++, at += 4) {
      const value = values[pixel]!;
      if (Number.isNaN(value)) {
        rgba[at + 3] = 0;
        continue;
      }
      const shade = Math.min(255, Math.max(0, Math.round((value - min) * factor)));
      if (gray) rgba[at] = rgba[at + 1] = rgba[at + 2] = shade;
      else rgba[at + sample] = shade;
    }
  }
}
