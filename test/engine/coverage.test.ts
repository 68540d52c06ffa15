import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CoverageResult, CoverageTask } from '../../src/core/rasters/rasters.js';
import { readCog } from '../support/cog.js';
import { gdalTool, rasterValues } from '../support/gdal-tools.js';
import { DEM, fileRaster, LANDSAT, suiteEngine } from './support.js';

const suite = suiteEngine();
const { scratch } = suite;
const UTM = 'EPSG:31985';

function coverage(path: string, task: Partial<CoverageTask>): Promise<CoverageResult> {
  return suite.pool.run('raster.coverage', {
    source: fileRaster(path),
    crs: UTM,
    maxSize: 8192,
    maxBytes: 512 << 20,
    format: 'geotiff',
    ...task,
  });
}

/** A raster's own CRS: that of the elevation model has no code. */
async function crsOf(path: string): Promise<string> {
  return (await suite.pool.run('raster.inspect', { source: fileRaster(path) })).crs;
}

const place = (name: string) => join(scratch.path, name);

interface Info {
  size: [number, number];
  metadata: Record<string, Record<string, string>>;
  geoTransform: number[];
  bands: {
    type: string;
    description?: string;
    unit?: string;
    scale?: number;
    offset?: number;
    noDataValue?: number;
    colorTable?: { entries: number[][] };
    mask?: { flags: string[]; overviews?: unknown[] };
    metadata: Record<string, Record<string, string>>;
    overviews?: { size: number[] }[];
  }[];
}

const gdalinfo = (path: string): Info => JSON.parse(gdalTool('gdalinfo', '-json', path));

async function written(name: string, result: CoverageResult): Promise<string> {
  const path = place(name);
  writeFileSync(path, result.data);
  return path;
}

/** Largest and mean difference of the values of two rasters of one size. */
function difference(a: string, b: string): { most: number; mean: number } {
  const [left, right] = [rasterValues(a), rasterValues(b)];
  expect(left.length).toBe(right.length);
  let [most, sum] = [0, 0];
  for (let i = 0; i < left.length; i++) {
    const distance = Object.is(left[i], right[i]) ? 0 : Math.abs(left[i]! - right[i]!);
    most = Math.max(most, distance);
    sum += distance;
  }
  return { most, mean: sum / left.length };
}

