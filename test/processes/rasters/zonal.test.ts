import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ZONE_STATISTICS } from '../../../src/core/rasters/raster-processes.js';
import { pythonOfClients } from '../../support/python.js';
import { startServer, type TestServer } from '../../support/server.js';
import type { Json } from '../support.js';
import { DEM, DEM_COLLECTION, Files, note, pixelsOf, RasterClient, tool } from './raster-support.js';

/** Statistics in zones against exactextract, and against rasterstats where centres of pixels count. */

const files = new Files();
const METRES_COLLECTION = 'metres';
const metres = join(files.folder, `${METRES_COLLECTION}.tif`);

/** A raster of metres whose right part is beyond 180 degrees. */
const beyond = join(files.folder, 'beyond.tif');

let server: TestServer;
let client: RasterClient;

beforeAll(async () => {
  // Whole metres, and none at the sea: values that come again and again, and pixels without one.
  tool('gdal_translate', '-ot', 'Int16', '-a_nodata', '0', DEM, metres);
  const mercator = ['-a_srs', 'EPSG:3857', '-a_ullr', '19000000', '1000000', '21000000', '-1000000'];
  tool('gdal_translate', ...mercator, 'test/fixtures/cases/dateline.tif', beyond);
  const cases = ['dateline', 'world360'].map((name) => `test/fixtures/cases/${name}.tif`);
  server = await startServer({ sources: [DEM, metres, beyond, ...cases] });
  client = new RasterClient(server, files);
});
afterAll(async () => {
  await server?.stop();
  files.remove();
});

const box = (west: number, south: number, east: number, north: number) => [
  [west, south],
  [east, south],
  [east, north],
  [west, north],
  [west, south],
];
/** A star, whose edges cross pixels at all angles. */
const star = (x: number, y: number, size: number, rays: number) => {
  const ring = Array.from({ length: 2 * rays }, (_, i) => {
    const [angle, radius] = [(i * Math.PI) / rays + 0.1, i % 2 === 0 ? size : size / 3];
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  });
  return [...ring, ring[0]!];
};

/** In degrees, over heights from 34.916 to 34.825 degrees west and 8.040 to 7.950 degrees south. */
const POLYGONS: Record<string, unknown> = {
  star: [star(-34.88, -7.99, 0.03, 7)],
  'with a hole that runs the same way': [star(-34.87, -8.0, 0.025, 5), star(-34.87, -8.0, 0.008, 4)],
  'much smaller than a pixel': [box(-34.88, -8.0, -34.8799, -7.9999)],
  'half beyond the edge': [star(-34.916, -7.96, 0.02, 9)],
  'around everything': [box(-35, -8.1, -34.7, -7.9)],
  outside: [box(-34, -8, -33.9, -7.9)],
  'crosses itself': [
    [
      [-34.9, -8.0],
      [-34.86, -7.97],
      [-34.86, -8.0],
      [-34.9, -7.97],
      [-34.9, -8.0],
    ],
  ],
};
const feature = (name: string, type: string, coordinates: unknown) => ({
  ...{
    type: 'Feature',
    properties: { name, mean: 7, group: name.length % 2 },
    geometry: { type, coordinates },
  },
});
const ZONES = {
  type: 'FeatureCollection',
  features: [
    ...Object.entries(POLYGONS).map(([name, rings]) => feature(name, 'Polygon', rings)),
    feature('two parts', 'MultiPolygon', [[star(-34.9, -8.02, 0.01, 6)], [star(-34.85, -8.02, 0.012, 8)]]),
  ],
};

const PERCENTILES = [0, 10, 25, 75, 99.5, 100];

