/**
 * Task `map.render`.
 *
 * Layers come as vector tiles whose grid is already linear in the output CRS. Mapnik gets them as tile 0/0/0 of
 * EPSG:3857 with a map in the same CRS, so that it neither reprojects nor decodes features in JavaScript. A tile is
 * square and Mapnik draws all of it: the canvas is as large as the tile, and the map is its top left part.
 */

import { promisify } from 'node:util';
import mapnik, { type Image } from '@mapnik/mapnik';
import type { ImageResult, TileSize } from '../../core/rasters.js';
import { type MapLayer, type MapTask, TaskFailure } from '../../core/tasks.js';
import type { Cancellation } from '../cancellation.js';
import { cutTiles } from '../images/cut.js';
import type { Window } from '../images/paletted-png.js';
import { parseColor, withStyledMap } from './style.js';

mapnik.register_default_input_plugins();
mapnik.register_default_fonts();

const MAX_SIDE = 8192;
const MAX_LAYERS = 200;
const DEFAULT_QUALITY = 85;
/** Pixels around the canvas whose symbols may still reach into it. */
const BUFFER_PIXELS = 64;

/** The task with the formats that this thread can write: `raw` is RGBA, not premultiplied. */
export type RenderTask = Omit<MapTask, 'format'> & { format: Exclude<MapTask['format'], 'tiff'> | 'raw' };

const MEDIA_TYPES = {
  raw: 'application/octet-stream',
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
} as const;

export async function render(task: RenderTask, cancellation: Cancellation): Promise<ImageResult> {
  const side = checkedSide(task);
  const canvas = new mapnik.Image(side, side, { premultiplied: true });
  paintBackground(canvas, task);
  for (const layer of task.layers) {
    cancellation.check();
    await premultiply(canvas);
    if (layer.kind === 'vector') await drawVector(canvas, layer, task);
    else await drawRaster(canvas, layer.rgba, task);
  }
  cancellation.check();
  await demultiply(canvas);
  const { width, height, format } = task;
  if (task.cut) return cutCanvas(canvas, side, task, task.cut);
  const [data, empty] = [await encode(canvas, side, task), await isTransparent(canvas, task)];
  return { data, mediaType: MEDIA_TYPES[format], width, height, empty };
}

async function cutCanvas(
  canvas: Image,
  side: number,
  { width, height, format, quality }: RenderTask,
  cut: TileSize,
): Promise<ImageResult> {
  if (format !== 'png' && format !== 'webp') throw new TaskFailure('invalid-input', 'Tiles are PNG or WebP.');
  const encoder = encoderOf(format, quality);
  const encode = async ({ x, y, width, height }: Window) => {
    const view = canvas.view(x, y, width, height);
    return promisify(view.encode.bind(view))(encoder);
  };
  const tileSize = { tileWidth: cut.width, tileHeight: cut.height };
  const tiles = await cutTiles({
    rgba: canvas.data(),
    stride: side,
    width,
    height,
    ...tileSize,
    format,
    encode,
  });
  const empty = tiles.every((tile) => tile.empty);
  return { data: new Uint8Array(), mediaType: MEDIA_TYPES[format], width, height, empty, tiles };
}

/** Side of the square canvas: the whole tile in pixels. */
function checkedSide({
  width,
  height,
  unitsPerPixel,
  tileExtent,
  layers,
  scale,
  format,
}: RenderTask): number {
  const invalid = (message: string) => new TaskFailure('invalid-input', message);
  if (!Number.isInteger(width) || !Number.isInteger(height) || width < 1 || height < 1) {
    throw invalid('Width and height need to be positive integers.');
  }
  if (width > MAX_SIDE || height > MAX_SIDE)
    throw new TaskFailure('too-large', `Maps have at most ${MAX_SIDE} pixels per side.`);
  if (!(format in MEDIA_TYPES)) throw invalid('Unknown image format.');
  if (!(scale > 0 && scale <= 16)) throw invalid('The scale factor needs to be above 0 and at most 16.');
  if (!Array.isArray(layers) || layers.length > MAX_LAYERS)
    throw invalid(`Maps have at most ${MAX_LAYERS} layers.`);
  const largest = Math.max(width, height);
  if (!layers.some((layer) => layer.kind === 'vector')) return largest;
  const side = Math.round(tileExtent / unitsPerPixel);
  const exact = Math.abs(side * unitsPerPixel - tileExtent) <= 1e-6 * tileExtent;
  if (!exact || side < largest)
    throw invalid('The tile grid needs to cover the map with a whole number of pixels.');
  if (side > MAX_SIDE)
    throw new TaskFailure('too-large', `Tile grids have at most ${MAX_SIDE} pixels per side.`);
  return side;
}

