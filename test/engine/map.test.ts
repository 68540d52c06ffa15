import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { MapLayer, MapTask } from '../../src/core/maps/maps.js';
import { defaultStyle } from '../../src/core/styles/default-style.js';
import type { StyleLayer } from '../../src/core/styles/model.js';
import { suiteEngine, vectorTile } from './support.js';

const suite = suiteEngine();
const { scratch } = suite;

const map = (layers: MapLayer[], more: Partial<MapTask> = {}): MapTask => ({
  width: 256,
  height: 256,
  background: 'transparent',
  layers,
  tileExtent: 4096,
  zoom: 3,
  scale: 1,
  format: 'png',
  bbox: [0, 0, 256, 256],
  crs: 'EPSG:3857',
  ...more,
});

const look = (...layers: Omit<StyleLayer, 'id'>[]): string =>
  JSON.stringify(layers.map((layer, i) => ({ id: `layer-${i}`, ...layer })));
const fill = (color: string, opacity = 1): string =>
  look({ type: 'fill', paint: { 'fill-color': color, 'fill-opacity': opacity } });

const box = (minx: number, miny: number, maxx: number, maxy: number, name = 'boxes'): MapLayer => ({
  kind: 'vector',
  tile: vectorTile(name, [
    {
      type: 'polygon',
      ring: (
        [
          [minx, miny],
          [maxx, miny],
          [maxx, maxy],
          [minx, maxy],
        ] as const
      ).map(([x, y]) => [x * 16, y * 16]),
    },
  ]),
  style: look(
    { type: 'fill', paint: { 'fill-color': '#ff0000' } },
    { type: 'line', paint: { 'line-color': '#0000ff', 'line-width': 2 } },
  ),
});

async function pixels(image: Uint8Array): Promise<(x: number, y: number) => number[]> {
  const { data, info } = await sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return (x, y) => [...data.subarray((y * info.width + x) * 4, (y * info.width + x) * 4 + 4)];
}

