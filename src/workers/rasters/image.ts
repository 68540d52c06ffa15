/** Task `raster.image`. */

import { TaskFailure, type TaskFailureCode } from '../../core/errors/failure.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { ImageResult, Loss, RasterImageTask, RasterStep } from '../../core/rasters/rasters.js';
import type { PixelWindow } from '../../native/index.js';
import { checkedBox, getCrs } from '../gdal/crs.js';
import type { Cancellation } from '../threads/cancellation.js';
import { encodeImage, encodePart, isEmpty, isOpaque, MEDIA_TYPES } from './cog/encode.js';
import { listFrontParts } from './fronts.js';
import { type HandleLane, type RasterHandle, withRaster } from './handles.js';
import { cutTiles } from './images/cut.js';
import { adjust, blendOver } from './pixels/adjust.js';
import { drawHillshade } from './pixels/hillshade.js';
import { chooseRequestedRendering } from './pixels/look.js';
import { chooseRendering } from './pixels/palette.js';
import { readPicture } from './pixels/picture.js';
import { giveBack } from './pixels/pixel-buffers.js';
import { type ImageWindow, shiftToWindow } from './warp.js';

/** Largest side of an image in pixels. */
const MAX_SIDE = 8192;

/** A window of the raster as an image for maps and tiles. */
export async function image(task: RasterImageTask, cancellation: Cancellation): Promise<ImageResult> {
  const { width, height, format } = task;
  checkSize(width, height);
  if (!(format in MEDIA_TYPES)) throw new TaskFailure('invalid-input', 'The image format is unknown.');
  const box = checkedBox(task.bbox);
  const crs = getCrs(task.crs);
  const window = { box, crs, width, height };
  const { rgba, loss } =
    (await drawFronts(task, window, cancellation)) ?? (await draw(task, window, cancellation));
  cancellation.check();
  if (task.cut) return { ...(await cutImage(task, rgba)), ...loss };
  const data = await encodeImage({ rgba, width, height }, format, { box, crs: task.crs }, task.quality);
  const result = { data, mediaType: MEDIA_TYPES[format], width, height, empty: isEmpty(rgba), ...loss };
  // Raw pixels are the response.
  if (format === 'raw') return result;
  giveBack(rgba);
  return { ...result, tag: contentTag(data) };
}

interface Picture {
  rgba: Uint8Array;
  loss: Loss;
}

/** Returns the image of the uppermost members of a mosaic, if it has no transparent pixels. */
async function drawFronts(
  task: RasterImageTask,
  window: ImageWindow,
  cancellation: Cancellation,
): Promise<Picture | undefined> {
  for (const source of listFrontParts(task, window)) {
    const front = await draw({ ...task, source }, window, cancellation).catch(ignoreUnreadable);
    if (front && isOpaque(front.rgba)) return front;
    if (front) giveBack(front.rgba);
  }
  return undefined;
}

/** Ignores unreadable members: the complete mosaic can omit them, or reports the problem. */
function ignoreUnreadable(error: unknown): undefined {
  if (!(error instanceof TaskFailure) || !UNREADABLE.has(error.code)) throw error;
}

const UNREADABLE: ReadonlySet<TaskFailureCode> = new Set(['source-unreadable', 'store-unavailable']);

function draw(task: RasterImageTask, window: ImageWindow, cancellation: Cancellation): Promise<Picture> {
  const lane = findLane(window);
  return withRaster(
    task.source,
    async (handle) => {
      cancellation.check();
      const placed = await shiftToWindow(handle, window);
      return { rgba: await drawSteps(placed, task, window, cancellation), loss: handle.loss };
    },
    task.at,
    lane === undefined ? undefined : { lane, cancellation },
  );
}

/** Maximum pixels of a window that uses lanes. Larger windows contain enough complete blocks. */
const LANE_PIXELS = 512 * 512;
/** Windows along a side of the squares that are read by turns in one lane and the other. */
const LANE_WINDOWS = 32;

/**
 * GDAL's block cache belongs to an open dataset. Blocks that neighbouring windows share are therefore decoded once if
 * one dataset reads both windows, one after the other.
 */
function findLane({ box: [minx, miny, maxx, maxy], width, height }: ImageWindow): HandleLane | undefined {
  if (width * height > LANE_PIXELS) return undefined;
  const column = Math.floor((minx + maxx) / 2 / (LANE_WINDOWS * (maxx - minx)));
  const row = Math.floor((miny + maxy) / 2 / (LANE_WINDOWS * (maxy - miny)));
  return Math.abs(column + row) % 2 === 0 ? 0 : 1;
}

const AS_USUAL: readonly RasterStep[] = [{}];

/** Each step over those before it. */
async function drawSteps(
  handle: RasterHandle,
  task: RasterImageTask,
  window: ImageWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  let below: Uint8Array | undefined;
  for (const step of task.steps ?? AS_USUAL) {
    const rgba = await drawStep(handle, step, task, window, cancellation);
    if (step.adjustment) adjust(rgba, step.adjustment);
    if (below) {
      blendOver(below, rgba);
      giveBack(rgba);
    } else below = rgba;
    cancellation.check();
  }
  return below ?? new Uint8Array(window.width * window.height * 4);
}

async function drawStep(
  handle: RasterHandle,
  { look, hillshade }: RasterStep,
  { ranges, pixelMetres }: RasterImageTask,
  window: ImageWindow,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  if (hillshade) return drawHillshade(handle, hillshade, pixelMetres ?? [1, 1], window, cancellation);
  const rendering = await (look
    ? chooseRequestedRendering(handle, look, ranges)
    : chooseRendering(handle, undefined, ranges));
  return readPicture(handle, rendering, window, cancellation);
}

async function cutImage(
  { width, height, format, quality, cut }: RasterImageTask,
  rgba: Uint8Array,
): Promise<ImageResult> {
  if (format !== 'png' && format !== 'webp')
    throw new TaskFailure('invalid-input', 'The format of tiles must be PNG or WebP.');
  const { width: tileWidth, height: tileHeight } = cut!;
  const encode = (window: PixelWindow) => encodePart({ rgba, width, height }, window, format, quality);
  const tiles = await cutTiles({ rgba, stride: width, width, height, tileWidth, tileHeight, format, encode });
  giveBack(rgba);
  const empty = tiles.every((tile) => tile.empty);
  return { data: new Uint8Array(), mediaType: MEDIA_TYPES[format], width, height, empty, tiles };
}

export function checkSize(width: number, height: number, maxSide = MAX_SIDE): void {
  if (!Number.isInteger(width) || !Number.isInteger(height) || width < 1 || height < 1) {
    throw new TaskFailure('invalid-input', 'Width and height must be positive integers.');
  }
  if (width > maxSide || height > maxSide) {
    throw new TaskFailure(
      'too-large',
      `The output would have ${width} x ${height} pixels. Each side can have at most ${maxSide}.`,
    );
  }
}
