import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gdal from 'gdal-async';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Values of 64-bit rasters on every surface: all digits, or a refusal. */

const VALUES = [2n ** 60n + 1n, -(2n ** 60n) - 3n, 2n ** 53n + 1n, 7n];
const folder = mkdtempSync(join(tmpdir(), 'graticule-raster-digits-'));
const file = join(folder, 'wide.tif');
let server: TestServer;
let layer: number;

beforeAll(async () => {
  const dataset = gdal.open(file, 'w', 'GTiff', 4, 2, 1, 'Int64');
  dataset.srs = gdal.SpatialReference.fromEPSG(4326);
  dataset.geoTransform = [10, 1, 0, 50, 0, -1];
  dataset.bands.get(1).pixels.write(0, 0, 4, 2, BigInt64Array.from([...VALUES, ...VALUES]) as never);
  dataset.close();
  server = await startServer({ sources: [file] });
  const { collections } = (await (await fetch(`${server.url}/?f=json`)).json()) as {
    collections: { id: string; layerId: number }[];
  };
  layer = collections[0]!.layerId;
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const get = (path: string) => fetch(server.url + path);
const textOf = async (path: string) => (await get(path)).text();

it.each([0, 1, 2, 3])('of column %i are answered at a place with all digits', async (column) => {
  const digits = String(VALUES[column]);
  const [x, y] = [10.5 + column, 49.5];
  const position = `/ogc/coverages/collections/wide/position?coords=${x},${y}`;
  expect(await textOf(`${position}&f=json`)).toMatch(new RegExp(`"values":\\s*\\[\\s*${digits}\\s*\\]`));
  expect(await textOf(`${position}&f=csv`)).toContain(`,${digits}\r\n`);
  expect((await textOf(`${position}&f=html`)).replaceAll(',', '')).toContain(`>${digits}<`);
});

it.each([0, 1, 2, 3])('of column %i are answered by GeoServices with all digits', async (column) => {
  const digits = String(VALUES[column]);
  const at = `geometry=${10.5 + column},49.5&geometryType=esriGeometryPoint&sr=4326&f=json`;
  const image = '/rest/services/default/ImageServer';
  const services = JSON.parse(await textOf('/rest/services?f=json')) as {
    services: { name: string; type: string }[];
  };
  const { name } = services.services.find(({ type }) => type === 'ImageServer') ?? { name: '' };
  const base = name ? `/rest/services/${name}/ImageServer` : image;
  expect(JSON.parse(await textOf(`${base}/identify?${at}`))).toMatchObject({ value: digits });
  const { samples } = JSON.parse(await textOf(`${base}/getSamples?${at}`)) as {
    samples: { value: string }[];
  };
  expect(samples[0]!.value).toBe(digits);
  const window = `mapExtent=10,48,14,50&imageDisplay=400,200,96&tolerance=2&layers=all:${layer}`;
  expect(await textOf(`/rest/services/default/MapServer/identify?${at}&${window}`)).toContain(`"${digits}"`);
});

async function valuesOf(query: string): Promise<string[]> {
  const response = await get(`/ogc/coverages/collections/wide/coverage?f=tiff&${query}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect([response.status, response.status === 200 ? '' : bytes.toString()]).toEqual([200, '']);
  const path = join(folder, 'answer.tif');
  writeFileSync(path, bytes);
  const dataset = gdal.open(path);
  const { x } = dataset.rasterSize;
  const values = dataset.bands.get(1).pixels.read(0, 0, x, 1) as unknown as bigint[];
  dataset.close();
  return Array.from(values, String);
}

const digitsOf = (from: number, to: number) => VALUES.slice(from, to).map(String);

it('of subsets keep all digits, also scaled by nearest', async () => {
  expect(await valuesOf('')).toEqual(digitsOf(0, 4));
  expect(await valuesOf('bbox=11,48,13,50')).toEqual(digitsOf(1, 3));
  expect(await valuesOf('scale-size=Lon(8),Lat(4)&resampling=nearest')).toEqual(
    digitsOf(0, 4).flatMap((one) => [one, one]),
  );
});

it.each([
  'scale-size=Lon(2),Lat(1)&resampling=bilinear',
  'crs=EPSG:3857',
  'crs=EPSG:3857&resampling=nearest',
])('are refused where %s would round them', async (query) => {
  const response = await get(`/ogc/coverages/collections/wide/coverage?f=tiff&${query}`);
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('beyond 2^53')]);
});
