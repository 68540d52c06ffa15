import { beforeAll, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

/** What is the same as before is not sent again, on every surface. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });

it.each([
  '/stac',
  '/stac/conformance',
  '/stac/collections',
  '/stac/collections/l7_etms',
  '/stac/collections/l7_etms/items',
  '/stac/collections/l7_etms/items/l7_etms',
  '/stac/collections/l7_etms/queryables',
  '/stac/queryables',
  '/stac/search?collections=l7_etms',
  '/ogc/features/',
  '/ogc/features/collections/countries?f=xml',
  '/ogc/features/collections/countries/items?limit=2&f=gml',
  '/ogc/features/collections/countries/items/1?f=gml',
  '/ogc/tiles/tiles',
  '/ogc/maps',
  '/ogc/maps/collections',
  '/ogc/maps/collections/3',
  '/ogc/maps/map?width=32',
  '/ogc/maps/collections/3/map?width=32&f=jpeg',
  '/ogc/maps/collections/1/map?width=32&f=tiff',
  '/ogc/maps/collections/3/legend?f=png',
  '/ogc/maps/collections/3/legend?f=svg',
  '/ogc/coverages/collections/l7_etms',
  '/ogc/coverages/collections/l7_etms/coverage?scale-size=8,8',
  '/ogc/coverages/collections/l7_etms/coverage?scale-size=8,8&f=png',
  '/ogc/styles',
  '/ogc/styles/openapi.json',
])('%s has an entity tag, and is 304 to who has it', async (path) => {
  const first = await get(path);
  expect(first.status).toBe(200);
  const tag = first.headers.get('etag');
  expect(tag).toMatch(/^(W\/)?"[0-9a-f]{16}(-gzip|-br)?"$/);
  const again = await get(path, { 'if-none-match': tag! });
  expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0]);
  expect((await get(path, { 'if-none-match': '"0000000000000000"' })).status).toBe(200);
});

it('the surface of styles has an empty path set, and says where styles are', async () => {
  const document = await (await get('/ogc/styles/openapi.json')).json();
  expect([document.openapi, document.paths]).toEqual(['3.0.3', {}]);
  const { links } = await (await get('/ogc/styles')).json();
  for (const { href } of links) expect((await fetch(href)).status, href).toBe(200);
});

it.each(['features/', 'tiles/', 'coverages/', 'maps'])(
  '/req/landing-page/root-success: /ogc/%s leads to maps and tilesets',
  async (surface) => {
    const { links } = (await (await get(`/ogc/${surface}`)).json()) as {
      links: { rel: string; href: string }[];
    };
    for (const name of ['map', 'tilesets-map']) {
      const link = links.find(({ rel }) => rel === `http://www.opengis.net/def/rel/ogc/1.0/${name}`);
      expect((await fetch(link!.href)).status, name).toBe(200);
    }
  },
);