function paintBackground(canvas: Image, { background, format }: RenderTask): void {
  const color = parseColor(background);
  // JPEG has no transparency: what shines through is white.
  const alpha = color.a / 255;
  const over = (value: number) =>
    format === 'jpeg' ? Math.round(value * alpha + 255 * (1 - alpha)) : Math.round(value * alpha);
  const opaque = format === 'jpeg' ? 255 : color.a;
  if (opaque > 0)
    canvas.fillSync(new mapnik.Color(over(color.r), over(color.g), over(color.b), opaque, true));
}

/** Mapnik leaves its canvas not premultiplied after each layer, but expects it premultiplied before. */
async function premultiply(image: Image): Promise<void> {
  if (!image.premultiplied()) await promisify(image.premultiply.bind(image))();
}

async function demultiply(image: Image): Promise<void> {
  if (image.premultiplied()) await promisify(image.demultiply.bind(image))();
}

type VectorLayer = Extract<MapLayer, { kind: 'vector' }>;

async function drawVector(canvas: Image, layer: VectorLayer, task: RenderTask): Promise<void> {
  if (layer.tile.byteLength === 0) return;
  const tile = new mapnik.VectorTile(0, 0, 0, { tile_size: task.tileExtent });
  let names: string[];
  try {
    tile.setDataSync(bufferOf(layer.tile));
    names = tile.names();
  } catch (error) {
    throw new TaskFailure('invalid-input', 'A layer is not a vector tile.', String(error));
  }
  for (const name of names) {
    await withStyledMap(layer.style, layer.geometryType, name, async (map) => {
      const options = { buffer_size: BUFFER_PIXELS, scale: task.scale };
      await promisify(tile.render.bind(tile))(map, canvas, options);
    });
  }
}

async function drawRaster(canvas: Image, rgba: Uint8Array, { width, height }: RenderTask): Promise<void> {
  if (rgba.byteLength !== width * height * 4)
    throw new TaskFailure('invalid-input', 'A raster layer has not the size of the map.');
  const pixels = bufferOf(rgba);
  const image = mapnik.Image.fromBufferSync(width, height, pixels, { premultiplied: false });
  await premultiply(image);
  await promisify(canvas.composite.bind(canvas))(image, {});
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Mapnik's own encoders: for maps they are several times as fast as libvips, which has to copy the canvas first. */
async function encode(canvas: Image, side: number, task: RenderTask): Promise<Uint8Array> {
  const { width, height, format, quality } = task;
  if (format === 'raw') return croppedPixels(canvas.data(), side, width, height);
  const encoder = encoderOf(format, quality);
  const source = width === side && height === side ? canvas : canvas.view(0, 0, width, height);
  return promisify(source.encode.bind(source))(encoder);
}

function encoderOf(format: 'png' | 'jpeg' | 'webp', quality = DEFAULT_QUALITY): string {
  if (!(quality >= 1 && quality <= 100))
    throw new TaskFailure('invalid-input', 'The quality needs to be from 1 to 100.');
  return {
    png: 'png32:z=2',
    jpeg: `jpeg${Math.round(quality)}`,
    webp: `webp:quality=${Math.round(quality)}:method=1`,
  }[format];
}

function croppedPixels(pixels: Buffer, side: number, width: number, height: number): Uint8Array {
  const rgba = new Uint8Array(width * height * 4);
  for (let row = 0; row < height; row++) {
    rgba.set(pixels.subarray(row * side * 4, row * side * 4 + width * 4), row * width * 4);
  }
  return rgba;
}

/** True when the map shows nothing at all. */
async function isTransparent(canvas: Image, { background, layers }: RenderTask): Promise<boolean> {
  if (parseColor(background).a > 0) return false;
  if (layers.length === 0) return true;
  const solid = await promisify(canvas.isSolid.bind(canvas))();
  // The alpha channel is the highest byte of a pixel.
  return solid && canvas.getPixel(0, 0) >>> 24 === 0;
}
