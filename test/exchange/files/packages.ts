import sharp from 'sharp';
import type { TileRecord } from '../../support/archives.js';
import { type ZipEntry, zip } from '../../support/zip.js';

/** Tile packages of ArcGIS as its documents describe them, byte by byte: no library writes them. */

const HALF = 20_037_508.342787;
const SIDE = 128;
const RECORDS = SIDE * SIDE;

/** Tiles of some zooms, each of another colour, whole worlds. */
export async function colouredTiles(zooms: readonly number[], size = 256): Promise<TileRecord[]> {
  const places = zooms.flatMap((zoom) =>
    Array.from({ length: 4 ** zoom }, (_, i) => ({ zoom, row: i >> zoom, column: i & (2 ** zoom - 1) })),
  );
  return Promise.all(
    places.map(async ({ zoom, row, column }) => {
      const background = { r: zoom * 40, g: row * 20, b: column * 20 };
      const create = { width: size, height: size, channels: 3 as const, background };
      return { zoom, row, column, data: await sharp({ create }).png().toBuffer() };
    }),
  );
}

interface Bundle {
  zoom: number;
  row: number;
  column: number;
  tiles: TileRecord[];
}

function bundlesOf(tiles: readonly TileRecord[]): Bundle[] {
  const bundles = new Map<string, Bundle>();
  for (const tile of tiles) {
    const [row, column] = [tile.row, tile.column].map((n) => Math.floor(n / SIDE) * SIDE) as [number, number];
    const key = `${tile.zoom}/${row}/${column}`;
    const bundle = bundles.get(key) ?? { zoom: tile.zoom, row, column, tiles: [] };
    bundles.set(key, bundle);
    bundle.tiles.push(tile);
  }
  return [...bundles.values()];
}

const hex = (n: number) => n.toString(16).padStart(4, '0');
const nameOf = ({ zoom, row, column }: Bundle) =>
  `L${String(zoom).padStart(2, '0')}/R${hex(row)}C${hex(column)}.bundle`;

/** A bundle of the compact cache, version 2. */
export function bundleV2({ row, column, tiles }: Bundle): Buffer {
  const head = Buffer.alloc(64 + RECORDS * 8);
  for (const [at, value] of [3, RECORDS, 0, 5].entries()) head.writeUInt32LE(value, at * 4);
  const parts: Buffer[] = [head];
  let end = head.length;
  for (const tile of tiles) {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(tile.data.length);
    parts.push(size, tile.data);
    const record = BigInt(end + 4) | (BigInt(tile.data.length) << 40n);
    head.writeBigUInt64LE(record, 64 + 8 * ((tile.row - row) * SIDE + (tile.column - column)));
    end += 4 + tile.data.length;
  }
  head.writeUInt32LE(Math.max(...tiles.map(({ data }) => data.length)), 8);
  head.writeBigUInt64LE(BigInt(end), 24);
  head.writeBigUInt64LE(40n, 32);
  const user = [20 + RECORDS * 8, 3, 16, RECORDS, 5, RECORDS * 8];
  for (const [at, value] of user.entries()) head.writeUInt32LE(value, 40 + at * 4);
  return Buffer.concat(parts);
}

/** A bundle of version 1, and its index. */
export function bundleV1({ row, column, tiles }: Bundle): { bundle: Buffer; index: Buffer } {
  const index = Buffer.alloc(16 + RECORDS * 5 + 16);
  // An address without a tile leads to four bytes that say so.
  const empty = Buffer.alloc(4);
  const parts: Buffer[] = [Buffer.alloc(60), empty];
  for (let i = 0; i < RECORDS; i++) index.writeUIntLE(60, 16 + i * 5, 5);
  let end = 64;
  for (const tile of tiles) {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(tile.data.length);
    parts.push(size, tile.data);
    index.writeUIntLE(end, 16 + 5 * ((tile.column - column) * SIDE + (tile.row - row)), 5);
    end += 4 + tile.data.length;
  }
  return { bundle: Buffer.concat(parts), index };
}

const lods = (size: number, levels: number) =>
  Array.from({ length: levels }, (_, level) => ({
    level,
    resolution: (2 * HALF) / size / 2 ** level,
    scale: 591_657_527.591555 / 2 ** level,
  }));

export interface PackageOptions {
  format?: string;
  wkid?: number;
  originX?: number;
  /** Entries that come besides, or in the place of those of their names. */
  entries?: ZipEntry[];
}

