import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../providers/postgis/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';
import { tileClient, valuesOf } from './support.js';

/** The same ten stations in a GeoPackage and in PostGIS: number i at i degrees east and north, opened in 2000 + i. */
const STATIONS = Array.from({ length: 10 }, (_, i) => ({
  number: i,
  name: `s${i}`,
  opened: `${2000 + i}-06-15`,
  elevation: i * 100,
}));
const STORES = ['stations', 'pg_stations'];

let folder: string;
let postgres: TestPostgres;
let server: TestServer;
const { json, get, status, tile, layerId } = tileClient(() => server);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-tile-parameters-'));
  const features = STATIONS.map((properties) => ({
    type: 'Feature',
    properties,
    geometry: { type: 'Point', coordinates: [properties.number, properties.number] },
  }));
  writeFileSync(join(folder, 'stations.geojson'), JSON.stringify({ type: 'FeatureCollection', features }));
  postgres = await startPostgres();
  await run(
    postgres.url,
    `CREATE TABLE pg_stations (id int PRIMARY KEY, number int, name text, opened date, elevation float8, geom geometry(Point, 4326));
     INSERT INTO pg_stations SELECT i + 1, i, 's' || i, make_date(2000 + i, 6, 15), i * 100, ST_SetSRID(ST_MakePoint(i, i), 4326)
     FROM generate_series(0, 9) i`,
  );
  server = await startServer({
    sources: [join(folder, 'stations.geojson'), postgres.url, 'demo/data'],
  });
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const WORLD = 'tiles/WebMercatorQuad/0/0/0';
const path = async (store: string, query: string) => `/collections/${await layerId(store)}/${WORLD}?${query}`;
const numbers = async (store: string, query: string) => {
  const layers = await tile(await path(store, query));
  return valuesOf(layers[store], 'number');
};
const encoded = encodeURIComponent;

describe.each(STORES)('tiles of %s show what is asked for', (store) => {
  it('counts points in cells', async () => {
    const count = async (query: string) => {
      const layers = await tile(await path(store, query));
      return (valuesOf(layers[store], 'count') as number[]).reduce((a, b) => a + b, 0);
    };
    expect(await count('aggregate=cells')).toBe(STATIONS.length);
    expect(await count(`aggregate=cells&filter=${encoded('elevation >= 700')}`)).toBe(3);
    const xyz = await get(`${server.url}/tiles/${store}/0/0/0.mlt?aggregate=cells`);
    expect([xyz.status, xyz.headers.get('content-type')]).toEqual([200, 'application/vnd.maplibre-tile']);
    // The features are another tile, at the same place in the cache.
    expect(await numbers(store, '')).toEqual(STATIONS.map(({ number }) => number));
  });

  it.each([
    ['a filter in text', `filter=${encoded('elevation >= 700')}`, [7, 8, 9]],
    [
      'a filter in JSON',
      `filter-lang=cql2-json&filter=${encoded('{"op":"=","args":[{"property":"name"},"s4"]}')}`,
      [4],
    ],
    [
      'a place in another axis order',
      `filter=${encoded('S_INTERSECTS(geom, BBOX(0, -1, 0.5, 90))').replace('geom', 'geometry')}&filter-crs=http://www.opengis.net/def/crs/EPSG/0/4326`,
      [0],
    ],
    ['an instant', 'datetime=2003-06-15', [3]],
    ['an interval', 'datetime=2007-01-01/..', [7, 8, 9]],
    ['a range of heights', 'subset=elevation(150:300)', [2, 3]],
    ['an open range of heights', 'subset=Elevation(*:100)', [0, 1]],
    [
      'a height',
      `subset=${encoded('elevation(500)')}&subset-crs=${encoded('http://www.opengis.net/def/crs/EPSG/0/5773')}`,
      [5],
    ],
    ['all of these', `filter=${encoded('number <> 8')}&datetime=2007-01-01/..&subset=elevation(0:800)`, [7]],
    ['an empty filter', 'filter=', STATIONS.map(({ number }) => number)],
    ['a height of an axis that it lacks', 'subset=Z(5)', STATIONS.map(({ number }) => number)],
  ])('by %s', async (_, query, expected) => {
    expect(await numbers(store, query)).toEqual(expected);
  });

  it('as nothing, where nothing is left', async () => {
    expect(await status(await path(store, `filter=${encoded('number > 100')}`))).toBe(204);
    expect(await status(await path(store, 'datetime=1900-01-01&f=mvt'))).toBe(204);
  });

  it('with the attributes that are asked for, also those not filtered by', async () => {
    const layers = await tile(await path(store, `properties=name,elevation&filter=${encoded('number = 3')}`));
    expect(layers[store]!.feature(0).properties).toEqual({ name: 's3', elevation: 300 });
  });

  it('in images', async () => {
    const images = await Promise.all(
      ['f=png', `f=png&filter=${encoded('number < 5')}`, 'f=png&datetime=2000-01-01/..'].map(async (query) =>
        Buffer.from(await (await get(await path(store, query))).arrayBuffer()),
      ),
    );
    expect(images[1]!.equals(images[0]!)).toBe(false);
    expect(images[2]!.equals(images[0]!)).toBe(true);
  });
});

