import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { encodeFewColorsPng, encodePicturePng } from '../../../src/native/index.js';
import { randomNumbers } from '../../support/random.js';

/** PNG images of rasters, decoded by libvips (libspng). */

const SIDE = 64;
const ALL = { x: 0, y: 0, width: SIDE, height: SIDE };
/** Colour types of PNG. */
const [GREY, RGB, PALETTE, GREY_ALPHA, RGBA] = [0, 2, 3, 4, 6];

type Color = readonly [number, number, number, number];

/** A square of pixels by their number. */
function pixels(color: (i: number) => Color): Uint8Array {
  return Uint8Array.from(Array.from({ length: SIDE * SIDE }, (_, i) => color(i)).flat());
}

const random = randomNumbers(3);
const grains = Array.from({ length: SIDE * SIDE }, () => Math.floor(random() * 4));
/** Slopes under grain, as imagery has them. */
const shade = (i: number) => ((i % SIDE) * 2 + Math.floor(i / SIDE) + grains[i]!) % 256;

/** Clear pixels have no colour. */
const visible = (rgba: Uint8Array) => rgba.map((value, i) => (rgba[i | 3] === 0 ? 0 : value));

async function decoded(png: Uint8Array): Promise<Uint8Array> {
  return visible(await sharp(png).ensureAlpha().toColourspace('srgb').raw().toBuffer());
}

const typeOf = (png: Uint8Array) => png[25];

describe('PNG images of pictures', () => {
  it.each<[string, number | undefined, (i: number) => Color]>([
    ['shades', GREY, (i) => [shade(i), shade(i), shade(i), 255]],
    ['shades and nothing', GREY, (i) => [shade(i), shade(i), shade(i), i % 5 === 0 ? 0 : 255]],
    ['all shades and nothing', GREY_ALPHA, (i) => [i & 255, i & 255, i & 255, i % 5 === 0 ? 0 : 255]],
    ['half transparent shades', GREY_ALPHA, (i) => [shade(i), shade(i), shade(i), shade(i + 1)]],
    ['few colours', PALETTE, (i) => [i % 16, 255 - (i % 16), 7, 255]],
    ['few colours, some transparent', PALETTE, (i) => [i % 16, 255, 7, (i % 8) * 36]],
    ['256 colours', PALETTE, (i) => [i & 255, 255 - (i & 255), 1, 255]],
    ['256 colours and nothing', RGBA, (i) => [i & 255, 255 - (i & 255), 1, i < 7 ? 0 : 255]],
    ['many colours', RGB, (i) => [shade(i), i & 255, i >> 8, 255]],
    ['many colours and nothing', RGBA, (i) => [shade(i), i & 255, i >> 8, i % 3 === 0 ? 0 : 255]],
    ['many half transparent colours', RGBA, (i) => [shade(i), i & 255, i >> 8, shade(i)]],
    ['one colour', PALETTE, () => [1, 2, 3, 255]],
    ['nothing', GREY, () => [9, 8, 7, 0]],
  ])('of %s have every pixel as it was', async (_, type, color) => {
    const rgba = pixels(color);
    const png = await encodePicturePng(rgba, SIDE, ALL);
    expect(Buffer.compare(await decoded(png), visible(rgba))).toBe(0);
    expect(typeOf(png)).toBe(type);
    const few = await encodeFewColorsPng(rgba, SIDE, ALL);
    expect(few && typeOf(few)).toBe(type === GREY || type === PALETTE ? type : undefined);
  });

  it.each([
    [1, 1],
    [1, 40],
    [40, 1],
    [5, 3],
    [33, 31],
  ])('of a window of %i by %i have its pixels only', async (width, height) => {
    const rgba = pixels((i) => [shade(i), i & 255, i >> 8, 255]);
    const png = await encodePicturePng(rgba, SIDE, { x: 7, y: 9, width, height });
    const part = { left: 7, top: 9, width, height };
    const raw = { width: SIDE, height: SIDE, channels: 4 as const };
    const window = await sharp(rgba, { raw }).extract(part).raw().toBuffer();
    expect(Buffer.compare(await decoded(png), window)).toBe(0);
  });

  it.each([3, 12, 300])('of areas take repetitions, %i pixels wide', async (width) => {
    const rgba = pixels((i) => [Math.floor(i / width) % 7, 3, (i % SIDE) >> 4, 255]);
    const png = await encodePicturePng(rgba, SIDE, ALL);
    expect(Buffer.compare(await decoded(png), rgba)).toBe(0);
    expect(png.length).toBeLessThan(800);
  });

  it('of imagery are smaller than those that zlib makes of all filters', async () => {
    const rgba = pixels((i) => [shade(i), shade(i + 1), shade(i + SIDE), 255]);
    const raw = { width: SIDE, height: SIDE, channels: 4 as const };
    const zlib = await sharp(rgba, { raw }).removeAlpha().png({ adaptiveFiltering: true }).toBuffer();
    expect((await encodePicturePng(rgba, SIDE, ALL)).length).toBeLessThan(1.05 * zlib.length);
  });

  it('are refused of windows that are not in the image', () => {
    const rgba = pixels(() => [0, 0, 0, 0]);
    for (const wrong of [
      { ...ALL, x: 1 },
      { ...ALL, y: 1 },
      { ...ALL, height: 0 },
    ]) {
      expect(() => encodePicturePng(rgba, SIDE, wrong)).toThrow();
      expect(() => encodeFewColorsPng(rgba, SIDE, wrong)).toThrow();
    }
  });
});
