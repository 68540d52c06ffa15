import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MapData } from '../../src/core/catalog/page-data.js';
import { STAC_CONFORMANCE } from '../../src/gateway/stac/conformance.js';
import { pageJson } from '../pages/structure.js';
import { startServer, type TestServer } from '../support/server.js';
import { type Json, stacClient } from './support.js';

let server: TestServer;
const { get, json, post, refusal, found } = stacClient(() => server);

beforeAll(async () => {
  server = await startServer({
    sources: ['L7_ETMs.tif', 'olinda_dem_utm25s.tif', 'world_map.gpkg'].map((name) => `demo/data/${name}`),
  });
}, 120_000);

afterAll(() => server?.stop());

const LANDSAT = 'l7_etms/l7_etms';
const DEM = 'olinda_dem_utm25s/olinda_dem_utm25s';

describe('pages', () => {
  const page = async (path: string) => {
    const response = await fetch(`${server.url}/stac${path}`, { headers: { accept: 'text/html' } });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    return response.text();
  };

  it('of the catalog have cards, a search and a map of the extents', async () => {
    for (const path of ['', '/collections']) {
      const text = await page(path);
      expect(text).toContain('id="map-data"');
      expect(text).toContain(`href="${server.url}/stac/collections/l7_etms"`);
      expect(text).toContain(`href="${server.url}/stac/search"`);
    }
    expect(await page('?q=olinda')).not.toContain('/stac/collections/l7_etms"');
    const { collections } = await json('/collections?q=olinda');
    expect(collections.map(({ id }: Json) => id)).toEqual(['olinda_dem_utm25s']);
  });

  it('of a collection list items with thumbnails, facts and assets', async () => {
    const text = await page('/collections/l7_etms');
    expect(text).toContain('1 item');
    expect(text).toMatch(/<img src="\/ogc\/maps\/collections\/\d+\/map\?f=png&amp;width=240"/);
    expect(text).toContain('Licence');
    expect(await page('/collections/countries')).toContain('This collection has no items.');
  });

  it('of an item draw its raster and footprint, and list properties and assets by name', async () => {
    const text = await page('/collections/l7_etms/items/l7_etms');
    expect(text).toContain('EPSG code');
    expect(text).toMatch(/Projection <code>proj<\/code>/);
    expect(text).toContain('6 bands');
    expect(text).toContain('GeoTIFF, 798 kB');
    const { layers, features } = pageJson<MapData>(text, 'map-data');
    expect(layers.map(({ id }) => id)).toEqual(['l7_etms']);
    expect(features?.href).toBe(`${server.url}/stac/collections/l7_etms/items/l7_etms?f=json`);
  });

  it('of a search have the same items and pages as the document', async () => {
    const text = await page(
      '/search?limit=1&bbox=&datetime=&collections=l7_etms&collections=olinda_dem_utm25s',
    );
    expect(text).toContain('2 items, 1 of them on this page.');
    expect(text).toContain('value="l7_etms" checked');
    const next = /rel="next" href="([^"]+)"/.exec(text)![1]!.replaceAll('&amp;', '&');
    expect(await page(next.slice(`${server.url}/stac`.length))).toContain('/items/olinda_dem_utm25s"');
    expect(await page('/search?filter=gsd%3C1&limit=5000')).toContain('0 items');
    expect(await page('/collections/l7_etms/items')).toContain('1 item.');
  });
});

