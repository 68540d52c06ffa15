import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { PMTiles } from 'pmtiles';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ArchiveContainer } from '../../../src/core/tiles/archives.js';
import { archive } from '../../../src/workers/tiles/archive.js';
import { archiveTile } from '../../support/archive-tile.js';
import {
  makeMBTiles,
  PACK,
  type TileRecord,
  tilesOf,
  writeMBTiles,
  writePMTiles,
} from '../../support/archives.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-archives-'));
const countries = join(folder, 'countries.mbtiles');
const file = (name: string) => join(folder, name);
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);
let tiles: TileRecord[];

beforeAll(() => {
  makeMBTiles(countries);
  tiles = tilesOf(countries);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function inspect(path: string, container: ArchiveContainer) {
  return archive({ path, container });
}

async function read(path: string, container: ArchiveContainer, at: Omit<TileRecord, 'data'>) {
  return archiveTile({ path, container, zoom: at.zoom, row: at.row, column: at.column });
}

/** Reads every address of the zoom levels and compares with what the file was made of. */
async function expectSameTiles(path: string, container: ArchiveContainer, maxZoom: number) {
  const expected = new Map(tiles.map((t) => [`${t.zoom}/${t.row}/${t.column}`, t.data]));
  let found = 0;
  for (let zoom = 0; zoom <= maxZoom; zoom++) {
    for (let i = 0; i < 4 ** zoom; i++) {
      const at = { zoom, row: Math.floor(i / 2 ** zoom), column: i % 2 ** zoom };
      const tile = await read(path, container, at);
      const stored = expected.get(`${zoom}/${at.row}/${at.column}`);
      expect(Buffer.from(tile.data).equals(stored ?? Buffer.alloc(0)), JSON.stringify(at)).toBe(true);
      if (stored) expect(tile.encoding).toBe('gzip');
      if (stored) found++;
    }
  }
  expect(found).toBe(expected.size);
}

describe('MBTiles', () => {
  it('reads the metadata that GDAL writes', async () => {
    const info = await inspect(countries, 'mbtiles');
    expect(info).toMatchObject({
      format: 'mvt',
      minZoom: 0,
      maxZoom: 2,
      vectorLayers: [{ id: 'countries' }],
    });
    expect(info.vectorLayers[0]!.fields).toMatchObject({ NAME: 'String' });
    const [west, south, east, north] = info.extent84;
    expect([west, east].map(Math.abs).every((degrees) => degrees > 179 && degrees <= 180)).toBe(true);
    expect(south).toBeLessThan(-80);
    expect(north).toBeGreaterThan(80);
  });

  it('answers every stored tile byte for byte, rows counted from the top', async () => {
    expect(tiles.length).toBeGreaterThan(12);
    await expectSameTiles(countries, 'mbtiles', 2);
    // A reader that forgets to turn the rows would be seen: north and south are not alike.
    const zoom2 = tiles.filter((t) => t.zoom === 2 && t.column === 2);
    expect(zoom2.find((t) => t.row === 0)?.data).not.toEqual(zoom2.find((t) => t.row === 3)?.data);
  });

  it('derives what the metadata leaves out from the tiles', async () => {
    const path = file('bare.mbtiles');
    writeMBTiles(path, { name: 'Bare', attribution: 'us' }, [
      { zoom: 3, row: 0, column: 4, data: PNG },
      { zoom: 4, row: 0, column: 8, data: PNG },
      { zoom: 4, row: 1, column: 9, data: PNG },
    ]);
    const info = await inspect(path, 'mbtiles');
    expect(info).toMatchObject({ format: 'png', minZoom: 3, maxZoom: 4, title: 'Bare', attribution: 'us' });
    // Rows 0 and 1 of 16: from the north edge of the map to atan(sinh(pi * 3/4)).
    const south = (Math.atan(Math.sinh((Math.PI * 3) / 4)) * 180) / Math.PI;
    expect(info.extent84[0]).toBeCloseTo(0, 9);
    expect(info.extent84[1]).toBeCloseTo(south, 9);
    expect(info.extent84[2]).toBeCloseTo(45, 9);
    expect(info.extent84[3]).toBeCloseTo(85.0511287798, 9);
  });

  it('goes by the tiles where the metadata contradicts them', async () => {
    const write = (name: string, format: string, data: Buffer) => {
      writeMBTiles(file(name), { format }, [{ zoom: 0, row: 0, column: 0, data }]);
      return inspect(file(name), 'mbtiles');
    };
    expect(await write('says-pbf.mbtiles', 'pbf', PNG)).toMatchObject({ format: 'png' });
    expect(await write('says-jpeg.mbtiles', 'jpg', PNG)).toMatchObject({ format: 'png' });
    expect(await write('says-png.mbtiles', 'png', tiles[0]!.data)).toMatchObject({ format: 'mvt' });
    expect(await write('says-odd.mbtiles', 'tga', PNG)).toMatchObject({ format: 'png' });
    expect(await write('says-mlt.mbtiles', 'mlt', tiles[0]!.data)).toMatchObject({ format: 'mlt' });
    await expect(write('no-format.mbtiles', 'tga', Buffer.from('x'))).rejects.toMatchObject({
      message: expect.stringContaining('tga'),
    });
  });

  it('inflates tiles that were deflated without the head of gzip', async () => {
    const plain = gunzipSync(tiles[0]!.data);
    const at = { zoom: 0, row: 0, column: 0 };
    for (const level of [1, 6, 9]) {
      const path = file(`deflated-${level}.mbtiles`);
      writeMBTiles(path, {}, [{ ...at, data: deflateSync(plain, { level }) }]);
      expect(await inspect(path, 'mbtiles')).toMatchObject({ format: 'mvt' });
      const tile = await read(path, 'mbtiles', at);
      expect(tile.encoding).toBe('identity');
      expect(Buffer.from(tile.data).equals(plain)).toBe(true);
    }
    // The size of a layer of a MapLibre Tile, and its kind, are two such bytes.
    const other = Buffer.from([0x78, 0x01, 1, 2, 3]);
    writeMBTiles(file('like.mbtiles'), { format: 'mlt' }, [{ ...at, data: other }]);
    expect(Buffer.from((await read(file('like.mbtiles'), 'mbtiles', at)).data).equals(other)).toBe(true);
  });

  it('serves a table without an index, and refuses a view without one', async () => {
    const table = file('no-index.mbtiles');
    const plain = 'CREATE TABLE tiles (zoom_level, tile_column, tile_row, tile_data)';
    writeMBTiles(table, { format: 'pbf' }, tiles, plain);
    const before = readFileSync(table);
    await expectSameTiles(table, 'mbtiles', 2);
    expect(readFileSync(table).equals(before)).toBe(true);
    const view = file('view.mbtiles');
    writeMBTiles(
      view,
      { format: 'pbf' },
      [],
      'CREATE TABLE t (a, b, c, d); CREATE VIEW tiles AS SELECT a AS zoom_level, b AS tile_column, c AS tile_row, d AS tile_data FROM t',
    );
    await expect(inspect(view, 'mbtiles')).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringContaining('no index'),
    });
  });

  it('reads tiles through an indexed view', async () => {
    const path = file('images.mbtiles');
    const schema = `CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id TEXT,
        PRIMARY KEY (zoom_level, tile_column, tile_row));
      CREATE TABLE images (tile_id TEXT PRIMARY KEY, tile_data BLOB);
      INSERT INTO map VALUES (1, 0, 1, 'a'); INSERT INTO images VALUES ('a', x'${PNG.toString('hex')}');
      CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id)`;
    writeMBTiles(path, { format: 'png' }, [], schema);
    expect((await inspect(path, 'mbtiles')).minZoom).toBe(1);
    const tile = await read(path, 'mbtiles', { zoom: 1, row: 0, column: 0 });
    expect(Buffer.from(tile.data).equals(PNG)).toBe(true);
    expect(tile.encoding).toBe('identity');
  });

  it('tells damaged tiles and files from missing ones', async () => {
    const path = file('blobs.mbtiles');
    writeMBTiles(path, { format: 'pbf', minzoom: '0', maxzoom: '2', json: '{broken' }, [
      { zoom: 1, row: 0, column: 0, data: Buffer.concat([gzipSync(Buffer.alloc(100, 1)).subarray(0, 20)]) },
      { zoom: 1, row: 0, column: 1, data: 'text' },
      { zoom: 1, row: 1, column: 0, data: null },
      { zoom: 1, row: 1, column: 1, data: Buffer.alloc(0) },
      { zoom: 2, row: 0, column: 0, data: gzipSync(Buffer.alloc(80 * 1024 * 1024)) },
    ]);
    expect((await inspect(path, 'mbtiles')).vectorLayers).toEqual([]);
    const damaged = { code: 'source-unreadable', message: expect.stringContaining('damaged') };
    await expect(read(path, 'mbtiles', { zoom: 1, row: 0, column: 0 })).rejects.toMatchObject(damaged);
    await expect(read(path, 'mbtiles', { zoom: 1, row: 0, column: 1 })).rejects.toMatchObject(damaged);
    await expect(read(path, 'mbtiles', { zoom: 2, row: 0, column: 0 })).rejects.toMatchObject(damaged);
    expect((await read(path, 'mbtiles', { zoom: 1, row: 1, column: 0 })).data).toHaveLength(0);
    expect((await read(path, 'mbtiles', { zoom: 1, row: 1, column: 1 })).data).toHaveLength(0);
    await expect(read(file('none.mbtiles'), 'mbtiles', { zoom: 0, row: 0, column: 0 })).rejects.toMatchObject(
      { code: 'source-missing' },
    );
  });

  it('survives a file cut or overwritten anywhere', async () => {
    const whole = readFileSync(countries);
    const path = file('cut.mbtiles');
    let refused = 0;
    for (let part = 0; part < 24; part++) {
      copyFileSync(countries, path);
      if (part % 2 === 0) truncateSync(path, Math.floor((whole.length * part) / 24));
      else {
        const damaged = Buffer.from(whole);
        damaged.fill(0xa5, (part - 1) * 512, (part + 1) * 512);
        writeFileSync(path, damaged);
      }
      const outcomes = await Promise.allSettled([
        inspect(path, 'mbtiles'),
        ...tiles.map((tile) => read(path, 'mbtiles', tile)),
      ]);
      const failures = outcomes.filter((o) => o.status === 'rejected').map((o) => o.reason);
      for (const failure of failures)
        expect(failure).toMatchObject({ name: 'TaskFailure', code: 'source-unreadable' });
      if (failures.length > 0) refused++;
    }
    expect(refused).toBeGreaterThan(12);
  });

  it('reads a file that was replaced anew', async () => {
    const path = file('replaced.mbtiles');
    const at = { zoom: 0, row: 0, column: 0 };
    writeMBTiles(path, { format: 'png' }, [{ ...at, data: PNG }]);
    expect(Buffer.from((await read(path, 'mbtiles', at)).data).equals(PNG)).toBe(true);
    rmSync(path);
    const other = Buffer.concat([PNG, Buffer.from('x')]);
    writeMBTiles(path, { format: 'png' }, [{ ...at, data: other }]);
    expect(Buffer.from((await read(path, 'mbtiles', at)).data).equals(other)).toBe(true);
  });
});

