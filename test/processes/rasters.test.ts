import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import gdal from 'gdal-async';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type Json, ProcessClient } from './support.js';

/** Processes of rasters against the programs of GDAL, on the heights of Olinda. */

const DEM = 'demo/data/olinda_dem_utm25s.tif';
const COLLECTION = 'olinda_dem_utm25s';
const folder = mkdtempSync(join(tmpdir(), 'graticule-raster-processes-'));

let server: TestServer;
let client: ProcessClient;
let files = 0;

beforeAll(async () => {
  server = await startServer({ sources: [DEM] });
  client = new ProcessClient(server);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const newFile = (ending: string) => join(folder, `${files++}.${ending}`);

function tool(program: string, ...args: string[]): void {
  execFileSync(program, [...args, '-q'], { env: { ...process.env, GDAL_PAM_ENABLED: 'NO' } });
}

/** The output of a process as a file. */
async function output(id: string, inputs: Json, name: 'raster' | 'features'): Promise<string> {
  const status = await client.run(id, { inputs: { raster: { collection: COLLECTION }, ...inputs } });
  expect([status.status, status.message]).toEqual(['successful', expect.any(String)]);
  const response = await client.get(`/ogc/processes/jobs/${status.jobID}/results/${name}?f=gpkg`);
  expect(response.headers.get('content-type')).toBe(
    name === 'raster' ? 'image/tiff; application=geotiff' : 'application/geopackage+sqlite3',
  );
  const file = newFile(name === 'raster' ? 'tif' : 'gpkg');
  await writeFile(file, Buffer.from(await response.arrayBuffer()));
  return file;
}

/** The largest difference of two rasters of the same size, pixel by pixel. */
function difference(a: string, b: string): number {
  const read = (path: string) => {
    const dataset = gdal.open(path);
    const { x, y } = dataset.rasterSize;
    const pixels = Float64Array.from(dataset.bands.get(1).pixels.read(0, 0, x, y) as ArrayLike<number>);
    dataset.close();
    return { x, y, pixels };
  };
  const [one, other] = [read(a), read(b)];
  expect([one.x, one.y]).toEqual([other.x, other.y]);
  return one.pixels.reduce((most, value, i) => Math.max(most, Math.abs(value - other.pixels[i]!)), 0);
}

/** DEVIATIONS names a file that what was found is appended to, for the table in docs/processes.md. */
function note(id: string, deviation: number): void {
  const file = process.env['DEVIATIONS'];
  if (file) appendFileSync(file, `${id} ${deviation.toPrecision(2)}\n`);
}

it.each([
  [
    'surface.hillshade',
    { azimuth: 300, altitude: 40, zFactor: 2 },
    ['hillshade', '-az', '300', '-alt', '40', '-z', '2'],
  ],
  ['surface.slope', {}, ['slope']],
  ['surface.slope', { units: 'percent', zFactor: 2 }, ['slope', '-p', '-s', '0.5']],
  ['surface.aspect', {}, ['aspect']],
  ['surface.roughness', {}, ['roughness']],
  ['surface.rugosity-tri', {}, ['TRI']],
  ['surface.rugosity-tpi', {}, ['TPI']],
])('%s %j is what gdaldem makes', async (id, inputs, [mode, ...args]) => {
  const ours = await output(id, inputs, 'raster');
  const theirs = newFile('tif');
  tool('gdaldem', mode!, DEM, theirs, '-compute_edges', ...args);
  const deviation = difference(ours, theirs);
  note(id, deviation);
  // Versions of GDAL round the last bit of shades differently.
  expect(deviation).toBeLessThanOrEqual(mode === 'hillshade' ? 1 : 1e-3);
});

it('rasters are cloud optimized, and go by reference unless they are asked for by value', async () => {
  const body = { inputs: { raster: { collection: COLLECTION } } };
  const { raster } = await client.results('surface.slope', body);
  expect(raster).toMatchObject({
    type: 'image/tiff; application=geotiff',
    href: expect.stringContaining('/results/raster'),
  });
  const bytes = Buffer.from(await (await client.get(raster.href)).arrayBuffer());
  const range = await client.get(raster.href, { range: 'bytes=0-7' });
  expect([range.status, Buffer.from(await range.arrayBuffer())]).toEqual([206, bytes.subarray(0, 8)]);
  const value = await client.results('surface.slope', {
    ...body,
    outputs: { raster: { transmissionMode: 'value' } },
  });
  expect(value.raster).toMatchObject({ encoding: 'base64', mediaType: 'image/tiff; application=geotiff' });
  const file = newFile('tif');
  await writeFile(file, Buffer.from(value.raster.value, 'base64'));
  expect(execFileSync('gdalinfo', [file], { encoding: 'utf8' })).toContain('LAYOUT=COG');
});

it('raster.reproject is what gdalwarp makes', async () => {
  const ours = await output('raster.reproject', { targetSrid: 4326, resampling: 'bilinear' }, 'raster');
  const theirs = newFile('tif');
  tool('gdalwarp', '-t_srs', 'EPSG:4326', '-r', 'bilinear', DEM, theirs);
  const deviation = difference(ours, theirs);
  note('raster.reproject', deviation);
  expect(deviation).toBeLessThan(0.01);
});

it('raster.resample is what gdalwarp makes', async () => {
  const ours = await output('raster.resample', { cellSize: 200, resampling: 'average' }, 'raster');
  const theirs = newFile('tif');
  tool('gdalwarp', '-tr', '200', '200', '-r', 'average', DEM, theirs);
  const deviation = difference(ours, theirs);
  note('raster.resample', deviation);
  expect(deviation).toBeLessThan(0.01);
});

/** Features and the sum of a measure of them. */
function measured(file: string, layer: string, measure: string): { n: number; sum: number } {
  const sql = `SELECT count(*) AS n, sum(${measure}(geom)) AS total FROM "${layer}"`;
  const text = execFileSync('ogrinfo', ['-q', '-dialect', 'SQLite', '-sql', sql, file], { encoding: 'utf8' });
  const number = (name: string) => Number(new RegExp(`${name} \\(\\w+\\) = (\\S+)`).exec(text)![1]);
  return { n: number('n'), sum: number('total') };
}

it('surface.contour is what gdal_contour makes', async () => {
  const ours = measured(
    await output('surface.contour', { interval: 10 }, 'features'),
    'features',
    'ST_Length',
  );
  const file = newFile('gpkg');
  tool('gdal_contour', '-f', 'GPKG', '-nln', 'features', '-i', '10', '-a', 'elevation', DEM, file);
  const theirs = measured(file, 'features', 'ST_Length');
  note('surface.contour', Math.abs(1 - ours.sum / theirs.sum));
  expect(ours.n).toBe(theirs.n);
  expect(ours.sum / theirs.sum).toBeCloseTo(1, 9);
});

it('lines of a raster are features, which other processes take', async () => {
  const { jobID } = await client.run('surface.contour', {
    inputs: { raster: { collection: COLLECTION }, interval: 50 },
  });
  const href = `${server.url}/ogc/processes/jobs/${jobID}/results/features`;
  const lines = (await client.json(href)).features;
  expect(lines.every(({ properties }: Json) => properties.elevation % 50 === 0)).toBe(true);
  const hull = await client.results('geometry.layer-convex-hull', { inputs: { features: { href } } });
  expect(hull.features.features).toHaveLength(1);
});

it('areas of equal value cover what has data, and a raster of a job goes into the next', async () => {
  const { jobID } = await client.run('raster.resample', {
    inputs: { raster: { collection: COLLECTION }, cellSize: 500 },
  });
  const raster = { href: `${server.url}/ogc/processes/jobs/${jobID}/results/raster` };
  const { features } = await client.results('raster.polygonize', { inputs: { raster } });
  expect(features.features.length).toBeGreaterThan(10);
  expect(features.features[0].properties).toEqual({ value: expect.any(Number) });
});

it.each([
  ['surface.slope', { raster: { collection: 'nothing' } }, '/inputs/raster/collection'],
  ['surface.slope', { raster: 7 }, '/inputs/raster'],
  ['surface.slope', { raster: { href: 'https://example.org/a.tif' } }, '/inputs/raster'],
  ['surface.contour', { raster: { collection: COLLECTION }, interval: 0 }, '/inputs/interval'],
  ['surface.hillshade', { raster: { collection: COLLECTION }, altitude: 91 }, '/inputs/altitude'],
  ['raster.reproject', { raster: { collection: COLLECTION } }, '/inputs/targetCrs'],
  ['raster.reproject', { raster: { collection: COLLECTION }, targetSrid: 1 }, '/inputs/targetSrid'],
])('%s with %j is 400 naming %s', async (id, inputs, name) => {
  const response = await client.execute(id, { inputs });
  expect([response.status, ((await response.json()) as Json).errors?.[0]?.name]).toEqual([400, name]);
});

it('a band that the raster has not fails the job', async () => {
  const status = await client.run('surface.slope', {
    inputs: { raster: { collection: COLLECTION }, band: 9 },
  });
  expect([status.status, status.message]).toEqual(['failed', 'The raster has no band 9.']);
});
