import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { coordinateColumns } from '../../src/workers/exchange/csv/columns.js';
import { startServer, type TestServer } from '../support/server.js';

/** CSV files say nothing of their types: nothing may be lost by guessing them. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-csv-'));
let server: TestServer;

const FILES: Record<string, string> = {
  'codes.csv':
    'zip,phone,count,share,paid,opened,seen,account,note,lon,lat\n' +
    '01234,+4412345,1,22.0,true,2024-02-29,2024-02-29T10:15:00+01:00,1234567890123456,a,7.1,50.7\n' +
    '02345,+4412346,2356370000,0.5,FALSE,1999-12-31,2024-02-29 10:15,2,,7.2,50.8\n' +
    '99999,4412347,,,,,,3,"b, c",7.3,50.9\n',
  'pairs.csv': 'name,X,Latitude,Longitude,Y\na,530000,51.5,-0.1,180000\nb,531000,51.6,-0.2,181000\n',
  'grid.csv': 'id,Easting,Northing\n1,530000,180000\n',
  'tabs.tsv': 'name\tLongitude (deg)\tLatitude (deg)\n"Köln, Dom"\t6.96\t50.94\n',
  'semicolons.csv': '\uFEFFname;lon;lat\n"a;b";6.96;50.94\n',
  'shapes.csv': 'id,wkt,lon,lat\n1,"LINESTRING(7 50,8 51)",0,0\n',
  '2020.csv': 'a,lon,lat\n1,7,50\n',
  [`${'n'.repeat(70)}.csv`]: 'a,lon,lat\n1,7,50\n',
  '北京.csv': 'a,lon,lat\n1,116.4,39.9\n',
  'comma.csv': 'name;lat;lon;height;code\nKöln;50,94;6,96;1,5;0123\nMünchen;48,1;11,6;;99\n',
  'thousands.csv': 'name;x;y;n\na;7;50;1,234\nb;8;51;2,345\n',
  'mixed.csv': 'name;lon;lat;n\na;7,5;50,5;1,5\nb;8,5;51,5;many\n',
  'shape.csv':
    'id,Geo Point,Geo Shape\n1,"48.85, 2.35","{""type"":""LineString"",""coordinates"":[[2,48],[3,49]]}"\n2,"48, 2",\n3,"48, 2",{broken\n',
  'point.csv': 'id,geo_point_2d\n1,"48.85, 2.35"\n',
  'hash.csv': 'hash,lon,lat\n01ab23cd45ef01ab23cd45ef01ab23cd45ef01ab23cd45ef,7,50\n',
};

const ENCODED: Record<string, Buffer> = {
  'latin.csv': Buffer.from(
    'name,note,lon,lat\nKöln,"straße, früher Gasse",7,50\nMünchen,öffentlich,8,51\n',
    'latin1',
  ),
  'wide.csv': Buffer.from('\uFEFFname,lon,lat\nŁódź,19.4,51.7\n', 'utf16le'),
  'stated.csv': Buffer.from(
    [...'name,lon,lat\n']
      .map((c) => c.charCodeAt(0))
      .concat(0xcc, 0xe8, 0xf0, ...[...',30,50\n'].map((c) => c.charCodeAt(0))),
  ),
  'stated.csv.cpg': Buffer.from('1251'),
};

beforeAll(async () => {
  for (const [name, text] of Object.entries({ ...FILES, ...ENCODED }))
    writeFileSync(join(folder, name), text);
  server = await startServer({ sources: [folder] });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Page {
  features: { geometry: { type: string; coordinates: number[] }; properties: Record<string, unknown> }[];
}

const items = async (id: string) =>
  ((await (await fetch(`${server.url}/ogc/features/collections/${id}/items`)).json()) as Page).features;
const byNote = (a: Page['features'][number], b: Page['features'][number]) =>
  a.geometry.coordinates[0]! - b.geometry.coordinates[0]!;

it('columns have the types that lose nothing of any of their values', async () => {
  const schema = (await (await fetch(`${server.url}/ogc/features/collections/codes/schema`)).json()) as {
    properties: Record<string, { type?: string; format?: string }>;
  };
  const types = Object.entries(schema.properties).map(([name, { type, format }]) => [name, format ?? type]);
  expect(Object.fromEntries(types)).toMatchObject({
    zip: 'string',
    phone: 'string',
    count: 'integer',
    share: 'number',
    paid: 'boolean',
    opened: 'date',
    seen: 'date-time',
    account: 'string',
    note: 'string',
  });
  const rows = (await items('codes')).sort(byNote).map(({ properties }) => properties);
  expect(rows[0]).toEqual({
    zip: '01234',
    phone: '+4412345',
    count: 1,
    share: 22,
    paid: true,
    opened: '2024-02-29',
    seen: '2024-02-29T09:15:00.000Z',
    account: '1234567890123456',
    note: 'a',
  });
  expect(rows[1]).toMatchObject({
    count: 2_356_370_000,
    paid: false,
    seen: '2024-02-29T10:15:00.000Z',
    note: '',
  });
  expect(rows[2]).toMatchObject({
    zip: '99999',
    phone: '4412347',
    count: null,
    share: null,
    paid: null,
    opened: null,
    seen: null,
    note: 'b, c',
  });
});

it.each([
  ['pairs', [-0.1, 51.5]],
  ['tabs', [6.96, 50.94]],
  ['semicolons', [6.96, 50.94]],
])('coordinates of %s are in columns that belong together', async (id, place) => {
  const features = await items(id);
  expect(features.map(({ geometry }) => geometry.coordinates)).toContainEqual(place);
  if (id === 'pairs')
    expect(features[0]!.properties).toMatchObject({ X: expect.any(Number), Y: expect.any(Number) });
});

it('geometries as WKT go before coordinates', async () => {
  const [feature] = await items('shapes');
  expect(feature!.geometry.type).toBe('LineString');
});

it('coordinates in metres are those of a plane', async () => {
  const [feature] = await items('grid');
  expect(feature!.geometry.coordinates).toEqual([530_000, 180_000]);
  expect(server.log()).toContain('warning: grid: No coordinate reference system is declared');
});

it('decimal commas are those of numbers, in columns that have nothing else', async () => {
  const [cologne, munich] = await items('comma');
  expect(cologne!.geometry.coordinates).toEqual([6.96, 50.94]);
  expect(cologne!.properties).toEqual({ name: 'Köln', height: 1.5, code: '0123' });
  expect(munich!.properties).toEqual({ name: 'München', height: null, code: '99' });
  expect((await items('mixed')).map(({ properties }) => properties['n'])).toEqual(['1,5', 'many']);
});

it('commas that may part thousands stay as they are', async () => {
  expect((await items('thousands')).map(({ properties }) => properties['n'])).toEqual(['1,234', '2,345']);
});

it('geometries are read from GeoJSON, and from latitude and longitude in one column', async () => {
  const shapes = await items('shape');
  expect(shapes.map(({ geometry }) => geometry?.type)).toEqual(['LineString', undefined, undefined]);
  expect(shapes[0]!.properties).toEqual({ id: 1, 'Geo Point': '48.85, 2.35' });
  expect((await items('point'))[0]!.geometry.coordinates).toEqual([2.35, 48.85]);
  expect((await items('hash'))[0]!.geometry.coordinates).toEqual([7, 50]);
});

it.each([
  ['latin', ['Köln', 'München']],
  ['wide', ['Łódź']],
  ['stated', ['Мир']],
])('texts of %s are read in their encoding', async (id, names) => {
  expect((await items(id)).map(({ properties }) => properties['name'])).toEqual(names);
});

it.each([
  [
    ['name', 'X', 'Latitude', 'Longitude', 'Y'],
    ['Longitude', 'Latitude'],
  ],
  [['X', 'Latitude'], undefined],
  [['lon', 'y'], undefined],
  [
    ['POINT_X', 'Point Y'],
    ['POINT_X', 'Point Y'],
  ],
  [
    ['decimalLatitude', 'decimalLongitude'],
    ['decimalLongitude', 'decimalLatitude'],
  ],
  [
    ['Lat', 'Lng', 'x', 'y'],
    ['Lng', 'Lat'],
  ],
  [['a', 'b'], undefined],
])('of %j the coordinates are %j', (columns, pair) => {
  expect(coordinateColumns(columns)).toEqual(pair);
});

// A name of digits means the number of a layer.
it.each(['data-2020', 'n'.repeat(56), 'layer'])('a file may have any name: %s', async (id) => {
  expect(await items(id)).toHaveLength(1);
});
