import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.js';
import type { Json } from '../support.js';
import {
  DEM,
  DEM_COLLECTION,
  difference,
  Files,
  note,
  pixelsOf,
  RasterClient,
  tool,
} from './raster-support.js';

/** Processes of rasters against the programs of GDAL, on the heights of Olinda. */

const files = new Files();

let server: TestServer;
let client: RasterClient;

beforeAll(async () => {
  server = await startServer({ sources: [DEM] });
  client = new RasterClient(server, files);
});
afterAll(async () => {
  await server?.stop();
  files.remove();
});

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
  const ours = await client.output(id, inputs, 'raster');
  const theirs = files.path('tif');
  tool('gdaldem', mode!, DEM, theirs, '-compute_edges', ...args);
  const deviation = difference(ours, theirs);
  note(id, deviation);
  // Versions of GDAL round the last bit of shades differently.
  expect(deviation).toBeLessThanOrEqual(mode === 'hillshade' ? 1 : 1e-3);
});

it('rasters are cloud optimized, and go by reference unless they are asked for by value', async () => {
  const body = { inputs: { raster: { collection: DEM_COLLECTION } } };
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
  const file = files.path('tif');
  await writeFile(file, Buffer.from(value.raster.value, 'base64'));
  expect(execFileSync('gdalinfo', [file], { encoding: 'utf8' })).toContain('LAYOUT=COG');
});

it('raster.reproject is what gdalwarp makes', async () => {
  const ours = await client.output(
    'raster.reproject',
    { targetSrid: 4326, resampling: 'bilinear' },
    'raster',
  );
  const theirs = files.path('tif');
  tool('gdalwarp', '-t_srs', 'EPSG:4326', '-r', 'bilinear', DEM, theirs);
  const deviation = difference(ours, theirs);
  note('raster.reproject', deviation);
  expect(deviation).toBeLessThan(0.01);
});

it('raster.resample is what gdalwarp makes', async () => {
  const ours = await client.output('raster.resample', { cellSize: 200, resampling: 'average' }, 'raster');
  const theirs = files.path('tif');
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
    await client.output('surface.contour', { interval: 10 }, 'features'),
    'features',
    'ST_Length',
  );
  const file = files.path('gpkg');
  tool('gdal_contour', '-f', 'GPKG', '-nln', 'features', '-i', '10', '-a', 'elevation', DEM, file);
  const theirs = measured(file, 'features', 'ST_Length');
  note('surface.contour', Math.abs(1 - ours.sum / theirs.sum));
  expect(ours.n).toBe(theirs.n);
  expect(ours.sum / theirs.sum).toBeCloseTo(1, 9);
});

it.each([
  [{}, ['-oz', '2', '-tz', '0']],
  [{ observerY: 9_111_300, observerHeight: 60 }, ['-oz', '60', '-tz', '0']],
  [{ observerHeight: 30, targetHeight: 5, maxDistance: 4000 }, ['-oz', '30', '-tz', '5', '-md', '4000']],
])('surface.viewshed %j is what gdal_viewshed sees', async (inputs, args) => {
  const observer = { observerX: 293_500, observerY: 9_115_400, ...inputs };
  const ours = pixelsOf(await client.output('surface.viewshed', observer, 'raster'));
  const file = files.path('tif');
  const at = ['-ox', String(observer.observerX), '-oy', String(observer.observerY)];
  tool('gdal_viewshed', ...at, ...args, '-vv', '1', '-iv', '0', '-ov', '255', '-a_nodata', '255', DEM, file);
  const theirs = pixelsOf(file);
  expect([ours.x, ours.y]).toEqual([theirs.x, theirs.y]);
  const off = [...ours.pixels.keys()].filter((i) => !Object.is(ours.pixels[i], theirs.pixels[i]));
  note('surface.viewshed', off.length / ours.pixels.length);
  // GDAL 3.6 hides pixels right beside the observer that lie lower, and with them a few behind them.
  expect(off.every((i) => ours.pixels[i] === 1)).toBe(true);
  expect(off.length / ours.pixels.length).toBeLessThan(0.003);
  expect(new Set(ours.pixels).size).toBeGreaterThan(1);
});

it('lines of a raster are features, which other processes take', async () => {
  const { jobID } = await client.run('surface.contour', {
    inputs: { raster: { collection: DEM_COLLECTION }, interval: 50 },
  });
  const href = `${server.url}/ogc/processes/jobs/${jobID}/results/features`;
  const lines = (await client.json(href)).features;
  expect(lines.every(({ properties }: Json) => properties.elevation % 50 === 0)).toBe(true);
  const hull = await client.results('geometry.layer-convex-hull', { inputs: { features: { href } } });
  expect(hull.features.features).toHaveLength(1);
});

