/**
 * Task `map.render`.
 *
 * Layers come as vector tiles whose grid covers the map's window in the output CRS. Mapnik gets them as tile 0/0/0 of
 * EPSG:3857 with a map in the same CRS, stretched to the size of the canvas, so that it does not reproject.
 */

import { promisify } from 'node:util';
import mapnik, { type Image } from '@mapnik/mapnik';
import { TaskFailure } from '../../core/errors/failure.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { MapTask } from '../../core/maps/maps.js';
import type { ImageResult, TileSize } from '../../core/rasters/rasters.js';
import { encodeFewColorsPng, encodePng, type PixelWindow } from '../../native/index.js';
import { cutTiles } from '../rasters/images/cut.js';
import type { Cancellation } from '../threads/cancellation.js';
import { demultiply, putOver } from './alpha.js';
import { type Canvas, withCanvas } from './canvas.js';
import { parseCssColor } from './color.js';
import { VectorPainter } from './draw-vectors.js';
import { STYLE_RESOURCES } from './resources.js';

const MAX_SIDE = 8192;
const MAX_LAYERS = 200;
const DEFAULT_QUALITY = 85;

/** The task with the formats that this thread can write: `raw` is RGBA, not premultiplied. */
export type RenderTask = Omit<MapTask, 'format'> & { format: Exclude<MapTask['format'], 'tiff'> | 'raw' };

const MEDIA_TYPES = {
  raw: 'application/octet-stream',
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
} as const;

export async function render(task: RenderTask, cancellation: Cancellation): Promise<ImageResult> {
  checkTask(task);
  return withCanvas(task.width, task.height, (canvas) => draw(canvas, task, cancellation));
}

async function draw(canvas: Canvas, task: RenderTask, cancellation: Cancellation): Promise<ImageResult> {
  const { width, height, format } = task;
  const { image } = canvas;
  paintBackground(image, task);
  const painter = new VectorPainter(image, task, STYLE_RESOURCES, cancellation);
  for (const layer of task.layers) {
    cancellation.check();
    if (layer.kind === 'vector') await painter.add(layer);
    else {
      await painter.flush();
      await drawRaster(image, layer.rgba, task);
    }
  }
  await painter.finish();
  cancellation.check();
  await demultiply(image);
  if (task.cut) return cutCanvas(canvas, task, task.cut);
  const [data, empty] = [await encode(canvas, task), await isTransparent(image, task)];
  return { data, mediaType: MEDIA_TYPES[format], tag: contentTag(data), width, height, empty };
}

async function cutCanvas(
  { image, pixels: rgba }: Canvas,
  { width, height, format, quality }: RenderTask,
  cut: TileSize,
): Promise<ImageResult> {
  if (format !== 'png' && format !== 'webp')
    throw new TaskFailure('invalid-input', 'The format of tiles must be PNG or WebP.');
  const encode = async (window: PixelWindow) => {
    if (format === 'png')
      return (await encodeFewColorsPng(rgba, width, window)) ?? encodePng(rgba, width, window);
    const view = image.view(window.x, window.y, window.width, window.height);
    return promisify(view.encode.bind(view))(formatEncoder(format, quality));
  };
  const tileSize = { tileWidth: cut.width, tileHeight: cut.height };
  const tiles = await cutTiles({
    rgba,
    stride: width,
    width,
    height,
    ...tileSize,
    format,
    encode,
  });
  const empty = tiles.every((tile) => tile.empty);
  return { data: new Uint8Array(), mediaType: MEDIA_TYPES[format], width, height, empty, tiles };
}

function checkTask({ width, height, tileExtent, layers, scale, format, quality }: RenderTask): void {
  const invalid = (message: string) => new TaskFailure('invalid-input', message);
  if (!Number.isInteger(width) || !Number.isInteger(height) || width < 1 || height < 1) {
    throw invalid('Width and height must be positive integers.');
  }
  if (width > MAX_SIDE || height > MAX_SIDE)
    throw new TaskFailure('too-large', `Each side of a map can have at most ${MAX_SIDE} pixels.`);
  if (!(format in MEDIA_TYPES)) throw invalid('The image format is unknown.');
  if (quality !== undefined && !(quality >= 1 && quality <= 100))
    throw invalid('The quality must be from 1 to 100.');
  if (!(scale > 0 && scale <= 16)) throw invalid('The scale factor must be above 0 and at most 16.');
  if (!(tileExtent > 0)) throw invalid('The grid of the tiles must have a size.');
  if (!Array.isArray(layers) || layers.length > MAX_LAYERS)
    throw invalid(`A map can have at most ${MAX_LAYERS} layers.`);
}

function paintBackground(canvas: Image, { background, format }: RenderTask): void {
  const color = parseCssColor(background);
  // JPEG does not support transparency, so transparent areas become white.
  const alpha = color.a / 255;
  const over = (value: number) =>
    format === 'jpeg' ? Math.round(value * alpha + 255 * (1 - alpha)) : Math.round(value * alpha);
  const opaque = format === 'jpeg' ? 255 : color.a;
  if (opaque > 0)
    canvas.fillSync(new mapnik.Color(over(color.r), over(color.g), over(color.b), opaque, true));
}

async function drawRaster(canvas: Image, rgba: Uint8Array, { width, height }: RenderTask): Promise<void> {
  if (rgba.byteLength !== width * height * 4)
    throw new TaskFailure('invalid-input', 'A raster layer has not the size of the map.');
  await putOver(canvas, rgba, { width, height });
}

/** Mapnik's own encoders: for maps they are several times as fast as libvips, which has to copy the canvas first. */
async function encode(
  { image, pixels }: Canvas,
  { format, quality, width, height }: RenderTask,
): Promise<Uint8Array> {
  if (format === 'raw') return Uint8Array.from(pixels);
  // A third of the time that Mapnik's takes.
  if (format === 'png') return encodePng(pixels, width, { x: 0, y: 0, width, height });
  return promisify(image.encode.bind(image))(formatEncoder(format, quality));
}

function formatEncoder(format: 'jpeg' | 'webp', quality = DEFAULT_QUALITY): string {
  return {
    jpeg: `jpeg${Math.round(quality)}`,
    webp: `webp:quality=${Math.round(quality)}:method=1`,
  }[format];
}

/** Whether the map is completely empty. */
async function isTransparent(canvas: Image, { background, layers }: RenderTask): Promise<boolean> {
  if (parseCssColor(background).a > 0) return false;
  if (layers.length === 0) return true;
  const solid = await promisify(canvas.isSolid.bind(canvas))();
  // The alpha channel is the highest byte of a pixel.
  return solid && canvas.getPixel(0, 0) >>> 24 === 0;
}