describe('map.render', () => {
  it('draws a polygon with its fill and its line in the right place', async () => {
    const result = await suite.pool.run('map.render', map([box(64, 32, 128, 96)]));
    expect(result).toMatchObject({ mediaType: 'image/png', width: 256, height: 256, empty: false });
    const at = await pixels(result.data);
    expect(at(96, 64)).toEqual([255, 0, 0, 255]);
    expect(at(64, 64)).toEqual([0, 0, 255, 255]);
    expect(at(96, 95)).toEqual([0, 0, 255, 255]);
    expect(at(50, 64)).toEqual([0, 0, 0, 0]);
    expect(at(96, 110)).toEqual([0, 0, 0, 0]);
  });

  it('draws maps that are not square', async () => {
    // The grid of 256 x 256 pixels is stretched to the shape of the map.
    const wide = await suite.pool.run(
      'map.render',
      map([box(200, 32, 240, 192)], { width: 256, height: 80 }),
    );
    expect(await sharp(wide.data).metadata()).toMatchObject({ width: 256, height: 80 });
    expect((await pixels(wide.data))(220, 40)).toEqual([255, 0, 0, 255]);
    const high = await suite.pool.run(
      'map.render',
      map([box(10, 200, 192, 240)], { width: 80, height: 256 }),
    );
    expect((await pixels(high.data))(30, 220)).toEqual([255, 0, 0, 255]);
  });

  it('makes symbols larger with the scale', async () => {
    const line: MapLayer = {
      kind: 'vector',
      tile: vectorTile('lines', [
        {
          type: 'line',
          line: [
            [0, 2048],
            [4096, 2048],
          ],
        },
      ]),
      style: look({ type: 'line', paint: { 'line-color': '#00ff00', 'line-width': 4 } }),
    };
    const thickness = async (scale: number) => {
      const at = await pixels((await suite.pool.run('map.render', map([line], { scale }))).data);
      return Array.from({ length: 256 }, (_, y) => at(128, y)[3]!).filter((alpha) => alpha > 128).length;
    };
    expect(await thickness(1)).toBe(4);
    expect(await thickness(2)).toBe(8);
  });

  it('draws points as markers, also those just outside', async () => {
    const points: MapLayer = {
      kind: 'vector',
      tile: vectorTile('points', [
        { type: 'point', point: [1600, 800] },
        { type: 'point', point: [-16, 3200] },
      ]),
      style: look({ type: 'circle', paint: { 'circle-color': 'rgb(10,200,30)', 'circle-radius': 6 } }),
    };
    const at = await pixels((await suite.pool.run('map.render', map([points]))).data);
    expect(at(100, 50)).toEqual([10, 200, 30, 255]);
    expect(at(110, 50)[3]).toBe(0);
    expect(at(2, 200)).toEqual([10, 200, 30, 255]);
  });

  it('draws crowded points in the colour of their style, on both sides of a tile border', async () => {
    const crowd = (left: number): MapLayer => ({
      kind: 'vector',
      tile: vectorTile(
        'points',
        Array.from({ length: 41 * 31 }, (_, i) => ({
          type: 'point' as const,
          point: [4096 * left + 90 * ((i * 37) % 41) - 1800, 2048 + 90 * ((i * 29) % 31) - 1300] as [
            number,
            number,
          ],
        })),
      ),
      style: JSON.stringify(defaultStyle('Point', 'trees').layers),
    });
    const colour = async (left: number) => {
      const { data } = await suite.pool.run('map.render', map([crowd(left)]));
      const at = await pixels(data);
      // The columns next to the border of the tile with the east or the west half of the points.
      const column = left === 1 ? 254 : 1;
      return Array.from({ length: 120 }, (_, y) => at(column, y + 60)[0]! < 128);
    };
    for (const inside of [await colour(1), await colour(0)])
      expect(inside.filter(Boolean).length).toBeGreaterThan(115);
  });

  it('draws every kind of geometry of a mixed layer', async () => {
    const mixed: MapLayer = {
      kind: 'vector',
      tile: vectorTile('mixed', [
        { type: 'point', point: [800, 800] },
        {
          type: 'polygon',
          ring: [
            [1600, 1600],
            [2400, 1600],
            [2400, 2400],
            [1600, 2400],
          ],
        },
      ]),
      style: look(
        {
          type: 'fill',
          filter: ['==', ['geometry-type'], 'Polygon'],
          paint: { 'fill-color': '#445566' },
        } as never,
        {
          type: 'circle',
          filter: ['==', ['geometry-type'], 'Point'],
          paint: { 'circle-color': '#112233' },
        } as never,
      ),
    };
    const at = await pixels((await suite.pool.run('map.render', map([mixed]))).data);
    expect(at(50, 50)).toEqual([0x11, 0x22, 0x33, 255]);
    expect(at(125, 125)).toEqual([0x44, 0x55, 0x66, 255]);
  });

  it('keeps the order of vector and raster layers and blends them', async () => {
    const green = new Uint8Array(256 * 256 * 4);
    for (let at = 0; at < green.length; at += 4) green.set([0, 255, 0, 128], at);
    const red = box(0, 0, 256, 256);
    const above = await pixels(
      (await suite.pool.run('map.render', map([red, { kind: 'raster', rgba: green }]))).data,
    );
    const [r, g, , a] = above(100, 100);
    expect(a).toBe(255);
    expect(Math.abs(r! - 127)).toBeLessThan(3);
    expect(Math.abs(g! - 128)).toBeLessThan(3);
    const below = await pixels(
      (await suite.pool.run('map.render', map([{ kind: 'raster', rgba: green }, red]))).data,
    );
    expect(below(100, 100)).toEqual([255, 0, 0, 255]);
    const alone = await pixels(
      (await suite.pool.run('map.render', map([{ kind: 'raster', rgba: green }]))).data,
    );
    expect(alone(10, 10)).toEqual([0, 255, 0, 128]);
  });

  it('paints translucent backgrounds and translucent fills as asked', async () => {
    const translucent = {
      ...box(0, 0, 128, 256),
      style: fill('#ff0000', 0.5),
    } as MapLayer;
    const at = await pixels(
      (await suite.pool.run('map.render', map([translucent], { background: 'rgba(0,0,255,0.5)' }))).data,
    );
    const [r, g, b, a] = at(200, 100);
    expect([r, g, b]).toEqual([0, 0, 255]);
    expect(Math.abs(a! - 128)).toBeLessThan(2);
    const over = at(60, 100);
    expect(Math.abs(over[3]! - 191)).toBeLessThan(3);
    expect(over[0]!).toBeGreaterThan(160);
  });

  it('draws several style layers over several tiles', async () => {
    const second = { ...box(140, 140, 200, 200, 'others'), style: fill('#00ff00') } as MapLayer;
    const at = await pixels((await suite.pool.run('map.render', map([box(10, 10, 60, 60), second]))).data);
    expect(at(30, 30)).toEqual([255, 0, 0, 255]);
    expect(at(170, 170)).toEqual([0, 255, 0, 255]);
  });

  it('knows an empty map', async () => {
    expect((await suite.pool.run('map.render', map([]))).empty).toBe(true);
    const nothing = { ...box(0, 0, 1, 1), tile: new Uint8Array(0) } as MapLayer;
    expect((await suite.pool.run('map.render', map([nothing]))).empty).toBe(true);
    expect((await suite.pool.run('map.render', map([nothing], { background: '#ffffff' }))).empty).toBe(false);
  });

  it('encodes JPEG on white and WebP with transparency', async () => {
    const jpeg = await pixels(
      (await suite.pool.run('map.render', map([box(64, 64, 128, 128)], { format: 'jpeg' }))).data,
    );
    expect(
      jpeg(10, 10)
        .slice(0, 3)
        .every((value) => value > 250),
    ).toBe(true);
    const webp = await suite.pool.run('map.render', map([box(64, 64, 128, 128)], { format: 'webp' }));
    expect(await sharp(webp.data).metadata()).toMatchObject({ format: 'webp', width: 256, hasAlpha: true });
    expect((await pixels(webp.data))(10, 10)[3]).toBe(0);
  });

  it('writes a georeferenced TIFF', async () => {
    const place = { bbox: [-34.9, -8, -34.8, -7.95] as const, crs: 'EPSG:4326' };
    const result = await suite.pool.run(
      'map.render',
      map([box(64, 64, 128, 192)], { ...place, width: 256, height: 128, format: 'tiff' }),
    );
    const path = join(scratch.path, 'map.tif');
    writeFileSync(path, result.data);
    const info = JSON.parse(execFileSync('gdalinfo', ['-json', path], { encoding: 'utf8' }));
    expect(info.size).toEqual([256, 128]);
    expect(info.stac['proj:epsg']).toBe(4326);
    expect(info.cornerCoordinates.upperLeft).toEqual([-34.9, -7.95]);
    expect(info.bands[3].colorInterpretation).toBe('Alpha');
    expect((await pixels(result.data))(96, 64)).toEqual([255, 0, 0, 255]);
  });

  it.each([
    { background: '"/><Layer name="x"' },
    { width: 0 },
    { tileExtent: 0 },
    { scale: 0 },
    { quality: 1000 },
    { layers: [{ ...box(0, 0, 1, 1), style: look({ type: 'nothing' } as never) } as MapLayer] },
    { layers: [{ kind: 'raster', rgba: new Uint8Array(7) } as MapLayer] },
  ])('refuses %j', async (wrong) => {
    await expect(
      suite.pool.run('map.render', map([box(0, 0, 10, 10)], wrong as Partial<MapTask>)),
    ).rejects.toMatchObject({ code: 'invalid-input' });
  });

  it('draws layers whose names are hostile XML', async () => {
    const name = `"/><Style name='x'>&]]><!--`;
    const layer = {
      ...box(10, 10, 60, 60),
      tile: vectorTile(name, [
        {
          type: 'polygon',
          ring: [
            [160, 160],
            [960, 160],
            [960, 960],
            [160, 960],
          ],
        },
      ]),
    } as MapLayer;
    expect((await pixels((await suite.pool.run('map.render', map([layer]))).data))(30, 30)).toEqual([
      255, 0, 0, 255,
    ]);
  });

  it('survives damaged tiles', async () => {
    const tile = (box(64, 32, 128, 96) as Extract<MapLayer, { kind: 'vector' }>).tile;
    for (let at = 0; at < tile.length; at++) {
      for (const value of [0, 127, 255]) {
        const damaged = tile.slice();
        damaged[at] = value;
        const layer = { ...box(0, 0, 1, 1), tile: damaged } as MapLayer;
        const outcome = await suite.pool.run('map.render', map([layer])).catch((error) => error);
        if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'TaskFailure' });
      }
    }
    expect(suite.engine.process.exitCode).toBeNull();
  });
});
