import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EditableStore, type Editor, postgisStore, startEditor } from '../../edits/support.js';

/** Exports of tables whose keys are not integers. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-keys-'));
const UUID = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
let store: EditableStore;
let editor: Editor;
const ids = new Map<string, number>();

beforeAll(async () => {
  store = await postgisStore();
  await store.query(`
    CREATE TABLE named (k text PRIMARY KEY, id int, label text, geom geometry(Point, 4326));
    INSERT INTO named VALUES ('a/b', 5, 'one', 'SRID=4326;POINT(1 1)'), ('007', 6, 'two', 'SRID=4326;POINT(2 2)');
    CREATE TABLE padded (id char(5) PRIMARY KEY, label text, geom geometry(Point, 4326));
    INSERT INTO padded VALUES ('ab', 'one', 'SRID=4326;POINT(1 1)');
    CREATE TABLE uuids (u uuid PRIMARY KEY, label text, geom geometry(Point, 4326));
    INSERT INTO uuids VALUES ('${UUID}', 'one', 'SRID=4326;POINT(1 1)');
    CREATE TABLE pairs (region int, code text, geom geometry(Point, 4326), PRIMARY KEY (region, code));
    INSERT INTO pairs VALUES (1, 'x', 'SRID=4326;POINT(1 1)');
    CREATE TABLE none (k text PRIMARY KEY, geom geometry(Point, 4326))`);
  editor = await startEditor(store);
  const { collections } = await (await fetch(`${editor.server.url}/ogc/tiles/collections?f=json`)).json();
  for (const { id, name } of collections as { id: string; name: string }[]) ids.set(name, Number(id));
});

afterAll(async () => {
  await editor?.server.stop();
  await store?.release();
  rmSync(folder, { recursive: true, force: true });
});

async function exported(table: string, format: string, query = ''): Promise<Record<string, unknown>[]> {
  const path = `/api/v1/admin/services/default/layers/${ids.get(table)}/export?format=${format}${query}`;
  const response = await fetch(editor.server.url + path, {
    headers: { 'x-api-key': editor.server.adminKey },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.status, bytes.toString('utf8').slice(0, 300)).toBe(200);
  const ending = { shapefile: 'shz', flatgeobuf: 'fgb' }[format] ?? format;
  const file = join(folder, `${table}-${Math.random()}.${ending}`);
  writeFileSync(file, bytes);
  const text = execFileSync('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', file], { encoding: 'utf8' });
  const { features } = JSON.parse(text) as { features: { properties: Record<string, unknown> }[] };
  return features.map(({ properties }) => properties);
}

it.each(['gpkg', 'flatgeobuf', 'kml', 'shapefile'])('have the key as a field in %s', async (format) => {
  const named = await exported('named', format);
  expect(named.map(({ k, label }) => [k, label]).sort()).toEqual([
    ['007', 'two'],
    ['a/b', 'one'],
  ]);
  expect(named.map(({ id }) => Number(id)).sort()).toEqual([5, 6]);
  expect(await exported('padded', format)).toMatchObject([{ id: 'ab', label: 'one' }]);
  expect(await exported('uuids', format)).toMatchObject([{ u: UUID, label: 'one' }]);
  const [pair] = await exported('pairs', format);
  expect(pair).toMatchObject({ id: '1:x', code: 'x' });
  expect(Number(pair!['region'])).toBe(1);
  expect((await exported('named', format, '&outFields=label'))[0]).toMatchObject({ k: '007', label: 'two' });
});

it('have the key as a field if there are no features', async () => {
  expect(await exported('none', 'gpkg')).toEqual([]);
});

it('are not changed in formats that have such ids', async () => {
  const path = `/api/v1/admin/services/default/layers/${ids.get('uuids')}/export?format=geojson`;
  const response = await fetch(editor.server.url + path, {
    headers: { 'x-api-key': editor.server.adminKey },
  });
  const { features } = (await response.json()) as { features: object[] };
  expect(features).toMatchObject([{ id: UUID, properties: { label: 'one' } }]);
  expect(JSON.stringify(features)).not.toContain('"u"');
});
