import sharp from 'sharp';
import { TaskFailure } from '../../core/errors/failure.js';
import type { PictureComparison, PictureComparisonTask } from '../../core/exchange/parity.js';

/** An eighth of the range of a channel. */
const DIFFERENCE = 32;
const MAX_PIXELS = 1 << 20;
/** A channel below it shows that something is drawn on white. */
const WHITE = 250;

/** Task `raster.compare`. Fails with `source-unreadable` for files that are not images or have another size. */
export async function compare({ path, target }: PictureComparisonTask): Promise<PictureComparison> {
  const [a, b] = await Promise.all([parsePixels(path), parsePixels(Buffer.from(target))]);
  if (a.width !== b.width || a.height !== b.height)
    throw new TaskFailure('source-unreadable', `The image has ${a.width} x ${a.height} pixels.`);
  const pixels = a.width * a.height;
  let [sum, differing, sourceInk, targetInk] = [0, 0, 0, 0];
  for (let pixel = 0; pixel < pixels; pixel++) {
    const at = 3 * pixel;
    for (let channel = at; channel < at + 3; channel++) sum += Math.abs(a.data[channel]! - b.data[channel]!);
    if (!hasLike(a, pixel, b) || !hasLike(b, pixel, a)) differing++;
    if (isInk(a.data, at)) sourceInk++;
    if (isInk(b.data, at)) targetInk++;
  }
  return {
    meanDifference: sum / (255 * 3 * pixels),
    differingShare: differing / pixels,
    sourceInk: sourceInk / pixels,
    targetInk: targetInk / pixels,
  };
}

const isInk = (data: Uint8Array, at: number) =>
  data[at]! < WHITE || data[at + 1]! < WHITE || data[at + 2]! < WHITE;

/**
 * Whether a pixel of one image, or a neighbour of it, equals the pixel of the other image. Renderers round edges
 * differently.
 */
function hasLike(one: Picture, pixel: number, { data, width, height }: Picture): boolean {
  const [x, y] = [pixel % width, Math.floor(pixel / width)];
  for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row++)
    for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++)
      if (isLike(one.data, 3 * pixel, data, 3 * (row * width + column))) return true;
  return false;
}

function isLike(a: Uint8Array, at: number, b: Uint8Array, to: number): boolean {
  for (let channel = 0; channel < 3; channel++)
    if (Math.abs(a[at + channel]! - b[to + channel]!) > DIFFERENCE) return false;
  return true;
}

interface Picture {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Red, green and blue on white. */
async function parsePixels(picture: string | Buffer): Promise<Picture> {
  try {
    const { data, info } = await sharp(picture, { limitInputPixels: MAX_PIXELS })
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    if (info.channels !== 3) throw new Error(`${info.channels} channels`);
    return { data, width: info.width, height: info.height };
  } catch (error) {
    throw new TaskFailure('source-unreadable', 'The image cannot be read.', String(error));
  }
}
