import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.js';

/** Layers of another Graticule server, queried live, compared with the layers themselves. */

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

let origin: TestServer;
let server: TestServer;
const KINDS = ['by_ogc', 'by_esri'] as const;

beforeAll(async () => {
  origin = await startServer({ sources: ['demo/data/world_map.gpkg'] });
  const { collections } = await (await fetch(`${origin.url}/ogc/tiles/collections`)).json();
  const layer = collections.find(({ title }: Json) => /^countries$/i.test(title)).id;
  const sources = [
    { id: 'by_ogc', kind: 'OgcFeatures', url: `${origin.url}/ogc/features`, layer: 'countries' },
    { id: 'by_esri', kind: 'EsriRest', url: `${origin.url}/rest/services/default/FeatureServer`, layer },
  ];
  server = await startServer({
    sources: [],
    env: {
      SVC_FEDERATION__SOURCES: JSON.stringify(sources),
      SVC_REMOTE__ALLOW: new URL(origin.url).host,
    },
  });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

async function read(base: string, path: string): Promise<Json> {
  const response = await fetch(base + path, { headers: { accept: 'application/geo+json' } });
  const text = await response.text();
  expect([path, response.status, text.slice(0, 300)]).toEqual([path, 200, text.slice(0, 300)]);
  return JSON.parse(text);
}
const items = (collection: string, query: string) => `/ogc/features/collections/${collection}/items?${query}`;

/** A feature as one line. Large geometries are hashes, because differences of them would take minutes to print. */
const plain = ({ id, geometry, properties }: Json) =>
  `${id} ${JSON.stringify(properties)} ${createHash('sha1').update(JSON.stringify(geometry)).digest('hex')}`;

const QUERIES = [
  'limit=5',
  'limit=7&offset=3',
  'limit=1000',
  'bbox=0,40,10,50&limit=100',
  'bbox=170,-50,-170,50&limit=100',
  "filter=NAME='France'",
  "filter=NAME LIKE 'F%25' AND ISO_A3 <> 'FRA'",
  "filter=NAME LIKE '%25land' OR NAME IS NULL",
  "filter=CASEI(NAME)=CASEI('FRANCE')",
  "filter=NOT (NAME IN ('France','Germany'))&limit=20",
  "filter=NAME BETWEEN 'A' AND 'C'&limit=50",
  "filter=NAME='O''Brien'",
  'NAME=Germany',
  'ids=1,5,9,4711',
  'ids=1,5,9&properties=NAME',
  'sortby=NAME&limit=9',
  'sortby=-ISO_A3,NAME&limit=9&offset=4',
  'crs=http://www.opengis.net/def/crs/EPSG/0/4326&limit=3',
  'filter=S_WITHIN(geometry,BBOX(-10,35,20,60))&limit=50',
  'filter=S_INTERSECTS(geometry,POINT(2 48))',
  'filter=S_DISJOINT(geometry,BBOX(-180,-90,100,90))&limit=20',
];

describe.each(KINDS)('%s', (collection) => {
  it.each(QUERIES)('answers %s as its source does', async (query) => {
    const here = await read(server.url, items(collection, query));
    const there = await read(origin.url, items('countries', query.replaceAll('geometry,', 'geom,')));
    expect(here.features.map(plain)).toEqual(there.features.map(plain));
    expect(here.numberReturned).toBe(there.numberReturned);
  });

  it('converts coordinates', async () => {
    const query = 'crs=http://www.opengis.net/def/crs/EPSG/0/3857&limit=3&bbox=0,40,10,50';
    const flat = (page: Json) => page.features.flatMap((one: Json) => one.geometry.coordinates.flat(3));
    const here = flat(await read(server.url, items(collection, query)));
    const there = flat(await read(origin.url, items('countries', query)));
    expect(here.length).toBe(there.length);
    // The source rounds its longitudes and latitudes to nine decimal places.
    for (const [i, value] of here.entries()) expect(Math.abs(value - there[i])).toBeLessThan(0.1);
  });

  it('returns each feature as its source does', async () => {
    for (const id of [1, 24]) {
      const here = await read(server.url, `/ogc/features/collections/${collection}/items/${id}`);
      const there = await read(origin.url, `/ogc/features/collections/countries/items/${id}`);
      expect(plain(here)).toEqual(plain(there));
    }
    const absent = await fetch(`${server.url}/ogc/features/collections/${collection}/items/nope`);
    expect(absent.status).toBe(404);
  });

  it.each(['limit=70', "limit=60&filter=NAME LIKE '%25a%25'", 'limit=90&sortby=ISO_A3'])(
    'returns each feature once in the pages of %s, forwards and backwards',
    async (query) => {
      const all = (await read(origin.url, items('countries', query.replace(/limit=\d+/, 'limit=1000'))))
        .features;
      const ids: string[] = [];
      const pages: string[][] = [];
      let last: Json;
      for (let next: string | undefined = server.url + items(collection, query); next; ) {
        last = await read('', next);
        const page = last.features.map(({ id }: Json) => String(id));
        pages.push(page);
        expect(pages.length).toBeLessThan(100);
        ids.push(...page);
        next = last.links.find(({ rel }: Json) => rel === 'next')?.href;
      }
      expect(ids).toEqual(all.map(({ id }: Json) => String(id)));
      const back: string[][] = [];
      for (let at: Json = last; at; ) {
        expect(back.length).toBeLessThan(100);
        back.unshift(at.features.map(({ id }: Json) => String(id)));
        const prev = at.links.find(({ rel }: Json) => rel === 'prev')?.href;
        at = prev && (await read('', prev));
      }
      // The first page backwards is full, so it can repeat features of the page after it.
      expect([...new Set(back.flat())]).toEqual(ids);
    },
  );
});
