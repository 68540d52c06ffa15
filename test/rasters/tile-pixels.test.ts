import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseBandMath } from '../../src/core/rasters/band-math/index.js';
import type { RasterLook } from '../../src/core/rasters/raster-look.js';
import { fileRaster, LANDSAT, suiteEngine } from '../engine/support.js';
import { gdalTool, warpedPixels } from '../support/gdal-tools.js';

/** Pictures of windows have the pixels that gdalwarp makes of them, however they are read. */

const suite = suiteEngine();
const inScratch = (name: string) => join(suite.scratch.path, name);
type Box = readonly [number, number, number, number];
interface Window {
  bbox: Box;
  crs: string;
  width: number;
  height: number;
}

const HALF_WORLD = 20037508.342789244;
/** A window of some tiles of 256 pixels. */
function tiles(zoom: number, column: number, row: number, across = 1): Window {
  const span = (2 * HALF_WORLD) / 2 ** zoom;
  const [minx, maxy] = [column * span - HALF_WORLD, HALF_WORLD - row * span];
  const bbox = [minx, maxy - across * span, minx + across * span, maxy] as const;
  return { bbox, crs: 'EPSG:3857', width: 256 * across, height: 256 * across };
}

/** Red, green, blue and alpha of the window, by gdalwarp. */
function warped(path: string, { bbox, crs, width, height }: Window, ...options: string[]): Uint8Array {
  const grid = ['-t_srs', crs, '-te', ...bbox, '-ts', width, height];
  return Uint8Array.from(warpedPixels(path, '-dstalpha', '-et', 0.125, ...grid, ...options));
}

async function picture(path: string, window: Window, look?: RasterLook): Promise<Uint8Array> {
  const steps = look ? { steps: [{ look }] } : {};
  const task = { source: fileRaster(path), ...window, format: 'raw' as const, ...steps };
  return (await suite.pool.run('raster.image', task)).data;
}

/** Largest difference of a channel; what is transparent has no colour. */
function difference(a: Uint8Array, b: Uint8Array): number {
  expect(a.length).toBe(b.length);
  let most = 0;
  for (let at = 0; at < a.length; at += 4) {
    most = Math.max(most, Math.abs(a[at + 3]! - b[at + 3]!));
    if (a[at + 3] === 0 && b[at + 3] === 0) continue;
    for (let channel = 0; channel < 3; channel++)
      most = Math.max(most, Math.abs(a[at + channel]! - b[at + channel]!));
  }
  return most;
}

const PLAIN = ['-r', 'bilinear', '-wo', 'XSCALE=1', '-wo', 'YSCALE=1'];
const cog = (...options: string[]) => ['-of', 'COG', ...options.flatMap((option) => ['-co', option])];
/** Of the tiles: zoom 13 is about as fine as the scene is. */
const GRID = cog('TILING_SCHEME=GoogleMapsCompatible', 'BLOCKSIZE=128', 'COMPRESS=DEFLATE');
/** Eight thousand kilometres around a pole. */
const POLAR: Box = [-4_000_000, -4_000_000, 4_000_000, 4_000_000];
const RGB = ['-b', '3', '-b', '2', '-b', '1'];

/** Gives a file of bytes a nodata value between two of them. */
const HALF = `
import sys
from osgeo import gdal
d = gdal.Open(sys.argv[1], gdal.GA_Update)
d.GetRasterBand(1).SetNoDataValue(60.5)`;

/** Gives a file a mask of 0, 1, 100 and 255 by turns of columns, beside it. */
const MASK = `
import sys
import numpy as np
from osgeo import gdal
d = gdal.Open(sys.argv[1])
d.CreateMaskBand(gdal.GMF_PER_DATASET)
values = np.array([0, 1, 100, 255], np.uint8)
row = values[np.arange(d.RasterXSize) // 5 % 4]
d.GetRasterBand(1).GetMaskBand().WriteArray(np.tile(row, (d.RasterYSize, 1)))`;

const infoOf = (path: string) => JSON.parse(String(gdalTool('gdalinfo', '-json', path)));
/** The zoom of the tiles that a raster has the pixels of. */
const zoomOf = (path: string) => Math.round(Math.log2((2 * HALF_WORLD) / 256 / infoOf(path).geoTransform[1]));

/** Tiles in the middle of the scene, at this zoom. */
function middle(zoom: number, across = 1): Window {
  const [x, y] = infoOf(inScratch('opaque.tif')).cornerCoordinates.center;
  const span = (2 * HALF_WORLD) / 2 ** zoom;
  return tiles(zoom, Math.floor((x + HALF_WORLD) / span), Math.floor((HALF_WORLD - y) / span), across);
}

