/** Bytes of an HDF5 file (https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html), by address. */

import type { FileHandle } from 'node:fs/promises';
import { TaskFailure } from '../../../../../core/errors/failure.js';

/** Bytes of metadata that are read of one file. */
const MAX_READ = 1 << 30;
/** Maximum bytes of a part. The parts of valid files are far shorter. */
const MAX_PART = 16 << 20;

export const createHdf5Failure = () =>
  new TaskFailure(
    'source-unreadable',
    'The structure of the HDF5 file is damaged, or of a form that is not supported.',
  );

/** Sizes of addresses and lengths in a file, in bytes. */
export interface Sizes {
  address: number;
  length: number;
}

/** Metadata is small and scattered: it is read in pages. */
const PAGE_BYTES = 1 << 16;
const MAX_PAGES = 64;

export class FileBytes {
  #left = MAX_READ;
  readonly #pages = new Map<number, Buffer>();

  constructor(private readonly file: FileHandle) {}

  /** Fails with `source-unreadable` where the file ends before. */
  async read(at: number, length: number): Promise<Buffer> {
    const bytes = await this.readUpTo(at, length);
    if (bytes.length < length) throw createHdf5Failure();
    return bytes;
  }

  /** At most so many bytes; fewer at the end of the file. */
  async readUpTo(at: number, length: number): Promise<Buffer> {
    this.#left -= length;
    const isSound = Number.isSafeInteger(at + length) && at >= 0 && length >= 0 && length <= MAX_PART;
    if (!isSound || this.#left < 0) throw createHdf5Failure();
    const parts: Buffer[] = [];
    for (let from = at; from < at + length; ) {
      const number = Math.floor(from / PAGE_BYTES);
      const page = await this.#page(number);
      const start = number * PAGE_BYTES;
      const part = page.subarray(from - start, at + length - start);
      if (part.length === 0) break;
      parts.push(part);
      from += part.length;
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  async #page(number: number): Promise<Buffer> {
    const known = this.#pages.get(number);
    if (known) return known;
    const page = Buffer.alloc(PAGE_BYTES);
    const { bytesRead } = await this.file.read(page, 0, PAGE_BYTES, number * PAGE_BYTES);
    if (this.#pages.size === MAX_PAGES) this.#pages.delete(this.#pages.keys().next().value!);
    const bytes = page.subarray(0, bytesRead);
    this.#pages.set(number, bytes);
    return bytes;
  }
}

/** Reads numbers one after the other, the lowest byte first. */
export class Cursor {
  at = 0;

  constructor(
    readonly bytes: Buffer,
    private readonly sizes: Sizes,
  ) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  /** A number of so many bytes. */
  number(size: number): number {
    const end = this.at + size;
    if (end > this.bytes.length) throw createHdf5Failure();
    let value = 0;
    for (let i = end - 1; i >= this.at; i--) value = value * 256 + this.bytes[i]!;
    this.at = end;
    return value;
  }

  /** Undefined for an address of ones, which leads nowhere. */
  address(): number | undefined {
    const end = this.at + this.sizes.address;
    const isNone =
      end <= this.bytes.length && this.bytes.subarray(this.at, end).every((byte) => byte === 255);
    const value = this.number(this.sizes.address);
    return isNone ? undefined : value;
  }

  length(): number {
    return this.number(this.sizes.length);
  }

  skip(count: number): this {
    this.at += count;
    if (this.at > this.bytes.length) throw createHdf5Failure();
    return this;
  }

  take(count: number): Buffer {
    const from = this.at;
    this.skip(count);
    return this.bytes.subarray(from, this.at);
  }

  /** Fails with `source-unreadable` unless these characters come next. */
  signature(text: string): this {
    if (this.take(text.length).toString('latin1') !== text) throw createHdf5Failure();
    return this;
  }
}