describe('the catalog', () => {
  const SEARCH = 'application/geo+json';

  it('/req/core/landing-page: the landing page is a Catalog with its classes, and leads to all', async () => {
    const page = await json('');
    expect(page).toMatchObject({
      type: 'Catalog',
      stac_version: '1.0.0',
      id: expect.any(String),
      description: expect.any(String),
      conformsTo: [...STAC_CONFORMANCE],
    });
    expect((await json('/conformance')).conformsTo).toEqual(page.conformsTo);
    const to = (rel: string) => page.links.filter((link: Json) => link.rel === rel);
    for (const rel of [
      'self',
      'root',
      'service-desc',
      'service-doc',
      'data',
      'conformance',
      'search',
      'child',
    ])
      expect(to(rel).length, rel).toBeGreaterThan(0);
    for (const { href, rel, type, method } of page.links) {
      const response =
        method === 'POST' ? await post({ limit: 1 }) : await get(href, { accept: type ?? '*/*' });
      expect([rel, response.status]).toEqual([rel, 200]);
      expect([rel, response.headers.get('content-type')!.split(';')[0]]).toEqual([rel, type.split(';')[0]]);
    }
    expect(
      to('search')
        .map(({ method }: Json) => method ?? 'GET')
        .sort(),
    ).toEqual(['GET', 'POST']);
  });

  it('/req/collections/collections: collections are STAC Collections, listed as each is', async () => {
    const { collections, links } = await json('/collections');
    expect(links.map(({ rel }: Json) => rel)).toEqual(expect.arrayContaining(['self', 'root']));
    for (const listed of collections) {
      const one = await json(`/collections/${listed.id}`);
      expect(one).toEqual(listed);
      expect(one).toMatchObject({
        type: 'Collection',
        stac_version: '1.0.0',
        license: expect.any(String),
        description: expect.any(String),
        extent: {
          spatial: { bbox: [expect.any(Array)] },
          temporal: { interval: [expect.any(Array)] },
        },
      });
    }
    expect((await get('/collections/none')).status).toBe(404);
  });

  it('/req/ogcapi-features/items: items of a collection are GeoJSON, and each has a place of its own', async () => {
    const response = await get('/collections/l7_etms/items');
    expect(response.headers.get('content-type')).toContain(SEARCH);
    const page: Json = await response.json();
    expect(page).toMatchObject({ type: 'FeatureCollection', features: [{ type: 'Feature', id: 'l7_etms' }] });
    for (const listed of page.features) {
      const self = listed.links.find(({ rel }: Json) => rel === 'self');
      const item = await get(self.href);
      expect(item.headers.get('content-type')).toContain(SEARCH);
      const { links: _, ...rest } = listed;
      expect(await item.json()).toMatchObject(rest);
    }
    expect((await get('/collections/l7_etms/items/none')).status).toBe(404);
  });
});

