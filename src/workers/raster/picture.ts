/** RGBA pixels of a window of a raster in any CRS. */

import { type Box, TaskFailure } from '../../core/tasks.js';
import type { Cancellation } from '../cancellation.js';
import { type Crs, intersection, sameCrs, transformBox } from './crs.js';
import { type Dataset, gdal } from './gdal.js';
import { georeferenceOf } from './georeference.js';
import type { RasterHandle } from './handles.js';
import type { Rendering, Stretch } from './palette.js';

export interface PictureWindow {
  box: Box;
  crs: Crs;
  width: number;
  height: number;
}

/** Reads the window; pixels outside the raster and nodata pixels are transparent. */
export async function readPicture(
  handle: RasterHandle,
  rendering: Rendering,
  window: PictureWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const { width, height } = window;
  const rgba = new Uint8Array(width * height * 4);
  if (!touches(handle, window)) return rgba;
  const view = await handle.bands(rendering.bands);
  cancellation.check();
  const warped = await warp(view, rendering, window);
  try {
    cancellation.check();
    if (rendering.kind === 'stretch') await stretchInto(rgba, warped, rendering.stretches, window);
    else if (rendering.kind === 'palette') await paletteInto(rgba, warped, rendering.colors, window);
    else await bytesInto(rgba, warped, rendering.samples, window);
    return rgba;
  } finally {
    warped.close();
  }
}

function touches(handle: RasterHandle, window: PictureWindow): boolean {
  const { crs, extent } = georeferenceOf(handle.dataset);
  // A window without any place in the raster's CRS (over the horizon of its projection) shows nothing of it.
  const box = sameCrs(crs, window.crs) ? window.box : transformBox(window.box, window.crs, crs);
  return box !== null && intersection(box, extent) !== null;
}

/** The window as an in-memory dataset: bytes with an alpha band, or Float32 where nodata is NaN. */
async function warp(view: Dataset, rendering: Rendering, window: PictureWindow): Promise<Dataset> {
  const outside = rendering.kind === 'stretch' ? ['-ot', 'Float32', '-dstnodata', 'nan'] : ['-dstalpha'];
  const resampling = rendering.kind === 'palette' ? 'near' : 'bilinear';
  try {
    return await gdal.warpAsync(
      'picture',
      null,
      [view],
      [
        ...['-of', 'MEM', '-t_srs', window.crs.text],
        ...['-te', ...window.box.map(String)],
        ...['-ts', String(window.width), String(window.height)],
        ...['-r', resampling, '-ovr', 'AUTO', '-et', '0.125'],
        ...outside,
      ],
    );
  } catch (error) {
    throw warpFailure(error);
  }
}

/** Tells a window that cannot be reprojected from a file that cannot be read. */
export function warpFailure(error: unknown): unknown {
  const text = String(error);
  if (!/transform|project|PROJ|latitude|longitude/i.test(text)) return error;
  return new TaskFailure(
    'invalid-input',
    'The window cannot be reprojected to the reference system of the raster.',
    text,
  );
}

type Size = { width: number; height: number };

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
    await band.pixels.readAsync(0, 0, width, height, rgba, interleaved);
  }
  if (samples === 3) return;
  for (let at = 0; at < rgba.length; at += 4) rgba[at + 1] = rgba[at + 2] = rgba[at]!;
}

async function paletteInto(
  rgba: Uint8Array,
  warped: Dataset,
  colors: Uint8Array,
  { width, height }: Size,
): Promise<void> {
  const [indices, alpha] = [warped.bands.get(1), warped.bands.get(2)];
  const values = await indices.pixels.readAsync(0, 0, width, height, new Uint8Array(width * height));
  const valid = await alpha.pixels.readAsync(0, 0, width, height, new Uint8Array(width * height));
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
    const values = await bands[sample]!.pixels.readAsync(
      0,
      0,
      width,
      height,
      new Float32Array(width * height),
    );
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
