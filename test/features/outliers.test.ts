import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

/** Rows far from the Earth, in data that came from elsewhere: they hide nothing but themselves. */

type Geometry = { type: string; coordinates: unknown };

const square = (x: number, y: number, side: number): Geometry => ({
  type: 'Polygon',
  coordinates: [
    [
      [x, y],
      [x + side, y],
      [x + side, y + side],
      [x, y + side],
      [x, y],
    ],
  ],
});
const point = (...coordinates: number[]): Geometry => ({ type: 'Point', coordinates });
const line = (...coordinates: number[][]): Geometry => ({ type: 'LineString', coordinates });

const LAYERS: Record<string, { crs: string; sound: Geometry[]; broken: Geometry[]; extent: number[] }> = {
  degrees: {
    crs: 'EPSG:4326',
    sound: [square(7, 46, 1), point(7.5, 46.5), line([7, 46], [8, 47])],
    broken: [
      {
        type: 'Polygon',
        coordinates: [
          [
            [1e308, 46],
            [1e308, 47],
            [8, 47],
            [1e308, 46],
          ],
        ],
      },
      point(1e300, 3),
      line([0, 0], [1e308, 1e308]),
      point(9, 1e10),
      square(500, 0, 50),
    ],
    extent: [7, 46, 8, 47],
  },
  mercator: {
    crs: 'EPSG:3857',
    sound: [square(700_000, 5_800_000, 100_000)],
    broken: [point(1e20, 1e20), line([7e5, 58e5], [1e308, 58e5])],
    extent: [6.288207, 46.122489, 7.186522, 46.741612],
  },
  utm: {
    crs: 'EPSG:32632',
    sound: [square(400_000, 5_200_000, 100_000)],
    broken: [point(1e20, 1e20), point(5e7, 1), line([4e5, 52e5], [1e308, 58e5])],
    extent: [7.65, 46.94, 9, 47.86],
  },
};

const folder = mkdtempSync(join(tmpdir(), 'graticule-outliers-'));
let server: TestServer;
let postgres: TestPostgres;
// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

function write(name: string, crs: string, geometries: readonly Geometry[]): string {
  const features = geometries.map((geometry, i) => ({ type: 'Feature', properties: { i }, geometry }));
  const json = join(folder, 'layer.json');
  writeFileSync(json, JSON.stringify({ type: 'FeatureCollection', features }));
  const path = join(folder, `${name}.gpkg`);
  execFileSync('ogr2ogr', ['-f', 'GPKG', path, json, '-a_srs', crs, '-nln', name, '-nlt', 'GEOMETRY']);
  rmSync(json);
  return path;
}

async function load(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE EXTENSION IF NOT EXISTS postgis');
  for (const [name, { crs, sound, broken }] of Object.entries(LAYERS)) {
    const srid = crs.slice(5);
    await client.query(
      `CREATE TABLE pg_${name} (id serial PRIMARY KEY, i int, geom geometry(Geometry, ${srid}))`,
    );
    for (const [i, geometry] of [...sound, ...broken].entries())
      await client.query(
        `INSERT INTO pg_${name} (i, geom) VALUES ($1, ST_SetSRID(ST_GeomFromGeoJSON($2), ${srid}))`,
        [i, JSON.stringify(geometry)],
      );
    for (const [x, y] of [
      ['NaN', 'NaN'],
      ['Infinity', '1'],
      ['7', '-Infinity'],
    ])
      await client.query(
        `INSERT INTO pg_${name} (geom) VALUES (ST_SetSRID(ST_MakePoint($1::float8, $2::float8), ${srid}))`,
        [x, y],
      );
    await client.query(`CREATE INDEX ON pg_${name} USING gist (geom)`);
  }
  await client.end();
}

beforeAll(async () => {
  for (const [name, { crs, sound, broken }] of Object.entries(LAYERS)) {
    write(name, crs, [...sound, ...broken]);
    write(`${name}_sound`, crs, sound);
  }
  postgres = await startPostgres();
  await load(postgres.url);
  server = await startServer({ sources: [folder, postgres.url] });
}, 120_000);

afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = async (path: string): Promise<Json> => (await fetch(`${server.url}${path}`)).json();
const extentOf = async (id: string): Promise<number[]> =>
  (await get(`/ogc/features/collections/${id}`)).extent.spatial.bbox[0];

async function numberOf(title: string): Promise<number> {
  const { collections } = await get('/ogc/tiles/collections');
  return collections.find((one: Json) => one.title.toLowerCase().replaceAll(' ', '_') === title).id;
}

const bytes = async (path: string): Promise<[number, string]> => {
  const response = await fetch(`${server.url}${path}`);
  return [response.status, Buffer.from(await response.arrayBuffer()).toString('base64')];
};

describe.each(Object.keys(LAYERS))('rows beyond the domain of the CRS (%s)', (name) => {
  it.each([name, `pg_${name}`])('do not reach into the extent of %s', async (id) => {
    const extent = await extentOf(id);
    for (const [i, side] of LAYERS[name]!.extent.entries()) expect(extent[i]).toBeCloseTo(side, 1);
    const { collections } = await get('/ogc/features/collections');
    expect(collections.find((one: Json) => one.id === id).extent.spatial.bbox[0]).toEqual(extent);
    expect((await fetch(`${server.url}/ogc/features/collections/${id}/items?bbox=${extent}`)).status).toBe(
      200,
    );
    expect(server.log()).toMatch(new RegExp(`${id}: Coordinates contradict`));
  });

  it('leave maps and tiles as they are without them', async () => {
    const [broken, sound] = [await numberOf(name), await numberOf(`${name}_sound`)];
    const [status, map] = await bytes(`/ogc/maps/collections/${broken}/map`);
    expect(status).toBe(200);
    expect(map).toBe((await bytes(`/ogc/maps/collections/${sound}/map`))[1]);
    for (const format of ['mvt', 'png'])
      expect(
        (await bytes(`/ogc/tiles/collections/${broken}/tiles/WebMercatorQuad/6/22/33?f=${format}`))[0],
      ).toBe(200);
    expect((await bytes('/ogc/maps/map'))[0]).toBe(200);
  });
});

describe('an edit', () => {
  const items = '/ogc/features/collections/degrees_sound/items';
  const post = (geometry: unknown, id = 'degrees_sound', headers = {}) =>
    fetch(`${server.url}/ogc/features/collections/${id}/items`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json', ...headers },
      body: JSON.stringify({ type: 'Feature', properties: {}, geometry }),
    });

  it.each([
    ['degrees_sound', {}, square(1e308, 0, 1)],
    ['degrees_sound', {}, point(1e308, 0)],
    ['degrees_sound', {}, point(0, 91)],
    ['degrees_sound', {}, line([0, 0], [361, 0])],
    ['pg_degrees', {}, point(0, 91)],
    ['utm_sound', { 'content-crs': '<http://www.opengis.net/def/crs/EPSG/0/32632>' }, point(5e7, 1)],
    ['mercator_sound', { 'content-crs': '<http://www.opengis.net/def/crs/EPSG/0/3857>' }, point(1e20, 0)],
  ])('of %s %j does not take %j', async (id, headers, geometry) => {
    const response = await post(geometry, id, headers);
    expect(response.status).toBe(400);
    expect((await response.json()).errors[0].name).toMatch(/^\/geometry/);
  });

  it('that takes away what reached the edge lets the extent shrink again', async () => {
    const before = await extentOf('degrees_sound');
    const created = await post(point(100.25, 10.5));
    expect(created.status).toBe(201);
    expect(await extentOf('degrees_sound')).toEqual([7, 10.5, 100.25, 47]);
    const { id } = (await created.json()) as Json;
    const gone = await fetch(`${server.url}${items}/${id}`, {
      method: 'DELETE',
      headers: { 'x-api-key': server.adminKey },
    });
    expect(gone.status).toBe(204);
    await expect.poll(() => extentOf('degrees_sound'), { timeout: 60_000 }).toEqual(before);
  });
});
