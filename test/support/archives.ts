import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { zxyToTileId } from 'pmtiles';
import Database from '../../src/native/sqlite.js';
import { RUN_VARIABLE } from './run.js';

/** A tile of an archive; the row is counted from the top. */
export interface TileRecord {
  zoom: number;
  row: number;
  column: number;
  data: Buffer;
}

/** Vector tiles of the demo countries, made by GDAL once for all files of a run. */
export function makeMBTiles(path: string, maxZoom = 2): void {
  const template = join(process.env[RUN_VARIABLE]!, `countries-${maxZoom}.mbtiles`);
  if (!existsSync(template)) {
    const part = `${template}-${process.pid}.mbtiles`;
    runOgr2ogr(part, maxZoom);
    renameSync(part, template);
  }
  copyFileSync(template, path);
  // GDAL names the tiles after the file.
  const db = new Database(path);
  db.prepare("UPDATE metadata SET value = ? WHERE name = 'name'").run(basename(path, '.mbtiles'));
  db.close();
}

function runOgr2ogr(path: string, maxZoom: number): void {
  const made = spawnSync(
    'ogr2ogr',
    // GDAL cuts each tile out of whole countries: with all their corners that takes four times as long.
    [
      ...['-f', 'MBTILES', path, 'demo/data/world_map.gpkg', 'countries', '-simplify', '0.1'],
      ...['-dsco', `MAXZOOM=${maxZoom}`],
    ],
    { encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`ogr2ogr failed: ${made.stderr ?? made.error}`);
}

/** An MBTiles file with exactly these metadata rows and tiles, `schema` creating the table `tiles`. */
export function writeMBTiles(
  path: string,
  metadata: Record<string, string>,
  tiles: readonly (Omit<TileRecord, 'data'> & { data: unknown })[],
  schema = 'CREATE TABLE tiles (zoom_level, tile_column, tile_row, tile_data, UNIQUE (zoom_level, tile_column, tile_row))',
): void {
  const db = new Database(path);
  db.exec(`CREATE TABLE metadata (name TEXT, value TEXT); ${schema};`);
  const row = db.prepare('INSERT INTO metadata VALUES (?, ?)');
  for (const [name, value] of Object.entries(metadata)) row.run(name, value);
  for (const { zoom, row: y, column, data } of tiles)
    db.prepare('INSERT INTO tiles VALUES (?, ?, ?, ?)').run(zoom, column, 2 ** zoom - 1 - y, data);
  db.close();
}

/**
 * Every tile of an MBTiles file, rows turned so that 0 is at the top. GDAL also writes some beyond the edge of
 * the world, for the buffer of features there; they have no address and are left out.
 */
export function tilesOf(path: string): TileRecord[] {
  const db = new Database(path, { readonly: true });
  const sql = `SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles
    WHERE min(tile_column, tile_row) >= 0 AND max(tile_column, tile_row) < (1 << zoom_level)`;
  const rows = db.prepare(sql).raw().all();
  db.close();
  return (rows as [number, number, number, Buffer][]).map(([zoom, column, row, data]) => ({
    zoom,
    column,
    row: 2 ** zoom - 1 - row,
    data,
  }));
}

export interface PMTilesOptions {
  tileType?: number;
  tileCompression?: number;
  internalCompression?: number;
  specVersion?: number;
  bounds?: [number, number, number, number];
  metadata?: unknown;
  /** Entries per leaf directory; without it there is only the root. */
  leafSize?: number;
}

interface Entry {
  id: number;
  runLength: number;
  length: number;
  offset: number;
}

const HEADER_BYTES = 127;

/** Compressions of PMTiles by their number; others leave the bytes as they are. */
export const PACK: Readonly<Record<number, (bytes: Buffer) => Buffer>> = {
  2: gzipSync,
  3: brotliCompressSync,
  4: (bytes) => execFileSync('zstd', ['-qc'], { input: bytes }),
};

/** Writes a PMTiles archive, version 3, clustered: tiles in the order of their ids. */
export function writePMTiles(path: string, tiles: readonly TileRecord[], options: PMTilesOptions = {}): void {
  const { internalCompression = 2, leafSize, metadata = {} } = options;
  const packed = (bytes: Buffer) => PACK[internalCompression]?.(bytes) ?? bytes;
  const { entries, data } = layOut(tiles);
  const leaves: Buffer[] = [];
  let root = entries;
  if (leafSize) {
    root = [];
    let offset = 0;
    for (let at = 0; at < entries.length; at += leafSize) {
      const leaf = packed(directory(entries.slice(at, at + leafSize)));
      root.push({ id: entries[at]!.id, runLength: 0, length: leaf.length, offset });
      offset += leaf.length;
      leaves.push(leaf);
    }
  }
  const sections = [
    packed(directory(root)),
    packed(Buffer.from(JSON.stringify(metadata))),
    Buffer.concat(leaves),
    data,
  ];
  writeFileSync(path, Buffer.concat([header(tiles, entries.length, sections, options), ...sections]));
}

function layOut(tiles: readonly TileRecord[]): { entries: Entry[]; data: Buffer } {
  const sorted = tiles
    .map((tile) => ({ id: zxyToTileId(tile.zoom, tile.column, tile.row), data: tile.data }))
    .sort((a, b) => a.id - b.id);
  let offset = 0;
  const entries = sorted.map(({ id, data }) => {
    const entry = { id, runLength: 1, length: data.length, offset };
    offset += data.length;
    return entry;
  });
  return { entries, data: Buffer.concat(sorted.map((tile) => tile.data)) };
}

/** Columns one after the other: id differences, run lengths, lengths, offsets (0: right behind the one before). */
function directory(entries: readonly Entry[]): Buffer {
  const follows = (i: number) =>
    i > 0 && entries[i]!.offset === entries[i - 1]!.offset + entries[i - 1]!.length;
  const numbers = [
    entries.length,
    ...entries.map((entry, i) => entry.id - (i > 0 ? entries[i - 1]!.id : 0)),
    ...entries.map((entry) => entry.runLength),
    ...entries.map((entry) => entry.length),
    ...entries.map((entry, i) => (follows(i) ? 0 : entry.offset + 1)),
  ];
  return Buffer.from(numbers.flatMap(varint));
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return [...bytes, rest];
}

function header(
  tiles: readonly TileRecord[],
  entryCount: number,
  sections: readonly Buffer[],
  options: PMTilesOptions,
): Buffer {
  const { tileType = 1, tileCompression = 2, internalCompression = 2, specVersion = 3 } = options;
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write('PMTiles');
  bytes[7] = specVersion;
  let offset = HEADER_BYTES;
  sections.forEach((section, i) => {
    bytes.writeBigUInt64LE(BigInt(offset), 8 + i * 16);
    bytes.writeBigUInt64LE(BigInt(section.length), 16 + i * 16);
    offset += section.length;
  });
  for (const at of [72, 80, 88]) bytes.writeBigUInt64LE(BigInt(entryCount), at);
  bytes.set([1, internalCompression, tileCompression, tileType], 96);
  const zooms = tiles.map((tile) => tile.zoom);
  bytes.set([Math.min(...zooms), Math.max(...zooms)], 100);
  const bounds = options.bounds ?? [-180, -85, 180, 85];
  bounds.forEach((degrees, i) => {
    bytes.writeInt32LE(Math.round(degrees * 1e7), 102 + i * 4);
  });
  return bytes;
}
