import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { coordinateColumns } from '../../src/workers/raster/csv.js';
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
  'comma.csv': 'name;lat;lon\nKöln;50,94;6,96\n',
};

beforeAll(async () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
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
  expect(server.log()).toContain('warning: grid: No coordinate reference system is named');
});

it('decimal commas are not cut off: the file is not published, with the reason', () => {
  expect(server.log()).toMatch(/comma\.csv: The coordinates in lon and lat have decimal commas/);
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

it.each(['2020', 'n'.repeat(56), 'layer'])('a file may have any name: %s', async (id) => {
  expect(await items(id)).toHaveLength(1);
});
