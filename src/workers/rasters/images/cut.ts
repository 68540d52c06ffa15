import { LRUCache } from 'lru-cache';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { ImageTile } from '../../../core/rasters/rasters.js';
import type { PixelWindow } from '../../../native/index.js';

/** An image and how it is cut: tiles of `tileWidth` by `tileHeight` pixels, row by row from the top left. */
export interface CutImage {
  /** RGBA, 4 bytes a pixel, not premultiplied. */
  readonly rgba: Uint8Array;
  /** Pixels from one row to the next. */
  readonly stride: number;
  readonly width: number;
  readonly height: number;
  readonly tileWidth: number;
  readonly tileHeight: number;
  readonly format: 'png' | 'webp';
  /** Encodes tiles with several colours. */
  encode(window: PixelWindow): Promise<Uint8Array>;
}

const MAX_TILES = 256;
const MAX_SOLID = 64;
/** Encoded tiles of one colour. */
const solid = new LRUCache<string, Uint8Array>({ max: MAX_SOLID });

/** Returns the tiles of an image. Empty tiles are not encoded, and tiles of one colour are encoded only once. */
export async function cutTiles(image: CutImage): Promise<ImageTile[]> {
  const { width, height, tileWidth, tileHeight } = image;
  const [columns, rows] = [width / tileWidth, height / tileHeight];
  if (!Number.isInteger(columns) || !Number.isInteger(rows) || columns * rows > MAX_TILES)
    throw new TaskFailure('invalid-input', 'The image does not consist of complete tiles.');
  const pixels = readPixels(image.rgba);
  return Promise.all(
    Array.from({ length: rows * columns }, (_, i) => {
      const x = (i % columns) * tileWidth;
      const y = Math.floor(i / columns) * tileHeight;
      return cutTile(image, pixels, { x, y, width: tileWidth, height: tileHeight });
    }),
  );
}

async function cutTile(image: CutImage, pixels: Uint32Array, window: PixelWindow): Promise<ImageTile> {
  const { format, stride } = image;
  const color = onlyColor(pixels, stride, window);
  if (color !== undefined && color >>> 24 === 0) return { data: new Uint8Array(), empty: true };
  const name = color === undefined ? undefined : `${format} ${window.width} ${window.height} ${color}`;
  const tile = name === undefined ? undefined : solid.get(name);
  if (tile) return { data: tile, empty: false };
  const data = await image.encode(window);
  if (name !== undefined) solid.set(name, data);
  return { data, empty: false };
}

/** The colour that all pixels have; undefined when they differ. */
function onlyColor(
  pixels: Uint32Array,
  stride: number,
  { x, y, width, height }: PixelWindow,
): number | undefined {
  const color = pixels[y * stride + x]!;
  for (let row = y; row < y + height; row++) {
    const from = row * stride + x;
    for (let at = from; at < from + width; at++) if (pixels[at] !== color) return undefined;
  }
  return color;
}

/** Whole pixels need an address that four divides. */
function readPixels(rgba: Uint8Array): Uint32Array {
  const aligned = rgba.byteOffset % 4 === 0 ? rgba : rgba.slice();
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength >> 2);
}
