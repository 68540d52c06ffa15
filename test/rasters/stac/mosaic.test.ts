import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gdal from 'gdal-async';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ALL_MERGES,
  type Merge,
  type MosaicMember,
  type RasterMosaic,
} from '../../../src/core/rasters/rasters.js';
import { DEM, fileRaster, LANDSAT, suiteEngine } from '../../engine/support.js';
import { gdalTool } from '../../support/gdal-tools.js';
import { pythonOfClients } from '../../support/python.js';
import { startServer, type TestServer } from '../../support/server.js';

const suite = suiteEngine();
const inScratch = (name: string) => join(suite.scratch.path, name);

/** Quarters of the scene, each a file. */
function quarters(folder: string): string[] {
  return [0, 1, 2, 3].map((index) => {
    const path = join(folder, `quarter-${index}.tif`);
    const window = [(index % 2) * 175, (index >> 1) * 176, 175 - (index % 2), 176].map(String);
    gdalTool('gdal_translate', '-srcwin', ...window, LANDSAT, path);
    return path;
  });
}

const member = (path: string, id = path): MosaicMember => ({
  id,
  source: { kind: 'file', path },
  extent84: [-35, -9, -34, -7],
});
const mosaicOf = (...paths: string[]): RasterMosaic => ({
  kind: 'mosaic',
  members: paths.map((path) => member(path)),
});

const window = {
  bbox: [-3886000, -897000, -3876000, -887000] as const,
  crs: 'EPSG:3857',
  width: 200,
  height: 200,
};
const imageOf = async (source: RasterMosaic | ReturnType<typeof fileRaster>) =>
  (await suite.pool.run('raster.image', { source, ...window, format: 'raw' })).data;

/** Rasters that lie over each other in part, with no data of different values. */
const MAKE_PARTS = `
import numpy, rasterio, sys
from rasterio.transform import from_origin
random = numpy.random.default_rng(7)
kind, *paths = sys.argv[1:]
for i, path in enumerate(paths):
    least, most = (1, 1000) if kind == 'apart' else (-5, 6)
    values = random.integers(least, most, (160, 180)).astype('int16')
    noData = {'apart': [-9999, -1, -9999], 'none': [None] * 3, 'between': [0] * 3, 'of one': [-9999, 0, None]}[kind][i]
    if kind == 'apart':
        values[random.random(values.shape) < 0.3] = noData
    place = from_origin(400000 + 300 * i, 5002000 - 200 * i, 10, 10)
    with rasterio.open(path, 'w', driver='GTiff', width=180, height=160, count=1, dtype='int16', crs='EPSG:32633',
        transform=place, nodata=noData) as out: out.write(values, 1)
`;

const MAKE_PALETTE = `
import numpy, rasterio, sys
with rasterio.open(sys.argv[1], 'w', driver='GTiff', width=8, height=8, count=1, dtype='uint8', crs='EPSG:32633',
    transform=rasterio.transform.from_origin(400000, 5002000, 10, 10)) as out:
    out.write(numpy.ones((8, 8), 'uint8'), 1)
    out.write_colormap(1, {1: (255, 0, 0, 255)})
`;

/** What NumPy makes of the parts, beside the result. */
const COMPARE = `
import json, numpy, rasterio, sys, warnings
warnings.simplefilter('ignore')
merge, result, *paths = sys.argv[1:]
layers = []
for i, path in enumerate(paths):
    with rasterio.open(path) as part:
        values = part.read(1).astype('float64')
        values[values == part.nodata] = numpy.nan
    layer = numpy.full((200, 240), numpy.nan)
    layer[20 * i:20 * i + 160, 30 * i:30 * i + 180] = values
    layers.append(layer)
def count(stack, axis):
    counts = (~numpy.isnan(stack)).sum(axis=axis).astype('float64')
    counts[counts == 0] = numpy.nan
    return counts
reduce = {'average': numpy.nanmean, 'max': numpy.nanmax, 'min': numpy.nanmin, 'median': numpy.nanmedian,
    'standard-deviation': numpy.nanstd, 'count': count}[merge]
expected = reduce(numpy.stack(layers), axis=0)
if merge in ('average', 'median'):
    expected = numpy.floor(expected + 0.5)
with rasterio.open(result) as out:
    values = out.read(1).astype('float64')
    values[out.read_masks(1) == 0] = numpy.nan
close = merge == 'standard-deviation' and abs(values - expected) < 1e-5 * (1 + abs(expected))
same = (values == expected) | close | (numpy.isnan(values) & numpy.isnan(expected))
print(json.dumps({'same': int(same.sum()), 'pixels': values.size, 'noData': bool(numpy.isnan(values).any())}))
`;

const numpy = (program: string, ...args: string[]) =>
  execFileSync(pythonOfClients(), ['-c', program, ...args], { encoding: 'utf8' });

