import { join } from 'node:path';
import gdal from 'gdal-async';
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
  writeRow,
} from './raster-support.js';

/** Calculator, changes, classes and mosaics against the programs of GDAL. */

const files = new Files();
const at = (name: string) => join(files.folder, `${name}.tif`);
const [later, west, east, degrees] = ['later', 'west', 'east', 'degrees'].map(at) as [
  string,
  string,
  string,
  string,
];

/** Rasters of one pixel beside another, of several types. */
const ROWS = {
  cents: { type: 'Int16', scale: 0.01, values: [1234, 150, 7, -33] },
  coarse_cents: { type: 'Int16', scale: 0.01, side: 60, values: [250, -125] },
  bytes: { type: 'Byte', nodata: 0, values: [0, 1, 2, 255] },
  zeros: { type: 'Byte', values: [0, 0, 9, 9] },
  floats: { type: 'Float32', values: [0, 300.5, 0.25, -1] },
  longs: { type: 'Int32', values: [16_777_217, -16_777_217, 0, 1] },
};

const LANDSAT = 'demo/data/L7_ETMs.tif';

let server: TestServer;
let client: RasterClient;

beforeAll(async () => {
  // Another date on the same pixels, with gaps; two halves that share some columns; and another grid.
  tool(
    'gdal_calc',
    '-A',
    DEM,
    '--outfile',
    later,
    '--calc=numpy.where(A<1,-99,A*1.5-20)',
    '--NoDataValue=-99',
  );
  tool('gdal_translate', '-srcwin', '0', '0', '70', '90', DEM, west);
  tool('gdal_translate', '-srcwin', '50', '20', '61', '91', later, east);
  tool('gdalwarp', '-t_srs', 'EPSG:4326', '-dstnodata', '-1000', DEM, degrees);
  for (const [name, row] of Object.entries(ROWS)) writeRow(at(name), row);
  const rows = Object.keys(ROWS).map(at);
  server = await startServer({ sources: [DEM, later, west, east, degrees, LANDSAT, ...rows] });
  client = new RasterClient(server, files);
});
afterAll(async () => {
  await server?.stop();
  files.remove();
});

const sources = (...names: string[]) => names.map((collection) => ({ collection }));
/** The one output of a process that takes lists. */
const output = (id: string, inputs: Json) => client.output(id, { raster: undefined, ...inputs }, 'raster');

it.each([
  ['(b2 - b1) / (b2 + b1 + 300)', '(B-A)/(B+A+300.)'],
  [
    'where(b1 > 20, sqrt(abs(b2)), min(b1, 3) * -2)',
    'numpy.where(A>20,numpy.sqrt(numpy.abs(B)),numpy.minimum(A,3)*-2)',
  ],
])('raster.map-algebra: %s is what gdal_calc makes', async (expression, calc) => {
  const ours = await output('raster.map-algebra', { sources: sources(DEM_COLLECTION, 'later'), expression });
  const theirs = files.path('tif');
  tool('gdal_calc', '-A', DEM, '-B', later, '--outfile', theirs, `--calc=${calc}`, '--type=Float32');
  const deviation = difference(ours, theirs);
  note('raster.map-algebra', deviation);
  expect(deviation).toBeLessThan(1e-5);
});

it('several expressions make a band each, and rasters on other pixels are laid on those of the first', async () => {
  const inputs = {
    sources: sources(DEM_COLLECTION, 'degrees'),
    expression: 'b1; b2; b2 - b1',
    resampling: 'bilinear',
  };
  const ours = await output('raster.map-algebra', inputs);
  expect(difference(ours, DEM)).toBe(0);
  const onGrid = files.path('tif');
  tool('gdalwarp', '-r', 'bilinear', ...gridOf(), '-dstnodata', 'nan', '-ot', 'Float64', degrees, onGrid);
  const { pixels } = pixelsOf(onGrid);
  const second = pixelsOf(ours, 2).pixels;
  // Rows of a warp are approximated, and begin elsewhere.
  const off = second.filter(
    (value, i) => Number.isNaN(value) !== Number.isNaN(pixels[i]!) || Math.abs(value - pixels[i]!) > 0.5,
  );
  expect(off.length).toBeLessThan(second.length / 200);
});