describe('tiles of several collections', () => {
  it('hold a layer for each, in the order asked for', async () => {
    for (const names of [STORES, [...STORES].reverse()])
      expect(Object.keys(await tile(`/${WORLD}?collections=${names.join(',')}`))).toEqual(names);
    const [first, second] = await Promise.all(STORES.map(layerId));
    expect(Object.keys(await tile(`/${WORLD}?collections=${second},${first},${second}`))).toEqual(
      [...STORES].reverse(),
    );
  });

  it('are all narrowed by what all of them have', async () => {
    const layers = await tile(
      `/${WORLD}?collections=${STORES.join(',')}&filter=${encoded('number < 2')}&properties=number`,
    );
    for (const store of STORES) expect(valuesOf(layers[store], 'number')).toEqual([0, 1]);
    // A collection without instants matches every one.
    const mixed = await tile(`/${WORLD}?collections=countries,stations&datetime=2004-06-15`);
    expect([mixed.stations!.length, mixed.countries!.length > 100]).toEqual([1, true]);
  });
});

describe('wrong parameters of tiles', () => {
  const deep = (n: number) => `${'NOT ('.repeat(n)}number=1${')'.repeat(n)}`;
  it.each(
    [
      ['filter', 'filter=nothing%3D1'],
      ['filter', `filter=${encoded('number = = 1')}`],
      ['filter', `filter=${encoded('number')}`],
      ['filter', `filter=${encoded(deep(500))}`],
      ['filter', `filter=${encoded('number IN (1')}${',1'.repeat(2000)}`],
      ['filter', 'filter-lang=cql2-json&filter=%7B'],
      ['filter', `filter-lang=cql2-json&filter=${'['.repeat(3000)}`],
      ['filter-lang', 'filter=number%3D1&filter-lang=sql'],
      ['filter-crs', 'filter=number%3D1&filter-crs=EPSG:0'],
      ['properties', 'properties=number,nothing'],
      ['properties', 'properties=number,,name'],
      ['datetime', 'datetime=yesterday'],
      ['subset', 'subset=Lat(0:1)'],
      ['subset', 'subset=time(2020-01-01)'],
      ['subset', 'subset=elevation'],
      ['subset', 'subset=elevation()'],
      ['subset', 'subset=elevation(*)'],
      ['subset', 'subset=elevation(2:1)'],
      ['subset', 'subset=elevation(NaN)'],
      ['subset', 'subset=elevation(1e999)'],
      ['subset-crs', 'subset=elevation(1)&subset-crs=nowhere'],
      ['crs', 'crs=EPSG:4326'],
      ['f', 'f=gif'],
      ['colour', 'colour=red'],
    ].map(([name, query]) => [name!, query!.slice(0, 80), query!] as const),
  )('%s: %s', async (name, _, query) => {
    for (const store of STORES) {
      const response = await get(await path(store, query));
      const body = (await response.json()) as { detail: string };
      expect([response.status, body.detail.includes(name)], JSON.stringify(body)).toEqual([400, true]);
    }
  });

  it('collections: unknown ones 404, too many 400, rasters as vector tiles 400', async () => {
    expect(await status(`/${WORLD}?collections=stations,nothing`)).toBe(404);
    expect(await status(`/${WORLD}?collections=stations,999`)).toBe(404);
    expect(await status(`/${WORLD}?collections=${Array.from({ length: 65 }, (_, i) => i).join(',')}`)).toBe(
      400,
    );
    expect([400, 414, 431]).toContain(
      await status(`/${WORLD}?collections=${Array.from({ length: 10_000 }, (_, i) => i).join(',')}`),
    );
    expect(await status(`/${WORLD}?collections=l7_etms`)).toBe(400);
    expect(await status(`/${WORLD}?collections=l7_etms&f=png`)).toBe(200);
  });

  it('a filter that one of several collections cannot have names what is missing', async () => {
    const response = await get(`/${WORLD}?collections=stations,countries&filter=number%3D1`);
    expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
      400,
      expect.stringContaining("no property 'number'"),
    ]);
  });

  it('the CRS of the set itself is right', async () => {
    expect(
      await status(await path('stations', `crs=${encoded('http://www.opengis.net/def/crs/EPSG/0/3857')}`)),
    ).toBe(200);
  });
});

describe('tiles that are selected', () => {
  it('are not kept: the cache holds as many tiles as before', async () => {
    const entries = async () => {
      const headers = { 'x-api-key': server.adminKey };
      const response = await get(`${server.url}/api/v1/admin/operations/cache/statistics`, headers);
      return ((await response.json()) as { data: { localKeyCount: number } }).data.localKeyCount;
    };
    await get(await path('stations', ''));
    const before = await entries();
    expect(before).toBeGreaterThan(0);
    for (let i = 0; i < 50; i++)
      expect(await status(await path('stations', `filter=${encoded(`number < ${i + 1}`)}`))).toBe(200);
    expect(await entries()).toBe(before);
  });
});

