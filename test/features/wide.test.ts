import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VectorTile } from '@mapbox/vector-tile';
import Database from 'better-sqlite3';
import { PbfReader } from 'pbf';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProcessClient } from '../processes/support.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';

/** Tables with many columns, as those of a census. */

const COLUMNS = 400;
const NAMES = Array.from({ length: COLUMNS }, (_, i) => `c${String(i).padStart(3, '0')}`);
const VALUES = Object.fromEntries(NAMES.map((name, i) => [name, i + 1]));
const folder = mkdtempSync(join(tmpdir(), 'graticule-wide-'));
let postgres: TestPostgres;
let server: TestServer;

beforeAll(async () => {
  const feature = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: VALUES };
  const text = join(folder, 'wide.json');
  writeFileSync(text, JSON.stringify({ type: 'FeatureCollection', features: [feature] }));
  const path = join(folder, 'wide.gpkg');
  execFileSync('ogr2ogr', ['-f', 'GPKG', path, text, '-nln', 'wide']);
  postgres = await startPostgres();
  const columns = NAMES.map((name, i) => `${name} integer DEFAULT ${i + 1}`).join(', ');
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(
    `CREATE TABLE broad (id serial PRIMARY KEY, geom geometry(Point, 4326), ${columns});
     INSERT INTO broad (geom) VALUES ('SRID=4326;POINT(1 2)');`,
  );
  await client.end();
  server = await startServer({ sources: [path, postgres.url] });
});
afterAll(async () => {
  await server?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string) => fetch(server.url + path);
const items = (id: string, format: string) =>
  get(`/ogc/features/collections/${id}/items?f=${format}`).then((response) => response.text());
const attributesOf = (one: object) => Object.keys(one).filter((name) => /^c\d{3}$/.test(name)).length;

describe.each(['wide', 'broad'])('the 400 attributes of %s', (id) => {
  it('are in all formats of features', async () => {
    const json = JSON.parse(await items(id, 'json'));
    expect(json.features[0].properties).toMatchObject(VALUES);
    const [head = '', row = ''] = (await items(id, 'csv')).split(/\r?\n/);
    expect([head, row].map((line) => line.split(',').length >= COLUMNS)).toEqual([true, true]);
    expect((await items(id, 'gml')).match(/<[\w:]*c\d{3}>/g)).toHaveLength(COLUMNS);
  });

  it('are in FeatureServer, tiles and process results', async () => {
    const { collections } = await (await get('/ogc/tiles/collections?f=json')).json();
    const layer = collections.find(({ name }: { name: string }) => name === id);
    const query = `/rest/services/default/FeatureServer/${layer.id}/query?where=1%3D1&outFields=*&f=json`;
    expect(attributesOf((await (await get(query)).json()).features[0].attributes)).toBe(COLUMNS);
    const tile = await get(`/tiles/${id}/0/0/0`);
    const [shown] = Object.values(
      new VectorTile(new PbfReader(Buffer.from(await tile.arrayBuffer()))).layers,
    );
    expect(attributesOf(shown!.feature(0).properties)).toBe(COLUMNS);
    const client = new ProcessClient(server);
    const { features } = await client.results('geometry.centroid', {
      inputs: { features: { collection: id } },
    });
    expect(attributesOf(features.features[0].properties)).toBe(COLUMNS);
  });

  it('are kept by an edit of one of them', async () => {
    const send = (method: string, body: unknown) =>
      fetch(`${server.url}/ogc/features/collections/${id}/items/1`, {
        method,
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
        body: JSON.stringify(body),
      });
    expect((await send('PATCH', { properties: { c399: -1 } })).status).toBeLessThan(300);
    const feature = JSON.parse(await items(id, 'json')).features[0];
    expect(feature.properties).toMatchObject({ ...VALUES, c399: -1 });
    expect((await send('PUT', feature)).status).toBeLessThan(300);
    expect(JSON.parse(await items(id, 'json')).features[0].properties).toMatchObject({ ...VALUES, c399: -1 });
  });
});

it('a table with more attributes than can be published says so', async () => {
  const path = join(folder, 'widest.gpkg');
  const db = new Database(join(folder, 'wide.gpkg'));
  await db.backup(path);
  db.close();
  const copy = new Database(path);
  for (let i = COLUMNS; i < 1000; i++) copy.exec(`ALTER TABLE wide ADD COLUMN c${i} INTEGER`);
  copy.close();
  const text = execFileSync('node', ['dist/cli/main.js', 'inspect', path], { encoding: 'utf8' });
  expect(text).toContain('The table has 1000 attributes: the first 990 are published.');
});
