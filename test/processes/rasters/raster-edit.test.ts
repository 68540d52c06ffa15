import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import type { Json } from '../support.js';
import {
  DEM,
  DEM_COLLECTION,
  difference,
  Files,
  geoTransformOf,
  note,
  pixelsOf,
  RasterClient,
  tool,
} from './raster-support.js';

/** Rasters of features, fillings, sieves, clips, and numbers of pixels, against the programs of GDAL and numpy. */

const files = new Files();
const pathOf = (name: string) => join(files.folder, `${name}.tif`);
const [gaps, classes, holes] = ['gaps', 'classes', 'holes'].map(pathOf) as [string, string, string];
/** Bytes with a nodata value, and the same ones with a mask and with an alpha band. */
const [levels, mask, veil] = ['levels', 'mask', 'veil'].map(pathOf) as [string, string, string];

let server: TestServer;
let client: RasterClient;

beforeAll(async () => {
  // Heights without those near the sea and some in a pattern; whole tens of metres.
  const calc = '--calc=numpy.where((A<2)|(numpy.indices(A.shape).sum(axis=0)%9==0),-99,A)';
  tool('gdal_calc', '-A', DEM, '--outfile', gaps, calc, '--NoDataValue=-99');
  tool('gdal_calc', '-A', DEM, '--outfile', classes, '--calc=numpy.floor(A/10)', '--type=Int16');
  const coarse = '--calc=numpy.where(numpy.floor(A/10)==1,-99,numpy.floor(A/10))';
  tool('gdal_calc', '-A', DEM, '--outfile', holes, coarse, '--type=Int16', '--NoDataValue=-99');
  const bytes = '--calc=numpy.where((A>=10)&(A<20)|(numpy.indices(A.shape).sum(axis=0)%9==0),255,A/10)';
  tool('gdal_calc', '-A', DEM, '--outfile', levels, bytes, '--type=Byte', '--NoDataValue=255');
  const internal = ['--config', 'GDAL_TIFF_INTERNAL_MASK', 'YES'];
  tool('gdal_translate', ...internal, '-mask', 'mask,1', '-a_nodata', 'none', levels, mask);
  tool('gdalwarp', '-dstalpha', levels, veil);
  const extent = ['-a_srs', 'EPSG:31985', '-a_ullr', '285000', '9125000', '310000', '9100000'];
  const sparse = ['-outsize', '5000', '5000', '-co', 'SPARSE_OK=TRUE', '-co', 'TILED=YES'];
  execFileSync('gdal_create', [...extent, ...sparse, pathOf('large')]);
  const world = ['-a_srs', 'EPSG:4326', '-outsize', '64', '64', '-burn', '7'];
  execFileSync('gdal_create', [...world, '-a_ullr', '-180', '90', '180', '-90', pathOf('world')]);
  const sources = [DEM, gaps, classes, holes, levels, mask, veil, pathOf('large'), pathOf('world')];
  server = await startServer({ sources });
  client = new RasterClient(server, files);
});
afterAll(async () => {
  await server?.stop();
  files.remove();
});

const polygon = (...ring: [number, number][]) => ({ type: 'Polygon', coordinates: [[...ring, ring[0]!]] });
const FEATURES = {
  type: 'FeatureCollection',
  features: [
    [7, polygon([-34.9, -8.02], [-34.87, -8.025], [-34.86, -7.97], [-34.905, -7.98])],
    [-2.5, polygon([-34.87, -8.0], [-34.84, -8.0], [-34.84, -7.96])],
    [
      30,
      {
        type: 'LineString',
        coordinates: [
          [-34.91, -8.03],
          [-34.83, -7.96],
        ],
      },
    ],
  ].map(([height, geometry]) => ({ type: 'Feature', properties: { height, name: 'a' }, geometry })),
};
const POLYGONS = { ...FEATURES, features: FEATURES.features.slice(0, 2) };

/** The same features in the CRS of the heights, as a file. */
function project(features: Json): string {
  const path = files.path('geojson');
  writeFileSync(path, JSON.stringify(features));
  const output = files.path('gpkg');
  execFileSync('ogr2ogr', ['-t_srs', 'EPSG:31985', '-nln', 'layer', output, path]);
  return output;
}

const grid = () => {
  const empty = files.path('tif');
  tool('gdal_calc', '-A', DEM, '--outfile', empty, '--calc=A*0-9999', '--NoDataValue=-9999');
  return empty;
};

