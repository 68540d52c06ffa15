/** What a cloud optimized GeoTIFF must keep: read from its bytes, without GDAL. */

interface Directory {
  at: number;
  width: number;
  height: number;
  /** Bit 0: a reduced image; bit 2: a mask. */
  subfile: number;
  tileWidth: number | undefined;
  compression: number;
  predictor: number;
  /** Where the bytes of its tiles begin; tiles without bytes are left out. */
  offsets: number[];
}

export interface Cog {
  directories: Directory[];
  /** Width and height of the overviews, largest first. */
  overviews: [number, number][];
  masks: number;
}

const TYPE_BYTES: Record<number, number> = { 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 12: 8, 16: 8 };

/** Reads a COG; throws what is wrong when it is none (cogeo.org layout: directories first, then overviews, then pixels). */
export function readCog(bytes: Uint8Array): Cog {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const directories = readDirectories(file);
  checkGhost(file);
  const [main] = directories;
  if (!main) throw new Error('no image');
  checkTiles(directories);
  checkOrder(directories);
  const overviews = directories.filter(({ subfile }) => (subfile & 5) === 1);
  for (const [index, { width }] of overviews.entries()) {
    const larger = index === 0 ? main : overviews[index - 1]!;
    if (Math.abs(width * 2 - larger.width) > 2) throw new Error('overviews are not halved');
  }
  return {
    directories,
    overviews: overviews.map(({ width, height }) => [width, height]),
    masks: directories.filter(({ subfile }) => subfile & 4).length,
  };
}

function readDirectories(file: Buffer): Directory[] {
  if (file.toString('latin1', 0, 2) !== 'II' || file.readUInt16LE(2) !== 42)
    throw new Error('not a little-endian classic TIFF');
  const directories: Directory[] = [];
  for (let at = file.readUInt32LE(4); at !== 0; ) {
    const count = file.readUInt16LE(at);
    const tags = new Map<number, number[]>();
    for (let entry = at + 2; entry < at + 2 + count * 12; entry += 12) {
      tags.set(file.readUInt16LE(entry), readValues(file, entry));
    }
    const one = (tag: number) => tags.get(tag)?.[0];
    directories.push({
      at,
      width: one(256)!,
      height: one(257)!,
      subfile: one(254) ?? 0,
      tileWidth: one(322),
      compression: one(259) ?? 1,
      predictor: one(317) ?? 1,
      offsets: (tags.get(324) ?? []).filter((offset) => offset > 0),
    });
    at = file.readUInt32LE(at + 2 + count * 12);
  }
  return directories;
}

function readValues(file: Buffer, entry: number): number[] {
  const type = file.readUInt16LE(entry + 2);
  const count = file.readUInt32LE(entry + 4);
  const size = TYPE_BYTES[type] ?? 1;
  const at = size * count <= 4 ? entry + 8 : file.readUInt32LE(entry + 8);
  if (size === 8) return [];
  return Array.from({ length: count }, (_, index) => file.readUIntLE(at + index * size, size));
}

function checkGhost(file: Buffer): void {
  const ghost = file.toString('latin1', 8, 400);
  for (const line of ['LAYOUT=IFDS_BEFORE_DATA', 'BLOCK_ORDER=ROW_MAJOR', 'KNOWN_INCOMPATIBLE_EDITION=NO'])
    if (!ghost.includes(line)) throw new Error(`the ghost area lacks ${line}`);
}

function checkTiles(directories: Directory[]): void {
  for (const { tileWidth, width, height } of directories)
    if (!tileWidth) throw new Error(`the image of ${width} x ${height} has no tiles`);
}

function checkOrder(directories: Directory[]): void {
  const firstByte = Math.min(...directories.flatMap(({ offsets }) => offsets));
  for (const [index, { at }] of directories.entries()) {
    if (at >= firstByte) throw new Error('a directory comes after pixels');
    if (index > 0 && at < directories[index - 1]!.at) throw new Error('directories are out of order');
  }
  const images = directories.filter(({ subfile }) => !(subfile & 4));
  for (const [index, { offsets }] of images.entries()) {
    if (index > 0 && Math.max(...offsets) > Math.min(...images[index - 1]!.offsets))
      throw new Error('an overview comes after the larger image');
    if (offsets.some((offset, tile) => tile > 0 && offset < offsets[tile - 1]!))
      throw new Error('tiles are out of order');
  }
}