it('areas of equal value cover what has data, and a raster of a job goes into the next', async () => {
  const { jobID } = await client.run('raster.resample', {
    inputs: { raster: { collection: DEM_COLLECTION }, cellSize: 500 },
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
  ['surface.contour', { raster: { collection: DEM_COLLECTION }, interval: 0 }, '/inputs/interval'],
  ['surface.hillshade', { raster: { collection: DEM_COLLECTION }, altitude: 91 }, '/inputs/altitude'],
  ['surface.viewshed', { raster: { collection: DEM_COLLECTION }, observerX: 1 }, '/inputs/observerY'],
  ['raster.reproject', { raster: { collection: DEM_COLLECTION } }, '/inputs/targetCrs'],
  ['raster.reproject', { raster: { collection: DEM_COLLECTION }, targetSrid: 1 }, '/inputs/targetSrid'],
])('%s with %j is 400 naming %s', async (id, inputs, name) => {
  const response = await client.execute(id, { inputs });
  expect([response.status, ((await response.json()) as Json).errors?.[0]?.name]).toEqual([400, name]);
});

it('a band that the raster has not fails the job', async () => {
  const status = await client.run('surface.slope', {
    inputs: { raster: { collection: DEM_COLLECTION }, band: 9 },
  });
  expect([status.status, status.message]).toEqual(['failed', 'The raster has no band 9.']);
});

it('a raster becomes a collection, which is served as others are, and whose name is taken then', async () => {
  const body = {
    inputs: { raster: { collection: DEM_COLLECTION } },
    outputs: { raster: { publish: { collection: 'relief' } } },
  };
  const { jobID, status } = await client.run('surface.hillshade', body);
  expect(status).toBe('successful');
  const { raster } = await client.json(`/ogc/processes/jobs/${jobID}/results`);
  expect(raster.href).toBe(`${server.url}/ogc/coverages/collections/relief`);
  expect(await client.json(raster.href)).toMatchObject({ id: 'relief', title: 'Relief' });
  const save = async (path: string) => {
    const response = await client.get(path);
    expect([path, response.status]).toEqual([path, 200]);
    const file = files.path('tif');
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    return file;
  };
  const coverage = await save('/ogc/coverages/collections/relief/coverage?f=geotiff');
  expect(difference(coverage, await save(`/ogc/processes/jobs/${jobID}/results/raster`))).toBe(0);
  const { collections } = await client.json('/ogc/tiles/collections');
  const { id: layerId } = collections.find(({ name }: Json) => name === 'relief');
  for (const path of [
    `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/12/2139/1651`,
    `/ogc/maps/collections/${layerId}/map?width=50&height=50&f=png`,
  ]) {
    const picture = await client.get(path);
    expect([path, picture.status, picture.headers.get('content-type')]).toEqual([path, 200, 'image/png']);
  }
  expect((await client.execute('surface.slope', body)).status).toBe(409);
  // It is a raster for other processes, too.
  const { raster: slope } = await client.results('surface.slope', {
    inputs: { raster: { collection: 'relief' } },
  });
  expect(slope.href).toContain('/results/raster');
});

it('a raster that is published is named by its collection alone', async () => {
  const response = await client.execute('surface.slope', {
    inputs: { raster: { collection: DEM_COLLECTION } },
    outputs: { raster: { publish: { collection: 'steep', title: 'Steep' } } },
  });
  const { errors } = (await response.json()) as Json;
  expect([response.status, errors[0].name]).toEqual([400, '/outputs/raster/publish/title']);
});

it('rasters, zones and lists may come as existing clients send them', async () => {
  const source = readFileSync(DEM).toString('base64');
  const { collections } = await client.json('/ogc/tiles/collections');
  const [{ id: layerId }] = collections;
  const plain = await client.output('surface.slope', { units: 'percent' }, 'raster');
  for (const inputs of [{ source }, { layerId: String(layerId) }]) {
    const steps = [
      {
        kind: 'geoprocess',
        stepId: 's1',
        processId: 'surface.slope',
        inputs: { ...inputs, units: 'percent' },
      },
    ];
    const { s1 } = await client.results('svc-geoprocessing', { inputs: { plan: { planId: 'p', steps } } });
    const bytes = Buffer.from(await (await client.get(s1.href)).arrayBuffer());
    expect(bytes.equals(readFileSync(plain))).toBe(true);
  }
  const zone = { type: 'Point', coordinates: [-34.88, -8] };
  const square = {
    type: 'Polygon',
    coordinates: [
      [
        [-34.9, -8.02],
        [-34.86, -8.02],
        [-34.86, -7.98],
        [-34.9, -7.98],
        [-34.9, -8.02],
      ],
    ],
  };
  const zones = Buffer.from(JSON.stringify(square)).toString('base64');
  const inputs = { source, zones, statistics: 'mean, max' };
  const { features } = (await client.results('raster.zonal-statistics', { inputs })).features;
  expect(features[0].properties).toMatchObject({ mean: expect.any(Number), max: expect.any(Number) });
  expect(features[0].properties).not.toHaveProperty('min');
  for (const wrong of ['SUkqAA==', Buffer.from('II*\0 is no TIFF').toString('base64')]) {
    const status = await client.run('surface.slope', { inputs: { raster: wrong } });
    expect([status.status, status.message]).toEqual(['failed', expect.not.stringContaining('internal')]);
  }
  const refused = Buffer.from('<VRTDataset/>').toString('base64');
  for (const raster of [refused, 'SUkqA, and no base64', JSON.stringify(zone)])
    expect((await client.execute('surface.slope', { inputs: { raster } })).status).toBe(400);
});
