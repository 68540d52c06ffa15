import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { encodePng } from '../../../src/native/index.js';
import { randomNumbers } from '../../support/random.js';

/** Drawn maps of every kind. */
const GOLDEN = 'test/styles/golden';

const raw = (png: Uint8Array) => sharp(png).raw().toBuffer({ resolveWithObject: true });

/** The same whole numbers below 32768 in each run. */
function numbers(seed: number): () => number {
  const next = randomNumbers(seed);
  return () => Math.floor(next() * 32_768);
}

/** Bytes without a pattern; every fourth pixel is transparent. */
function noise(width: number, height: number): Uint8Array {
  const next = numbers(7);
  return Uint8Array.from({ length: 4 * width * height }, (_, i) => {
    const value = next();
    return i % 16 === 15 ? 0 : value;
  });
}

/** Areas, lines and what is between them: most pixels are as those above or to the left, some as others before. */
function drawn(width: number, height: number, colors: number, sameInHundred: number): Uint8Array {
  const next = numbers(width * height + colors);
  const random = (below: number) => (next() * 32_768 + next()) % below;
  const pixels = new Uint32Array(width * height);
  let color = 0;
  for (let i = 0; i < pixels.length; i++) {
    const chance = random(100);
    if (chance < sameInHundred && i >= width) pixels[i] = pixels[i - width]!;
    else {
      if (chance >= sameInHundred + 10) color = Math.imul(random(colors), 2_654_435_761);
      pixels[i] = color;
    }
  }
  return new Uint8Array(pixels.buffer);
}

describe('PNG images', () => {
  it.each([
    [512, 512, 2, 95],
    [512, 512, 1_000_000, 0],
    [300, 200, 300, 60],
    [255, 63, 40, 85],
    // A row above is farther away than DEFLATE reaches.
    [9000, 7, 3, 80],
    [9000, 7, 5000, 30],
    [1, 3000, 4, 50],
    [2, 2, 1, 0],
  ])(
    'of %i by %i pixels in %i colours, %i of a hundred as those above',
    async (width, height, colors, same) => {
      const pixels = drawn(width, height, colors, same);
      const { data } = await raw(await encodePng(pixels, width, { x: 0, y: 0, width, height }));
      expect(data.equals(pixels)).toBe(true);
    },
  );

  it('of maps are about as small as by zlib', async () => {
    const sizes = { ours: 0, zlib: 0 };
    for (const name of readdirSync(GOLDEN)) {
      const { data, info } = await sharp(join(GOLDEN, name))
        .ensureAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      const { width, height } = info;
      sizes.ours += (await encodePng(data, width, { x: 0, y: 0, width, height })).length;
      const png = sharp(data, { raw: { width, height, channels: 4 } }).png({ adaptiveFiltering: false });
      sizes.zlib += (await png.toBuffer()).length;
    }
    expect(sizes.zlib).toBeGreaterThan(100_000);
    expect(sizes.ours).toBeLessThan(1.25 * sizes.zlib);
  });

  it.each([
    [1, 1],
    [3, 7],
    [256, 256],
    [1000, 2],
  ])('of %i by %i pixels have every pixel as it was, alpha included', async (width, height) => {
    const pixels = noise(width, height);
    const { data, info } = await raw(await encodePng(pixels, width, { x: 0, y: 0, width, height }));
    expect([info.width, info.height, info.channels]).toEqual([width, height, 4]);
    expect(data.equals(pixels)).toBe(true);
  });

  it('of a window have its pixels only', async () => {
    const pixels = noise(40, 30);
    const window = { x: 5, y: 7, width: 35, height: 23 };
    const { data } = await raw(await encodePng(pixels, 40, window));
    for (let row = 0; row < window.height; row++) {
      const from = 4 * ((row + window.y) * 40 + window.x);
      const wanted = pixels.subarray(from, from + 4 * window.width);
      expect(
        Buffer.compare(data.subarray(4 * row * window.width, 4 * (row + 1) * window.width), wanted),
      ).toBe(0);
    }
  });

  it('are made many at a time', async () => {
    const pixels = noise(64, 64);
    const window = { x: 0, y: 0, width: 64, height: 64 };
    const all = await Promise.all(Array.from({ length: 200 }, () => encodePng(pixels, 64, window)));
    expect(new Set(all.map((png) => png.toString('latin1'))).size).toBe(1);
  });

  it('are refused of windows that are not in the image', () => {
    const pixels = noise(8, 8);
    const wrong = [
      { x: 1, y: 0, width: 8, height: 8 },
      { x: 0, y: 1, width: 8, height: 8 },
      { x: -1, y: 0, width: 1, height: 1 },
      { x: 0, y: 0, width: 0, height: 1 },
      { x: 0, y: 0, width: 1.5, height: 1 },
      { x: 0, y: 2 ** 31, width: 1, height: 1 },
    ];
    for (const window of wrong) expect(() => encodePng(pixels, 8, window)).toThrow();
    expect(() => encodePng('pixels' as never, 8, wrong[0]!)).toThrow(TypeError);
  });
});
