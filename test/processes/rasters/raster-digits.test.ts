import { join } from 'node:path';
import gdal from 'gdal-async';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import type { Json } from '../support.js';
import { Files, RasterClient } from './raster-support.js';

/** Rasters of integers that a Float32 or a double rounds. */

const files = new Files();
const at = (name: string) => join(files.folder, `${name}.tif`);
const LARGE = [2n ** 60n + 1n, 2n ** 60n + 3n, 2n ** 53n + 1n, -(2n ** 53n) - 1n];
const ROWS = {
  large: { type: 'Int64', values: BigInt64Array.from([...LARGE, ...LARGE]) },
  gaps: { type: 'Int64', values: BigInt64Array.from([-1n, ...LARGE, -1n, 5n, 6n]), nodata: -1 },
  positive: {
    type: 'UInt64',
    values: BigUint64Array.from([2n ** 64n - 1n, 2n ** 63n + 1n, 1n, 2n, 3n, 4n, 5n, 6n]),
  },
  small: { type: 'Int64', values: BigInt64Array.from([2n ** 40n + 1n, 7n, 8n, 9n, 1n, 2n, 3n, 4n]) },
  longs: { type: 'Int32', values: Int32Array.from([16_777_217, 16_777_216, 3, 4, 1, 2, 3, 4]) },
};

let server: TestServer;
let client: RasterClient;

beforeAll(async () => {
  for (const [name, { type, values, ...rest }] of Object.entries(ROWS)) {
    const dataset = gdal.open(at(name), 'w', 'GTiff', 4, 2, 1, type);
    dataset.srs = gdal.SpatialReference.fromEPSG(31985);
    dataset.geoTransform = [290_000, 30, 0, 9_116_000, 0, -30];
    const band = dataset.bands.get(1);
    if ('nodata' in rest) band.noDataValue = rest.nodata;
    band.pixels.write(0, 0, 4, 2, values as never);
    dataset.close();
  }
  server = await startServer({ sources: Object.keys(ROWS).map(at) });
  client = new RasterClient(server, files);
});
afterAll(async () => {
  await server?.stop();
  files.remove();
});

function read(path: string): { type: string | null; nodata: number | null; values: string[] } {
  const dataset = gdal.open(path);
  const { x, y } = dataset.rasterSize;
  const band = dataset.bands.get(1);
  const values = [...(band.pixels.read(0, 0, x, y) as unknown as bigint[])].map(String);
  const result = { type: band.dataType, nodata: band.noDataValue, values };
  dataset.close();
  return result;
}

const raster = (name: string) => ({ raster: { collection: name } });
const texts = (name: keyof typeof ROWS) => [...ROWS[name].values].map(String);

/** The corner of each pixel of a row, in the CRS of the rasters. */
const square = (column: number, properties: Json) => ({
  type: 'Feature',
  properties,
  geometry: ring(290_000 + column * 30, 9_115_970, 30),
});

function ring(x: number, y: number, side: number) {
  const corners = [
    [x, y],
    [x + side, y],
    [x + side, y + side],
    [x, y + side],
    [x, y],
  ];
  const degrees = new gdal.CoordinateTransformation(
    gdal.SpatialReference.fromEPSG(31985),
    gdal.SpatialReference.fromProj4('+proj=longlat +datum=WGS84'),
  );
  const points = corners.map(([a, b]) => degrees.transformPoint(a!, b!)).map((point) => [point.x, point.y]);
  return { type: 'Polygon', coordinates: [points] };
}

const collectionOf = (numbers: string[]) => {
  const features = numbers.map((_, i) => square(i, { n: `#${i}#` }));
  const text = JSON.stringify({ type: 'FeatureCollection', features });
  return numbers.reduce((all, digits, i) => all.replace(`"#${i}#"`, digits), text);
};

it.each([
  [['7', '2', '-3', '0'], 'Float32'],
  [['16777217', '2', '-3', '0'], 'Float64'],
  [['0.1', '2.5', '-3', '0'], 'Float64'],
  [['9007199254740993', '1152921504606846977', '-9007199254740993', '-1'], 'Int64'],
])('rasterize %j writes %s, with all digits', async (numbers, type) => {
  const body = `{"inputs":{"raster":{"collection":"longs"},"features":${collectionOf(numbers)},"field":"n"}}`;
  const status = await client.run('raster.rasterize', body);
  const { type: written, values } = read(await client.saved(status, 'raster'));
  expect([written, values.slice(0, 4)]).toEqual([type, numbers]);
});