describe('an item of a raster', () => {
  it('says what GDAL says of the file', async () => {
    const item = await json('/collections/l7_etms/items/l7_etms');
    expect(item).toMatchObject({
      type: 'Feature',
      stac_version: '1.0.0',
      id: 'l7_etms',
      collection: 'l7_etms',
    });
    const { size, geoTransform } = JSON.parse(
      execFileSync('gdalinfo', ['-json', '--config', 'GDAL_PAM_ENABLED', 'NO', 'demo/data/L7_ETMs.tif'], {
        encoding: 'utf8',
      }),
    );
    const [x, width, rowRotation, y, columnRotation, height] = geoTransform;
    expect(item.properties).toMatchObject({
      'proj:epsg': 31985,
      'proj:shape': [size[1], size[0]],
      'proj:transform': [width, rowRotation, x, columnRotation, height, y],
      gsd: 28.5,
    });
    const { data } = item.assets;
    expect(data['raster:bands']).toHaveLength(6);
    expect(data['raster:bands'][0]).toMatchObject({ data_type: 'uint8', spatial_resolution: 28.5 });
    expect(data['raster:bands'][0].statistics.minimum).toBeGreaterThanOrEqual(0);
    expect(data['eo:bands'].map((band: Json) => band.name).at(-1)).toBe('band_6');
    expect(data['file:size']).toBe(statSync('demo/data/L7_ETMs.tif').size);
  });

  it('has its outline as footprint, counter-clockwise and within its box', async () => {
    const { geometry, bbox } = await json('/collections/l7_etms/items/l7_etms');
    const [ring] = geometry.coordinates as [number, number][][];
    expect(ring!.at(0)).toEqual(ring!.at(-1));
    for (const [x, y] of ring!) {
      expect(x).toBeGreaterThan(bbox[0] - 1e-6);
      expect(x).toBeLessThan(bbox[2] + 1e-6);
      expect(y).toBeGreaterThan(bbox[1] - 1e-6);
      expect(y).toBeLessThan(bbox[3] + 1e-6);
    }
    const area = ring!.slice(1).reduce((sum, [x, y], i) => sum + ring![i]![0] * y - x * ring![i]![1], 0);
    expect(area).toBeGreaterThan(0);
  });

  it('has links and assets that lead somewhere', async () => {
    const item = await json('/collections/l7_etms/items/l7_etms');
    const rels = ['self', 'parent', 'collection', 'root'];
    expect(item.links.map((link: Json) => link.rel)).toEqual(rels);
    const hrefs = [...item.links, ...Object.values(item.assets)].map((one: Json) => one.href as string);
    for (const href of hrefs) {
      expect(href.startsWith(server.url)).toBe(true);
      const response = await get(href);
      expect(response.status, href).toBe(200);
      await response.arrayBuffer();
    }
  });

  it('is found by its id and in the collection of its own', async () => {
    expect((await json('/collections/l7_etms/items')).features).toHaveLength(1);
    expect(await refusal('/collections/l7_etms/items/nope')).toEqual([404, undefined]);
    expect(await refusal('/collections/nope/items')).toEqual([404, undefined]);
    expect((await json('/collections/l7_etms/items?collections=l7_etms')).features).toHaveLength(1);
    expect(await refusal('/collections/l7_etms/items?collections=other')).toEqual([400, 'collections']);
    expect(await refusal('/collections/l7_etms/items?ids=l7_etms')).toEqual([400, 'ids']);
    expect((await json('/collections/countries/items')).features).toEqual([]);
  });
});