it.each([
  [{ field: 'height' }, ['-a', 'height']],
  [{ field: 'height', allTouched: true }, ['-a', 'height', '-at']],
  [{ value: 4 }, ['-burn', '4']],
])('raster.rasterize %j is what gdal_rasterize makes', async (inputs, args) => {
  const ours = await client.output('raster.rasterize', { features: FEATURES, ...inputs }, 'raster');
  const theirs = grid();
  tool('gdal_rasterize', '-l', 'layer', ...args, project(FEATURES), theirs);
  const deviation = difference(ours, theirs);
  note('raster.rasterize', deviation);
  expect(deviation).toBe(0);
  expect(pixelsOf(ours).pixels.filter((value) => !Number.isNaN(value)).length).toBeGreaterThan(100);
});

it('raster.rasterize leaves out features without a value of the field', async () => {
  const rasterOf = (features: Json[]) =>
    client.output('raster.rasterize', { features: { ...POLYGONS, features }, field: 'height' }, 'raster');
  const nothing = { ...FEATURES.features[1]!, properties: { height: null, name: 'b' } };
  const [feature] = POLYGONS.features as [Json];
  expect(difference(await rasterOf([feature, nothing]), await rasterOf([feature]))).toBe(0);
});

it.each([
  ['idw', {}, 'invdist:power=2'],
  ['idw', { power: 3, radius: 1500 }, 'invdist:power=3:radius1=1500:radius2=1500'],
  ['linear', {}, 'linear:radius=0'],
])('raster.interpolate-%s %j is what gdal_grid makes', async (name, inputs, args) => {
  const points = {
    type: 'FeatureCollection',
    features: Array.from({ length: 40 }, (_, i) => ({
      ...{ type: 'Feature', properties: { height: (i * 37) % 90 } },
      geometry: {
        type: 'Point',
        coordinates: [-34.91 + ((i * 0.618_034) % 1) * 0.08, -8.035 + ((i * 0.754_877) % 1) * 0.08],
      },
    })),
  };
  const ours = await client.output(
    `raster.interpolate-${name}`,
    { points, field: 'height', ...inputs },
    'raster',
  );
  const theirs = files.path('tif');
  const [left, width, , top, , height] = geoTransformOf(DEM);
  const { x, y } = pixelsOf(DEM);
  tool(
    'gdal_grid',
    // Its vector units compute in 32 bits.
    ...['--config', 'GDAL_USE_AVX', 'NO', '--config', 'GDAL_USE_SSE', 'NO'],
    ...['-zfield', 'height', '-a', `${args}:nodata=-1`, '-l', 'layer', '-ot', 'Float64'],
    ...['-txe', String(left), String(left + x * width), '-tye', String(top), String(top + y * height)],
    ...['-outsize', String(x), String(y), project(points), theirs],
  );
  const reference = pixelsOf(theirs).pixels.map((value) => (value === -1 ? Number.NaN : value));
  const { pixels } = pixelsOf(ours);
  const off = pixels.map((value, i) =>
    Number.isNaN(value) && Number.isNaN(reference[i]!) ? 0 : Math.abs(value - reference[i]!),
  );
  note(`raster.interpolate-${name}`, Math.max(...off));
  expect(Math.max(...off)).toBeLessThan(1e-4);
  expect(pixels.some((value) => Number.isNaN(value))).toBe(name === 'linear' || 'radius' in inputs);
});

it('raster.interpolate-idw refuses more pairs of points and pixels than it has time for', async () => {
  const feature = (_: unknown, i: number) => ({
    ...{ type: 'Feature', properties: { height: i } },
    geometry: { type: 'Point', coordinates: [-34.9 + i * 1e-5, -8] },
  });
  const points = { type: 'FeatureCollection', features: Array.from({ length: 1000 }, feature) };
  const messages = [];
  for (const radius of [undefined, 1e9, 20_000]) {
    const inputs = { raster: { collection: 'large' }, points, field: 'height', radius };
    const { status, message } = await client.run('raster.interpolate-idw', { inputs });
    messages.push([status, message]);
  }
  const reason = 'There are too many points for so many pixels. Use a';
  expect(messages).toEqual([
    ['failed', `${reason} radius.`],
    ['failed', `${reason} smaller radius.`],
    ['failed', `${reason} smaller radius.`],
  ]);
});

it('raster.clip is what gdalwarp leaves inside of a cutline', async () => {
  const ours = await client.output('raster.clip', { features: POLYGONS }, 'raster');
  const theirs = files.path('tif');
  const cut = ['-cutline', project(POLYGONS), '-dstnodata', '-9999'];
  tool('gdalwarp', ...cut, DEM, theirs);
  const [a, b] = [pixelsOf(ours), pixelsOf(theirs)];
  const values = ({ pixels }: typeof a) => [...pixels].filter((value) => !Number.isNaN(value));
  expect(values(a)).toEqual(values(b));
  expect(values(a).length).toBeGreaterThan(100);
  expect(a.x * a.y).toBeLessThan(b.x * b.y);
});

