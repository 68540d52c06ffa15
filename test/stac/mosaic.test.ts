import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';
import { type Json, stacClient } from './support.js';

/** Two halves of the Landsat scene: the west of 2020, and both of 2021. */
const HALVES = [
  { name: 'west-2020', window: [0, 0, 175, 352], acquired: '2020-05-01T12:00:00+02:00' },
  { name: 'west-2021', window: [0, 0, 175, 352], acquired: '2021-05-01T10:00:00Z' },
  { name: 'east-2021', window: [175, 0, 174, 352], acquired: '2021-05-01T10:00:00Z' },
];

let folder: string;
let server: TestServer;
const { get, json, found } = stacClient(() => server);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-mosaic-'));
  mkdirSync(join(folder, 'parts'));
  const features = HALVES.map(({ name, window, acquired }) => {
    const path = join(folder, 'parts', `${name}.tif`);
    const source = ['-q', '-srcwin', ...window.map(String), 'demo/data/L7_ETMs.tif', path];
    execFileSync('gdal_translate', ['--config', 'GDAL_PAM_ENABLED', 'NO', ...source]);
    const { wgs84Extent } = JSON.parse(
      execFileSync('gdalinfo', ['-json', '--config', 'GDAL_PAM_ENABLED', 'NO', path], { encoding: 'utf8' }),
    );
    return {
      type: 'Feature',
      geometry: wgs84Extent,
      properties: { location: `parts/${name}.tif`, acquired },
    };
  });
  const index = { type: 'FeatureCollection', features };
  writeFileSync(join(folder, 'halves.tindex.geojson'), JSON.stringify(index));
  server = await startServer({ sources: [join(folder, 'halves.tindex.geojson')] });
}, 120_000);

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('a mosaic has an item for each member, with its file', async () => {
  const { features } = await json('/search?collections=halves&sortby=datetime,id');
  expect(features).toHaveLength(3);
  expect(features[0].properties.datetime).toBe('2020-05-01T10:00:00.000Z');
  expect((await get(features[0].assets.data.href, { range: 'bytes=0-3' })).status).toBe(206);
  expect(await found('collections=halves&datetime=2021-01-01T00:00:00Z/..')).toHaveLength(2);
});

it('maps of a time are drawn from the rasters of the newest batch alone', async () => {
  const { collections }: Json = await (await fetch(`${server.url}/ogc/tiles/collections`)).json();
  const map = async (query: string) => {
    const response = await fetch(
      `${server.url}/ogc/maps/collections/${collections[0].id}/map?f=png&width=64&bbox=-34.916,-8.04,-34.827,-7.95&${query}`,
    );
    const items = response.headers.get('graticule-source-items')?.split(', ') ?? [];
    return { status: response.status, items, image: Buffer.from(await response.arrayBuffer()) };
  };
  const [old, recent] = [await map('datetime=../2020-12-31'), await map('datetime=2020-01-01/..')];
  expect([old.items.length, recent.items.length]).toEqual([1, 2]);
  expect(old.image.equals(recent.image)).toBe(false);
  expect(recent.image.equals((await map('datetime=2021-05-01T10:00:00Z')).image)).toBe(true);
  expect((await map('datetime=2019-01-01')).status).toBe(404);
});