describe('values agree with the utilities of GDAL', () => {
  const window = [290000, 9112000, 292000, 9113000] as const;
  const [minx, miny, maxx, maxy] = window;
  /** The window of a raster, by gdal_translate. */
  const cutOut = (from: string, to: string) =>
    gdalTool('gdal_translate', '-q', '-projwin', minx, maxy, maxx, miny, from, to);
  const methods = [
    ['nearest', 0],
    ['bilinear', 1],
    ['cubic', 1],
    ['average', 1],
  ] as const;

  it.each([LANDSAT, DEM])('pixel for pixel in a window on the grid of %s', async (source) => {
    const crs = await crsOf(source);
    const ours = await coverage(source, { bbox: window, bboxCrs: crs, crs });
    const reference = place('reference.tif');
    cutOut(source, reference);
    const [, dx, , y0, , dy] = gdalinfo(reference).geoTransform as number[];
    // gdal_translate leaves out what a window only touches; cut ours to the same pixels by place.
    expect(ours.bbox[3]).toBeGreaterThanOrEqual(y0! - 1e-6);
    const again = place('again.tif');
    cutOut(await written('ours.tif', ours), again);
    expect(difference(again, reference).most).toBe(0);
    expect(gdalinfo(again).geoTransform[1]).toBeCloseTo(dx!, 9);
    expect(gdalinfo(again).geoTransform[5]).toBeCloseTo(dy!, 9);
  });

  it.each([
    [UTM, [284000, 9105000, 292000, 9113000]],
    ['EPSG:4326', [-34.95, -8.1, -34.88, -8]],
  ] as const)('over all of a window that reaches beyond the raster, in %s', async (crs, box) => {
    const source = place('low.tif');
    gdalTool('gdal_translate', '-q', '-b', 1, '-a_nodata', 9, LANDSAT, source);
    const reference = place('whole-reference.tif');
    const size = [60, 75] as [number, number];
    gdalTool('gdalwarp', '-q', '-overwrite', '-t_srs', crs, '-te', ...box, '-ts', ...size, source, reference);
    const task = { bbox: [...box] as const, bboxCrs: crs, crs, size, resampling: 'nearest' as const };
    const ours = await written('whole.tif', await coverage(source, { ...task, isWhole: true }));
    expect(difference(ours, reference).most).toBe(0);
    expect(gdalinfo(ours).geoTransform).toEqual(gdalinfo(reference).geoTransform);
    expect(rasterValues(ours)[rasterValues(ours).length - 60]).toBe(9);
    const part = await coverage(source, task);
    expect(part.bbox[0]).toBeGreaterThan(box[0]);
    await expect(coverage(source, { ...task, size: [60, 0], isWhole: true })).rejects.toMatchObject({
      code: 'invalid-input',
    });
  });

  it.each(methods)('scaled on the grid by %s', async (resampling, tolerance) => {
    for (const source of [LANDSAT, DEM]) {
      const ours = await coverage(source, { size: [150, 120], resampling, crs: await crsOf(source) });
      const reference = place('scaled.tif');
      const method = resampling === 'nearest' ? 'near' : resampling;
      gdalTool('gdal_translate', '-q', '-outsize', 150, 120, '-r', method, source, reference);
      const { most } = difference(await written('ours.tif', ours), reference);
      expect(most).toBeLessThanOrEqual(resampling === 'nearest' ? 0 : tolerance);
    }
  });

  it.each(methods)('reprojected by %s', async (resampling, tolerance) => {
    for (const source of [LANDSAT, DEM]) {
      const bbox = [-34.9, -8.0, -34.85, -7.97] as const;
      const ours = await coverage(source, {
        bbox,
        bboxCrs: 'OGC:CRS84',
        crs: 'EPSG:4326',
        size: [200, 120],
        resampling,
      });
      const reference = place('warped.tif');
      const method = resampling === 'nearest' ? 'near' : resampling;
      gdalTool(
        'gdalwarp',
        '-q',
        '-overwrite',
        '-t_srs',
        'EPSG:4326',
        '-te',
        ...bbox,
        '-ts',
        200,
        120,
        '-r',
        method,
        source,
        reference,
      );
      const { most } = difference(await written('ours.tif', ours), reference);
      expect(most).toBeLessThanOrEqual(resampling === 'nearest' ? 0 : tolerance);
    }
  });

  it('takes values that are names as they are, and interpolates others, when nothing is said', async () => {
    const kinds = place('kinds.tif');
    const palette = place('kinds.vrt');
    gdalTool('gdal_translate', '-q', '-of', 'VRT', '-b', 1, LANDSAT, palette);
    const entry = '<Entry c1="1" c2="2" c3="3" c4="255"/>';
    const colors = `<ColorInterp>Palette</ColorInterp><ColorTable>${entry.repeat(256)}</ColorTable>`;
    const text = readFileSync(palette, 'utf8').replace('<ColorInterp>Gray</ColorInterp>', colors);
    writeFileSync(palette, text);
    gdalTool('gdal_translate', '-q', palette, kinds);
    for (const crs of [UTM, 'EPSG:3857']) {
      const task = { crs, size: [100, 90] as [number, number] };
      for (const [source, resampling] of [
        [kinds, 'nearest'],
        [LANDSAT, 'bilinear'],
      ] as const) {
        const said = await written('said.tif', await coverage(source, { ...task, resampling }));
        expect(difference(await written('unsaid.tif', await coverage(source, task)), said).most).toBe(0);
      }
      const nearest = await written('said.tif', await coverage(LANDSAT, { ...task, resampling: 'nearest' }));
      expect(
        difference(await written('unsaid.tif', await coverage(LANDSAT, task)), nearest).most,
      ).toBeGreaterThan(0);
    }
  });

  it('pixel for pixel when resolution comes before reprojection', async () => {
    const ours = await coverage(LANDSAT, { crs: 'EPSG:3857', pixel: [95, 190], resampling: 'nearest' });
    const [coarse, reference] = [place('coarse.vrt'), place('two-steps.tif')];
    const size = [Math.round(9946.5 / 95), Math.round(10032 / 190)];
    gdalTool('gdal_translate', '-q', '-of', 'VRT', '-outsize', ...size, '-r', 'near', LANDSAT, coarse);
    gdalTool(
      'gdalwarp',
      '-q',
      '-overwrite',
      '-t_srs',
      'EPSG:3857',
      '-te',
      ...ours.bbox,
      '-ts',
      ours.width,
      ours.height,
      coarse,
      reference,
    );
    expect(difference(await written('ours.tif', ours), reference).most).toBe(0);
    // As many pixels along the diagonal as the coarse raster has.
    expect(Math.hypot(ours.width, ours.height)).toBeCloseTo(Math.hypot(...(size as [number, number])), -1);
  });

  it('in the size that gdalwarp chooses when nothing is said', async () => {
    const ours = await coverage(LANDSAT, { crs: 'EPSG:3857' });
    const reference = place('chosen.tif');
    gdalTool('gdalwarp', '-q', '-overwrite', '-t_srs', 'EPSG:3857', LANDSAT, reference);
    const { size } = gdalinfo(reference);
    expect(Math.abs(ours.width - size[0])).toBeLessThanOrEqual(2);
    expect(Math.abs(ours.height - size[1])).toBeLessThanOrEqual(2);
  });
});

