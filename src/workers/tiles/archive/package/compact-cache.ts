import { readSync } from 'node:fs';
import { createArchiveFailure } from '../../../providers/archive/archive-tile.js';

/**
 * Bundles of the ArcGIS compact cache (versions 1 and 2): 128 rows and columns of tiles in one file, with an index of
 * their positions.
 */

/** Rows and columns of a bundle. */
const BUNDLE_SIDE = 128;
const RECORDS = BUNDLE_SIDE * BUNDLE_SIDE;

/** Bytes of the header of a bundle, in front of its index. */
const HEADER_BYTES = 64;
const RECORD_BYTES = 8;
/** Bytes at the start of a version 2 bundle that contain the complete index. */
export const INDEX_BYTES = HEADER_BYTES + RECORDS * RECORD_BYTES;
const VERSION = 3;

/** Sizes of the version 1 index, which is in a separate file. */
const OLD_HEADER_BYTES = 16;
const OLD_RECORD_BYTES = 5;
export const OLD_INDEX_BYTES = OLD_HEADER_BYTES + RECORDS * OLD_RECORD_BYTES;
const SIZE_BYTES = 4;

const BYTES_40 = 2 ** 40;

export interface BundleAddress {
  readonly level: number;
  /** Row of the first tile, counted from the top. */
  readonly row: number;
  readonly column: number;
}

export interface BundledTile {
  readonly row: number;
  readonly column: number;
  /** Offset and size in bytes in the file that contains the tile. */
  readonly at: number;
  readonly size: number;
}

/** Returns the address in the name of a bundle: `…/L05/R0080C0100.bundle`, in hexadecimal. */
export function bundleAddress(name: string): BundleAddress | undefined {
  const match = /(?:^|\/)L(\d\d)\/R([0-9a-f]{4,8})C([0-9a-f]{4,8})\.bundle$/i.exec(name);
  if (!match) return undefined;
  const [level, row, column] = [
    Number(match[1]),
    Number.parseInt(match[2]!, 16),
    Number.parseInt(match[3]!, 16),
  ];
  return { level, row, column };
}

/** Returns the tiles of a version 2 bundle from the start of its file. Fails with `source-unreadable`. */
export function parseBundleIndex(head: Buffer, { row, column }: BundleAddress): BundledTile[] {
  if (head.length < INDEX_BYTES || head.readUInt32LE(0) !== VERSION || head.readUInt32LE(4) !== RECORDS)
    throw createArchiveFailure('a bundle has no index of its version');
  const tiles: BundledTile[] = [];
  for (let i = 0; i < RECORDS; i++) {
    const record = head.readBigUInt64LE(HEADER_BYTES + i * RECORD_BYTES);
    const size = Number(record >> 40n);
    if (size === 0) continue;
    const at = Number(record & 0xffffffffffn);
    tiles.push({ row: row + Math.floor(i / BUNDLE_SIDE), column: column + (i % BUNDLE_SIDE), at, size });
  }
  return tiles;
}

/** Tiles of a bundle of version 1, by its index and its file. The index goes by columns. */
export function readOldBundleTiles(index: Buffer, fd: number, { row, column }: BundleAddress): BundledTile[] {
  if (index.length < OLD_INDEX_BYTES) throw createArchiveFailure('the index of a bundle is truncated');
  const tiles: BundledTile[] = [];
  const size = Buffer.alloc(SIZE_BYTES);
  for (let i = 0; i < RECORDS; i++) {
    const place = OLD_HEADER_BYTES + i * OLD_RECORD_BYTES;
    const at = index.readUIntLE(place, OLD_RECORD_BYTES) % BYTES_40;
    if (readSync(fd, size, 0, SIZE_BYTES, at) < SIZE_BYTES || size.readUInt32LE(0) === 0) continue;
    tiles.push({
      row: row + (i % BUNDLE_SIDE),
      column: column + Math.floor(i / BUNDLE_SIDE),
      at: at + SIZE_BYTES,
      size: size.readUInt32LE(0),
    });
  }
  return tiles;
}