/** The scene laid over the whole world. */
function world(): string {
  const path = inScratch('world.tif');
  const place = ['-a_srs', 'EPSG:4326', '-a_ullr', '-180', '90', '180', '-90'];
  if (!existsSync(path))
    gdalTool('gdal_translate', '-q', ...place, ...cog('BLOCKSIZE=128'), inScratch('large.tif'), path);
  return path;
}

const isSeen = (rgba: Uint8Array) => rgba.some((value, i) => i % 4 === 3 && value === 255);

beforeAll(() => {
  const large = inScratch('large.tif');
  gdalTool('gdal_translate', '-q', '-outsize', '400%', '400%', '-r', 'cubic', ...RGB, LANDSAT, large);
  gdalTool('gdal_translate', '-q', ...cog('BLOCKSIZE=128', 'COMPRESS=DEFLATE'), large, inScratch('utm.tif'));
  gdalTool('gdal_translate', '-q', ...GRID, '-co', 'ADD_ALPHA=YES', large, inScratch('alpha.tif'));
  const jpeg = cog('TILING_SCHEME=GoogleMapsCompatible', 'BLOCKSIZE=128', 'COMPRESS=JPEG', 'ADD_ALPHA=YES');
  gdalTool('gdal_translate', '-q', ...jpeg, large, inScratch('mask.tif'));
  gdalTool('gdal_translate', '-q', ...GRID, '-co', 'ADD_ALPHA=NO', large, inScratch('opaque.tif'));
  gdalTool(
    'gdal_translate',
    '-q',
    ...GRID,
    '-a_nodata',
    60,
    '-co',
    'ADD_ALPHA=NO',
    large,
    inScratch('nodata.tif'),
  );
  const one = ['-b', '1', '-a_nodata', '60', '-co', 'ADD_ALPHA=NO'];
  gdalTool('gdal_translate', '-q', ...GRID, ...one, large, inScratch('grey.tif'));
  const tiled = ['-co', 'TILED=YES', '-co', 'COMPRESS=DEFLATE'];
  gdalTool('gdal_translate', '-q', ...tiled, inScratch('opaque.tif'), inScratch('masked.tif'));
  gdalTool('gdal_translate', '-q', ...tiled, '-b', 1, inScratch('opaque.tif'), inScratch('half.tif'));
  gdalTool('/usr/bin/python3', '-c', MASK, inScratch('masked.tif'));
  gdalTool('/usr/bin/python3', '-c', HALF, inScratch('half.tif'));
});

describe('a window in the CRS and on the pixels of a raster', () => {
  // The finest zoom of the files, and one of their overviews.
  it.each([
    ['alpha.tif', []],
    ['mask.tif', []],
    ['opaque.tif', []],
    ['nodata.tif', []],
    ['grey.tif', ['-b', '1', '-b', '1', '-b', '1']],
  ] as const)('is read as it is (%s)', async (name, bands) => {
    const file = inScratch(name);
    let path = file;
    if (bands.length > 0) {
      path = inScratch('rgb.vrt');
      gdalTool('gdal_translate', '-q', '-of', 'VRT', ...bands, file, path);
    }
    const zoom = zoomOf(file);
    for (const [level, window] of [
      ['NONE', middle(zoom)],
      ['0', middle(zoom - 1)],
      ['1', middle(zoom - 2)],
    ] as const) {
      const theirs = warped(path, window, ...PLAIN, '-ovr', level);
      const ours = await picture(file, window);
      expect(isSeen(theirs)).toBe(true);
      expect(difference(ours, theirs), `${name} ${level}`).toBeLessThanOrEqual(1);
      // Every way of resampling, so also the nearest pixel: bit by bit where nothing is half there.
      const nearest = warped(path, window, '-r', 'near', '-ovr', level);
      if (name !== 'nodata.tif') expect(difference(ours, nearest), `${name} ${level} near`).toBe(0);
    }
  });

  it.each([
    ['a mask of other values than 255', 'masked.tif', 'masked.tif', ['-b', '1', '-b', '2', '-b', '3']],
    ['a nodata value that bytes do not have', 'half.tif', 'opaque.tif', ['-b', '1', '-b', '1', '-b', '1']],
  ])('is as gdalwarp says with %s', async (_, name, same, bands) => {
    const [path, view] = [inScratch(name), inScratch('view.vrt')];
    gdalTool('gdal_translate', '-q', '-of', 'VRT', ...bands, inScratch(same), view);
    const window = middle(zoomOf(path));
    const theirs = warped(view, window, '-r', 'near', '-ovr', 'NONE');
    expect(isSeen(theirs)).toBe(true);
    expect(difference(await picture(path, window), theirs)).toBe(0);
  });

  it('is warped where part of it is beside the raster, or half a pixel off', async () => {
    const path = inScratch('opaque.tif');
    const info = infoOf(path);
    const [west, pixel, , north] = info.geoTransform;
    const box = (left: number, top: number): Window => ({
      bbox: [
        west + left * pixel,
        north - (top + 64) * pixel,
        west + (left + 64) * pixel,
        north - top * pixel,
      ],
      crs: 'EPSG:3857',
      width: 64,
      height: 64,
    });
    for (const [left, top] of [
      [-20, 300],
      [300, -33],
      [200.5, 200.25],
      [info.size[0] - 40, 200],
    ] as const) {
      const window = box(left, top);
      const theirs = warped(path, window, ...PLAIN, '-ovr', 'NONE');
      expect(difference(await picture(path, window), theirs), `${left} ${top}`).toBeLessThanOrEqual(1);
    }
  });
});

