import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RasterCollection } from '../../../src/core/catalog/collection.js';
import { dimensionsDocument } from '../../../src/gateway/geoservices/images/image-documents.js';
import { pythonOfClients } from '../../support/python.js';
import { type SharedServer, sharedServer } from '../../support/shared-server.js';

/** Histograms and statistics of image services are those that numpy finds in the same pixels. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

const ID = 'olinda_dem_utm25s';
const FILE = `demo/data/${ID}.tif`;
let server: SharedServer;

beforeAll(async () => {
  server = await sharedServer();
});

async function json(path: string, members: Record<string, string> = {}): Promise<Json> {
  const query = new URLSearchParams({ f: 'json', ...members });
  const response = await fetch(`${server.url}/rest/services/${ID}/ImageServer/${path}?${query}`);
  expect(response.status).toBe(200);
  return response.json();
}

const RING = [
  [290_000, 9_110_000],
  [291_000, 9_114_000],
  [296_500, 9_116_000],
  [294_000, 9_109_500],
  [290_000, 9_110_000],
];
const POLYGON = JSON.stringify({ rings: [RING], spatialReference: { wkid: 31985 } });

const countsOf = (ring: number[][]) =>
  JSON.parse(
    execFileSync(pythonOfClients(), [
      ...['test/geoservices/images/count_pixels.py', FILE],
      JSON.stringify({ type: 'Polygon', coordinates: [ring] }),
    ]).toString(),
  ) as Json;

describe('an area', () => {
  it('has the values that numpy counts within a polygon', async () => {
    const expected = countsOf(RING);
    const { statistics, histograms } = await json('computeStatisticsHistograms', {
      ...{ geometry: POLYGON, geometryType: 'esriGeometryPolygon' },
    });
    expect(expected.count).toBeGreaterThan(1000);
    expect(statistics).toHaveLength(1);
    expect(statistics[0].count).toBe(expected.count);
    for (const [name, value] of Object.entries<number>(expected.statistics))
      expect(statistics[0][name]).toBeCloseTo(value, 6);
    expect(histograms[0].counts).toEqual(expected.counts);
    const { histograms: alone, ...others } = await json('computeHistograms', { geometry: POLYGON });
    expect(alone).toEqual(histograms);
    expect(others).toEqual({});
  });

  it('may be an envelope, with pixels of another size', async () => {
    const envelope = {
      xmin: -34.9,
      ymin: -8.02,
      xmax: -34.86,
      ymax: -7.98,
      spatialReference: { wkid: 4326 },
    };
    const geometry = JSON.stringify(envelope);
    const count = async (members: object) =>
      (await json('computeStatisticsHistograms', { geometry, ...members })).statistics[0].count as number;
    const [whole, coarse] = [await count({}), await count({ pixelSize: '200' })];
    // Its own pixels have 89.99 m.
    expect(whole / coarse).toBeGreaterThan(4.4);
    expect(whole / coarse).toBeLessThan(5.5);
    expect(await count({ pixelSize: '{"x":200,"y":200}' })).toBe(coarse);
    expect(await count({ renderingRule: '{"rasterFunction":"None"}' })).toBe(whole);
  });

  it.each([
    ['geometry', {}],
    ['geometry', { geometry: '1,2' }],
    ['geometry', { geometry: '100,60,110,70', sr: '4326' }],
    ['geometry', { geometry: '{"rings":[[[0,0],[1,1],[2,2],[0,0]]]}' }],
    ['pixelSize', { geometry: POLYGON, pixelSize: '0' }],
    ['pixelSize', { geometry: POLYGON, pixelSize: 'x,y' }],
    ['pixelSize', { geometry: POLYGON, pixelSize: '0.001' }],
    ['pixelSize', { geometry: POLYGON, pixelSize: '{"x":[1]}' }],
    ['renderingRule', { geometry: POLYGON, renderingRule: '{"rasterFunction":"Hillshade"}' }],
    ['time', { geometry: POLYGON, time: 'now' }],
  ])('names a wrong %s', async (name, members) => {
    expect((await json('computeHistograms', members as Record<string, string>)).error).toMatchObject({
      ...{ code: 400, message: expect.stringContaining(name) },
    });
  });
});

describe('a service', () => {
  it('has histograms of the sample that its statistics are of', async () => {
    const { histograms } = await json('histograms');
    const { statistics } = await json('statistics');
    expect(histograms).toHaveLength(statistics.length);
    const [{ size, min, max, counts }] = histograms;
    const width = (max - min) / size;
    expect(min + width / 2).toBeCloseTo(statistics[0].min, 6);
    expect(max - width / 2).toBeCloseTo(statistics[0].max, 6);
    const total = counts.reduce((sum: number, count: number) => sum + count, 0);
    const mean = counts.reduce((sum: number, n: number, i: number) => sum + n * (min + (i + 0.5) * width), 0);
    expect(Math.abs(mean / total - statistics[0].mean)).toBeLessThan(width);
  });

  it('tells of functions, and of axes that it does not have', async () => {
    expect((await json('rasterFunctionInfos')).rasterFunctionInfos[0]).toMatchObject({ name: 'None' });
    expect(await json('multidimensionalInfo')).toEqual({ multidimensionalInfo: { variables: [] } });
  });

  it('tells of the axes of times and levels that it has', () => {
    const times = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'];
    const raster = { times, levels: { name: 'height', unit: 'm', values: [2, 10, 100] } };
    const bands = [{ band: 1, description: 'wind', unit: 'm/s' }];
    const { multidimensionalInfo } = dimensionsDocument({ bands, raster } as unknown as RasterCollection);
    const first = Date.UTC(2026, 0, 1);
    const time = {
      unit: 'ISO8601',
      dimensionSize: 3,
      extent: [first, first + 172_800_000],
      interval: 86_400_000,
    };
    const height = { unit: 'm', values: [2, 10, 100], extent: [2, 100], hasRegularIntervals: false };
    expect(multidimensionalInfo.variables).toMatchObject([
      {
        ...{ name: 'wind', unit: 'm/s' },
        dimensions: [
          { name: 'StdTime', ...time },
          { name: 'StdZ', ...height },
        ],
      },
    ]);
  });
});
