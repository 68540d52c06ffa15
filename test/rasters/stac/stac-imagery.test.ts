import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/ports.js';
import { startServer, type TestServer } from '../../support/server.js';

/** Scenes of one value each: the second lies over half of the first, the third in another UTM zone. */
const SCENES = [
  { name: 'old', value: 10, crs: 32632, corner: [600_000, 5_600_000], acquired: '2020-05-01T10:00:00Z' },
  { name: 'new', value: 20, crs: 32632, corner: [610_000, 5_600_000], acquired: '2021-05-01T10:00:00Z' },
  { name: 'east', value: 30, crs: 32633, corner: [200_000, 5_600_000], acquired: '2020-06-01T10:00:00Z' },
];

/** Values where the first two scenes lie over each other, 10 and 20, and where the first is alone. */
const MERGED = {
  highest: [20, 10],
  lowest: [10, 10],
  mean: [15, 10],
  median: [15, 10],
  'standard-deviation': [5, 0],
  count: [2, 1],
};
const MERGES = Object.keys(MERGED) as (keyof typeof MERGED)[];

let folder: string;
let origin: TestServer;
let server: TestServer;
let layers: Map<string, string>;
const layerOf = (id: string) => layers.get(id);
const path = (name: string) => join(folder, 'parts', `${name}.tif`);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-stac-imagery-'));
  mkdirSync(join(folder, 'parts'));
  for (const one of SCENES) makeScene(one);
  const features = SCENES.map(({ name, acquired }) => {
    const geometry = JSON.parse(
      execFileSync('gdalinfo', ['-json', path(name)], { encoding: 'utf8' }),
    ).wgs84Extent;
    return { type: 'Feature', geometry, properties: { location: `parts/${name}.tif`, acquired } };
  });
  const index = join(folder, 'scenes.tindex.geojson');
  writeFileSync(index, JSON.stringify({ type: 'FeatureCollection', features }));
  const port = await freePort();
  // Hrefs of assets name the public address.
  origin = await startServer({ sources: [index], port, args: ['--public-url', `http://127.0.0.1:${port}`] });
  const api = `stac+${origin.url}/stac?asset=data`;
  server = await startServer({
    sources: [
      `${api}&collections=scenes&crs=EPSG:32632&name=newest`,
      `${api}&collections=scenes&crs=EPSG:32632&merge=first&name=first`,
      `${api}&collections=scenes&crs=EPSG:32632&datetime=2020-01-01T00:00:00Z/2020-12-31T00:00:00Z&name=of-2020`,
      ...MERGES.map((merge) => `${api}&collections=scenes&crs=EPSG:32632&merge=${merge}&name=${merge}`),
      `${api}&collections=scenes&crs=EPSG:32632&search=window&name=searched`,
      `${api}&collections=scenes&crs=EPSG:32632&search=window&merge=median&name=searched-median`,
      `${api}&collections=nowhere`,
      `${api}&collections=scenes&colour=red`,
    ],
    env: { SVC_REMOTE__ALLOW: '127.0.0.1' },
  });
  const { collections } = await (await fetch(`${server.url}/ogc/tiles/collections`)).json();
  layers = new Map(
    collections.map((one: { id: string; title: string }) => [one.title.toLowerCase(), one.id]),
  );
}, 120_000);

afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function makeScene({ name, value, crs, corner: [x, y] }: (typeof SCENES)[number]): void {
  const box = ['-a_ullr', x, y, x! + 20_000, y! - 20_000].map(String);
  const size = ['-outsize', '200', '200', '-bands', '1', '-burn', String(value), '-ot', 'UInt16'];
  const options = ['-of', 'GTiff', '-co', 'TILED=YES', '-a_nodata', '0', '-a_srs', `EPSG:${crs}`];
  execFileSync('gdal_create', ['-q', ...options, ...size, ...box, path(name)]);
}

const WINDOW = [602_000, 5_582_000, 642_000, 5_598_000];
const SIZE = [400, 160];

/** Values of a coverage, row by row. */
async function coverage(id: string, query = ''): Promise<number[]> {
  const crs = 'http://www.opengis.net/def/crs/EPSG/0/32632';
  const box = `bbox=${WINDOW.join(',')}&bbox-crs=${crs}&crs=${crs}&width=${SIZE[0]}&height=${SIZE[1]}`;
  return fileValues(id, `/ogc/coverages/collections/${id}/coverage?f=geotiff&${box}${query}`);
}

async function fileValues(id: string, path: string): Promise<number[]> {
  const response = await fetch(server.url + path);
  expect(
    response.status,
    await response
      .clone()
      .text()
      .catch(() => ''),
  ).toBe(200);
  const file = join(folder, `${id}.tif`);
  writeFileSync(file, Buffer.from(await response.arrayBuffer()));
  return valuesOf(file);
}