describe('a GeoTIFF', () => {
  it('is a COG in every way of making it', async () => {
    const tasks: Partial<CoverageTask>[] = [
      {},
      { crs: 'EPSG:3857' },
      { size: [1300, 900] },
      { crs: 'EPSG:4326', size: [1300, 900] },
      { pixel: [10, 10] },
      { size: [1, 1] },
    ];
    for (const task of tasks) {
      const { data, width, height } = await coverage(LANDSAT, task);
      const cog = readCog(data);
      expect(cog.directories[0]).toMatchObject({ width, height, compression: 8, predictor: 2 });
      expect(cog.overviews.length > 0).toBe(Math.max(width, height) > 512);
    }
  });

  it('leaves nothing beside the file that is read', async () => {
    const folder = place('alone');
    gdalTool('mkdir', folder);
    const path = join(folder, 'dem.tif');
    gdalTool('cp', DEM, path);
    const crs = await crsOf(path);
    const tasks: Partial<CoverageTask>[] = [
      { crs },
      { crs, bands: [1] },
      { crs, size: [60, 60] },
      { crs, bbox: [290000, 9112000, 292000, 9113000], bboxCrs: crs },
      { crs: 'EPSG:3857' },
      { crs: 'EPSG:3857', pixel: [200, 200] },
      { crs, format: 'png' },
    ];
    for (const task of tasks) await coverage(path, task);
    // Opening another file gives the first one's handle no reason to stay.
    for (let i = 0; i < 10; i++) await coverage(LANDSAT, {});
    gdalTool('touch', path);
    await coverage(path, { crs });
    expect(gdalTool('ls', folder).trim()).toBe('dem.tif');
  });

  it('carries statistics of its own pixels', async () => {
    const ours = await coverage(DEM, { bbox: [290000, 9112000, 292000, 9113000], bboxCrs: UTM });
    const path = await written('ours.tif', ours);
    const all = rasterValues(path);
    const { metadata } = gdalinfo(path).bands[0]!;
    expect(Number(metadata['']!['STATISTICS_MAXIMUM'])).toBeCloseTo(Math.max(...all), 4);
    expect(Number(metadata['']!['STATISTICS_MEAN'])).toBeCloseTo(all.reduce((a, b) => a + b) / all.length, 3);
  });

  /** Two bands of Landsat with all that a band can say of itself. */
  function telling(): string {
    const [vrt, tif] = [place('telling.vrt'), place('telling.tif')];
    if (existsSync(tif)) return tif;
    gdalTool('gdal_translate', '-q', '-of', 'VRT', '-b', 1, '-b', 2, '-a_nodata', 0, LANDSAT, vrt);
    let band = 0;
    const text = readFileSync(vrt, 'utf8').replace(/<VRTRasterBand[^>]*>/g, (start) => {
      band += 1;
      return `${start}<Description>band &amp; &lt;${band}&gt;</Description><UnitType>K/${band}</UnitType><Offset>${band}</Offset><Scale>0.5</Scale>`;
    });
    writeFileSync(vrt, text);
    gdalTool('gdal_translate', '-q', vrt, tif);
    return tif;
  }

  it.each([
    { crs: UTM },
    { crs: UTM, bbox: [290000, 9112000, 292000, 9113000] as const, bboxCrs: UTM },
    { crs: UTM, size: [50, 60] as [number, number] },
    { crs: 'EPSG:3857' },
    { crs: 'EPSG:3857', pixel: [60, 60] as [number, number] },
  ])('keeps description, unit, scale, offset and nodata: %j', async (task) => {
    const ours = await coverage(telling(), { ...task, bands: [2, 1] });
    const { bands } = gdalinfo(await written('ours.tif', ours));
    expect(bands).toMatchObject([
      { description: 'band & <2>', unit: 'K/2', offset: 2, scale: 0.5, noDataValue: 0 },
      { description: 'band & <1>', unit: 'K/1', offset: 1, scale: 0.5, noDataValue: 0 },
    ]);
    expect(bands).toHaveLength(2);
  });

  it.each(['UInt16', 'Int16', 'UInt32', 'Int32', 'Float32', 'Float64'])(
    'has the values of a raster of type %s',
    async (type) => {
      const path = place(`${type}.tif`);
      const scale = type.startsWith('UInt') ? [0, 255, 0, 40_000] : [0, 255, -20_000, 20_000];
      gdalTool('gdal_translate', '-q', '-ot', type, '-scale', ...scale, '-b', 1, '-b', 4, LANDSAT, path);
      const theirs = place('theirs.tif');
      gdalTool('gdal_translate', '-q', '-srcwin', 20, 30, 100, 90, path, theirs);
      const [x0, dx, , y0, , dy] = gdalinfo(path).geoTransform as [number, number, 0, number, 0, number];
      const bbox = [x0 + 20 * dx, y0 + 120 * dy, x0 + 120 * dx, y0 + 30 * dy] as const;
      const ours = await written('ours.tif', await coverage(path, { bbox, bboxCrs: UTM, crs: UTM }));
      expect(gdalinfo(ours).bands.map((band) => band.type)).toEqual([type, type]);
      expect(rasterValues(ours)).toEqual(rasterValues(theirs));
      expect(rasterValues(ours).length).toBeGreaterThan(8000);
    },
  );

  it('has the parts of complex numbers as bands', async () => {
    const [path, real] = [place('complex.tif'), place('real.tif')];
    gdalTool('gdal_translate', '-q', '-ot', 'CFloat32', '-b', 1, LANDSAT, path);
    gdalTool('gdal_translate', '-q', '-ot', 'Float32', '-b', 1, LANDSAT, real);
    const ours = await written('ours.tif', await coverage(path, { crs: await crsOf(path) }));
    expect(gdalinfo(ours).bands.map((band) => [band.type, band.description])).toEqual([
      ['Float32', 'real part'],
      ['Float32', 'imaginary part'],
    ]);
    const first = place('first.tif');
    gdalTool('gdal_translate', '-q', '-b', 1, ours, first);
    expect(rasterValues(first)).toEqual(rasterValues(real));
  });

  it('keeps what a raster says of itself, and that its values belong to points', async () => {
    const path = place('said.tif');
    const said = { AREA_OR_POINT: 'Point', TIFFTAG_COPYRIGHT: '© them', 'made <by>': 'us & "them"' };
    const items = Object.entries(said).flatMap(([name, value]) => ['-mo', `${name}=${value}`]);
    gdalTool('gdal_translate', '-q', ...items, DEM, path);
    const info = gdalinfo(await written('ours.tif', await coverage(path, { crs: await crsOf(path) })));
    expect(info.metadata['']).toMatchObject(said);
    expect(info.geoTransform).toEqual(gdalinfo(DEM).geoTransform);
  });

  it('has a mask where reprojection leaves corners, and none where it does not', async () => {
    const turned = await coverage(LANDSAT, { crs: 'EPSG:4326' });
    const info = gdalinfo(await written('turned.tif', turned));
    expect(info.bands).toHaveLength(6);
    expect(info.bands[0]!.mask?.flags).toEqual(['PER_DATASET']);
    expect(readCog(turned.data).masks).toBe(1);
    const inside = await coverage(LANDSAT, {
      crs: 'EPSG:4326',
      bbox: [-34.9, -8.0, -34.85, -7.97],
      bboxCrs: 'EPSG:4326',
    });
    expect(readCog(inside.data).masks).toBe(0);
  });

  it('keeps a mask of the file', async () => {
    const masked = place('masked.tif');
    gdalTool(
      'gdal_translate',
      '-q',
      '--config',
      'GDAL_TIFF_INTERNAL_MASK',
      'YES',
      '-b',
      1,
      '-b',
      2,
      '-mask',
      3,
      LANDSAT,
      masked,
    );
    for (const crs of [UTM, 'EPSG:3857'])
      expect(readCog((await coverage(masked, { crs })).data).masks).toBe(1);
  });

  it('that is large goes through a file, has overviews, and leaves nothing else behind', async () => {
    const size = [3600, 3200] as [number, number];
    for (const crs of [UTM, 'EPSG:3857']) {
      const { file, data, width, height } = await coverage(LANDSAT, { crs, size, bands: [1, 2, 3] });
      expect([data.length, width, height]).toEqual([0, ...size]);
      const cog = readCog(readFileSync(file!));
      expect(cog.overviews[0]).toEqual([1800, 1600]);
      rmSync(file!);
      expect(gdalTool('ls', scratch.path)).not.toMatch(/engine-1-/);
    }
  });

  it('that would be too large is refused before anything is read', async () => {
    const task = { size: [8192, 8192] as [number, number], maxBytes: 300 << 20 };
    await expect(coverage(LANDSAT, task)).rejects.toMatchObject({ code: 'too-large' });
    await expect(coverage(LANDSAT, { ...task, format: 'png' })).rejects.toMatchObject({ code: 'too-large' });
    await expect(coverage(LANDSAT, { pixel: [1e-9, 1e-9], crs: 'EPSG:3857' })).rejects.toMatchObject({
      code: 'too-large',
    });
  });
});