it('an expression has a value where its own bands have one, whatever those of others have', async () => {
  const inputs = { sources: sources('zeros', 'bytes'), expression: 'b1; b1 + b2; b2' };
  const ours = await output('raster.map-algebra', inputs);
  const rows = [1, 2, 3].map((band) => [...pixelsOf(ours, band).pixels.subarray(0, 4)]);
  expect(rows).toEqual([
    [0, 0, 9, 9],
    [Number.NaN, 1, 11, 264],
    [Number.NaN, 1, 2, 255],
  ]);
});

/** The pixels of the heights, as arguments of gdalwarp. */
function gridOf(): string[] {
  const { x, y } = pixelsOf(DEM);
  const [left, width, , top, , height] = geoTransformOf(DEM);
  const extent = [left, top + y * height, left + x * width, top];
  return ['-t_srs', 'EPSG:31985', '-te', ...extent.map(String), '-ts', String(x), String(y)];
}

it.each([
  ['difference', 0, 'B-A'],
  ['ratio', 0, 'B/numpy.where(A==0,numpy.nan,A)'],
  ['percent', 0, '(B-A)/numpy.where(A==0,numpy.nan,A)*100'],
  ['classes', 5, 'numpy.where(B-A>5,1.,numpy.where(A-B>5,-1.,0.))'],
])('raster.change: %s', async (method, threshold, calc) => {
  const ours = await output('raster.change', {
    ...{ before: { collection: DEM_COLLECTION }, after: { collection: 'later' } },
    ...{ method, threshold },
  });
  const theirs = files.path('tif');
  tool('gdal_calc', '-A', DEM, '-B', later, '--outfile', theirs, `--calc=${calc}`, '--type=Float32');
  const deviation = difference(ours, theirs);
  note('raster.change', deviation);
  expect(deviation).toBeLessThan(1e-3);
});

it.each([
  ['NDVI', { nir: 4, red: 3 }, '(A-B)/(A+B)', ['4', '3']],
  ['SAVI', { nir: 4, red: 3 }, '1.5*(A-B)/(A+B+.5)', ['4', '3']],
  ['NBR', { nir: 4, swir2: 6 }, '(A-B)/(A+B)', ['4', '6']],
])('raster.spectral-index %s is what gdal_calc makes', async (index, bands, calc, [a, b]) => {
  const raster = { collection: 'l7_etms' };
  const ours = await client.output('raster.spectral-index', { raster, index, ...bands }, 'raster');
  const theirs = files.path('tif');
  const operands = ['-A', LANDSAT, `--A_band=${a}`, '-B', LANDSAT, `--B_band=${b}`];
  const floats = calc.replaceAll('A', 'A.astype(float)').replaceAll('B', 'B.astype(float)');
  tool('gdal_calc', ...operands, '--outfile', theirs, `--calc=${floats}`, '--type=Float32');
  const deviation = difference(ours, theirs);
  note('raster.spectral-index', deviation);
  expect(deviation).toBeLessThan(1e-6);
});

it('raster.reclassify is what gdal_calc makes of the same ranges', async () => {
  const remap = [
    { min: 10, max: 20, value: 2 },
    { max: 10, value: 1 },
    { min: 40, value: 9 },
  ];
  const ours = await client.output('raster.reclassify', { remap }, 'raster');
  const calc = 'numpy.where(A<10,1,numpy.where(A<20,2,numpy.where(A>=40,9,255)))';
  const theirs = files.path('tif');
  tool('gdal_calc', '-A', DEM, '--outfile', theirs, `--calc=${calc}`, '--type=Byte', '--NoDataValue=255');
  const deviation = difference(ours, theirs);
  note('raster.reclassify', deviation);
  expect(deviation).toBe(0);
  const keep = await client.output('raster.reclassify', { remap, others: 'keep' }, 'raster');
  const { pixels } = pixelsOf(DEM);
  const others = pixelsOf(keep).pixels;
  expect(
    others.every((value, i) => value === (pixels[i]! < 20 || pixels[i]! >= 40 ? value : pixels[i])),
  ).toBe(true);
  expect(others.some((value) => value > 20 && value < 40)).toBe(true);
});

