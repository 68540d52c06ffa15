import { open } from 'node:fs/promises';
import { TaskFailure } from '../../../../core/errors/failure.js';

/** Maximum bytes of a header that is checked. */
const MAX_HEADER = 16 << 20;
/** Bytes of a value by its type, starting with NC_BYTE. The last five types are CDF-5 types. */
const TYPE_BYTES = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];

/**
 * Checks the header of a classic netCDF file (CDF-1, CDF-2, CDF-5). Its library allocates memory for all dimensions,
 * attributes and variables that the header claims, before it checks that they exist. Fails with `source-unreadable`
 * if they cannot exist. Files of other kinds are accepted.
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
    new Header(header, version).walk();
  } finally {
    await file.close();
  }
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

  walk(): void {
    this.#skip(this.#count);
    this.#list(() => {
      this.#name();
      this.#skip(this.#count);
    });
    this.#attributes();
    this.#list(() => {
      this.#name();
      this.#skip(this.#number() * this.#count);
      this.#attributes();
      this.#skip(4 + this.#count + this.#offset);
    });
  }

  /**
   * Skips a tag, the number of members, and the members. Each member needs some bytes, so a false number soon reaches
   * the end of the file.
   */
  #list(member: () => void): void {
    this.#skip(4);
    const count = this.#number();
    for (let i = 0; i < count; i++) member();
  }

  #attributes(): void {
    this.#list(() => {
      this.#name();
      const type = this.#need(4).readUInt32BE(this.#at);
      this.#at += 4;
      this.#skip(padded(this.#number() * (TYPE_BYTES[type] ?? 8)));
    });
  }

  #name(): void {
    this.#skip(padded(this.#number()));
  }

  #number(): number {
    const bytes = this.#need(this.#count);
    const value = this.#count === 8 ? Number(bytes.readBigUInt64BE(this.#at)) : bytes.readUInt32BE(this.#at);
    this.#at += this.#count;
    return value;
  }

  #skip(length: number): void {
    this.#need(length);
    this.#at += length;
  }

  #need(length: number): Buffer {
    if (this.#at + length > this.bytes.length)
      throw new TaskFailure(
        'source-unreadable',
        'The header of the netCDF file contradicts the size of the file.',
      );
    return this.bytes;
  }
}

const padded = (length: number) => Math.ceil(length / 4) * 4;
