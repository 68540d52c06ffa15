import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { gdalTool } from '../support/gdal-tools.js';
import { DEM, fileRaster, LANDSAT, scratchDirectory, suiteEngine } from './support.js';

const suite = suiteEngine();
const { scratch } = suite;

interface GdalInfo {
  size: [number, number];
  driverShortName: string;
  stac: { 'proj:epsg': number };
  cornerCoordinates: { upperLeft: [number, number]; lowerRight: [number, number] };
  metadata: { IMAGE_STRUCTURE: Record<string, string> };
  bands: { type: string; noDataValue?: number; mean?: number; colorTable?: unknown; description?: string }[];
}

function gdalinfo(bytes: Uint8Array, ...options: string[]): GdalInfo {
  const path = join(scratch.path, 'answer.tif');
  writeFileSync(path, bytes);
  return JSON.parse(gdalTool('gdalinfo', '-json', ...options, path));
}

/** Derives a test file with the gdal command line tools. */
function derived(name: string, ...args: string[]): string {
  const path = join(scratch.path, name);
  gdalTool('gdal_translate', ...args, path);
  return path;
}

async function rgbaOf(image: Uint8Array): Promise<{ data: Buffer; width: number; height: number }> {
  const { data, info } = await sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

describe('raster.inspect', () => {
  it('describes a six-band scene', async () => {
    const info = await suite.pool.run('raster.inspect', { source: fileRaster(LANDSAT) });
    expect(info).toMatchObject({ driver: 'GTiff', width: 349, height: 352, crs: 'EPSG:31985', epsg: 31985 });
    expect(info.bands).toHaveLength(6);
    expect(info.bands[0]).toMatchObject({ band: 1, type: 'Byte', noData: null });
    expect(info.extent84[0]).toBeCloseTo(-34.9166, 3);
    expect(info.extent84[3]).toBeCloseTo(-7.9498, 3);
  });

  it('samples statistics close to the exact ones', async () => {
    const { bands } = await suite.pool.run('raster.inspect', { source: fileRaster(DEM) });
    const exact = JSON.parse(gdalTool('gdalinfo', '-json', '-stats', DEM));
    expect(bands[0]!.statistics!.mean).toBeCloseTo(exact.bands[0].mean, 3);
    expect(bands[0]!.statistics!.max).toBeCloseTo(exact.bands[0].maximum, 3);
  });

  it('writes nothing beside the file', async () => {
    const directory = scratchDirectory();
    const path = join(directory.path, 'dem.tif');
    copyFileSync(DEM, path);
    await suite.pool.run('raster.inspect', { source: fileRaster(path) });
    await suite.pool.run('raster.image', {
      source: fileRaster(path),
      bbox: [-3890000, -900000, -3870000, -880000],
      crs: 'EPSG:3857',
      width: 64,
      height: 64,
      format: 'png',
    });
    expect(readdirSync(directory.path)).toEqual(['dem.tif']);
    directory.remove();
  });

  it('tells a truncated file from a whole one', async () => {
    const whole = readFileSync(LANDSAT);
    for (const part of [0.05, 0.5, 0.9]) {
      const path = join(scratch.path, `truncated-${part}.tif`);
      writeFileSync(path, whole.subarray(0, Math.floor(whole.length * part)));
      await expect(suite.pool.run('raster.inspect', { source: fileRaster(path) })).rejects.toMatchObject({
        code: 'source-unreadable',
      });
    }
  });

  it('refuses formats that name other files', async () => {
    const vrt = derived('other.vrt', '-of', 'VRT', LANDSAT);
    await expect(suite.pool.run('raster.inspect', { source: fileRaster(vrt) })).rejects.toMatchObject({
      code: 'source-unreadable',
    });
    const disguised = join(scratch.path, 'disguised.tif');
    copyFileSync(vrt, disguised);
    await expect(suite.pool.run('raster.inspect', { source: fileRaster(disguised) })).rejects.toMatchObject({
      code: 'source-unreadable',
    });
    const wms = join(scratch.path, 'remote.xml');
    writeFileSync(
      wms,
      '<GDAL_WMS><Service name="TMS"><ServerUrl>http://127.0.0.1:9/</ServerUrl></Service></GDAL_WMS>',
    );
    await expect(suite.pool.run('raster.inspect', { source: fileRaster(wms) })).rejects.toMatchObject({
      code: 'source-unreadable',
    });
  });

  it.each([
    '/vsicurl/http://127.0.0.1:9/a.tif',
    '//vsicurl/http://127.0.0.1:9/a.tif',
    '/vsizip//etc/passwd',
    `GTIFF_DIR:1:${LANDSAT}`,
    'demo/data/L7_ETMs.tif',
    `${LANDSAT}\0.png`,
    '/etc',
    '<VRTDataset/>',
  ])('refuses the path %j', async (path) => {
    await expect(suite.pool.run('raster.inspect', { source: fileRaster(path) })).rejects.toMatchObject({
      code: 'invalid-input',
    });
  });

  it('refuses an image that does not say where it lies', async () => {
    const path = join(scratch.path, 'icon.png');
    await sharp({ create: { width: 60, height: 40, channels: 3, background: '#ff0000' } })
      .png()
      .toFile(path);
    await expect(suite.pool.run('raster.inspect', { source: fileRaster(path) })).rejects.toMatchObject({
      code: 'source-unreadable',
    });
    writeFileSync(join(scratch.path, 'icon.pgw'), '0.1\n0\n0\n-0.1\n10\n50\n');
    expect(await suite.pool.run('raster.inspect', { source: fileRaster(path) })).toMatchObject({
      driver: 'PNG',
      width: 60,
      extent: [9.95, 46.05, 15.95, 50.05],
    });
  });

  it('says when there is no such file', async () => {
    await expect(
      suite.pool.run('raster.inspect', { source: fileRaster('/nonexistent/a.tif') }),
    ).rejects.toMatchObject({
      code: 'source-missing',
    });
  });

  it('sees that a file was replaced', async () => {
    const path = join(scratch.path, 'replaced.tif');
    copyFileSync(LANDSAT, path);
    expect((await suite.pool.run('raster.inspect', { source: fileRaster(path) })).width).toBe(349);
    copyFileSync(DEM, path);
    expect((await suite.pool.run('raster.inspect', { source: fileRaster(path) })).width).toBe(111);
  });
});

describe('raster.coverage', () => {
  it('writes the whole grid as a cloud optimized GeoTIFF with the bands in the order asked', async () => {
    const result = await suite.pool.run('raster.coverage', {
      source: fileRaster(LANDSAT),
      crs: 'EPSG:31985',
      bands: [5, 1],
      maxSize: 4096,
      maxBytes: 512 << 20,
      format: 'geotiff',
    });
    const info = gdalinfo(result.data, '-stats');
    expect(info.size).toEqual([349, 352]);
    expect(info.stac['proj:epsg']).toBe(31985);
    expect(info.metadata.IMAGE_STRUCTURE).toMatchObject({ LAYOUT: 'COG', COMPRESSION: 'DEFLATE' });
    const source = JSON.parse(gdalTool('gdalinfo', '-json', '-stats', LANDSAT));
    expect(info.bands.map(({ mean }) => mean)).toEqual([source.bands[4].mean, source.bands[0].mean]);
  });

  it('cuts a window on the grid of the raster', async () => {
    const result = await suite.pool.run('raster.coverage', {
      source: fileRaster(LANDSAT),
      bbox: [290000, 9112000, 292000, 9113000],
      bboxCrs: 'EPSG:31985',
      crs: 'EPSG:31985',
      maxSize: 4096,
      maxBytes: 512 << 20,
      format: 'geotiff',
    });
    const info = gdalinfo(result.data);
    expect(info.size).toEqual([result.width, result.height]);
    const [x, y] = info.cornerCoordinates.upperLeft;
    expect(x).toBeLessThanOrEqual(290000);
    expect(x).toBeGreaterThan(290000 - 28.5);
    const column = (x - 288776.25000080315) / 28.49999999927454;
    expect(Math.abs(column - Math.round(column))).toBeLessThan(1e-6);
    expect(y).toBeGreaterThanOrEqual(9113000);
    expect(info.bands).toHaveLength(6);
  });

  it('reprojects a window', async () => {
    const result = await suite.pool.run('raster.coverage', {
      source: fileRaster(LANDSAT),
      bbox: [-34.9, -8.0, -34.85, -7.97],
      bboxCrs: 'OGC:CRS84',
      crs: 'EPSG:4326',
      size: [200, 120],
      maxSize: 4096,
      maxBytes: 512 << 20,
      format: 'geotiff',
    });
    const info = gdalinfo(result.data, '-stats');
    expect(info.size).toEqual([200, 120]);
    expect(info.stac['proj:epsg']).toBe(4326);
    expect(info.cornerCoordinates.upperLeft[0]).toBeCloseTo(-34.9, 9);
    expect(info.cornerCoordinates.upperLeft[1]).toBeCloseTo(-7.97, 9);
    const reference = join(scratch.path, 'reference.tif');
    gdalTool(
      'gdalwarp',
      '-q',
      '-t_srs',
      'EPSG:4326',
      '-te',
      '-34.9',
      '-8',
      '-34.85',
      '-7.97',
      '-ts',
      '200',
      '120',
      '-r',
      'bilinear',
      LANDSAT,
      reference,
    );
    const expected = gdalinfo(readFileSync(reference), '-stats');
    expect(info.bands[0]!.mean).toBeCloseTo(expected.bands[0]!.mean!, 1);
  });

  it('keeps nodata and descriptions', async () => {
    const path = derived('nodata.tif', '-a_nodata', '7', DEM);
    const { data } = await suite.pool.run('raster.coverage', {
      source: fileRaster(path),
      crs: 'EPSG:3857',
      maxSize: 4096,
      maxBytes: 512 << 20,
      format: 'geotiff',
    });
    expect(gdalinfo(data).bands[0]).toMatchObject({ type: 'Float32', noDataValue: 7 });
  });

  it('stretches elevation to a PNG with nodata transparent', async () => {
    const result = await suite.pool.run('raster.coverage', {
      source: fileRaster(DEM),
      crs: 'EPSG:3857',
      maxSize: 4096,
      maxBytes: 512 << 20,
      format: 'png',
    });
    const { data, width, height } = await rgbaOf(result.data);
    expect([width, height]).toEqual([result.width, result.height]);
    const shades = new Set<number>();
    for (let at = 0; at < data.length; at += 4) {
      expect(data[at]).toBe(data[at + 1]);
      if (data[at + 3] === 255) shades.add(data[at]!);
    }
    expect(shades.size).toBeGreaterThan(50);
  });

  it('refuses what is too large before reading it', async () => {
    const task = {
      source: fileRaster(LANDSAT),
      crs: 'EPSG:31985',
      maxSize: 300,
      maxBytes: 512 << 20,
      format: 'geotiff' as const,
    };
    await expect(suite.pool.run('raster.coverage', task)).rejects.toMatchObject({ code: 'too-large' });
    await expect(suite.pool.run('raster.coverage', { ...task, size: [1e9, 1e9] })).rejects.toMatchObject({
      code: 'too-large',
    });
    await expect(suite.pool.run('raster.coverage', { ...task, crs: 'EPSG:4326' })).rejects.toMatchObject({
      code: 'too-large',
    });
  });

  it('has no data outside of the raster', async () => {
    for (const crs of ['EPSG:31985', 'EPSG:3857']) {
      const task = {
        source: fileRaster(LANDSAT),
        bbox: [10, 10, 11, 11] as const,
        bboxCrs: 'OGC:CRS84',
        crs,
        maxSize: 300,
        maxBytes: 512 << 20,
        format: 'geotiff' as const,
      };
      await expect(suite.pool.run('raster.coverage', task)).rejects.toMatchObject({ code: 'no-data' });
    }
  });

  it.each([
    { bands: [7] },
    { bands: [] },
    { bands: [1.5] },
    { crs: '/etc/passwd' },
    { crs: 'http://127.0.0.1:9/crs' },
    { crs: 'EPSG:1' },
    { bbox: [1, 2, 3, Number.NaN] as const },
    { bbox: [5, 5, 1, 1] as const },
    { size: [-1, 10] as [number, number] },
  ])('refuses %j', async (wrong) => {
    const task = {
      source: fileRaster(LANDSAT),
      crs: 'EPSG:31985',
      maxSize: 4096,
      maxBytes: 512 << 20,
      format: 'geotiff' as const,
      ...wrong,
    };
    await expect(suite.pool.run('raster.coverage', task)).rejects.toMatchObject({ code: 'invalid-input' });
  });
});

describe('raster.image', () => {
  const window = {
    bbox: [-3890000, -900000, -3870000, -880000] as const,
    crs: 'EPSG:3857',
    width: 256,
    height: 256,
  };

  /** Largest mean difference of the three colours from what gdalwarp makes of the same window. */
  async function differenceFromGdalwarp(bbox: readonly [number, number, number, number]): Promise<number> {
    const { data, empty } = await suite.pool.run('raster.image', {
      ...window,
      bbox,
      source: fileRaster(LANDSAT),
      format: 'raw',
    });
    expect(empty).toBe(false);
    const reference = join(scratch.path, 'warped.tif');
    const grid = ['-te', ...bbox.map(String), '-ts', '256', '256'];
    gdalTool(
      'gdalwarp',
      '-q',
      '-overwrite',
      '-t_srs',
      'EPSG:3857',
      ...grid,
      '-r',
      'bilinear',
      LANDSAT,
      reference,
    );
    const differences = [0, 1, 2].map((band) => {
      const expected = rawBand(reference, band);
      return (
        expected.reduce((sum, value, pixel) => sum + Math.abs(data[pixel * 4 + band]! - value), 0) / 256 ** 2
      );
    });
    return Math.max(...differences);
  }

  it('shows the first three bands where gdalwarp puts them', async () => {
    // Pixels of 16 m are finer than those of the raster: the result is the same.
    expect(await differenceFromGdalwarp([-3884000, -893000, -3880000, -889000])).toBeLessThan(0.1);
    // With pixels of 39 m a smaller kernel is used than gdalwarp does: less smooth, but not elsewhere.
    expect(await differenceFromGdalwarp([-3886000, -897000, -3876000, -887000])).toBeLessThan(4);
  });

  it('shows nothing outside', async () => {
    const { data } = await suite.pool.run('raster.image', {
      ...window,
      source: fileRaster(LANDSAT),
      format: 'raw',
    });
    expect(data[3]).toBe(0);
    expect(data[(128 * 256 + 128) * 4 + 3]).toBe(255);
  });

  function rawBand(path: string, band: number): Buffer {
    const raw = join(scratch.path, 'band.raw');
    gdalTool('gdal_translate', '-of', 'ENVI', '-b', band + 1, path, raw);
    return readFileSync(raw);
  }

  it('uses an alpha band as transparency', async () => {
    const roles = ['-colorinterp', 'red,green,blue,alpha'];
    const path = derived('rgba.tif', '-b', '1', '-b', '2', '-b', '3', '-b', '6', ...roles, LANDSAT);
    const { data } = await suite.pool.run('raster.image', {
      ...window,
      source: fileRaster(path),
      format: 'raw',
    });
    const alphas = new Set(data.filter((_, index) => index % 4 === 3));
    expect(alphas.size).toBeGreaterThan(20);
  });

  it('makes nodata transparent', async () => {
    const path = derived('holes.tif', '-a_nodata', '0', '-scale', '0', '20', '0', '20', DEM);
    const { data } = await suite.pool.run('raster.image', {
      ...window,
      source: fileRaster(path),
      format: 'raw',
    });
    const { data: whole } = await suite.pool.run('raster.image', {
      ...window,
      source: fileRaster(DEM),
      format: 'raw',
    });
    const visible = (rgba: Uint8Array) =>
      rgba.filter((value, index) => index % 4 === 3 && value === 255).length;
    expect(visible(data)).toBeGreaterThan(0);
    expect(visible(data)).toBeLessThan(visible(whole) * 0.95);
  });

  it.each(['png', 'webp', 'jpeg'] as const)('encodes %s', async (format) => {
    const { data, mediaType } = await suite.pool.run('raster.image', {
      ...window,
      source: fileRaster(LANDSAT),
      format,
    });
    expect(mediaType).toBe(`image/${format}`);
    const { data: pixels, width, height } = await rgbaOf(data);
    expect([width, height]).toEqual([256, 256]);
    // JPEG has no transparency: outside is white.
    if (format === 'jpeg') expect([...pixels.subarray(0, 3)].every((value) => value > 245)).toBe(true);
    else expect(pixels[3]).toBe(0);
  });

  it('writes a georeferenced TIFF', async () => {
    const { data } = await suite.pool.run('raster.image', {
      ...window,
      source: fileRaster(LANDSAT),
      format: 'tiff',
    });
    const info = gdalinfo(data);
    expect(info.stac['proj:epsg']).toBe(3857);
    expect(info.cornerCoordinates.upperLeft).toEqual([-3890000, -880000]);
    expect(info.bands).toHaveLength(4);
  });

  it('shows the colours of a palette', async () => {
    const table = join(scratch.path, 'palette.vrt');
    const source = readFileSync(derived('one-band.vrt', '-of', 'VRT', '-b', '1', LANDSAT), 'utf8');
    const entries = Array.from(
      { length: 256 },
      (_, index) => `<Entry c1="${index}" c2="${255 - index}" c3="7" c4="255"/>`,
    ).join('');
    const colored = source
      .replace('<ColorInterp>Gray</ColorInterp>', '')
      .replace(
        /(<VRTRasterBand[^>]*>)/,
        `$1<ColorInterp>Palette</ColorInterp><ColorTable>${entries}</ColorTable>`,
      );
    writeFileSync(table, colored);
    const path = derived('palette.tif', table);
    const { data } = await suite.pool.run('raster.image', {
      ...window,
      source: fileRaster(path),
      format: 'raw',
    });
    const at = (128 * 256 + 128) * 4;
    expect(data[at]! + data[at + 1]!).toBe(255);
    expect(data[at + 2]).toBe(7);
    const { data: tiff } = await suite.pool.run('raster.coverage', {
      source: fileRaster(path),
      crs: 'EPSG:31985',
      maxSize: 4096,
      maxBytes: 512 << 20,
      format: 'geotiff',
    });
    expect(gdalinfo(tiff).bands[0]!.colorTable).toBeDefined();
  });

  it('is empty away from the raster and beyond what its projection reaches', async () => {
    for (const bbox of [
      [0, 0, 1000, 1000],
      [19e6, -20e6, 20e6, -19e6],
    ] as const) {
      const { data, empty } = await suite.pool.run('raster.image', {
        ...window,
        bbox,
        source: fileRaster(LANDSAT),
        format: 'png',
      });
      expect(empty).toBe(true);
      expect((await rgbaOf(data)).data.every((value) => value === 0)).toBe(true);
    }
  });

  it('fails on a file whose middle is damaged without taking the engine along', async () => {
    const bytes = readFileSync(LANDSAT);
    let seed = 42;
    const random = () => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      return seed;
    };
    for (let round = 0; round < 40; round++) {
      const mutated = Buffer.from(bytes);
      // The first kilobyte holds the directory: that is where lies do harm.
      for (let hit = 0; hit < 8; hit++)
        mutated[random() % (hit < 6 ? 1024 : mutated.length)] = random() & 255;
      const path = join(scratch.path, `mutated-${round}.tif`);
      writeFileSync(path, mutated);
      const outcome = await suite.pool
        .run('raster.image', { ...window, source: fileRaster(path), format: 'raw' }, { deadlineMs: 10_000 })
        .catch((error) => error);
      if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'TaskFailure' });
    }
    expect(suite.engine.process.exitCode).toBeNull();
    expect((await suite.pool.run('raster.inspect', { source: fileRaster(LANDSAT) })).width).toBe(349);
  });
});