/** Both read the same polygons, as our result has them. */
const PEERS = `
import json, sys, geopandas, numpy
raster, zones, centre = sys.argv[1:4]
percentiles = json.loads(sys.argv[4])
if centre == 'centre':
    import rasterstats
    stats = ['count','sum','mean','min','max','std','median','majority','minority','unique'] + ['percentile_%s' % p for p in percentiles]
    rows = rasterstats.zonal_stats(zones, raster, stats=stats)
    # How many pixels have the commonest value: which of several it is is not told.
    names = {'std': 'stddev', 'unique': 'variety'}
else:
    import exactextract
    stats = ['count','sum','mean','min','max','stdev','variety','majority','minority','values','coverage']
    rows = [f['properties'] for f in exactextract.exact_extract(raster, geopandas.read_file(zones), stats)]
    names = {'stdev': 'stddev'}
    for row in rows:
        for name in ('values', 'coverage'): row[name] = numpy.ma.filled(row[name].astype(float), numpy.nan).tolist()
def plain(value):
    value = value.item() if hasattr(value, 'item') else value
    return None if value is numpy.ma.masked or isinstance(value, float) and value != value else value
print(json.dumps([{names.get(k, k): v if isinstance(v, list) else plain(v) for k, v in row.items()} for row in rows]))
`;

async function zonal(raster: string, inputs: Json): Promise<{ file: string; rows: Json[] }> {
  const all = { raster: { collection: raster }, zones: ZONES, statistics: ZONE_STATISTICS, ...inputs };
  const file = await client.output('raster.zonal-statistics', all, 'features');
  const text = execFileSync(
    'ogr2ogr',
    ['-f', 'GeoJSON', '/vsistdout/', file, '-lco', 'COORDINATE_PRECISION=15'],
    {
      encoding: 'utf8',
    },
  );
  return { file, rows: JSON.parse(text).features.map(({ properties }: Json) => properties) };
}

function peers(raster: string, zones: string, pixels: string): Json[] {
  const args = ['-W', 'ignore', '-c', PEERS, raster, zones, pixels, JSON.stringify(PERCENTILES)];
  return JSON.parse(execFileSync(pythonOfClients(), args, { encoding: 'utf8' }));
}

/** The largest deviation of numbers, as a share of the larger one. */
function deviation(ours: Json, theirs: Json, names: readonly string[]): number {
  return Math.max(
    ...names.map((name) => {
      const [a, b] = [ours[name], theirs[name]];
      expect([name, a === null]).toEqual([name, b === null]);
      return a === null ? 0 : Math.abs(a - b) / Math.max(1, Math.abs(a), Math.abs(b));
    }),
  );
}

const SUMS = ['count', 'mean_', 'min', 'max', 'stddev'];
const sums = (row: Json) => ({ ...row, mean_: row.mean_ ?? row.mean });

it.each([
  ['heights', DEM_COLLECTION, DEM],
  ['whole metres with nodata', METRES_COLLECTION, metres],
])('shares of pixels are those of exactextract: %s', async (_, collection, raster) => {
  const { file, rows } = await zonal(collection, {});
  const reference = peers(raster, file, 'share');
  expect(rows).toHaveLength(ZONES.features.length);
  let largest = 0;
  for (const [i, row] of rows.entries()) {
    const theirs = reference[i]!;
    if (theirs.count === 0) {
      expect(row).toMatchObject({
        count: 0,
        mean_: null,
        min: null,
        median: null,
        majority: null,
        variety: 0,
      });
      continue;
    }
    largest = Math.max(largest, deviation(row, sums(theirs), [...SUMS, 'sum', 'variety']));
    // The value with the largest share: rounding decides between those whose shares are equal.
    const shareOf = (value: number) =>
      theirs.values.reduce(
        (sum: number, one: number, k: number) => sum + (one === value ? theirs.coverage[k] : 0),
        0,
      );
    expect(shareOf(row.majority)).toBeCloseTo(shareOf(theirs.majority), 5);
    expect(shareOf(row.minority)).toBeCloseTo(shareOf(theirs.minority), 5);
  }
  note('raster.zonal-statistics share', largest);
  expect(largest).toBeLessThan(1e-6);
});

it('pixels whose centres lie in a zone are those of rasterstats, and so are median and percentiles', async () => {
  const { file, rows } = await zonal(METRES_COLLECTION, { pixels: 'centre', percentiles: PERCENTILES });
  const reference = peers(metres, file, 'centre');
  const names = [...SUMS, 'median', 'variety', ...PERCENTILES.map((percent) => `percentile_${percent}`)];
  let largest = 0;
  for (const [i, row] of rows.entries()) {
    if (row.count === 0) {
      expect([reference[i]!.count, reference[i]!.mean]).toEqual([0, null]);
      continue;
    }
    largest = Math.max(largest, deviation(row, sums(reference[i]!), names));
  }
  note('raster.zonal-statistics centre', largest);
  expect(largest).toBeLessThan(1e-6);
  expect(rows.filter(({ count }) => count > 0).length).toBeGreaterThan(4);
});