it.each([
  [{ distance: 20 }, ['-md', '20']],
  [{ distance: 3, smoothing: 2 }, ['-md', '3', '-si', '2']],
])('raster.fill-nodata %j is what gdal_fillnodata makes', async (inputs, args) => {
  const ours = await client.output(
    'raster.fill-nodata',
    { raster: { collection: 'gaps' }, ...inputs },
    'raster',
  );
  const theirs = files.path('tif');
  tool('gdal_fillnodata', ...args, gaps, theirs);
  const deviation = difference(ours, theirs);
  note('raster.fill-nodata', deviation);
  expect(deviation).toBeLessThan(1e-4);
  expect(difference(ours, gaps)).toBe(Infinity);
});

it.each([
  ['classes', { threshold: 12 }, ['-st', '12']],
  ['classes', { threshold: 30, diagonals: true }, ['-st', '30', '-8']],
  ['holes', { threshold: 20 }, ['-st', '20']],
])('raster.sieve of %s, %j, is what gdal_sieve makes', async (collection, inputs, args) => {
  const ours = await client.output('raster.sieve', { raster: { collection }, ...inputs }, 'raster');
  const [theirs, source] = [files.path('tif'), join(files.folder, `${collection}.tif`)];
  tool('gdal_sieve', ...args, source, theirs);
  const deviation = difference(ours, theirs);
  note('raster.sieve', deviation);
  expect(deviation).toBe(0);
  expect(difference(ours, source)).toBeGreaterThan(0);
});

it.each([
  ['raster.fill-nodata', 'mask', { distance: 2, smoothing: 1 }],
  ['raster.fill-nodata', 'veil', { distance: 2 }],
  ['raster.sieve', 'veil', { threshold: 20 }],
])('%s does to what a %s hides what it does to nodata values', async (id, name, inputs) => {
  const outputOf = (collection: string) => client.output(id, { raster: { collection }, ...inputs }, 'raster');
  const [theirs, ours] = [await outputOf('levels'), await outputOf(name)];
  expect(difference(ours, theirs)).toBe(0);
  expect(difference(ours, levels)).toBeGreaterThan(0);
  expect(pixelsOf(ours).pixels.some(Number.isNaN)).toBe(true);
});

it('raster.statistics and raster.histogram are those of all pixels', async () => {
  const { pixels } = pixelsOf(gaps);
  const values = [...pixels].filter((value) => !Number.isNaN(value));
  const sum = values.reduce((all, value) => all + value, 0);
  const mean = sum / values.length;
  const raster = { collection: 'gaps' };
  const { statistics } = await client.results('raster.statistics', { inputs: { raster } });
  expect(statistics).toEqual([
    {
      ...{ band: 1, count: values.length, missing: pixels.length - values.length },
      ...{ min: Math.min(...values), max: Math.max(...values), sum: expect.closeTo(sum, 3) },
      mean: expect.closeTo(mean, 6),
      stddev: expect.closeTo(
        Math.sqrt(values.reduce((all, v) => all + (v - mean) ** 2, 0) / values.length),
        6,
      ),
    },
  ]);
  const inputs = { raster, bins: 8, min: 10, max: 50 };
  const { histogram } = await client.results('raster.histogram', { inputs });
  const counts = Array.from({ length: 8 }, (_, i) => {
    const [from, to] = [10 + 5 * i, 15 + 5 * i];
    return values.filter((value) => value >= from && (value < to || (i === 7 && value === 50))).length;
  });
  const [below, above] = [
    values.filter((value) => value < 10).length,
    values.filter((value) => value > 50).length,
  ];
  expect(histogram).toEqual({ band: 1, min: 10, max: 50, counts, below, above });
  const { histogram: whole } = await client.results('raster.histogram', { inputs: { raster } });
  expect([whole.min, whole.max, whole.below, whole.above]).toEqual([
    Math.min(...values),
    Math.max(...values),
    0,
    0,
  ]);
  expect(whole.counts.reduce((all: number, count: number) => all + count, 0)).toBe(values.length);
});

