/**
 * Truncated raster files that GDAL opens: it reads pixels only when they are requested, and some of its libraries
 * replace missing ones without an error.
 */

import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { extname } from 'node:path';
import { TaskFailure } from '../../core/errors/failure.js';
import { findTiffEnd } from './tiff-extent.js';

const CHUNK_BYTES = 1 << 20;

/** Fails with `source-unreadable` for a raster file that ends before its last pixel. */
export async function requireWholeRaster(path: string): Promise<void> {
  const extension = extname(path).toLowerCase();
  const check = CHECKS[extension];
  if (!check) return;
  const file = await open(path);
  try {
    await check({ path, file, size: (await file.stat()).size });
  } finally {
    await file.close();
  }
}

interface RasterFile {
  path: string;
  file: FileHandle;
  size: number;
}

const CHECKS: Readonly<Record<string, (file: RasterFile) => Promise<void>>> = {
  '.tif': requireTiffData,
  '.tiff': requireTiffData,
  '.jpg': requireJpegEnd,
  '.jpeg': requireJpegEnd,
  '.asc': requireGridValues,
  '.hgt': requireTileSize,
};

/** Failure for a file of `size` bytes whose header states that data ends at byte `end`. */
export function createTruncationFailure(format: string, size: number, end: number): TaskFailure {
  const bytes = (count: number) => count.toLocaleString('en');
  return new TaskFailure(
    'source-unreadable',
    `The ${format} ends at byte ${bytes(size)}, but its header states data up to byte ${bytes(end)}: the file is truncated. Copy it again.`,
  );
}

async function requireTiffData({ file, size }: RasterFile): Promise<void> {
  const end = await findTiffEnd(file);
  if (end !== undefined && end > size) throw createTruncationFailure('TIFF', size, end);
}

const [START_OF_IMAGE, START_OF_SCAN, END_OF_IMAGE] = [0xd8, 0xda, 0xd9];

/** Requires the marker of the end of the image. Data after it, such as a second image, is allowed. */
async function requireJpegEnd({ path, file, size }: RasterFile): Promise<void> {
  const scan = await findFirstScan(file);
  if (scan === undefined) return;
  let last = 0;
  const options = { start: scan, highWaterMark: CHUNK_BYTES };
  for await (const chunk of createReadStream(path, options) as AsyncIterable<Buffer>) {
    if (last === 0xff && chunk[0] === END_OF_IMAGE) return;
    if (chunk.includes(Buffer.from([0xff, END_OF_IMAGE]))) return;
    last = chunk.at(-1)!;
  }
  throw new TaskFailure(
    'source-unreadable',
    `The JPEG ends at byte ${size.toLocaleString('en')} without the marker of its end: the file is truncated. Copy it again.`,
  );
}

/** Returns the position of the first scan of a JPEG, after a possible thumbnail. Undefined for other files. */
async function findFirstScan(file: FileHandle): Promise<number | undefined> {
  const head = Buffer.alloc(4);
  const { bytesRead } = await file.read(head, 0, 2, 0);
  if (bytesRead < 2 || head.readUInt16BE(0) !== 0xff00 + START_OF_IMAGE) return undefined;
  for (let at = 2; ; ) {
    const read = await file.read(head, 0, 4, at);
    // The file ends in its header: the scan is missing.
    if (read.bytesRead < 4) return at;
    if (head[0] !== 0xff) return undefined;
    if (head[1] === START_OF_SCAN) return at;
    at += 2 + head.readUInt16BE(2);
  }
}

const GRID_KEYS = /^(ncols|nrows|[xy]ll(corner|center)|cellsize|d[xy]|nodata(_value)?)$/i;
const MAX_KEYS = 8;

/** Requires as many values as the header of an ASCII grid states. GDAL does not return if values are missing. */
async function requireGridValues({ path, size }: RasterFile): Promise<void> {
  let [words, header, columns, rows] = [0, 0, 0, 0];
  let start = '';
  let inWord = false;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    if (start === '') {
      start = chunk.toString('latin1', 0, 4096);
      const keys = readGridHeader(start);
      header = 2 * keys.size;
      columns = Number(keys.get('ncols'));
      rows = Number(keys.get('nrows'));
      if (!Number.isInteger(columns) || !Number.isInteger(rows)) return;
    }
    for (const byte of chunk) {
      const isSpace = byte <= 0x20;
      if (!isSpace && !inWord) words += 1;
      inWord = !isSpace;
    }
  }
  const [stated, found] = [columns * rows, words - header];
  if (found >= stated || start === '') return;
  const count = (value: number) => value.toLocaleString('en');
  throw new TaskFailure(
    'source-unreadable',
    `The ASCII grid ends at byte ${count(size)} after ${count(found)} values, but its header states ${count(stated)} (${columns} × ${rows}): the file is truncated. Copy it again.`,
  );
}

function readGridHeader(text: string): Map<string, string> {
  const words = text.trim().split(/\s+/);
  const keys = new Map<string, string>();
  for (let index = 0; index < 2 * MAX_KEYS && GRID_KEYS.test(words[index] ?? ''); index += 2)
    keys.set(words[index]!.toLowerCase(), words[index + 1] ?? '');
  return keys;
}

/** Columns and rows of SRTM tiles of 3 arc seconds, and of 2, 1 and 0.5 arc seconds. */
const TILE_SIZES = [
  [1201, 1201],
  [1801, 3601],
  [3601, 3601],
  [7201, 7201],
] as const;

/** Requires the size of an SRTM tile of 16-bit integers. */
async function requireTileSize({ size }: RasterFile): Promise<void> {
  const sizes = TILE_SIZES.map(([columns, rows]) => 2 * columns * rows);
  const stated = sizes.find((bytes) => size < bytes);
  if (sizes.includes(size) || stated === undefined) return;
  throw new TaskFailure(
    'source-unreadable',
    `The SRTM tile ends at byte ${size.toLocaleString('en')}, but tiles have ${sizes.map((bytes) => bytes.toLocaleString('en')).join(', ')} bytes: the file is truncated, or is not an SRTM tile. Copy it again.`,
  );
}