describe('the antimeridian', () => {
  const whole = { crs: 'EPSG:4326', resampling: 'nearest' as const };

  /** One degree a pixel; the value is the column counted from 180 west, times 100, plus the row. */
  function world(name: string, west: number, crs = 'EPSG:4326', columns = 360): string {
    const path = place(`${name}.tif`);
    if (existsSync(path)) return path;
    const asc = place(`${name}.asc`);
    const rows = Array.from({ length: 180 }, (_, row) =>
      Array.from(
        { length: columns },
        (_, column) => ((west + 180 + column + 360) % 360) * 100 + (row % 100),
      ).join(' '),
    );
    const head = `ncols ${columns}\nnrows 180\nxllcorner ${west}\nyllcorner -90\ncellsize 1\nNODATA_value -9999\n`;
    writeFileSync(asc, `${head}${rows.join('\n')}\n`);
    gdalTool('gdal_translate', '-q', '-a_srs', crs, '-ot', 'Int32', asc, path);
    return path;
  }

  const row = (path: string, width: number) =>
    [...rasterValues(path).subarray(0, width)].map((v) => Math.floor(v / 100));

  it('is crossed by one continuous grid', async () => {
    for (const [name, west] of [
      ['west', -180],
      ['east', 0],
    ] as const) {
      const ours = await coverage(world(name, west), {
        ...whole,
        bbox: [175, -10, -176, 10],
        bboxCrs: 'OGC:CRS84',
      });
      expect(ours.bbox).toEqual([175, -10, 184, 10]);
      const path = await written('ours.tif', ours);
      expect(gdalinfo(path).geoTransform).toEqual([175, 1, 0, 10, 0, -1]);
      expect(row(path, 9)).toEqual([355, 356, 357, 358, 359, 0, 1, 2, 3]);
    }
  });

  it('is no edge for files from 0 to 360 degrees', async () => {
    const ours = await coverage(world('east', 0), { ...whole, bbox: [-5, 0, 4, 10], bboxCrs: 'OGC:CRS84' });
    expect(ours.bbox).toEqual([-5, 0, 4, 10]);
    expect(row(await written('ours.tif', ours), 9)).toEqual([175, 176, 177, 178, 179, 180, 181, 182, 183]);
  });

  it('is crossed in another CRS of degrees, and in Web Mercator', async () => {
    const bbox = [175, -10, -176, 10] as const;
    const degrees = await coverage(world('west', -180), {
      ...whole,
      crs: 'OGC:CRS84',
      bbox,
      bboxCrs: 'EPSG:4326',
      size: [9, 20],
    });
    expect(row(await written('ours.tif', degrees), 9)).toEqual([355, 356, 357, 358, 359, 0, 1, 2, 3]);
    const mercator = await coverage(world('west', -180), {
      ...whole,
      crs: 'EPSG:3857',
      bbox,
      bboxCrs: 'EPSG:4326',
      size: [9, 20],
    });
    expect(mercator.bbox[2] - mercator.bbox[0]).toBeCloseTo((9 * 20037508.342789244) / 180, 3);
    expect(row(await written('ours.tif', mercator), 9)).toEqual([355, 356, 357, 358, 359, 0, 1, 2, 3]);
  });

  it('is crossed by rasters in projected CRSs', async () => {
    const mercator = place('mercator.tif');
    gdalTool(
      'gdalwarp',
      '-q',
      '-overwrite',
      '-t_srs',
      'EPSG:3857',
      '-te',
      -20037508.342789244,
      -5e6,
      20037508.342789244,
      5e6,
      '-ts',
      3600,
      900,
      world('west', -180),
      mercator,
    );
    const bbox = [175, -10, -176, 10] as const;
    for (const crs of ['EPSG:3857', 'EPSG:4326']) {
      const ours = await coverage(mercator, { ...whole, crs, bbox, bboxCrs: 'EPSG:4326', size: [9, 20] });
      expect(row(await written('ours.tif', ours), 9)).toEqual([355, 356, 357, 358, 359, 0, 1, 2, 3]);
    }
  });

  it('does not make a raster across it as wide as the globe', async () => {
    const fiji = place('fiji.tif');
    gdalTool(
      'gdalwarp',
      '-q',
      '-overwrite',
      '-t_srs',
      'EPSG:3460',
      '-te',
      1.6e6,
      3.6e6,
      2.4e6,
      4.2e6,
      '-ts',
      80,
      60,
      world('east', 0),
      fiji,
    );
    const ours = await coverage(fiji, { ...whole });
    expect(ours.bbox[2] - ours.bbox[0]).toBeLessThan(20);
    expect(ours.bbox[0]).toBeLessThan(180);
    expect(ours.bbox[2]).toBeGreaterThan(180);
    const across = await coverage(fiji, {
      ...whole,
      bbox: [179, -18, -179, -17],
      bboxCrs: 'EPSG:4326',
      size: [2, 1],
    });
    expect(row(await written('ours.tif', across), 2)).toEqual([359, 0]);
  });

  it('is crossed by pictures', async () => {
    const { width, height, data } = await coverage(world('west', -180), {
      ...whole,
      bbox: [175, -10, -176, 10],
      bboxCrs: 'EPSG:4326',
      format: 'png',
    });
    expect([width, height]).toEqual([9, 20]);
    const shades = gdalTool(
      'gdal_translate',
      '-q',
      '-of',
      'AAIGrid',
      '-b',
      'mask',
      await written('ours.png', { data } as CoverageResult),
      '/vsistdout/',
    );
    expect(
      shades
        .split('\n')
        .slice(5)
        .join(' ')
        .trim()
        .split(/\s+/)
        .every((alpha) => alpha === '255'),
    ).toBe(true);
  });

  it.each([
    [-10, 0, -20, 0],
    [190, 0, 185, 10],
    [170, 10, -170, -10],
  ] as const)('is not what %j crosses', async (...bbox) => {
    await expect(
      coverage(world('west', -180), { ...whole, bbox, bboxCrs: 'EPSG:4326' }),
    ).rejects.toMatchObject({ code: 'invalid-input' });
  });
});