it('polygons of equal value are one zone, and attributes have a prefix', async () => {
  const { rows } = await zonal(DEM_COLLECTION, { zoneField: 'group', statistics: ['count'], prefix: 'dem_' });
  const { rows: each } = await zonal(DEM_COLLECTION, { statistics: ['count'] });
  const largest = (group: number) =>
    Math.max(...each.filter((row) => row.group === group).map(({ count }) => count));
  expect(rows.map(({ group }) => group).sort()).toEqual([0, 1]);
  for (const { group, dem_count } of rows) expect(dem_count).toBeGreaterThanOrEqual(largest(group) - 1e-6);
});

it.each([
  ['statistics', { zones: ZONES, statistics: ['mode'] }, '/inputs/statistics/0'],
  ['percentiles', { zones: ZONES, percentiles: [101] }, '/inputs/percentiles/0'],
  ['prefix', { zones: ZONES, prefix: 'a"b' }, '/inputs/prefix'],
  ['no zones', {}, '/inputs/zones'],
])('wrong %s are named', async (_, inputs, name) => {
  const body = { inputs: { raster: { collection: DEM_COLLECTION }, ...inputs } };
  const response = await client.execute('raster.zonal-statistics', body);
  expect([response.status, ((await response.json()) as Json).errors?.[0]?.name]).toEqual([400, name]);
});

it('points are no zones', async () => {
  const zones = { type: 'Point', coordinates: [-34.87, -8] };
  const status = await client.run('raster.zonal-statistics', {
    inputs: { raster: { collection: DEM_COLLECTION }, zones },
  });
  expect([status.status, status.message]).toEqual(['failed', expect.stringContaining('must be polygons')]);
});

it('an observer west of 180 degrees sees on a raster of metres beyond 180 degrees', async () => {
  const metres = 111_319.490_793;
  const seen = async (x: number) => {
    const observer = { observerX: x * metres, observerY: 0.5 * metres, observerHeight: 1e6 };
    const inputs = { raster: { collection: 'beyond' }, ...observer };
    return pixelsOf(await client.output('surface.viewshed', inputs, 'raster')).pixels;
  };
  expect(await seen(-175)).toEqual(await seen(185));
});

