import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { encodePng } from '../../src/native/index.js';

const raw = (png: Uint8Array) => sharp(png).raw().toBuffer({ resolveWithObject: true });

/** Bytes without a pattern; every fourth pixel is transparent. */
function noise(width: number, height: number): Uint8Array {
  let seed = 7;
  return Uint8Array.from({ length: 4 * width * height }, (_, i) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return i % 16 === 15 ? 0 : seed >> 16;
  });
}

describe('PNG images', () => {
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
