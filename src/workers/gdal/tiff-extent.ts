/** Position of the last byte that the directories of a TIFF or BigTIFF refer to. */

import type { FileHandle } from 'node:fs/promises';

/** Maximum number of directories (images, overviews and masks) that are read. */
const MAX_DIRECTORIES = 4096;
/** Maximum bytes of a list of offsets or sizes: two million tiles of a BigTIFF. */
const MAX_LIST_BYTES = 16 << 20;
/** Bytes of a value by its type. */
const TYPE_BYTES: Readonly<Record<number, number>> = { 3: 2, 4: 4, 13: 4, 16: 8, 18: 8 };

const [WIDTH, HEIGHT, BITS, COMPRESSION, SAMPLES, ROWS_PER_STRIP] = [256, 257, 258, 259, 277, 278];
const [STRIP_OFFSETS, STRIP_SIZES, TILE_OFFSETS, TILE_SIZES, TILE_WIDTH, TILE_HEIGHT] = [
  273, 279, 324, 325, 322, 323,
];
const PLANAR = 284;
const USED = new Set([
  ...[WIDTH, HEIGHT, BITS, COMPRESSION, SAMPLES, ROWS_PER_STRIP, PLANAR],
  ...[STRIP_OFFSETS, STRIP_SIZES, TILE_OFFSETS, TILE_SIZES, TILE_WIDTH, TILE_HEIGHT],
]);
const UNCOMPRESSED = 1;
/** Compression of old JPEG files, whose strips do not state where their data is. */
const OLD_JPEG = 6;

/**
 * Returns the end of the data of a TIFF according to its directories. Sparse blocks have no data. Undefined if the file
 * is not a TIFF, or if a directory cannot be read.
 */
export async function findTiffEnd(file: FileHandle): Promise<number | undefined> {
  const tiff = new Tiff(file);
  const first = await tiff.readStart();
  let [end, next] = [0, first];
  const seen = new Set<number>();
  while (next !== undefined && next > 0 && !seen.has(next) && seen.size < MAX_DIRECTORIES) {
    seen.add(next);
    const directory = await tiff.readDirectory(next);
    if (!directory) return end > 0 ? Math.max(end, next) : undefined;
    end = Math.max(end, findDataEnd(directory.fields));
    next = directory.next;
  }
  return first === undefined ? undefined : end;
}

type Fields = ReadonlyMap<number, number[]>;

/** End of the strips or tiles of an image. */
function findDataEnd(fields: Fields): number {
  const first = (tag: number, otherwise: number) => fields.get(tag)?.[0] ?? otherwise;
  const compression = first(COMPRESSION, UNCOMPRESSED);
  if (compression === OLD_JPEG) return 0;
  const offsets = fields.get(TILE_OFFSETS) ?? fields.get(STRIP_OFFSETS) ?? [];
  const sizes = fields.get(TILE_SIZES) ?? fields.get(STRIP_SIZES) ?? [];
  // Some writers state the size of a complete strip for a shorter last one.
  const limit = compression === UNCOMPRESSED ? computeBlockBytes(fields) : () => Number.POSITIVE_INFINITY;
  return offsets.reduce((end, offset, index) => {
    const size = Math.min(sizes[index] ?? 0, limit(index));
    return offset === 0 || size === 0 ? end : Math.max(end, offset + size);
  }, 0);
}

/** Returns the bytes of each uncompressed block. */
function computeBlockBytes(fields: Fields): (index: number) => number {
  const first = (tag: number, otherwise: number) => fields.get(tag)?.[0] ?? otherwise;
  const [width, height] = [first(WIDTH, 0), first(HEIGHT, 0)];
  const isSeparate = first(PLANAR, 1) === 2;
  const bits = first(BITS, 1) * (isSeparate ? 1 : first(SAMPLES, 1));
  const rowBytes = (columns: number) => Math.ceil((columns * bits) / 8);
  if (fields.has(TILE_OFFSETS)) {
    const bytes = rowBytes(first(TILE_WIDTH, 0)) * first(TILE_HEIGHT, 0);
    return () => bytes;
  }
  const rows = Math.min(first(ROWS_PER_STRIP, height), height);
  const strips = Math.ceil(height / rows);
  return (index) => rowBytes(width) * Math.min(rows, height - (index % strips) * rows);
}

class Tiff {
  #isLittle = true;
  #isBig = false;

  constructor(private readonly file: FileHandle) {}

  /** Returns the offset of the first directory. */
  async readStart(): Promise<number | undefined> {
    const head = await this.#read(0, 16);
    if (!head || !/^(49492[ab]00|4d4d002[ab])/.test(head.toString('hex', 0, 4))) return undefined;
    this.#isLittle = head[0] === 0x49;
    this.#isBig = this.#number(head, 2, 2) === 43;
    return this.#isBig ? this.#number(head, 8, 8) : this.#number(head, 4, 4);
  }

  async readDirectory(at: number): Promise<{ fields: Fields; next: number | undefined } | undefined> {
    const [countBytes, entryBytes, wordBytes] = this.#isBig ? [8, 20, 8] : [2, 12, 4];
    const head = await this.#read(at, countBytes);
    const count = head && this.#number(head, 0, countBytes);
    if (count === undefined || count > 4096) return undefined;
    const entries = await this.#read(at + countBytes, count * entryBytes + wordBytes);
    if (!entries) return undefined;
    const fields = new Map<number, number[]>();
    for (let index = 0; index < count; index++) {
      const entry = entries.subarray(index * entryBytes);
      const tag = this.#number(entry, 0, 2);
      if (!USED.has(tag)) continue;
      const values = await this.#readValues(entry, wordBytes);
      if (!values) return undefined;
      fields.set(tag, values);
    }
    return { fields, next: this.#number(entries, count * entryBytes, wordBytes) };
  }

  async #readValues(entry: Buffer, wordBytes: number): Promise<number[] | undefined> {
    const size = TYPE_BYTES[this.#number(entry, 2, 2)];
    const count = this.#number(entry, 4, wordBytes);
    if (size === undefined || size * count > MAX_LIST_BYTES) return [];
    const inline = entry.subarray(4 + wordBytes, 4 + 2 * wordBytes);
    const isInline = size * count <= wordBytes;
    const bytes = isInline ? inline : await this.#read(this.#number(inline, 0, wordBytes), size * count);
    return bytes && Array.from({ length: count }, (_, index) => this.#number(bytes, index * size, size));
  }

  #number(bytes: Buffer, at: number, size: number): number {
    if (size === 8) return Number(this.#isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
    return this.#isLittle ? bytes.readUIntLE(at, size) : bytes.readUIntBE(at, size);
  }

  async #read(at: number, length: number): Promise<Buffer | undefined> {
    if (!Number.isSafeInteger(at + length)) return undefined;
    const { buffer, bytesRead } = await this.file.read(Buffer.alloc(length), 0, length, at);
    return bytesRead === length ? buffer : undefined;
  }
}