function valuesOf(file: string): number[] {
  const options = { encoding: 'utf8', maxBuffer: 1 << 26 } as const;
  const text = execFileSync('gdal_translate', ['-q', '-of', 'XYZ', file, '/vsistdout/'], options);
  return text
    .trim()
    .split('\n')
    .map((line) => Number(line.split(' ')[2]));
}

/** Pixels that differ: those at the edges of scenes of other zones may, by their resampling. */
function differences(actual: readonly number[], expected: readonly number[]): number {
  expect(actual.length).toBe(expected.length);
  return actual.filter((value, i) => value !== expected[i]).length;
}
const EDGES = 2 * SIZE[1]!;

/** Times and values where the first two scenes lie. */
async function positionsOf(id: string): Promise<string[]> {
  const coords = encodeURIComponent('POINT(10.6 50.45)');
  const response = await fetch(
    `${server.url}/ogc/coverages/collections/${id}/position?f=csv&coords=${coords}`,
  );
  expect(response.status).toBe(200);
  return (await response.text()).trim().split('\r\n').slice(1);
}

/** What GDAL makes of the scenes, the last on top. */
function warped(names: readonly string[]): number[] {
  const file = join(folder, `expected-${names.join('-')}.tif`);
  const box = [
    '-te',
    ...WINDOW.map(String),
    '-ts',
    ...SIZE.map(String),
    '-t_srs',
    'EPSG:32632',
    '-r',
    'near',
  ];
  execFileSync('gdalwarp', ['-q', '-overwrite', ...box, ...names.map(path), file]);
  return valuesOf(file);
}