describe('a search', () => {
  it('/req/item-search/{get,post}: finds by place', async () => {
    expect(await found('')).toEqual([LANDSAT, DEM]);
    expect(await found('bbox=-34.9,-8,-34.8,-7.9')).toEqual([LANDSAT, DEM]);
    expect(await found('bbox=-34.9,-8,0,-34.8,-7.9,100')).toEqual([LANDSAT, DEM]);
    expect(await found('bbox=10,-8,11,-7')).toEqual([]);
    expect(await found('bbox=170,-20,-30,0')).toEqual([LANDSAT, DEM]);
    expect(await found('bbox=170,-20,-40,0')).toEqual([]);
    const point = (x: number) => ({ type: 'Point', coordinates: [x, -8] });
    expect(await found({ intersects: point(-34.85) })).toEqual([LANDSAT, DEM]);
    expect(await found({ intersects: point(-30) })).toEqual([]);
    expect(await found(`intersects=${encodeURIComponent(JSON.stringify(point(-34.85)))}`)).toHaveLength(2);
  });

  it('finds what has no date at every time', async () => {
    expect(await found('datetime=1999-01-01T00:00:00Z')).toEqual([LANDSAT, DEM]);
    expect(await found('datetime=../2030-01-01T00:00:00Z')).toEqual([LANDSAT, DEM]);
  });

  it('/req/item-search#filter/filter: finds by name and by filter, in both encodings', async () => {
    expect(await found('ids=l7_etms,nope')).toEqual([LANDSAT]);
    expect(await found('collections=olinda_dem_utm25s,nope')).toEqual([DEM]);
    expect(await found({ collections: ['olinda_dem_utm25s'], ids: ['l7_etms'] })).toEqual([]);
    expect(await found('filter=gsd%20%3C%2050')).toEqual([LANDSAT]);
    expect(await found('filter=properties.gsd%20%3C%2050')).toEqual([LANDSAT]);
    expect(await found({ filter: { op: '>', args: [{ property: 'gsd' }, 50] } })).toEqual([DEM]);
    const between = { op: 'between', args: [{ property: 'gsd' }, [20, 30]] };
    expect(await found({ filter: between })).toEqual([LANDSAT]);
    expect(await found({ filter: "id LIKE 'l7%'", 'filter-lang': 'cql2-text' })).toEqual([LANDSAT]);
  });

  it('/req/item-search#sort/sortby: sorts, in both forms', async () => {
    expect(await found('sortby=gsd')).toEqual([LANDSAT, DEM]);
    expect(await found('sortby=-gsd')).toEqual([DEM, LANDSAT]);
    expect(await found({ sortby: [{ field: 'properties.gsd', direction: 'desc' }] })).toEqual([DEM, LANDSAT]);
  });

  it('/req/item-search#fields/fields: writes the members that are asked for', async () => {
    const [first] = (await json('/search?limit=1&fields=properties.gsd')).features;
    expect(first).toEqual({
      type: 'Feature',
      stac_version: '1.0.0',
      id: 'l7_etms',
      collection: 'l7_etms',
      properties: { gsd: 28.5 },
    });
    const [without] = (await json('/search?limit=1&fields=-assets,-properties.gsd')).features;
    expect(without).not.toHaveProperty('assets');
    expect(without.properties).toHaveProperty('proj:shape');
    expect(without.properties).not.toHaveProperty('gsd');
    const body: Json = await (await post({ limit: 1, fields: {} })).json();
    expect(Object.keys(body.features[0].properties)).toEqual(['datetime', 'start_datetime', 'end_datetime']);
  });

  it('is paged forwards and backwards, by GET and POST', async () => {
    const first = await json('/search?limit=1&sortby=-gsd');
    expect(first).toMatchObject({
      numberMatched: 2,
      numberReturned: 1,
      context: { returned: 1, matched: 2 },
    });
    const link = (page: Json, rel: string) => page.links.find((one: Json) => one.rel === rel);
    expect(link(first, 'prev')).toBeUndefined();
    const second = await json(link(first, 'next').href);
    expect(second.features[0].id).toBe('l7_etms');
    expect(link(second, 'next')).toBeUndefined();
    const back = await json(link(second, 'prev').href);
    expect(back.features[0].id).toBe('olinda_dem_utm25s');
    const posted: Json = await (await post({ limit: 1 })).json();
    const next = link(posted, 'next');
    expect(next).toMatchObject({ method: 'POST', merge: false, body: { limit: 1 } });
    expect(await found(next.body)).toEqual([DEM]);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=x', 'limit'],
    ['bbox=1,2,3', 'bbox'],
    ['bbox=0,10,1,-10', 'bbox'],
    ['bbox=0,1e308,1,2', 'bbox'],
    ['datetime=2020-01-01', 'datetime'],
    ['datetime=../..', 'datetime'],
    ['datetime=2021-01-01T00:00:00Z/2020-01-01T00:00:00Z', 'datetime'],
    ['datetime=2021-02-30T00:00:00Z', 'datetime'],
    ['filter=nope%3D1', 'filter'],
    ['filter=gsd%20LIKE', 'filter'],
    ['filter=gsd%3D1&filter-lang=sql', 'filter-lang'],
    ['sortby=nope', 'sortby'],
    ['token=nope', 'token'],
    ['intersects=x', 'intersects'],
    ['intersects=%7B%22type%22%3A%22Polygon%22%7D', 'intersects'],
    [
      'bbox=0,0,1,1&intersects=%7B%22type%22%3A%22Point%22%2C%22coordinates%22%3A%5B0%2C0%5D%7D',
      'intersects',
    ],
    ['nope=1', 'nope'],
  ])('refuses %s', async (query, name) => {
    expect(await refusal(`/search?${query}`)).toEqual([400, name]);
  });

  it.each<[string, Json]>([
    ['an unknown member', { nope: 1 }],
    ['fields that are null', { fields: null }],
    ['a geometry that is none', { intersects: { type: 'Nope' } }],
    ['a filter in the wrong language', { filter: 'gsd < 3' }],
    ['an unknown property', { filter: { op: '=', args: [{ property: 'nope' }, 1] } }],
    ['a sort direction that is none', { sortby: [{ field: 'id', direction: 'up' }] }],
    ['an unknown CRS', { filter: true, 'filter-crs': 'EPSG:999999' }],
  ])('refuses %s in a body', async (_, body) => {
    expect((await post(body)).status).toBe(400);
  });

  it('takes a limit that is too large for the largest', async () => {
    expect((await json('/search?limit=1000000')).context.limit).toBe(10_000);
  });
});

