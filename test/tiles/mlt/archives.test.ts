import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { PMTiles, type RangeResponse } from 'pmtiles';
import { afterAll, beforeAll, expect, it } from 'vitest';
import Database from '../../../src/native/sqlite.js';
import { startServer, type TestServer } from '../../support/server.js';
import { mltReader, type ReadTile, readMvt } from './support.js';

/** Archives of MapLibre Tiles: written, read by others, and served; those of vector tiles in the other encoding. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-mlt-archives-'));
const file = (name: string) => join(folder, name);
let server: TestServer;
let readMlt: (tile: Uint8Array) => ReadTile;

const write = (name: string, encoding: string) =>
  execFileSync(process.execPath, [
    ...['dist/cli/main.js', 'export', 'countries', '--tiles', file(name), '--encoding', encoding],
    ...['--source', 'demo/data/world_map.gpkg', '--zooms', '0-3', '--data-dir', file('data')],
  ]);

/** The same archive, which does not say what it holds. */
function nameless(from: string, to: string): void {
  copyFileSync(file(from), file(to));
  const db = new Database(file(to));
  db.exec("DELETE FROM metadata WHERE name = 'format'");
  // Nor do the first of its tiles: one is empty, one damaged.
  db.exec(`CREATE TABLE copy AS SELECT * FROM tiles;
    DROP VIEW tiles;
    CREATE TABLE tiles (zoom_level, tile_column, tile_row, tile_data);
    INSERT INTO tiles VALUES (3, 0, 0, x'1f8b080000000000000303000000000000000000'), (3, 0, 1, x'1f8b08');
    INSERT INTO tiles SELECT * FROM copy WHERE NOT (zoom_level = 3 AND tile_column = 0)`);
  db.close();
}

beforeAll(async () => {
  write('mlt.pmtiles', 'mlt');
  write('mlt.mbtiles', 'mlt');
  write('mvt.pmtiles', 'mvt');
  nameless('mlt.mbtiles', 'nameless.mbtiles');
  readMlt = await mltReader();
  const sources = ['mlt.pmtiles', 'mlt.mbtiles', 'mvt.pmtiles', 'nameless.mbtiles'].map(file);
  server = await startServer({ sources });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

async function tile(path: string): Promise<{ status: number; type: string | null; bytes: Uint8Array }> {
  const response = await fetch(`${server.url}${path}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get('content-type'), bytes };
}

const ids = async (): Promise<Record<string, string>> => {
  const { collections } = (await (await fetch(`${server.url}/?f=json`)).json()) as {
    collections: { id: string }[];
  };
  return Object.fromEntries(collections.map(({ id }) => [id, id]));
};

it('say what they hold, as their readers know it', async () => {
  const handle = openSync(file('mlt.pmtiles'), 'r');
  const archive = new PMTiles({
    getKey: () => 'mlt',
    async getBytes(offset, length): Promise<RangeResponse> {
      const bytes = Buffer.alloc(length);
      const count = readSync(handle, bytes, 0, length, offset);
      return { data: new Uint8Array(bytes.subarray(0, count)).buffer };
    },
  });
  // PMTiles 3, "Tile Type": 6 is MapLibre Vector Tile.
  expect((await archive.getHeader()).tileType).toBe(6);
  const { data } = (await archive.getZxy(2, 2, 1))!;
  expect(readMlt(new Uint8Array(data))['countries']!.features.length).toBeGreaterThan(10);
  const db = new Database(file('mlt.mbtiles'), { readonly: true });
  const format = db.prepare("SELECT value FROM metadata WHERE name = 'format'").pluck().get();
  expect(format).toBe('application/vnd.maplibre-tile');
  const stored = db
    .prepare('SELECT tile_data FROM tiles WHERE zoom_level = 2 AND tile_column = 2 AND tile_row = 2')
    .pluck()
    .get() as Buffer;
  expect(readMlt(gunzipSync(stored))).toEqual(readMlt(new Uint8Array(data)));
  db.close();
});

it('are served in both encodings', async () => {
  const names = Object.keys(await ids());
  expect(names).toHaveLength(4);
  const answers = await Promise.all(names.map((name) => tile(`/tiles/${name}/2/2/1.mlt`)));
  for (const { status, type } of answers)
    expect([status, type]).toEqual([200, 'application/vnd.maplibre-tile']);
  const expected = readMlt(answers[0]!.bytes);
  for (const { bytes } of answers) expect(readMlt(bytes)).toEqual(expected);
  const plain = await Promise.all(names.map((name) => tile(`/tiles/${name}/2/2/1.mvt`)));
  for (const { status, type, bytes } of plain) {
    expect([status, type]).toEqual([200, 'application/vnd.mapbox-vector-tile']);
    expect(readMvt(bytes)).toEqual(expected);
  }
});

it('tell the encoding of the tiles that their TileJSON names', async () => {
  for (const name of Object.keys(await ids()))
    for (const encoding of ['mvt', 'mlt']) {
      const response = await fetch(`${server.url}/tiles/${name}?encoding=${encoding}`);
      const document = (await response.json()) as { encoding: string; tiles: string[] };
      expect(document.encoding).toBe(encoding);
      const path = document.tiles[0]!.replace('{z}/{x}/{y}', '2/2/1').slice(server.url.length);
      const { type } = await tile(path);
      expect(type).toBe(
        encoding === 'mlt' ? 'application/vnd.maplibre-tile' : 'application/vnd.mapbox-vector-tile',
      );
    }
});

it('tell their encoding in TileJSON', async () => {
  const documents = await Promise.all(
    Object.keys(await ids()).map(async (name) => (await fetch(`${server.url}/tiles/${name}`)).json()),
  );
  expect(documents.map(({ encoding }) => encoding).sort()).toEqual(['mlt', 'mlt', 'mlt', 'mvt']);
});
