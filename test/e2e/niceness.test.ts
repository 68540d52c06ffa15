import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServerProcess, type TestServer } from '../support/server.js';

let server: TestServer;
// Below the priority of its threads, which nobody may raise without privileges.
beforeAll(async () => {
  server = await startServerProcess({
    sources: ['demo/data/world_map.gpkg', 'demo/data/olinda_dem_utm25s.tif'],
    launcher: ['unshare', '-r', 'nice', '-n', '18'],
  });
});
afterAll(() => server?.stop());

it('a server that was started with a low priority does all kinds of work', async () => {
  const paths = [
    '/ogc/features/collections/countries/items?limit=1&f=json',
    '/tiles/countries/0/0/0',
    '/ogc/maps/collections/countries/map?width=64&height=64&f=png',
    '/ogc/coverages/collections/olinda_dem_utm25s/coverage?f=geotiff&scale-size=Lon(8),Lat(8)',
  ];
  const found: [string, number][] = [];
  for (const path of paths) {
    const response = await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } });
    await response.arrayBuffer();
    found.push([path, response.status]);
  }
  const [coverage] = found.splice(-1);
  expect(found).toEqual(paths.slice(0, -1).map((path) => [path, 200]));
  expect(coverage![1]).toBeLessThan(500);
});
