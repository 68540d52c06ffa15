import { open } from 'node:fs/promises';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { createTruncationFailure } from '../../../gdal/truncated-raster.js';

/** Maximum bytes of a header that is checked. */
const MAX_HEADER = 16 << 20;
/** Bytes of a value by its type, starting with NC_BYTE. The last five types are CDF-5 types. */
const TYPE_BYTES = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];

/** Number of records of a file whose writer did not count them. */
const UNCOUNTED = [0xffffffff, 2 ** 64];

/**
 * Checks the header of a classic netCDF file (CDF-1, CDF-2, CDF-5). Its library allocates memory for all dimensions,
 * attributes and variables that the header claims, before it checks that they exist, and reads zeros after the end of a
 * truncated file. Fails with `source-unreadable` if they cannot exist, or if the file ends before their values. Files of
 * other kinds are accepted.
 */
export async function checkClassicHeader(path: string): Promise<void> {
  const file = await open(path);
  try {
    const start = Buffer.alloc(4);
    await file.read(start, 0, 4, 0);
    const version = start[3]!;
    if (start.toString('latin1', 0, 3) !== 'CDF' || ![1, 2, 5].includes(version)) return;
    const { size } = await file.stat();
    const header = Buffer.alloc(Math.min(size, MAX_HEADER));
    await file.read(header, 0, header.length, 0);
    const end = new Header(header, version).findEnd();
    if (end > size) throw createTruncationFailure('netCDF file', size, end);
  } finally {
    await file.close();
  }
}

interface StoredVariable {
  /** Position of its first value. */
  begin: number;
  /** Bytes of all values, or of one record. */
  bytes: number;
  isRecord: boolean;
}

class Header {
  #at = 4;
  /** Bytes of a count and of an offset in the file. */
  readonly #count: number;
  readonly #offset: number;

  constructor(
    private readonly bytes: Buffer,
    version: number,
  ) {
    this.#count = version === 5 ? 8 : 4;
    this.#offset = version === 1 ? 4 : 8;
  }

  /** Returns the end of the last value. */
  findEnd(): number {
    const records = this.#number();
    const sizes = this.#list(() => {
      this.#name();
      return this.#number();
    });
    this.#attributes();
    const variables = this.#list(() => this.#variable(sizes));
    const inRecords = variables.filter(({ isRecord }) => isRecord);
    // Values are padded, except those of a single variable with records.
    const pad = inRecords.length === 1 ? (bytes: number) => bytes : padded;
    const recordBytes = inRecords.reduce((sum, { bytes }) => sum + pad(bytes), 0);
    const further = UNCOUNTED.includes(records) ? -1 : records - 1;
    const ends = variables.map(({ begin, bytes, isRecord }) => {
      if (!isRecord) return begin + bytes;
      return further < 0 ? 0 : begin + further * recordBytes + bytes;
    });
    return Math.max(this.#at, ...ends);
  }

  #variable(sizes: readonly number[]): StoredVariable {
    this.#name();
    const shape = Array.from({ length: this.#limited(this.#count) }, () => sizes[this.#number()] ?? 0);
    this.#attributes();
    const type = this.#word();
    this.#skip(this.#count);
    const begin = this.#offset === 8 ? Number(this.#take(8).readBigUInt64BE()) : this.#word();
    // The size of the dimension of records is 0.
    const isRecord = shape[0] === 0;
    const bytes = shape
      .slice(isRecord ? 1 : 0)
      .reduce((product, size) => product * size, TYPE_BYTES[type] ?? 1);
    return { begin, bytes, isRecord };
  }

  /**
   * Reads a tag, the number of members, and the members. Each member needs some bytes, so a false number soon reaches
   * the end of the file.
   */
  #list<T>(member: () => T): T[] {
    this.#skip(4);
    const count = this.#number();
    const members: T[] = [];
    for (let i = 0; i < count; i++) members.push(member());
    return members;
  }

  #attributes(): void {
    this.#list(() => {
      this.#name();
      const type = this.#word();
      this.#skip(padded(this.#number() * (TYPE_BYTES[type] ?? 8)));
    });
  }

  #name(): void {
    this.#skip(padded(this.#number()));
  }

  /** A number of members, each of which needs `bytes`. */
  #limited(bytes: number): number {
    const count = this.#number();
    this.#need(count * bytes);
    return count;
  }

  #word(): number {
    return this.#take(4).readUInt32BE();
  }

  #number(): number {
    return this.#count === 8 ? Number(this.#take(8).readBigUInt64BE()) : this.#word();
  }

  #take(length: number): Buffer {
    this.#need(length);
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  #skip(length: number): void {
    this.#need(length);
    this.#at += length;
  }

  #need(length: number): void {
    if (this.#at + length > this.bytes.length)
      throw new TaskFailure(
        'source-unreadable',
        'The netCDF file ends within its header: the file is truncated or damaged. Copy it again.',
      );
  }
}

const padded = (length: number) => Math.ceil(length / 4) * 4;
