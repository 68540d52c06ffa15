import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { PMTiles, tileIdToZxy, zxyToTileId } from 'pmtiles';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type {
  ArchiveDescription,
  ArchiveDraft,
  WrittenContainer,
  WrittenTile,
} from '../../../src/core/tiles/archives.js';
import { WEB_MERCATOR_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import Database from '../../../src/native/sqlite.js';
import { Cancellation } from '../../../src/workers/threads/cancellation.js';
import {
  appendTiles,
  discardArchive,
  finishArchive,
  openArchive,
} from '../../../src/workers/tiles/archive/write.js';
import { archive } from '../../../src/workers/tiles/archive.js';
import { archiveTile } from '../../support/archive-tile.js';
import { makeMBTiles, type TileRecord, tilesOf } from '../../support/archives.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-write-'));
let tiles: TileRecord[];
let n = 0;

beforeAll(() => {
  const path = join(folder, 'countries.mbtiles');
  makeMBTiles(path, 3);
  tiles = tilesOf(path).sort((a, b) => idOf(a) - idOf(b));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const idOf = ({ zoom, row, column }: Omit<TileRecord, 'data'>) => zxyToTileId(zoom, column, row);

function draftOf(container: WrittenContainer, extra: Partial<ArchiveDraft> = {}): ArchiveDraft {
  return { output: join(folder, `out-${++n}.${container}`), container, format: 'mvt', plan: 'p', ...extra };
}

const HALF = 20037508.342789244;
function describing(maxZoom: number): ArchiveDescription {
  return {
    name: 'countries',
    title: 'Countries of the world',
    description: 'All of them',
    attribution: 'Some people',
    bounds: [-180, -85, 180, 83],
    minZoom: 0,
    maxZoom,
    vectorLayers: [
      { id: 'countries', fields: { name: 'String', pop: 'Number' }, minzoom: 0, maxzoom: maxZoom },
    ],
    grid: {
      id: 'WebMercatorQuad',
      crs: WEB_MERCATOR_QUAD.crs.proj,
      extent: [-HALF, -HALF, HALF, HALF],
      matrices: Array.from({ length: maxZoom + 1 }, (_, zoom) => ({
        zoom,
        columns: 2 ** zoom,
        rows: 2 ** zoom,
        tileWidth: 256,
        tileHeight: 256,
        cellSize: (HALF * 2) / 256 / 2 ** zoom,
      })),
    },
  };
}

/** Writes tiles in parts of 50. */
function write(draft: ArchiveDraft, all: readonly WrittenTile[], maxZoom = 3, part = 20) {
  let from = openArchive({ draft }).cursor;
  for (let at = Number(from ?? 0); at < all.length; at += part) {
    const to = String(at + part);
    appendTiles({ draft, tiles: all.slice(at, at + part) as WrittenTile[], from, to });
    from = to;
  }
  return finishArchive({ draft, description: describing(maxZoom) });
}

function run(program: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return stdout;
}

/** What the pmtiles package reads. */
function reader(path: string): PMTiles {
  const bytes = readFileSync(path);
  return new PMTiles({
    getKey: () => path,
    async getBytes(offset, length) {
      const data = bytes.subarray(offset, offset + length);
      return { data: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer };
    },
  });
}

const leftovers = () => readdirSync(folder).filter((name) => name.includes('.partial'));

describe.each(['mbtiles', 'pmtiles'] as const)('%s', (container) => {
  it('holds every tile once, as our own reader sees it', async () => {
    const draft = draftOf(container);
    const made = write(draft, tiles);
    expect(made.tiles).toBe(tiles.length);
    expect(made.contents).toBe(new Set(tiles.map(({ data }) => data.toString('base64'))).size);
    expect(made.bytes).toBe(readFileSync(draft.output).length);
    expect(await archive({ path: draft.output, container })).toMatchObject({
      format: 'mvt',
      minZoom: 0,
      maxZoom: 3,
      title: 'Countries of the world',
      attribution: 'Some people',
      extent84: [-180, -85, 180, 83],
    });
    for (const { zoom, row, column, data } of tiles) {
      const tile = await archiveTile({ path: draft.output, container, zoom, row, column });
      expect(Buffer.from(tile.data).equals(data)).toBe(true);
    }
    expect(leftovers()).toEqual([]);
  });

  it('goes on after its writer was lost, and refuses a second writer', async () => {
    const draft = draftOf(container);
    openArchive({ draft });
    appendTiles({ draft, tiles: tiles.slice(0, 40), from: undefined, to: '40' });
    expect(() => appendTiles({ draft, tiles: tiles.slice(0, 1), from: undefined, to: '1' })).toThrow(
      /another/,
    );
    // As a new process finds it, with bytes behind the last commit.
    expect(openArchive({ draft }).cursor).toBe('40');
    expect(existsSync(draft.output)).toBe(false);
    expect(write(draft, tiles).tiles).toBe(tiles.length);
    for (const at of tiles.slice(30, 50)) {
      const tile = await archiveTile({ path: draft.output, container, ...at });
      expect(Buffer.from(tile.data).equals(at.data)).toBe(true);
    }
  });

  it('takes no tile twice, and nothing of a part that failed', () => {
    const draft = draftOf(container);
    openArchive({ draft });
    appendTiles({ draft, tiles: tiles.slice(0, 3), from: undefined, to: '3' });
    expect(() => appendTiles({ draft, tiles: tiles.slice(2, 6), from: '3', to: '6' })).toThrow(/UNIQUE/);
    appendTiles({ draft, tiles: tiles.slice(3, 6), from: '3', to: '6' });
    expect(finishArchive({ draft, description: describing(3) }).tiles).toBe(6);
  });

  it('begins anew what has another plan, and removes what is discarded', () => {
    const draft = draftOf(container);
    openArchive({ draft });
    appendTiles({ draft, tiles: tiles.slice(0, 3), from: undefined, to: '3' });
    expect(openArchive({ draft: { ...draft, plan: 'other' } }).cursor).toBeUndefined();
    expect(leftovers().length).toBeGreaterThan(0);
    discardArchive({ output: draft.output });
    expect(leftovers()).toEqual([]);
  });

  it('never writes over a file that is there', () => {
    const draft = draftOf(container);
    openArchive({ draft });
    writeFileSync(draft.output, 'mine');
    expect(() => finishArchive({ draft, description: describing(3) })).toThrow(/already/);
    expect(readFileSync(draft.output, 'utf8')).toBe('mine');
    discardArchive({ output: draft.output });
  });
});

describe('a large PMTiles archive', () => {
  const draft = draftOf('pmtiles');
  const sea = Buffer.from('the sea');
  /** Zoom 8 whole: long runs of sea between tiles of their own. */
  const first = zxyToTileId(8, 0, 0);
  const many = Array.from({ length: 4 ** 8 }, (_, i): TileRecord => {
    const [zoom, column, row] = tileIdToZxy(first + i);
    const land = i % 7 < 3 || i > 50_000;
    return { zoom, column, row, data: land ? Buffer.from(`land ${i}`) : sea };
  });
  let made: { tiles: number; contents: number };
  beforeEach(() => {
    made ??= write({ ...draft, format: 'png' }, many, 8, 5000);
  });

  it('has leaf directories, runs, and each content once', async () => {
    const header = await reader(draft.output).getHeader();
    expect(header).toMatchObject({ clustered: true, numAddressedTiles: 4 ** 8, specVersion: 3 });
    expect(header.leafDirectoryLength).toBeGreaterThan(0);
    expect(header.rootDirectoryOffset + header.rootDirectoryLength).toBeLessThanOrEqual(16_384);
    expect(header.numTileContents).toBe(made.contents);
    expect(header.numTileEntries).toBeLessThan(4 ** 8 * 0.8);
    const land = many.filter(({ data }) => data !== sea);
    expect(made.contents).toBe(land.length + 1);
    expect(header.tileDataLength).toBe(land.reduce((sum, { data }) => sum + data.length, 0) + sea.length);
  });

  it('is read by the pmtiles package', async () => {
    const tiles = reader(draft.output);
    expect(await tiles.getMetadata()).toMatchObject({ name: 'Countries of the world' });
    for (let i = 0; i < many.length; i += 97) {
      const { zoom, row, column, data } = many[i]!;
      const tile = await tiles.getZxy(zoom, column, row);
      expect(Buffer.from(tile!.data).toString()).toBe(data.toString());
    }
    expect(await tiles.getZxy(7, 0, 0)).toBeUndefined();
  });

  it('stops where it is asked to', () => {
    const stopped = draftOf('pmtiles', { format: 'png' });
    openArchive({ draft: stopped });
    appendTiles({ draft: stopped, tiles: many.slice(0, 20_000), from: undefined, to: '1' });
    const cancellation = new Cancellation();
    cancellation.request();
    expect(() => finishArchive({ draft: stopped, description: describing(8) }, cancellation)).toThrow(
      /cancelled/,
    );
    expect(existsSync(stopped.output)).toBe(false);
    discardArchive({ output: stopped.output });
  });
});

describe('GDAL', () => {
  it('reads vector tiles of an MBTiles file, and each of them', () => {
    const draft = draftOf('mbtiles');
    write(draft, tiles);
    const info = run('ogrinfo', ['-so', draft.output, 'countries', '-oo', 'ZOOM_LEVEL=2']);
    expect(info).toMatch(/pop: Real/);
    expect(Number(/Feature Count: (\d+)/.exec(info)![1])).toBeGreaterThan(100);
    const db = new Database(draft.output, { readonly: true });
    const { tile_data: data } = db
      .prepare('SELECT tile_data FROM tiles WHERE zoom_level = 1 AND tile_column = 1 AND tile_row = 1')
      .get() as { tile_data: Buffer };
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(db.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'graticule%'").all()).toEqual([]);
    db.close();
    const single = join(folder, 'single.pbf');
    writeFileSync(single, gunzipSync(data));
    expect(run('ogrinfo', ['-so', `MVT:${single}`, 'countries'])).toMatch(/Feature Count: [1-9]/);
  });

  it.each(['png', 'webp'] as const)('reads %s tiles of a GeoPackage in their place', async (format) => {
    const draft = draftOf('gpkg', { format });
    const colours = ['#ff0000', '#00ff00', '#0000ff', '#ffff00'];
    const images = await Promise.all(
      colours.map((background) =>
        sharp({ create: { width: 256, height: 256, channels: 4, background } })
          .toFormat(format, { lossless: true } as never)
          .toBuffer(),
      ),
    );
    const addresses = [0, 1, 2, 3].map((i) => ({ zoom: 1, row: i >> 1, column: i & 1, data: images[i]! }));
    expect(write(draft, addresses, 1)).toMatchObject({ tiles: 4, contents: 4 });
    const info = run('gdalinfo', [draft.output]);
    expect(info).toMatch(/Size is 512, 512/);
    expect(info).toMatch(/ID\["EPSG",3857\]/);
    // North-west and south-east corners.
    const pixel = (x: number, y: number) =>
      run('gdallocationinfo', ['-valonly', draft.output, String(x), String(y)])
        .trim()
        .split(/\s+/)
        .map(Number);
    expect(pixel(10, 10).slice(0, 3)).toEqual([255, 0, 0]);
    expect(pixel(500, 10).slice(0, 3)).toEqual([0, 255, 0]);
    expect(pixel(500, 500).slice(0, 3)).toEqual([255, 255, 0]);
  });

  it('has no vector tiles in a GeoPackage', () => {
    const draft = draftOf('gpkg');
    openArchive({ draft });
    expect(() => appendTiles({ draft, tiles: tiles.slice(0, 1), from: undefined, to: '1' })).toThrow(
      /images/,
    );
    discardArchive({ output: draft.output });
  });
});