describe('queryables', () => {
  it('/req/item-search#filter/queryables: are those that filters take, of all collections and of one', async () => {
    const all = await json('/queryables');
    expect(all).toMatchObject({ type: 'object', additionalProperties: false });
    expect(all.$schema).toBe('https://json-schema.org/draft/2019-09/schema');
    const names = Object.keys((await json('/collections/l7_etms/queryables')).properties);
    expect(names).toEqual(
      expect.arrayContaining(['geometry', 'id', 'collection', 'datetime', 'gsd', 'proj:epsg']),
    );
    for (const name of names.filter((one) => one !== 'geometry'))
      expect((await get(`/search?filter=${encodeURIComponent(`${name} IS NULL`)}`)).status, name).toBe(200);
  });
});

describe('the file of an asset', () => {
  const path = '/collections/l7_etms/items/l7_etms/assets/data';
  const file = readFileSync('demo/data/L7_ETMs.tif');
  const bytes = async (response: Response) => Buffer.from(await response.arrayBuffer());

  it('is the published file', async () => {
    const response = await get(path);
    expect(response.headers.get('content-length')).toBe(String(file.byteLength));
    expect(response.headers.get('accept-ranges')).toBe('bytes');
    const digest = (data: Uint8Array) => createHash('sha1').update(data).digest('hex');
    expect(digest(await bytes(response))).toBe(digest(file));
    const head = await fetch(`${server.url}/stac${path}`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(file.byteLength)]);
  });

  it('comes in ranges', async () => {
    const ranged = async (range: string, more = {}) => {
      const response = await get(path, { range, ...more });
      return [response.status, response.headers.get('content-range'), await bytes(response)] as const;
    };
    const size = file.byteLength;
    expect(await ranged('bytes=0-9')).toEqual([206, `bytes 0-9/${size}`, file.subarray(0, 10)]);
    expect(await ranged('bytes=-5')).toEqual([
      206,
      `bytes ${size - 5}-${size - 1}/${size}`,
      file.subarray(-5),
    ]);
    expect((await ranged(`bytes=${size - 3}-`))[2]).toEqual(file.subarray(-3));
    expect(file.subarray(100).equals((await ranged('bytes=100-999999999'))[2])).toBe(true);
    expect((await ranged('bytes=5-2'))[0]).toBe(200);
    expect((await ranged('items=0-5'))[0]).toBe(200);
    expect((await ranged('bytes=0-1,4-5'))[0]).toBe(200);
    const etag = (await get(path, { range: 'bytes=0-0' })).headers.get('etag')!;
    expect((await ranged('bytes=0-9', { 'if-range': etag }))[0]).toBe(206);
    expect((await ranged('bytes=0-9', { 'if-range': '"other"' }))[0]).toBe(200);
    expect((await get(path, { 'if-none-match': etag })).status).toBe(304);
    const beyond = await get(path, { range: `bytes=${size}-` });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
  });

  it.each(['coverage', 'nope', '..%2F..%2Fetc%2Fpasswd', '__proto__'])('is none for %s', async (key) => {
    expect((await get(`/collections/l7_etms/items/l7_etms/assets/${key}`)).status).toBe(404);
    expect((await get(`/collections/l7_etms/items/nope/assets/data`)).status).toBe(404);
  });
});