describe('a window in another CRS', () => {
  it.each<[string, number, number, string]>([
    ['finer than the raster', 16, 1, 'NONE'],
    ['as fine', 14, 1, 'NONE'],
    ['of an overview', 12, 1, '1'],
    ['across the edge', 11, 1, '2'],
    ['of several tiles', 14, 3, 'NONE'],
  ])('%s is within a level of gdalwarp', async (_, zoom, across, level) => {
    const path = inScratch('utm.tif');
    const window = middle(zoom, across);
    const theirs = warped(path, window, ...PLAIN, '-ovr', level);
    expect(isSeen(theirs)).toBe(true);
    expect(difference(await picture(path, window), theirs)).toBeLessThanOrEqual(1);
  });

  it('has classes bit by bit', async () => {
    const [path, table] = [inScratch('classes.tif'), inScratch('classes.vrt')];
    gdalTool('gdal_translate', '-q', '-b', 1, '-of', 'VRT', inScratch('utm.tif'), table);
    const colors = Array.from(
      { length: 256 },
      (_, i) => `<Entry c1="${i}" c2="${255 - i}" c3="7" c4="255"/>`,
    );
    const text = readFileSync(table, 'utf8')
      .replace(/<ColorInterp>.*?<\/ColorInterp>/, '')
      .replace(
        /<VRTRasterBand[^>]*>/,
        `$&<ColorInterp>Palette</ColorInterp><ColorTable>${colors.join('')}</ColorTable>`,
      );
    writeFileSync(table, text);
    const palette = cog('BLOCKSIZE=128', 'COMPRESS=DEFLATE', 'RESAMPLING=NEAREST');
    gdalTool('gdal_translate', '-q', ...palette, table, path);
    for (const [window, level] of [
      [middle(14), 'NONE'],
      [middle(12), '1'],
      [middle(11), '2'],
    ] as const) {
      const grid = ['-t_srs', window.crs, '-te', ...window.bbox, '-ts', window.width, window.height];
      const theirs = [...warpedPixels(path, '-r', 'near', '-dstalpha', '-ovr', level, ...grid)];
      const ours = await picture(path, window);
      const reds = Array.from({ length: ours.length / 4 }, (_, i) => [ours[4 * i], ours[4 * i + 3]]).flat();
      const visible = theirs.map((value, i) => (i % 2 === 0 && theirs[i + 1] === 0 ? 0 : value));
      expect(Buffer.compare(Buffer.from(reds as number[]), Buffer.from(visible))).toBe(0);
    }
  });

  it.each<[string, Box, string, string, string[]]>([
    ['at the antimeridian', [19_900_000, -2_300_000, 20_037_508, -2_162_492], 'EPSG:3857', 'NONE', PLAIN],
    // Around a pole pixels shrink by more than a kernel of two pixels sees.
    ['around the north pole', POLAR, 'EPSG:3413', '0', ['-r', 'bilinear']],
    ['around the south pole', POLAR, 'EPSG:3031', '0', ['-r', 'bilinear']],
  ])('%s is within a level of gdalwarp', async (_, bbox, crs, level, way) => {
    const path = world();
    const window = { bbox, crs, width: 200, height: 200 };
    const theirs = warped(path, window, ...way, '-ovr', level);
    expect(isSeen(theirs)).toBe(true);
    expect(difference(await picture(path, window), theirs)).toBeLessThanOrEqual(1);
  });
});