function tileInfo(size: number, { format = 'PNG', wkid = 102100, originX = -HALF }: PackageOptions) {
  return {
    ...{ rows: size, cols: size, dpi: 96, format },
    origin: { x: originX, y: HALF },
    spatialReference: { wkid, latestWkid: wkid === 102100 ? 3857 : wkid },
    lods: lods(size, 8),
  };
}

const extent = { xmin: -HALF, ymin: -HALF, xmax: HALF, ymax: HALF, spatialReference: { wkid: 102100 } };

/** A tile package of images. */
export function tpkx(tiles: readonly TileRecord[], options: PackageOptions = {}): Buffer {
  const zooms = tiles.map(({ zoom }) => zoom);
  const root = {
    ...{ name: 'coloured', version: '1.0', tileBundlesPath: './tile' },
    ...{ minLOD: Math.min(...zooms), maxLOD: Math.max(...zooms), extent },
    spatialReference: { wkid: 102100, latestWkid: 3857 },
    tileInfo: tileInfo(256, options),
    tileImageInfo: { format: options.format ?? 'PNG', compressionQuality: 0 },
    storageInfo: { storageFormat: 'esriMapCacheStorageModeCompactV2', packetSize: 128 },
  };
  const item = { title: 'Coloured tiles', accessInformation: 'Nobody' };
  return packed(options, [
    { name: 'root.json', content: JSON.stringify(root) },
    { name: 'iteminfo.json', content: JSON.stringify(item) },
    ...bundlesOf(tiles).map((one) => ({ name: `tile/${nameOf(one)}`, content: bundleV2(one), stored: true })),
  ]);
}

/** A package of vector tiles. */
export function vtpk(tiles: readonly TileRecord[], layers: readonly string[]): Buffer {
  const root = {
    ...{ currentVersion: 11, name: 'vectors', type: 'indexedVector', fullExtent: extent },
    tileInfo: tileInfo(512, { format: 'pbf' }),
    resourceInfo: { cacheInfo: { storageInfo: { packetSize: 128, storageFormat: 'compactV2' } } },
  };
  const style = { version: 8, layers: layers.map((id) => ({ id, type: 'fill', 'source-layer': id })) };
  return packed({}, [
    { name: 'p12/root.json', content: JSON.stringify(root) },
    { name: 'p12/resources/styles/root.json', content: JSON.stringify(style) },
    ...bundlesOf(tiles).map((one) => ({ name: `p12/tile/${nameOf(one)}`, content: bundleV2(one) })),
  ]);
}

/** A package of images of before 2020: described by XML, in bundles of version 1 or 2. */
export function tpk(tiles: readonly TileRecord[], version: 1 | 2 = 1): Buffer {
  const levels = lods(256, 6).map(
    ({ level, scale, resolution }) =>
      `<LODInfo><LevelID>${level}</LevelID><Scale>${scale}</Scale><Resolution>${resolution}</Resolution></LODInfo>`,
  );
  const conf = `<?xml version="1.0" encoding="utf-8"?><CacheInfo><TileCacheInfo>
    <SpatialReference><WKID>102100</WKID><LatestWKID>3857</LatestWKID></SpatialReference>
    <TileOrigin><X>${-HALF}</X><Y>${HALF}</Y></TileOrigin><TileCols>256</TileCols><TileRows>256</TileRows><DPI>96</DPI>
    <LODInfos>${levels.join('')}</LODInfos></TileCacheInfo>
    <TileImageInfo><CacheTileFormat>PNG</CacheTileFormat></TileImageInfo>
    <CacheStorageInfo><StorageFormat>esriMapCacheStorageModeCompact${version === 2 ? 'V2' : ''}</StorageFormat><PacketSize>128</PacketSize></CacheStorageInfo>
    </CacheInfo>`;
  const cdi = `<EnvelopeN><XMin>0</XMin><YMin>0</YMin><XMax>${HALF}</XMax><YMax>${HALF}</YMax></EnvelopeN>`;
  const folder = 'v101/Old map';
  return packed({}, [
    { name: `${folder}/conf.xml`, content: conf },
    { name: `${folder}/conf.cdi`, content: cdi },
    ...bundlesOf(tiles).flatMap((one) => {
      const { bundle, index } = bundleV1(one);
      const name = `${folder}/_alllayers/${nameOf(one)}`;
      if (version === 2) return [{ name, content: bundleV2(one) }];
      return [
        { name, content: bundle },
        { name: name.replace(/bundle$/, 'bundlx'), content: index },
      ];
    }),
  ]);
}

function packed({ entries = [] }: PackageOptions, usual: readonly ZipEntry[]): Buffer {
  const names = new Set(entries.map(({ name }) => name));
  return zip([...usual.filter(({ name }) => !names.has(name)), ...entries]);
}