describe('imagery of a STAC API', () => {
  it('has the newest scene on top, those of other zones reprojected', async () => {
    const actual = await coverage('newest');
    expect(new Set(actual)).toEqual(new Set([0, 10, 20, 30]));
    expect(differences(actual, warped(['old', 'east', 'new']))).toBeLessThan(EDGES);
  });

  it('has the first scene of the search on top', async () => {
    const { features } = await (await fetch(`${origin.url}/stac/search?collections=scenes`)).json();
    const order = features.map(({ id }: { id: string }) => id.replace(/-\d+$/, ''));
    expect(differences(await coverage('first'), warped(order.toReversed()))).toBeLessThan(EDGES);
  });

  it('is of the scenes of its range of time', async () => {
    expect(new Set(await coverage('of-2020'))).toEqual(new Set([0, 10, 30]));
  });

  it('shows all scenes of the range that a request names', async () => {
    const map = (query: string) =>
      fetch(`${server.url}/ogc/maps/collections/${layerOf('newest')}/map?f=png&width=64&${query}`);
    const response = await map('datetime=2020-01-01T00:00:00Z/2020-12-31T00:00:00Z');
    expect(response.status).toBe(200);
    expect(response.headers.get('graticule-source-items')!.split(', ')).toHaveLength(2);
    expect(response.headers.get('graticule-acquired')).toMatch(/^2020-01-01.*\/2020-12-31/);
    expect((await map('datetime=2019-01-01T00:00:00Z')).status).toBe(404);
  });

  it.each(MERGES)('has the %s of its scenes', async (merge) => {
    const values = await coverage(merge);
    const at = (x: number, y: number) => values[((WINDOW[3]! - y) / 100) * SIZE[0]! + (x - WINDOW[0]!) / 100];
    expect([at(615_000, 5_590_000), at(605_000, 5_590_000)]).toEqual(MERGED[merge]);
  });

  it('is searched for each window', async () => {
    expect(await coverage('searched')).toEqual(await coverage('newest'));
    expect(await coverage('searched-median')).toEqual(await coverage('median'));
    const of2020 = '&datetime=2020-01-01T00:00:00Z/2020-12-31T00:00:00Z';
    expect(differences(await coverage('searched', of2020), await coverage('of-2020'))).toBeLessThan(EDGES);
    expect(new Set(await coverage('searched', '&datetime=2019-01-01T00:00:00Z'))).toEqual(new Set([0]));
    const map = await fetch(
      `${server.url}/ogc/maps/collections/${layerOf('searched')}/map?f=png&width=64&datetime=2020-01-01T00:00:00Z/..`,
    );
    expect(map.status).toBe(200);
    expect(map.headers.get('graticule-source-items')!.split(', ')).toHaveLength(3);
    const tile = await fetch(
      `${server.url}/ogc/tiles/collections/${layerOf('searched')}/tiles/WebMercatorQuad/8/86/135?f=png`,
    );
    expect(tile.status).toBe(200);
    const service = '/rest/services/searched/ImageServer';
    const image = `bbox=${WINDOW.join()}&bboxSR=32632&imageSR=32632&size=${SIZE.join()}&format=tiff&f=image`;
    expect(await fileValues('image', `${service}/exportImage?${image}`)).toEqual(await coverage('searched'));
    const [west, south, east, north] = WINDOW;
    const geometry = JSON.stringify({ xmin: west, ymin: south, xmax: east, ymax: north });
    const counts = async (id: string) => {
      const query = new URLSearchParams({ geometry, geometryType: 'esriGeometryEnvelope', f: 'json' });
      const path = `/rest/services/${id}/ImageServer/computeStatisticsHistograms?${query}`;
      return (await fetch(server.url + path)).json();
    };
    expect((await counts('newest')).statistics[0].max).toBe(30);
    expect(await counts('searched')).toEqual(await counts('newest'));
    const subset = `SUBSET=E(${west},${east})&SUBSET=N(${south},${north})&SCALESIZE=i(${SIZE[0]}),j(${SIZE[1]})`;
    const wcs = `${service}/WCSServer?SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage&COVERAGEID=searched&${subset}`;
    expect(await fileValues('wcs', wcs)).toEqual(await coverage('searched'));
    expect((await positionsOf('searched')).length).toBe(2);
    expect((await positionsOf('searched-median')).length).toBe(1);
  });

  it('is in tiles and at positions', async () => {
    const tile = await fetch(
      `${server.url}/ogc/tiles/collections/${layerOf('newest')}/tiles/WebMercatorQuad/8/86/135?f=png`,
    );
    expect(tile.status).toBe(200);
    expect((await positionsOf('newest')).map((line) => line.split(',')[1])).toEqual(['10', '20']);
  });

  it('of a range of time is in tiles that are not kept', async () => {
    const cached = async () => {
      const headers = { 'x-api-key': server.adminKey };
      const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
      return text.split('\n').filter((line) => line.startsWith('svc_cache_bytes'));
    };
    const tile = `${server.url}/ogc/tiles/collections/${layerOf('newest')}/tiles/WebMercatorQuad/9/172/271?f=png`;
    const before = await cached();
    expect(before).not.toEqual([]);
    expect((await fetch(`${tile}&datetime=2020-01-01T00:00:00Z/2020-12-31T00:00:00Z`)).status).toBe(200);
    expect(await cached()).toEqual(before);
    expect((await fetch(tile)).status).toBe(200);
    expect(await cached()).not.toEqual(before);
  });

  it('is in our STAC, with links to where it is from', async () => {
    const search = `${server.url}/stac/search?collections=newest&sortby=datetime&datetime=2020-06-01T00:00:00Z/..`;
    const { features } = await (await fetch(search)).json();
    expect(features.map(({ id }: { id: string }) => id)).toEqual(['east-3', 'new-2']);
    const [{ links, assets }] = features;
    const { href } = links.find(({ rel }: { rel: string }) => rel === 'via');
    expect(href).toBe(`${origin.url}/stac/collections/scenes/items/east-3`);
    expect((await (await fetch(href)).json()).id).toBe('east-3');
    expect((await fetch(assets.thumbnail.href)).status).toBe(200);
  });

  it('leads to the collection that is searched for each window', async () => {
    const { links } = await (await fetch(`${server.url}/stac/collections/searched`)).json();
    const via = links.filter(({ rel }: { rel: string }) => rel === 'via');
    expect(via.map(({ href }: { href: string }) => href)).toEqual([`${origin.url}/stac/collections/scenes`]);
    expect((await (await fetch(via[0].href)).json()).id).toBe('scenes');
    const { links: own } = await (await fetch(`${server.url}/stac/collections/newest`)).json();
    expect(own.some(({ rel }: { rel: string }) => rel === 'via')).toBe(false);
  });

  it('is not merged by a layer where its source merges it', async () => {
    const put = async (name: string, mergeStrategy: string) => {
      const path = `services/default/layers/${layerOf(name)}/metadata`;
      const response = await fetch(`${server.url}/api/v1/admin/${path}`, {
        method: 'PUT',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({ rasterMosaic: { mergeStrategy } }),
      });
      return response.status;
    };
    expect(await put('searched-median', 'average')).toBe(400);
    expect(await put('searched', 'average')).toBe(200);
    expect(await put('searched', 'max')).toBe(200);
    expect(await put('searched', 'newest')).toBe(200);
  });

  it('of sources that are not sound is not published, and the log says why', () => {
    expect(server.log()).toContain('colour: is not a setting of a STAC API');
    expect(server.log()).toContain('The search returned no scenes');
  });
});
