import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { pythonOfClients } from '../support/python.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** Results that are made on demand are read in parts, as rasterio, QGIS and GDAL do. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const small = () =>
  `${server.url}/ogc/coverages/collections/l7_etms/coverage?f=geotiff&properties=band_1,band_4`;
/** More than is kept in memory by the engine and the gateway. */
const large = () =>
  `${server.url}/ogc/coverages/collections/l7_etms/coverage?f=geotiff&scale-size=3000,3000&resampling=cubic`;
const map = () => `${server.url}/ogc/maps/map?bbox=0,40,20,55&width=700&f=png`;

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const part = (url: string, range: string, headers: Record<string, string> = {}) =>
  fetch(url, { headers: { range, ...headers } });

describe.each([
  ['a coverage', small],
  ['a coverage on disk', large],
  ['a map', map],
])('%s', (_, url) => {
  it('is had in parts that make up the whole', async () => {
    const head = await fetch(url(), { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('accept-ranges')).toBe('bytes');
    const size = Number(head.headers.get('content-length'));
    expect(size).toBeGreaterThan(10_000);
    const whole = await bytesOf(await fetch(url()));
    expect(whole).toHaveLength(size);
    const cuts = [0, 1, 1000, Math.floor(size / 2), size - 7, size];
    const parts = await Promise.all(
      cuts.slice(1).map(async (end, i) => {
        const response = await part(url(), `bytes=${cuts[i]}-${end - 1}`);
        expect(response.status).toBe(206);
        expect(response.headers.get('content-range')).toBe(`bytes ${cuts[i]}-${end - 1}/${size}`);
        expect(response.headers.get('etag')).toBe(head.headers.get('etag'));
        return bytesOf(response);
      }),
    );
    expect(Buffer.concat(parts).equals(whole)).toBe(true);
    expect((await bytesOf(await part(url(), 'bytes=-7'))).equals(whole.subarray(size - 7))).toBe(true);
    expect((await bytesOf(await part(url(), `bytes=${size - 7}-`))).equals(whole.subarray(size - 7))).toBe(
      true,
    );
  });

  it('refuses what lies outside, and answers whole where a condition says so', async () => {
    const first = await part(url(), 'bytes=0-9');
    const etag = first.headers.get('etag')!;
    const size = Number(first.headers.get('content-range')!.split('/')[1]);
    const outside = await part(url(), `bytes=${size}-`);
    expect(outside.status).toBe(416);
    expect(outside.headers.get('content-range')).toBe(`bytes */${size}`);
    expect((await part(url(), 'bytes=0-9', { 'if-range': etag })).status).toBe(206);
    expect((await part(url(), 'bytes=0-9', { 'if-range': '"other"' })).status).toBe(200);
    expect((await part(url(), 'bytes=0-9', { 'if-none-match': etag })).status).toBe(304);
    expect((await part(url(), 'bytes=0-1,4-5')).status).toBe(200);
    expect((await part(url(), 'lines=0-1')).status).toBe(200);
  });
});

it('a wrong parameter is told, whichever part is asked for', async () => {
  const response = await part(`${small()}&scale-size=x`, 'bytes=0-9');
  expect(response.status).toBe(400);
  expect((await response.json()) as object).toMatchObject({ status: 400 });
});

it('rasterio opens a coverage by its URL and reads the pixels of the file', () => {
  const script = `
import sys, numpy, rasterio
with rasterio.open(sys.argv[1]) as made, rasterio.open(sys.argv[2]) as file:
    assert made.crs == file.crs and made.bounds == file.bounds, (made.crs, made.bounds)
    window = ((100, 180), (50, 300))
    assert numpy.array_equal(made.read(1, window=window), file.read(1, window=window))
    assert numpy.array_equal(made.read(2), file.read(4))
    print(made.driver, made.shape)`;
  const run = (url: string) =>
    execFileSync(pythonOfClients(), ['-c', script, url, 'demo/data/L7_ETMs.tif'], { encoding: 'utf8' });
  expect(run(small()).trim()).toBe('GTiff (352, 349)');
});

it("GDAL's /vsicurl/ opens coverages and georeferenced maps", () => {
  const info = (url: string) =>
    JSON.parse(execFileSync('gdalinfo', ['-json', `/vsicurl/${url}`], { encoding: 'utf8' })) as {
      size: number[];
      driverShortName: string;
      coordinateSystem: { wkt: string };
    };
  expect(info(large())).toMatchObject({ driverShortName: 'GTiff', size: [3000, 3000] });
  const { size, coordinateSystem } = info(map().replace('f=png', 'f=geotiff'));
  expect(size[0]).toBe(700);
  expect(coordinateSystem.wkt).toMatch(/4326|CRS84|WGS 84/);
});