describe('TileJSON', () => {
  it('of the dataset describes the layers that tiles have', async () => {
    const document = await json('/tiles/WebMercatorQuad?f=tilejson&collections=pg_stations,stations');
    expect(document).toMatchObject({
      tilejson: '3.0.0',
      scheme: 'xyz',
      minzoom: 0,
      maxzoom: 24,
      bounds: [0, 0, 9, 9],
      center: [4.5, 4.5, 6],
    });
    const fields = { number: 'Number', name: 'String', opened: 'String', elevation: 'Number' };
    expect(document.vector_layers).toEqual([
      { id: 'pg_stations', description: 'Pg stations', fields, minzoom: 0, maxzoom: 24 },
      { id: 'stations', description: 'Stations', fields, minzoom: 0, maxzoom: 24 },
    ]);
    const url = document.tiles[0].replace('{z}', '0').replace('{y}', '0').replace('{x}', '0');
    expect(Object.keys(await tile(url))).toEqual(['pg_stations', 'stations']);
  });

  it('is linked from its tileset, and of no other set', async () => {
    const id = await layerId('stations');
    const { links } = await json(`/collections/${id}/tiles/WebMercatorQuad`);
    const link = links.find(({ type }: { type: string }) => type === 'application/vnd.mapbox.tile+json');
    const response = await get(link.href);
    expect(response.headers.get('content-type')).toBe('application/vnd.mapbox.tile+json');
    expect(await status(`/collections/${id}/tiles/WorldCRS84Quad?f=tilejson`)).toBe(406);
    const image = await json(`/collections/${await layerId('l7_etms')}/tiles/WebMercatorQuad?f=tilejson`);
    expect([image.vector_layers, image.tiles[0].endsWith('f=png')]).toEqual([undefined, true]);
  });
});

describe('tiles by zoom, column and row', () => {
  const at = (path: string) => `${server.url}/tiles/${path}`;

  it('are those of the tileset, under the URL of their TileJSON', async () => {
    const document = await json(at('stations,pg_stations'));
    expect(document.vector_layers.map(({ id }: { id: string }) => id)).toEqual(['stations', 'pg_stations']);
    expect(document.tiles).toEqual([at('stations,pg_stations/{z}/{x}/{y}')]);
    expect(Object.keys(await tile(at('stations,pg_stations/0/0/0')))).toEqual(['stations', 'pg_stations']);
    const [ours, theirs] = await Promise.all([
      get(at('countries/3/4/2')),
      get(`/collections/${await layerId('countries')}/tiles/WebMercatorQuad/3/2/4`),
    ]);
    expect(ours.headers.get('etag')).toBe(theirs.headers.get('etag'));
    expect(ours.headers.get('content-type')).toBe('application/vnd.mapbox-vector-tile');
  });

  it('may name their format, and be filtered', async () => {
    for (const ending of ['.mvt', '.pbf'])
      expect(Object.keys(await tile(at(`${await layerId('stations')}/0/0/0${ending}`)))).toEqual([
        'stations',
      ]);
    expect((await get(at('stations/0/0/0.png'))).headers.get('content-type')).toBe('image/png');
    const { stations } = await tile(at(`stations/0/0/0?filter=${encoded('number > 7')}&properties=number`));
    expect(valuesOf(stations, 'number')).toEqual([8, 9]);
    // A browser's picture says what it accepts, which is no part of the address.
    const accepted = await get(at('stations/0/0/0'), { accept: 'image/avif,image/webp,*/*;q=0.8' });
    expect(accepted.headers.get('content-type')).toBe('application/vnd.mapbox-vector-tile');
  });

  it.each([
    ['nothing/0/0/0', 404],
    ['nothing', 404],
    ['stations,,countries', 400],
    ['stations/0/0/1', 400],
    ['stations/0/1/0', 400],
    ['stations/25/0/0', 400],
    ['stations/30/0/0', 400],
    ['stations/-1/0/0', 400],
    ['stations/0/x/0', 400],
    ['stations/0/0/0.gif', 400],
    ['stations/0/0/99999999999', 400],
    ['stations/0/0/0?colour=red', 400],
    ['stations/0/0/0.jpg', 406],
    ['l7_etms/0/0/0.mvt', 406],
  ])('%s is answered %i', async (path, expected) => {
    expect(await status(at(path))).toBe(expected);
  });
});

it.each([
  ['stations', 'aggregate=hexagons', 'aggregate'],
  ['stations', 'aggregate=cells&f=png', 'aggregate'],
  ['stations', 'aggregate=cells&properties=name', 'properties'],
  ['countries', 'aggregate=cells', 'aggregate'],
])('refuses to count %s with %s', async (store, query, parameter) => {
  const response = await get(await path(store, query));
  expect(response.status).toBe(400);
  expect((await response.json()).detail).toContain(`${parameter}:`);
});