/** Where gdalwarp makes no number. */
function numberless(path: string, { bbox, crs, width, height }: Window, ...options: string[]): boolean[] {
  const grid = ['-t_srs', crs, '-te', ...bbox, '-ts', width, height, '-dstnodata', 'nan'];
  const values = warpedPixels(path, '-et', 0.125, ...grid, ...options);
  const bandCount = values.length / (width * height);
  return Array.from({ length: width * height }, (_, i) => Number.isNaN(values[i * bandCount]));
}

const transparent = (rgba: Uint8Array): boolean[] =>
  Array.from({ length: rgba.length / 4 }, (_, i) => rgba[4 * i + 3] === 0);

/** Red, green, blue, and alpha that is 0 where red is dark. */
function hiddenParts(): string {
  const path = inScratch('hidden.vrt');
  const bands = ['-b', '1', '-b', '2', '-b', '3', '-b', '1', '-colorinterp_4', 'alpha'];
  gdalTool('gdal_translate', '-q', '-of', 'VRT', ...bands, inScratch('utm.tif'), path);
  const [before, alpha] = readFileSync(path, 'utf8').split('<VRTRasterBand dataType="Byte" band="4"');
  const table = '<LUT>0:0,59:0,60:255,255:255</LUT></ComplexSource>';
  const hidden = alpha!.replaceAll('SimpleSource', 'ComplexSource').replace('</ComplexSource>', table);
  writeFileSync(path, `${before}<VRTRasterBand dataType="Byte" band="4"${hidden}`);
  return path;
}

describe('a window whose sides shrink unlike', () => {
  it('has no aliasing along the side that shrinks more', async () => {
    const path = inScratch('north.tif');
    const place = ['-a_srs', 'EPSG:4326', '-a_ullr', '0', '86', '45', '66'];
    gdalTool('gdal_translate', '-q', ...place, ...cog('BLOCKSIZE=128'), inScratch('large.tif'), path);
    const window = tiles(3, 4, 0);
    const theirs = warped(path, window, '-r', 'bilinear', '-wo', 'YSCALE=1', '-ovr', '0');
    expect(isSeen(theirs)).toBe(true);
    expect(difference(warped(path, window, ...PLAIN, '-ovr', '0'), theirs)).toBeGreaterThan(8);
    expect(difference(await picture(path, window), theirs)).toBeLessThanOrEqual(1);
  });

  it('is read from the same overview where it lies across the antimeridian', async () => {
    const path = world();
    // 180 degrees are 30 east of the central meridian.
    const bbox = [1_170_000, -2_170_000, 5_510_000, 2_170_000] as const;
    const window = { bbox, crs: 'EPSG:3832', width: 100, height: 100 };
    const theirs = warped(path, window, ...PLAIN, '-ovr', '0');
    expect(isSeen(theirs)).toBe(true);
    expect(difference(await picture(path, window), theirs)).toBeLessThanOrEqual(1);
  });
});

