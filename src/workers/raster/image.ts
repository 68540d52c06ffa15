/** Task `raster.image`. */

import type { ImageResult, RasterImageTask } from '../../core/rasters.js';
import { TaskFailure } from '../../core/tasks.js';
import type { Cancellation } from '../cancellation.js';
import { cutTiles } from '../images/cut.js';
import type { Window } from '../images/paletted-png.js';
import { checkedBox, crsOf } from './crs.js';
import { encodeImage, encodePart, isEmpty, MEDIA_TYPES } from './encode.js';
import { withRaster } from './handles.js';
import { lookOf } from './look.js';
import { renderingOf } from './palette.js';
import { readPicture } from './picture.js';

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
      const rendering = await (task.look
        ? lookOf(handle, task.look, task.ranges)
        : renderingOf(handle, undefined, task.ranges));
      const rgba = await readPicture(handle, rendering, { box, crs, width, height }, cancellation);
      cancellation.check();
      if (task.cut) return cutImage(task, rgba);
      const data = await encodeImage({ rgba, width, height }, format, { box, crs: task.crs }, task.quality);
      return { data, mediaType: MEDIA_TYPES[format], width, height, empty: isEmpty(rgba) };
    },
    task.at,
  );
}

async function cutImage(
  { width, height, format, quality, cut }: RasterImageTask,
  rgba: Uint8Array,
): Promise<ImageResult> {
  if (format !== 'png' && format !== 'webp') throw new TaskFailure('invalid-input', 'Tiles are PNG or WebP.');
  const { width: tileWidth, height: tileHeight } = cut!;
  const encode = (window: Window) => encodePart({ rgba, width, height }, window, format, quality);
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