it('rasterize writes a value that a Float32 does not have', async () => {
  const features = JSON.parse(collectionOf(['1'])) as Json;
  const file = await client.output(
    'raster.rasterize',
    { ...raster('longs'), features, value: 16_777_217 },
    'raster',
  );
  expect(read(file).values[0]).toBe('16777217');
});

it.each(['large', 'gaps', 'positive', 'small'] as const)(
  'reproject %s by nearest keeps all digits',
  async (name) => {
    const inputs = { ...raster(name), targetCrs: 'EPSG:31985', resampling: 'nearest' };
    const { type, values } = read(await client.output('raster.reproject', inputs, 'raster'));
    expect([type, values]).toEqual([ROWS[name].type, texts(name)]);
  },
);

it.each(['large', 'gaps', 'positive'] as const)('clip of %s keeps all digits', async (name) => {
  const inputs = { ...raster(name), features: ring(290_000, 9_115_970, 60) };
  const { values } = read(await client.output('raster.clip', inputs, 'raster'));
  expect(values.slice(0, 2)).toEqual(texts(name).slice(0, 2));
});

it.each([
  ['raster.reproject', { targetCrs: 'EPSG:4326', resampling: 'bilinear' }],
  ['raster.fill-nodata', {}],
  ['raster.sieve', { threshold: 2 }],
  ['raster.statistics', {}],
  ['raster.reclassify', { remap: [{ min: 0, max: 5, value: 1 }], others: 'keep' }],
  ['raster.map-algebra', { raster: undefined, sources: [{ collection: 'gaps' }], expression: 'b1' }],
  ['raster.mosaic', { raster: undefined, sources: [{ collection: 'gaps' }, { collection: 'large' }] }],
])('%s of values beyond 2^53 fails and says so', async (id, inputs) => {
  const status = await client.run(id, { inputs: { ...raster('gaps'), ...inputs } });
  expect([status.status, status.message]).toEqual(['failed', expect.stringContaining('beyond 2^53')]);
});

it.each([
  ['raster.reclassify', { ...raster('longs'), remap: [{ min: 0, max: 2, value: 0.5 }], others: 'keep' }],
  ['raster.map-algebra', { raster: undefined, sources: [{ collection: 'longs' }], expression: 'b1 + 0' }],
])('%s keeps integers that a Float32 rounds', async (id, inputs) => {
  const { type, values } = read(await client.output(id, inputs, 'raster'));
  expect([type, values.slice(0, 2)]).toEqual(['Float64', ['16777217', '16777216']]);
});

const POINTS = { type: 'FeatureCollection', features: [0, 1, 2, 3].map((i) => square(i, { i })) };
const middles = {
  ...POINTS,
  features: POINTS.features.map((feature) => {
    const [ring] = feature.geometry.coordinates as [[number, number][]];
    const [x, y] = [0, 1].map((axis) => (ring![0]![axis]! + ring![2]![axis]!) / 2);
    return { ...feature, geometry: { type: 'Point', coordinates: [x, y] } };
  }),
};

it.each(['large', 'gaps'] as const)('sample of %s gives all digits', async (name) => {
  const inputs = { raster: { collection: name }, points: middles };
  const status = await client.run('raster.sample', { inputs });
  expect([status.status, status.message]).toEqual(['successful', expect.any(String)]);
  const text = await (await client.get(`/ogc/processes/jobs/${status.jobID}/results`)).text();
  const sampled = [...text.matchAll(/"band_1":\s*(-?\d+|null)/g)].map(([, digits]) => digits);
  expect(sampled).toEqual(
    texts(name)
      .slice(0, 4)
      .map((digits) => (digits === '-1' ? 'null' : digits)),
  );
});

it.each([
  ['large', { resampling: 'bilinear' }, 'beyond 2^53'],
  ['positive', {}, 'does not fit into an attribute'],
])('sample of %s %j fails where digits would be lost', async (name, options, reason) => {
  const inputs = { raster: { collection: name }, points: middles, ...options };
  const status = await client.run('raster.sample', { inputs });
  expect([status.status, status.message]).toEqual(['failed', expect.stringContaining(reason)]);
});