describe('values of one band', () => {
  it('are missing where they are not numbers, whatever the file says of it', async () => {
    const [text, path] = [inScratch('numbers.vrt'), inScratch('numbers.tif')];
    const grid = ['-of', 'VRT', '-ot', 'Float32', '-b', '1', '-a_nodata', 'none'];
    gdalTool('gdal_translate', '-q', ...grid, inScratch('utm.tif'), text);
    // Values of one number are none.
    const source = readFileSync(text, 'utf8')
      .replaceAll('SimpleSource', 'ComplexSource')
      .replace('</ComplexSource>', '<LUT>0:0,59:59,60:nan,61:61,255:255</LUT></ComplexSource>');
    writeFileSync(text, source);
    gdalTool('gdal_translate', '-q', ...cog('BLOCKSIZE=128', 'OVERVIEWS=NONE'), text, path);
    const window = middle(14);
    const theirs = numberless(path, window, ...PLAIN);
    expect(theirs).toContain(true);
    expect(theirs).toContain(false);
    expect(transparent(await picture(path, window))).toEqual(theirs);
  });

  it.each<[string, string[], number[], RasterLook | undefined]>([
    ['expressions of two of four bands of bytes', [], [1, 2, 4], { expressions: parseBandMath('b1+b2') }],
    [
      'an expression of all four bands of bytes',
      [],
      [1, 2, 3, 4],
      { expressions: parseBandMath('b1+b2+b3') },
    ],
    ['red, green and blue of floats', ['-ot', 'Float32'], [1, 2, 3, 4], undefined],
    ['grey of floats', ['-ot', 'Float32', '-b', '1', '-b', '4'], [1, 2], undefined],
    [
      'grey of integers',
      ['-ot', 'Int16', '-b', '1', '-b', '4', '-scale_2', '0', '255', '0', '32767'],
      [1, 2],
      undefined,
    ],
    [
      'four bands and alpha',
      ['-b', '1', '-b', '2', '-b', '3', '-b', '1', '-b', '4'],
      [1, 5],
      { bands: [1], rescale: [[0, 300]] },
    ],
  ])('are missing where the alpha band says so: %s', async (_, options, bands, look) => {
    const [path, selection] = [inScratch('hidden.tif'), inScratch('hidden-bands.vrt')];
    gdalTool(
      'gdal_translate',
      '-q',
      ...cog('BLOCKSIZE=128', 'OVERVIEWS=NONE'),
      ...options,
      hiddenParts(),
      path,
    );
    const chosen = bands.flatMap((band) => ['-b', band]);
    gdalTool('gdal_translate', '-q', '-of', 'VRT', ...chosen, path, selection);
    const window = middle(14);
    const theirs = numberless(selection, window, ...PLAIN, '-ot', 'Float32');
    expect(theirs).toContain(true);
    expect(theirs).toContain(false);
    expect(transparent(await picture(path, window, look))).toEqual(theirs);
  });

  it('are missing where the alpha band says so of bands in another order', async () => {
    const [path, selection] = [inScratch('turned.tif'), inScratch('turned.vrt')];
    gdalTool('gdal_translate', '-q', ...cog('BLOCKSIZE=128', 'OVERVIEWS=NONE'), hiddenParts(), path);
    const chosen = ['-b', 3, '-b', 2, '-b', 1, '-b', 4];
    gdalTool('gdal_translate', '-q', '-of', 'VRT', ...chosen, path, selection);
    const theirs = warped(selection, middle(14), ...PLAIN, '-ovr', 'NONE');
    expect(transparent(theirs)).toContain(true);
    expect(difference(await picture(path, middle(14), { bands: [3, 2, 1] }), theirs)).toBeLessThanOrEqual(1);
  });

  it('cast no shadows where the alpha band says that there are none', async () => {
    const path = inScratch('relief.tif');
    const relief = ['-ot', 'Float32', '-b', '1', '-b', '4'];
    gdalTool(
      'gdal_translate',
      '-q',
      ...cog('BLOCKSIZE=128', 'OVERVIEWS=NONE'),
      ...relief,
      hiddenParts(),
      path,
    );
    const window = middle(14);
    const gaps = numberless(path, window, ...PLAIN, '-ot', 'Float32');
    const black = [0, 0, 0, 255] as const;
    const light = { azimuth: 315, exaggeration: 0.5, steepness: 1 };
    const hillshade = { ...light, shadow: black, highlight: black, accent: black };
    const task = { source: fileRaster(path), ...window, format: 'raw' as const, steps: [{ hillshade }] };
    const shades = transparent((await suite.pool.run('raster.image', task)).data);
    expect(gaps).toContain(true);
    expect(shades.filter((_, i) => gaps[i])).not.toContain(false);
    // Level ground has no shade.
    const shadeCount = shades.filter((isTransparent, i) => !gaps[i] && !isTransparent).length;
    expect(shadeCount).toBeGreaterThan(gaps.filter((isGap) => !isGap).length / 2);
  });

  it('have holes where a copy of them has the nodata value', async () => {
    const [raw, path] = [inScratch('heights.tif'), inScratch('heights-grid.tif')];
    gdalTool(
      'gdal_translate',
      '-q',
      '-ot',
      'Float32',
      '-outsize',
      '400%',
      '400%',
      '-a_nodata',
      60,
      '-b',
      1,
      LANDSAT,
      raw,
    );
    gdalTool('gdal_translate', '-q', ...GRID, '-co', 'RESAMPLING=NEAREST', '-co', 'ADD_ALPHA=NO', raw, path);
    const window = middle(zoomOf(path));
    const ours = await picture(path, window);
    const theirs = warped(path, window, '-r', 'near', '-ovr', 'NONE', '-ot', 'Byte');
    // Grey and alpha.
    const holes = (alpha: (i: number) => number | undefined) =>
      Array.from({ length: 256 * 256 }, (_, i) => alpha(i) === 0);
    const missing = holes((i) => theirs[2 * i + 1]);
    expect(missing).toContain(true);
    expect(missing).toContain(false);
    expect(holes((i) => ours[4 * i + 3])).toEqual(missing);
  });
});