it('raster.mosaic is what gdal_merge makes, and takes other values by its operator', async () => {
  const mosaicOf = (operator: string) =>
    output('raster.mosaic', { sources: sources('west', 'east'), operator });
  const theirs = files.path('tif');
  tool('gdal_merge', '-o', theirs, '-n', '-99', '-a_nodata', '-99', '-init', '-99', west, east);
  const last = await mosaicOf('last');
  const deviation = difference(last, theirs);
  note('raster.mosaic', deviation);
  expect(deviation).toBe(0);
  const [first, min, max, mean] = (await Promise.all(['first', 'min', 'max', 'mean'].map(mosaicOf))).map(
    (path) => pixelsOf(path).pixels,
  );
  const top = pixelsOf(last).pixels;
  let shared = 0;
  for (const [i, value] of top.entries()) {
    const below = first![i]!;
    const same = (a: number, b: number) => (Number.isNaN(a) ? Number.isNaN(b) : Math.abs(a - b) < 1e-5);
    expect(same(min![i]!, Math.min(value, below)) && same(max![i]!, Math.max(value, below))).toBe(true);
    expect(same(mean![i]!, (value + below) / 2)).toBe(true);
    if (value !== below) shared++;
  }
  expect(shared).toBeGreaterThan(500);
});

it.each([
  ['first', ['cents', 'cents'], [12.34, 1.5, 0.07, -0.33]],
  ['last', ['cents', 'coarse_cents'], [2.5, 2.5, -1.25, -1.25]],
  ['last', ['bytes', 'floats'], [0, 300.5, 0.25, -1]],
  ['first', ['bytes', 'floats'], [0, 1, 2, 255]],
  ['first', ['bytes', 'zeros'], [0, 1, 2, 255]],
  ['first', ['longs', 'bytes'], [16_777_217, -16_777_217, 0, 1]],
  ['mean', ['longs', 'zeros'], [16_777_217 / 2, -16_777_217 / 2, 4.5, 5]],
])('raster.mosaic has the %s of %j whatever their types and scales are', async (operator, names, values) => {
  const ours = await output('raster.mosaic', { sources: sources(...names), operator });
  expect([...pixelsOf(ours).pixels.subarray(0, 4)]).toEqual(values.map((value) => expect.closeTo(value, 5)));
});

it('raster.mosaic of rasters of one type has this type', async () => {
  const ours = gdal.open(await output('raster.mosaic', { sources: sources('bytes', 'bytes') }));
  const { dataType, noDataValue } = ours.bands.get(1);
  ours.close();
  expect([dataType, noDataValue]).toEqual(['Byte', 0]);
});

const RASTER = { raster: { collection: DEM_COLLECTION } };

it.each([
  ['raster.map-algebra', { sources: sources(DEM_COLLECTION), expression: 'b1 +' }, '/inputs/expression'],
  ['raster.map-algebra', { sources: [], expression: 'b1' }, '/inputs/sources'],
  [
    'raster.map-algebra',
    { sources: sources(DEM_COLLECTION, 'nothing'), expression: 'b1' },
    '/inputs/sources/1/collection',
  ],
  ['raster.spectral-index', { ...RASTER, index: 'NDVI', nir: 4 }, '/inputs/red'],
  ['raster.change', { before: { collection: DEM_COLLECTION } }, '/inputs/after'],
  ['raster.reclassify', { ...RASTER, remap: [{ min: 3, max: 3, value: 1 }] }, '/inputs/remap/0/max'],
  ['raster.reclassify', { ...RASTER, remap: [{ value: 1 }, { min: 3, value: 2 }] }, '/inputs/remap/1'],
  ['raster.mosaic', { sources: sources(DEM_COLLECTION), operator: 'sum' }, '/inputs/operator'],
])('%s with %j is 400 naming %s', async (id, inputs, name) => {
  const response = await client.execute(id, { inputs });
  expect([response.status, ((await response.json()) as Json).errors?.[0]?.name]).toEqual([400, name]);
});

it('bands that no raster has fail the job', async () => {
  const inputs = { sources: sources(DEM_COLLECTION, 'later'), expression: 'b3 * 2' };
  const status = await client.run('raster.map-algebra', { inputs });
  expect([status.status, status.message]).toEqual([
    'failed',
    'There is no band b3: the rasters have 2 bands.',
  ]);
});