describe('a mosaic', () => {
  it('of the parts of a scene shows the scene', async () => {
    const parts = mosaicOf(...quarters(suite.scratch.path));
    const [whole, together] = [await imageOf(fileRaster(LANDSAT)), await imageOf(parts)];
    // Only zeros of the scene are no data now.
    const differing = together.filter((value, index) => index % 4 < 3 && Math.abs(value - whole[index]!) > 1);
    expect(differing.length).toBeLessThan(whole.length / 1000);
  });

  it('reads no member that the grid does not need', async () => {
    const [first] = quarters(suite.scratch.path);
    const info = await suite.pool.run('raster.inspect', { source: fileRaster(first!) });
    const { crs, geoTransform, width, height } = info;
    const grid = { crs, geoTransform, width, height };
    const whole = await suite.pool.run('raster.inspect', { source: { ...mosaicOf(first!, first!), grid } });
    expect(whole).toMatchObject({ driver: 'mosaic', width: 175, height: 176, extent: info.extent });
  });

  describe('whose values are merged', () => {
    const names: string[] = [];
    beforeAll(() => {
      names.push(...['one', 'two', 'three'].map((name) => inScratch(`merged-${name}.tif`)));
      numpy(MAKE_PARTS, 'apart', ...names);
    });

    it.each(ALL_MERGES)('has the %s of each pixel, without data only where all have none', (merge) =>
      compare(merge, 'merged', names),
    );

    it.each(['none', 'between', 'of one'])(
      'has results that are values where the value of no data is %s',
      async (kind) => {
        const parts = ['one', 'two', 'three'].map((name) => inScratch(`${kind}-${name}.tif`));
        numpy(MAKE_PARTS, kind, ...parts);
        for (const merge of ['average', 'min', 'count'] as const) await compare(merge, kind, parts);
      },
    );

    async function compare(merge: Merge, kind: string, parts: readonly string[]) {
      const source: RasterMosaic = { ...mosaicOf(...parts), merge };
      const bounds = { maxSize: 1000, maxBytes: 1 << 24 };
      const task = {
        crs: 'EPSG:32633',
        ...bounds,
        resampling: 'nearest' as const,
        format: 'geotiff' as const,
      };
      const { data } = await suite.pool.run('raster.coverage', { source, ...task });
      const path = inScratch(`${kind}-${merge}-result.tif`);
      writeFileSync(path, data as Uint8Array);
      expect(JSON.parse(numpy(COMPARE, merge, path, ...parts)), merge).toEqual({
        ...{ same: 240 * 200, pixels: 240 * 200, noData: true },
      });
    }

    it('gives each merge pixels of its own, in pictures too', async () => {
      const shades = await Promise.all(
        [...ALL_MERGES, undefined].map(async (merge) => {
          const source: RasterMosaic = { ...mosaicOf(...names), ...(merge ? { merge } : {}) };
          const picture = { bbox: [400_000, 5_000_000, 402_400, 5_002_000] as const, crs: 'EPSG:32633' };
          const size = { width: 24, height: 20, format: 'raw' as const };
          const ranges = [[0, 1000] as const];
          return (await suite.pool.run('raster.image', { source, ...picture, ...size, ranges })).data;
        }),
      );
      const sums = shades.map((data) => data.reduce((sum, value) => sum + value, 0));
      expect(new Set(sums).size).toBe(ALL_MERGES.length + 1);
      expect(sums[1]).toBeGreaterThan(sums[0]!);
      expect(sums[0]).toBeGreaterThan(sums[2]!);
    });

    it('takes what no raster covers for no data, where no data is a value that the type does not have', async () => {
      const parts = [100, 50].map((value, i) => {
        const path = inScratch(`bytes-${value}.tif`);
        const part = gdal.open(path, 'w', 'GTiff', 4, 4, 1, 'Byte');
        part.srs = gdal.SpatialReference.fromEPSG(32633);
        part.geoTransform = [400_000 + 80 * i, 10, 0, 5_002_000, 0, -10];
        part.bands.get(1).noDataValue = -9999;
        part.bands.get(1).fill(value);
        part.close();
        return path;
      });
      const source: RasterMosaic = { ...mosaicOf(...parts), merge: 'average' };
      const task = { crs: 'EPSG:32633', maxSize: 100, maxBytes: 1 << 20, resampling: 'nearest' as const };
      const { data } = await suite.pool.run('raster.coverage', { source, ...task, format: 'geotiff' });
      const path = inScratch('bytes-result.tif');
      writeFileSync(path, data as Uint8Array);
      const result = gdal.open(path);
      const band = result.bands.get(1);
      const row = [band, band.getMaskBand()!].map(({ pixels }) =>
        Array.from(pixels.read(0, 0, 12, 1) as Uint8Array),
      );
      result.close();
      const rowOf = (...values: number[]) => values.flatMap((value) => Array<number>(4).fill(value));
      expect(row).toEqual([rowOf(100, Number.NaN, 50), rowOf(255, 0, 255)]);
    });

    it('refuses values that name colours, and more rasters than it has memory for', async () => {
      const maximum = { ...mosaicOf(...names), merge: 'max' as const };
      const many = { ...maximum, members: Array.from({ length: 65 }, () => maximum.members[0]!) };
      await expect(imageOf(many)).rejects.toMatchObject({ code: 'too-large' });
      const palette = inScratch('palette.tif');
      numpy(MAKE_PALETTE, palette);
      await expect(imageOf({ ...mosaicOf(palette), merge: 'max' })).rejects.toMatchObject({
        code: 'invalid-input',
      });
    });
  });

  it('puts the last member on top, whatever its CRS and pixels', async () => {
    const paint = (name: string, value: number, ...options: string[]) => {
      const path = inScratch(name);
      const scale = ['-scale', '0', '255', String(value), String(value), '-ot', 'Byte', '-b', '1'];
      gdalTool('gdal_translate', ...scale, LANDSAT, `${path}.tif`);
      gdalTool('gdalwarp', '-overwrite', ...options, `${path}.tif`, path);
      return path;
    };
    const below = paint('below.tif', 50);
    const above = paint(
      'above.tif',
      200,
      '-t_srs',
      'EPSG:4326',
      '-te',
      '-34.91',
      '-8.02',
      '-34.88',
      '-7.99',
      '-dstnodata',
      '0',
    );
    const data = await imageOf(mosaicOf(below, above));
    const shades = new Set(data.filter((_, index) => index % 4 === 0));
    expect(shades).toContain(50);
    expect(shades).toContain(200);
    const reversed = await imageOf(mosaicOf(above, below));
    expect(new Set(reversed.filter((_, index) => index % 4 === 0))).not.toContain(200);
  });

  it.each(['last', 'min'])(
    'has nothing around a member of another CRS without a value for no data (%s)',
    async (kind) => {
      const [below, above] = [200, 50].map((value, i) => {
        const path = inScratch(`around-${value}.tif`);
        const scene = gdal.open(path, 'w', 'GTiff', 40, 40, 1, 'Byte');
        scene.srs = gdal.SpatialReference.fromEPSG(32632 + i);
        scene.geoTransform = i
          ? [240_000, 250, 0, 5_590_000, 0, -250]
          : [650_000, 1000, 0, 5_600_000, 0, -1000];
        scene.bands.get(1).fill(value);
        scene.close();
        return path;
      });
      const source = mosaicOf(below!, above!);
      const task = {
        ...{ source: kind === 'last' ? source : { ...source, merge: 'min' as const }, crs: 'EPSG:32632' },
        ...{ bbox: [651_000, 5_561_000, 689_000, 5_599_000] as const, width: 100, height: 100 },
      };
      const { data } = await suite.pool.run('raster.image', { ...task, ranges: [[0, 255]], format: 'raw' });
      const shades = data.filter((_, index) => index % 4 === 0);
      // Those between are of edges.
      expect([Math.min(...shades), Math.max(...shades)]).toEqual([50, 200]);
      expect(new Set(data.filter((_, index) => index % 4 === 3))).toEqual(new Set([255]));
    },
  );

  it.each([
    ['EPSG:4326', 180, 0.001],
    ['EPSG:3857', Math.PI * 6_378_137, 110],
  ])('has all pixels of a member across the antimeridian in %s', async (crs, half, pixel) => {
    const path = inScratch('across.tif');
    const scene = gdal.open(path, 'w', 'GTiff', 1024, 1024, 1, 'Byte');
    scene.srs = gdal.SpatialReference.fromEPSG(32760);
    scene.geoTransform = [770_000, 98, 0, 8_100_000, 0, -98];
    const column = Uint8Array.from({ length: 1024 * 1024 }, (_, i) => 50 + ((i % 1024) >> 3));
    scene.bands.get(1).pixels.write(0, 0, 1024, 1024, column);
    scene.close();
    const width = Math.round((2 * half) / pixel);
    const north = crs === 'EPSG:4326' ? -17 : -1_900_000;
    const geoTransform: [number, number, number, number, number, number] = [
      -half,
      pixel,
      0,
      north,
      0,
      -pixel,
    ];
    const source: RasterMosaic = { ...mosaicOf(path), grid: { crs, geoTransform, width, height: 1500 } };
    // Places in rows in the middle of the scene, on both sides.
    for (const x of [179.6, 179.9, 179.99, -179.95, -179.7]) {
      const at = gdal.SpatialReference.fromEPSG(32760);
      const degrees = gdal.SpatialReference.fromUserInput('+proj=longlat +datum=WGS84');
      const place = new gdal.CoordinateTransformation(degrees, at).transformPoint(x, -17.6);
      const expected = 50 + (Math.floor((place.x - 770_000) / 98) >> 3);
      const task = { place: [x, -17.6] as const, slices: [{ source }] };
      const [[value] = []] = (await suite.pool.run('raster.position', task)).values.map((one) => one ?? []);
      expect(Math.abs(Number(value) - expected), `${x}: ${value}, not ${expected}`).toBeLessThanOrEqual(1);
    }
  });

  it('reads a member again that was replaced', async () => {
    const paths = quarters(suite.scratch.path);
    const before = await imageOf(mosaicOf(...paths));
    copyFileSync(paths[0]!, paths[3]!);
    expect(Buffer.compare(await imageOf(mosaicOf(...paths)), before)).not.toBe(0);
  });

  it('of rasters with other bands is refused', async () => {
    await expect(imageOf(mosaicOf(LANDSAT, DEM))).rejects.toMatchObject({ code: 'source-unreadable' });
  });

  it('of a missing file says so', async () => {
    await expect(imageOf(mosaicOf(LANDSAT, '/nonexistent.tif'))).rejects.toMatchObject({
      code: 'source-missing',
    });
  });
});