it('raster.sample has the values of the pixels that points lie in, and between them', async () => {
  const { pixels, x: width } = pixelsOf(gaps);
  const [x0, side, , y0] = geoTransformOf(gaps);
  const at = (column: number, row: number) => pixels[Math.floor(row) * width + Math.floor(column)]!;
  const places = Array.from({ length: 60 }, (_, i) => [(i * 17.31) % 110.9, (i * 7.77) % 110.9] as const);
  const points = files.path('csv');
  writeFileSync(points, `x,y\n${places.map(([c, r]) => `${x0 + c * side},${y0 - r * side}`).join('\n')}\n`);
  const json = execFileSync(
    'ogr2ogr',
    [
      ...['-f', 'GeoJSON', '/vsistdout/', points, '-oo', 'X_POSSIBLE_NAMES=x', '-oo', 'Y_POSSIBLE_NAMES=y'],
      ...['-s_srs', 'EPSG:31985', '-t_srs', 'EPSG:4326', '-lco', 'COORDINATE_PRECISION=12'],
    ],
    { encoding: 'utf8' },
  );
  const inputs = { raster: { collection: 'gaps' }, points: JSON.parse(json) };
  const { features: nearest } = await client.results('raster.sample', { inputs });
  const valueAt = (one: Json, name: string) => one.properties[name] ?? Number.NaN;
  expect(nearest.features.map((one: Json) => valueAt(one, 'band_1'))).toEqual(
    places.map(([c, r]) => at(c, r)),
  );
  const between = await client.results('raster.sample', {
    inputs: { ...inputs, resampling: 'bilinear', prefix: 'height_' },
  });
  let count = 0;
  for (const [i, [column, row]] of places.entries()) {
    const [c, r] = [Math.floor(column - 0.5), Math.floor(row - 0.5)];
    const corners = [at(c, r), at(c + 1, r), at(c, r + 1), at(c + 1, r + 1)];
    if (corners.some((value) => !(value > -99)) || c < 0 || r < 0) continue;
    const [u, v] = [column - 0.5 - c, row - 0.5 - r];
    const top = corners[0]! * (1 - u) + corners[1]! * u;
    const bottom = corners[2]! * (1 - u) + corners[3]! * u;
    expect(valueAt(between.features.features[i], 'height_1')).toBeCloseTo(top * (1 - v) + bottom * v, 4);
    count++;
  }
  expect(count).toBeGreaterThan(10);
});

it('the poles of a global raster do not take the pixels of a Mercator map', async () => {
  const HALF = 20037508.342789244;
  const crs = 'http://www.opengis.net/def/crs/EPSG/0/3857';
  const answer = await client.get(`/ogc/coverages/collections/world/coverage?crs=${crs}`);
  const coverage = files.path('tif');
  writeFileSync(coverage, new Uint8Array(await answer.arrayBuffer()));
  const world = { raster: { collection: 'world' } };
  const plain = await client.output('raster.reproject', { ...world, targetSrid: 3857 }, 'raster');
  for (const path of [coverage, plain]) {
    const { x, y, pixels } = pixelsOf(path);
    expect([x, y]).toEqual([x, x]);
    expect(x).toBeGreaterThan(50);
    expect(x).toBeLessThan(90);
    expect(pixels.every((value) => value === 7)).toBe(true);
    const [west, , , north] = geoTransformOf(path);
    expect([west, north]).toEqual([expect.closeTo(-HALF, 0), expect.closeTo(HALF, 0)]);
  }
  // All of the world, whatever the side of a pixel is.
  const cellSize = HALF / 5;
  const coarse = await client.output('raster.reproject', { ...world, targetSrid: 3395, cellSize }, 'raster');
  expect(pixelsOf(coarse)).toMatchObject({ x: 10, y: 10 });
});

const RASTER = { raster: { collection: DEM_COLLECTION } };

it.each([
  ['raster.rasterize', { ...RASTER }, '/inputs/features'],
  ['raster.sieve', { ...RASTER, threshold: 1 }, '/inputs/threshold'],
  ['raster.fill-nodata', { ...RASTER, distance: 0 }, '/inputs/distance'],
  ['raster.histogram', { ...RASTER, min: 5, max: 5 }, '/inputs/max'],
  ['raster.sample', { ...RASTER, points: { collection: DEM_COLLECTION } }, '/inputs/points/collection'],
])('%s with %j is 400 naming %s', async (id, inputs, name) => {
  const response = await client.execute(id, { inputs });
  expect([response.status, ((await response.json()) as Json).errors?.[0]?.name]).toEqual([400, name]);
});

it.each([
  [
    'raster.rasterize',
    { features: FEATURES, field: 'name' },
    "must name a field of numbers, but 'name' has the type string",
  ],
  ['raster.rasterize', { features: FEATURES, field: 'nothing' }, "'nothing' is not a field of the features"],
  ['raster.sample', { points: POLYGONS }, 'must be points'],
  ['raster.interpolate-idw', { points: POLYGONS, field: 'height' }, 'must be points'],
  ['raster.clip', { features: polygon([10, 50], [11, 50], [11, 51]) }, 'No polygon meets the raster.'],
])('%s fails where features do not fit', async (id, inputs, reason) => {
  const status = await client.run(id, { inputs: { ...RASTER, ...inputs } });
  expect([status.status, status.message]).toEqual(['failed', expect.stringContaining(reason)]);
});