describe('PMTiles', () => {
  const metadata = {
    name: 'World',
    attribution: 'nobody',
    vector_layers: [{ id: 'countries', fields: { a: 'Number', b: 7 }, minzoom: 'x' }, 7],
  };

  it('reads what another reader reads, with and without leaf directories', async () => {
    for (const leafSize of [undefined, 5]) {
      for (const internalCompression of [1, 2]) {
        const path = file(`world-${leafSize}-${internalCompression}.pmtiles`);
        writePMTiles(path, tiles, { leafSize, internalCompression, metadata });
        await expectReaderAgrees(path);
        expect(await inspect(path, 'pmtiles')).toMatchObject({
          format: 'mvt',
          minZoom: 0,
          maxZoom: 2,
          extent84: [-180, -85, 180, 85],
          title: 'World',
          attribution: 'nobody',
          vectorLayers: [{ id: 'countries', fields: { a: 'Number' } }],
        });
        await expectSameTiles(path, 'pmtiles', 2);
      }
    }
  });

  it('serves uncompressed images', async () => {
    const path = file('image.pmtiles');
    const at = { zoom: 1, row: 1, column: 0 };
    writePMTiles(path, [{ ...at, data: PNG }], { tileType: 2, tileCompression: 1 });
    expect((await inspect(path, 'pmtiles')).format).toBe('png');
    const tile = await read(path, 'pmtiles', at);
    expect([Buffer.from(tile.data).equals(PNG), tile.encoding]).toEqual([true, 'identity']);
    expect((await read(path, 'pmtiles', { zoom: 9, row: 0, column: 0 })).data).toHaveLength(0);
  });

  it.each([
    [3, 'br'],
    [4, 'zstd'],
  ] as const)('reads tiles and directories of compression %i', async (compression, coding) => {
    const path = file(`${coding}.pmtiles`);
    const packed = tiles.map((tile) => ({ ...tile, data: PACK[compression]!(gunzipSync(tile.data)) }));
    const options = { tileCompression: compression, internalCompression: compression, leafSize: 5, metadata };
    writePMTiles(path, packed, options);
    expect((await inspect(path, 'pmtiles')).format).toBe('mvt');
    for (const { data, ...at } of packed) {
      const tile = await read(path, 'pmtiles', at);
      expect([Buffer.from(tile.data).equals(data), tile.encoding]).toEqual([true, coding]);
    }
    const damaged = packed.map((tile) => ({ ...tile, data: tile.data.subarray(0, -2) }));
    writePMTiles(path, damaged, { tileCompression: compression });
    const { data: _, ...at } = damaged[0]!;
    await expect(read(path, 'pmtiles', at)).rejects.toMatchObject({ code: 'source-unreadable' });
  });

  it.each([
    ['tiles of unknown compression', { tileCompression: 0 }, 'the compression of tiles is unknown (0)'],
    [
      'directories of a compression to come',
      { internalCompression: 5 },
      'the compression of directories is unknown (5)',
    ],
    ['unknown tiles', { tileType: 0 }, 'tiles of type unknown'],
    ['avif tiles', { tileType: 5 }, 'tiles of type avif'],
    ['version 2', { specVersion: 2 }, 'version 2'],
    ['version 4', { specVersion: 4 }, 'version 4'],
  ])('refuses %s with the reason', async (_, options, reason) => {
    const path = file('refused.pmtiles');
    writePMTiles(path, tiles, options);
    await expect(inspect(path, 'pmtiles')).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringContaining(reason),
    });
  });

  it('refuses every cut file, and survives every damaged one', async () => {
    const whole = file('whole.pmtiles');
    writePMTiles(whole, tiles, { leafSize: 5, metadata });
    const bytes = readFileSync(whole);
    const path = file('cut.pmtiles');
    for (const size of [0, 1, 126, 127, 200, 400, Math.floor(bytes.length / 2), bytes.length - 1]) {
      writeFileSync(path, bytes.subarray(0, size));
      await expect(inspect(path, 'pmtiles'), `${size} bytes`).rejects.toMatchObject({
        name: 'TaskFailure',
        code: 'source-unreadable',
      });
    }
    let failed = 0;
    for (let at = 0; at < 900; at += 3) {
      const damaged = Buffer.from(bytes);
      damaged[at] = damaged[at]! ^ 0xff;
      writeFileSync(path, damaged);
      const outcomes = await Promise.allSettled([
        inspect(path, 'pmtiles'),
        ...tiles.slice(0, 8).map((tile) => read(path, 'pmtiles', tile)),
      ]);
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') continue;
        expect(outcome.reason).toMatchObject({ name: 'TaskFailure', code: 'source-unreadable' });
        failed++;
      }
    }
    expect(failed).toBeGreaterThan(100);
  });
});

/** The archives of this test are sound: the package's own reader finds the same tiles, inflated. */
async function expectReaderAgrees(path: string) {
  const handle = await open(path);
  const reader = new PMTiles({
    getKey: () => path,
    async getBytes(offset, length) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
      return { data: new Uint8Array(buffer.subarray(0, bytesRead)).buffer };
    },
  });
  for (const tile of tiles) {
    const found = await reader.getZxy(tile.zoom, tile.column, tile.row);
    expect(Buffer.from(found!.data).equals(gunzipSync(tile.data))).toBe(true);
  }
  await handle.close();
}
