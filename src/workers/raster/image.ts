/** Task `raster.image`. */

import { contentTag } from '../../core/content-tag.js';
import { TaskFailure } from '../../core/failure.js';
import type { ImageResult, RasterImageTask, RasterStep } from '../../core/rasters.js';
import type { PixelWindow } from '../../native/index.js';
import type { Cancellation } from '../cancellation.js';
import { cutTiles } from '../images/cut.js';
import { adjust, blendOver } from './adjust.js';
import { checkedBox, crsOf } from './crs.js';
import { encodeImage, encodePart, isEmpty, MEDIA_TYPES } from './encode.js';
import { type RasterHandle, withRaster } from './handles.js';
import { drawHillshade } from './hillshade.js';
import { lookOf } from './look.js';
import { renderingOf } from './palette.js';
import { readPicture } from './picture.js';
import type { PictureWindow } from './warp.js';

/** Largest side of an image in pixels. */
const MAX_SIDE = 8192;

/** A window of the raster as an image for maps and tiles. */
export function image(task: RasterImageTask, cancellation: Cancellation): Promise<ImageResult> {
  const { width, height, format } = task;
  checkSize(width, height);
  if (!(format in MEDIA_TYPES)) throw new TaskFailure('invalid-input', 'Unknown image format.');
  const box = checkedBox(task.bbox);
  const crs = crsOf(task.crs);
  return withRaster(
    task.source,
    async (handle) => {
      const rgba = await drawSteps(handle, task, { box, crs, width, height }, cancellation);
      cancellation.check();
      if (task.cut) return { ...(await cutImage(task, rgba)), ...handle.loss };
      const data = await encodeImage({ rgba, width, height }, format, { box, crs: task.crs }, task.quality);
      const tag = format === 'raw' ? {} : { tag: contentTag(data) };
      return {
        data,
        mediaType: MEDIA_TYPES[format],
        ...tag,
        width,
        height,
        empty: isEmpty(rgba),
        ...handle.loss,
      };
    },
    task.at,
  );
}

const AS_USUAL: readonly RasterStep[] = [{}];

/** Each step over those before it. */
async function drawSteps(
  handle: RasterHandle,
  task: RasterImageTask,
  window: PictureWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  let below: Uint8Array | undefined;
  for (const step of task.steps ?? AS_USUAL) {
    const rgba = await drawStep(handle, step, task, window, cancellation);
    if (step.adjustment) adjust(rgba, step.adjustment);
    if (below) blendOver(below, rgba);
    else below = rgba;
    cancellation.check();
  }
  return below ?? new Uint8Array(window.width * window.height * 4);
}

async function drawStep(
  handle: RasterHandle,
  { look, hillshade }: RasterStep,
  { ranges, pixelMetres }: RasterImageTask,
  window: PictureWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  if (hillshade) return drawHillshade(handle, hillshade, pixelMetres ?? [1, 1], window, cancellation);
  const rendering = await (look ? lookOf(handle, look, ranges) : renderingOf(handle, undefined, ranges));
  return readPicture(handle, rendering, window, cancellation);
}

async function cutImage(
  { width, height, format, quality, cut }: RasterImageTask,
  rgba: Uint8Array,
): Promise<ImageResult> {
  if (format !== 'png' && format !== 'webp') throw new TaskFailure('invalid-input', 'Tiles are PNG or WebP.');
  const { width: tileWidth, height: tileHeight } = cut!;
  const encode = (window: PixelWindow) => encodePart({ rgba, width, height }, window, format, quality);
  const tiles = await cutTiles({ rgba, stride: width, width, height, tileWidth, tileHeight, format, encode });
  const empty = tiles.every((tile) => tile.empty);
  return { data: new Uint8Array(), mediaType: MEDIA_TYPES[format], width, height, empty, tiles };
}

export function checkSize(width: number, height: number, maxSide = MAX_SIDE): void {
  if (!Number.isInteger(width) || !Number.isInteger(height) || width < 1 || height < 1) {
    throw new TaskFailure('invalid-input', 'Width and height need to be positive integers.');
  }
  if (width > maxSide || height > maxSide) {
    throw new TaskFailure(
      'too-large',
      `The output would be ${width} x ${height} pixels; ${maxSide} per side are allowed.`,
    );
  }
}