describe.each([
  ['dateline', 50],
  ['world360', 128],
  ['beyond', 50],
])('west of 180 degrees, on the raster %s that writes it as degrees beyond 180,', (collection, value) => {
  const raster = { collection };
  const collectionOf = (features: unknown[]) => ({ type: 'FeatureCollection', features });
  const west = feature('west', 'Polygon', [box(-179, -1, -175, 1)]);
  const both = feature('both', 'MultiPolygon', [[box(178, -1, 180, 1)], [box(-180, -1, -178, 1)]]);
  const propertiesOf = (file: string) =>
    JSON.parse(
      execFileSync('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', file], { encoding: 'utf8' }),
    ).features.map(({ properties }: Json) => properties);

  it('zones have statistics', async () => {
    const { rows } = await zonal(collection, {
      zones: collectionOf([west, both, feature('east', 'Polygon', [box(178, -1, 180, 1)])]),
      statistics: ['count', 'max'],
    });
    const [one, two, east] = rows;
    expect(one).toMatchObject({ name: 'west', max: value });
    expect(one.count / east.count).toBeCloseTo(2, 2);
    expect(two.count / east.count).toBeCloseTo(2, 2);
  });

  it('points have values', async () => {
    const points = [-179.9, -178, -172, 179].map((x) => feature(String(x), 'Point', [x, 0.5]));
    for (const resampling of ['nearest', 'bilinear']) {
      const inputs = { raster, points: collectionOf(points), resampling };
      const rows = propertiesOf(await client.output('raster.sample', inputs, 'features'));
      expect(rows.map((row: Json) => row.band_1 !== null)).toEqual([true, true, true, true]);
    }
  });

  it('pixels are clipped', async () => {
    const clipped = async (...features: unknown[]) => {
      const file = await client.output('raster.clip', { raster, features: collectionOf(features) }, 'raster');
      return pixelsOf(file).pixels.filter((pixel) => !Number.isNaN(pixel)).length;
    };
    const [inWest, inEast] = [
      feature('west', 'Polygon', [box(-180, -12, -170, 12)]),
      feature('east', 'Polygon', [box(172, -12, 180, 12)]),
    ];
    const count = await clipped(inWest);
    expect(count).toBeGreaterThan(0);
    expect(await clipped(inWest, inEast)).toBe(count + (await clipped(inEast)));
  });

  it('features are drawn, with their values', async () => {
    const drawn = async (...zones: [name: string, mean: number, ring: number[][]][]) => {
      const features = zones.map(([name, mean, ring]) => {
        const { properties, ...rest } = feature(name, 'Polygon', [ring]);
        return { ...rest, properties: { ...properties, mean } };
      });
      const inputs = { raster, features: collectionOf(features), field: 'mean' };
      const { pixels } = pixelsOf(await client.output('raster.rasterize', inputs, 'raster'));
      return [7, 9].map((value) => pixels.filter((pixel) => pixel === value).length);
    };
    const counts = await drawn(['west', 7, box(-180, -12, -170, 12)], ['east', 9, box(172, -12, 180, 12)]);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  it('points are interpolated', async () => {
    const valued = (x: number, y: number, mean: number) => {
      const { properties, ...rest } = feature(String(x), 'Point', [x, y]);
      return { ...rest, properties: { ...properties, mean } };
    };
    const interpolated = async (method: string, ...points: unknown[]) => {
      const inputs = { raster, points: collectionOf(points), field: 'mean' };
      const { pixels } = pixelsOf(await client.output(`raster.interpolate-${method}`, inputs, 'raster'));
      return pixels.filter((pixel) => !Number.isNaN(pixel));
    };
    const weighted = await interpolated('idw', valued(-175, 0, 70), valued(175, 0, 1));
    expect(Math.max(...weighted)).toBeGreaterThan(60);
    const corners = [valued(-179, -5, 7), valued(-171, -5, 7), valued(-175, 5, 7)];
    expect((await interpolated('linear', ...corners)).length).toBeGreaterThan(0);
  });

  it('single values are found', async () => {
    const ask = async (x: number) => {
      const geometry = JSON.stringify({ x, y: 0.5, spatialReference: { wkid: 4326 } });
      const query = `geometryType=esriGeometryPoint&f=json&geometry=${encodeURIComponent(geometry)}`;
      const service = `${server.url}/rest/services/${collection}/ImageServer`;
      const identified = (await (await fetch(`${service}/identify?${query}`)).json()) as Json;
      const { samples } = (await (await fetch(`${service}/getSamples?${query}`)).json()) as Json;
      return [identified.value !== 'NoData', samples.length];
    };
    for (const x of [-179.9, -178, -172, 179]) expect([x, await ask(x)]).toEqual([x, [true, 1]]);
  });

  it('subsets of coverages are there', async () => {
    const path = `${server.url}/ogc/coverages/collections/${collection}/coverage?f=geotiff&subset=`;
    for (const subset of ['Lon(-179:-175),Lat(-1:1)', 'Lon(-179:-175)', 'Lon(181:185)'])
      expect([subset, (await fetch(path + encodeURIComponent(subset))).status]).toEqual([subset, 200]);
    const wcs = `${server.url}/rest/services/${collection}/ImageServer/WCSServer?service=WCS&version=2.0.1`;
    const described = await (await fetch(`${wcs}&request=GetCapabilities`)).text();
    const [, id] = /CoverageId>([^<]+)</.exec(described)!;
    for (const subset of ['Long(-179,-175)', 'Long(-179)', 'Long(175,185)']) {
      const url = `${wcs}&request=GetCoverage&coverageId=${id}&subsettingCrs=EPSG:4326&subset=${subset}`;
      const response = await fetch(url);
      expect([subset, response.status === 200 ? '' : await response.text()]).toEqual([subset, '']);
    }
  });
});
