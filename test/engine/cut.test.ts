import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { MapLayer, MapTask } from '../../src/core/maps/maps.js';
import { fileRaster, LANDSAT, suiteEngine, type TileGeometry, vectorTile } from './support.js';

/** Images that are cut into tiles hold what each tile alone would hold. */

const suite = suiteEngine();

const SIDE = 4;
const PIXELS = 64;

async function rgba(image: Uint8Array): Promise<Buffer> {
  return sharp(image).ensureAlpha().raw().toBuffer();
}

/** Colours as they are seen over black: what is transparent has none. */
async function seen(image: Uint8Array): Promise<number[]> {
  const pixels = await rgba(image);
  return [...pixels].map((value, i) => (i % 4 === 3 ? value : (value * pixels[i | 3]!) / 255));
}

/** Largest difference of a channel between two images. */
async function difference(a: Uint8Array, b: Uint8Array): Promise<number> {
  const [left, right] = await Promise.all([seen(a), seen(b)]);
  return left.reduce((most, value, i) => Math.max(most, Math.abs(value - right[i]!)), 0);
}

/** Points, lines and polygons all over a square of `SIDE` tiles, moved by whole tiles. */
function layers(column: number, row: number, pixels: number): MapLayer[] {
  const at = (x: number, y: number): [number, number] => [
    (x - column * PIXELS) * 16,
    (y - row * PIXELS) * 16,
  ];
  const places = Array.from({ length: 40 }, (_, i) => at((i * 53) % 256, (i * 97) % 256));
  const geometries: TileGeometry[] = [
    { type: 'polygon', ring: [at(10, 20), at(200, 30), at(150, 240)] },
    { type: 'line', line: [at(0, 64), at(128, 70), at(255, 63)] },
    ...places.map((point) => ({ type: 'point' as const, point })),
    // On the corner of four tiles.
    { type: 'point', point: at(128, 128) },
  ];
  const tile = vectorTile('all', geometries, pixels * 16);
  const style = JSON.stringify([
    {
      id: 'fill',
      type: 'fill',
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'fill-color': '#ff8800' },
    },
    { id: 'line', type: 'line', paint: { 'line-color': '#003366', 'line-width': 3 } },
    {
      id: 'point',
      type: 'circle',
      filter: ['==', ['geometry-type'], 'Point'],
      paint: { 'circle-radius': 7, 'circle-color': '#c8431a' },
    },
  ]);
  return [{ kind: 'vector', tile, style }];
}

const map = (pixels: number, more: Partial<MapTask>): MapTask => ({
  width: pixels,
  height: pixels,
  background: 'transparent',
  layers: [],
  tileExtent: pixels * 16,
  zoom: 3,
  scale: 1,
  format: 'png',
  bbox: [0, 0, 1, 1],
  crs: 'EPSG:3857',
  ...more,
});
const cut = { width: PIXELS, height: PIXELS };

describe('a map that is cut into tiles', () => {
  it('has in each tile what the tile alone has, symbols over its edges too', async () => {
    const { tiles, empty } = await suite.pool.run(
      'map.render',
      map(SIDE * PIXELS, { layers: layers(0, 0, SIDE * PIXELS), cut }),
    );
    expect([tiles!.length, empty]).toEqual([SIDE * SIDE, false]);
    for (const [i, tile] of tiles!.entries()) {
      const alone = map(PIXELS, { layers: layers(i % SIDE, Math.floor(i / SIDE), PIXELS) });
      const single = await suite.pool.run('map.render', alone);
      expect(tile.empty).toBe(single.empty);
      if (!tile.empty) expect(await difference(tile.data, single.data)).toBeLessThanOrEqual(2);
    }
  });

  it('leaves out what is empty, and draws what is of one colour', async () => {
    const square: MapLayer = {
      kind: 'vector',
      tile: vectorTile('square', [
        {
          type: 'polygon',
          ring: [
            [-500, -500],
            [1536, -500],
            [1536, 1536],
            [-500, 1536],
          ],
        },
      ]),
      style: JSON.stringify([{ id: 'fill', type: 'fill', paint: { 'fill-color': '#ff0000' } }]),
    };
    for (const format of ['png', 'webp'] as const) {
      const { tiles } = await suite.pool.run('map.render', map(256, { layers: [square], cut, format }));
      expect(tiles!.filter((tile) => tile.empty)).toHaveLength(12);
      expect(tiles![15]).toEqual({ data: new Uint8Array(), empty: true });
      const pixels = await rgba(tiles![0]!.data);
      expect([...pixels.subarray(0, 4)].map((v, i) => Math.abs(v - [255, 0, 0, 255][i]!) < 4)).toEqual([
        true,
        true,
        true,
        true,
      ]);
      expect(await sharp(tiles![0]!.data).metadata()).toMatchObject({ format, width: 64, height: 64 });
    }
  });

  it('fails for tiles that do not fit', async () => {
    for (const wrong of [
      { width: 100, height: 64 },
      { width: 0, height: 0 },
      { width: 1, height: 1 },
    ]) {
      const outcome = suite.pool.run('map.render', map(256, { cut: wrong }));
      await expect(outcome).rejects.toMatchObject({ code: 'invalid-input' });
    }
    const jpeg = suite.pool.run('map.render', map(256, { cut, format: 'jpeg' }));
    await expect(jpeg).rejects.toMatchObject({ code: 'invalid-input' });
  });
});

describe('a raster that is cut into tiles', () => {
  it.each(['png', 'webp'] as const)(
    'has in each tile what the whole image has there (%s)',
    async (format) => {
      const window = {
        source: fileRaster(LANDSAT),
        bbox: [288_776, 9_110_728, 298_722, 9_120_760] as const,
        crs: 'EPSG:31985',
      };
      const size = { width: 256, height: 256 };
      const { tiles } = await suite.pool.run('raster.image', {
        ...window,
        ...size,
        format,
        quality: 100,
        cut,
      });
      const whole = await suite.pool.run('raster.image', { ...window, ...size, format: 'raw' });
      for (const [i, tile] of tiles!.entries()) {
        const part = { left: (i % 4) * 64, top: Math.floor(i / 4) * 64, width: 64, height: 64 };
        const raw = { raw: { width: 256, height: 256, channels: 4 as const } };
        const expected = await sharp(whole.data, raw).extract(part).png().toBuffer();
        if (!tile.empty && format === 'png') expect(await difference(tile.data, expected)).toBe(0);
        if (!tile.empty) expect(await sharp(tile.data).metadata()).toMatchObject({ format, width: 64 });
      }
      expect(tiles!.some((tile) => !tile.empty)).toBe(true);
    },
  );
});