describe('a tile index', () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-test-'));
  let server: TestServer;

  beforeAll(async () => {
    const data = join(folder, 'data');
    mkdirSync(join(data, 'parts'), { recursive: true });
    quarters(join(data, 'parts'));
    const names = [0, 1, 2, 3].map((index) => `parts/quarter-${index}.tif`);
    execFileSync('gdaltindex', ['-f', 'GPKG', 'scene.tindex.gpkg', ...names], { cwd: data, stdio: 'ignore' });
    copyFileSync(DEM, join(folder, 'outside.tif'));
    mkdirSync(join(data, 'bad'));
    symlinkSync('../../outside.tif', join(data, 'bad/link.tif'));
    execFileSync('gdaltindex', ['-f', 'GeoJSON', 'escape.tindex.geojson', '../../outside.tif'], {
      cwd: join(data, 'bad'),
      stdio: 'ignore',
    });
    const text = readFileSync(join(data, 'bad/escape.tindex.geojson'), 'utf8');
    writeFileSync(join(data, 'bad/link.tindex.geojson'), text.replace('../../outside.tif', 'link.tif'));
    server = await startServer({ sources: [data] });
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is one collection, and its rasters are none', async () => {
    const { collections } = await (await fetch(`${server.url}/ogc/coverages/collections`)).json();
    expect(collections.map(({ id }: { id: string }) => id)).toEqual(['scene']);
  });

  it('serves what the whole scene is', async () => {
    const response = await fetch(`${server.url}/ogc/coverages/collections/scene/coverage?f=geotiff`);
    expect(response.status).toBe(200);
    writeFileSync(join(folder, 'answer.tif'), Buffer.from(await response.arrayBuffer()));
    const [answer, scene] = [join(folder, 'answer.tif'), LANDSAT].map((path) =>
      JSON.parse(gdalTool('gdalinfo', '-json', '-checksum', path)),
    );
    expect(answer.size).toEqual(scene.size);
    expect(answer.bands.map((band: { checksum: number }) => band.checksum)).toEqual(
      scene.bands.map((band: { checksum: number }) => band.checksum),
    );
  });

  it.each(['escape', 'link'])('that leads out of its folder is quarantined (%s)', (name) => {
    expect(server.log()).toMatch(new RegExp(`${name}\\.tindex\\.geojson.*outside the folder`));
  });
});

it('refuse 64-bit integers that GDAL rounds in a mosaic', async () => {
  const paths = [0, 1].map((i) => {
    const path = inScratch(`wide-${i}.tif`);
    const dataset = gdal.open(path, 'w', 'GTiff', 2, 1, 1, 'Int64');
    dataset.srs = gdal.SpatialReference.fromEPSG(4326);
    dataset.geoTransform = [10 + 2 * i, 1, 0, 50, 0, -1];
    dataset.bands.get(1).noDataValue = -1;
    dataset.bands.get(1).pixels.write(0, 0, 2, 1, BigInt64Array.of(2n ** 60n + 1n, 7n) as never);
    dataset.close();
    return path;
  });
  const source = mosaicOf(...paths);
  const at = (longitude: number) =>
    suite.pool.run('raster.position', { place: [longitude, 49.5], slices: [{ source }] });
  expect((await at(11.5)).values).toEqual([[7]]);
  await expect(at(10.5)).rejects.toThrow('beyond 2^53');
  const coverage = { source, crs: 'EPSG:4326', format: 'geotiff', maxBytes: 1e6, maxPixels: 1e6 } as const;
  await expect(suite.pool.run('raster.coverage', coverage as never)).rejects.toThrow('beyond 2^53');
});
