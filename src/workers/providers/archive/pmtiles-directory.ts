import { createArchiveFailure } from './archive-tile.js';

/** A directory of a PMTiles archive (version 3, 4.2), columns side by side. */
export class Directory {
  readonly #ids: Float64Array;
  readonly #runs: Float64Array;
  readonly #lengths: Float64Array;
  readonly #offsets: Float64Array;

  /** Reads an inflated directory. Throws `source-unreadable` for an incomplete or unsorted directory. */
  constructor(bytes: Uint8Array) {
    const numbers = new Numbers(bytes);
    const count = numbers.next();
    // Every entry has one byte or more in each column, so a greater count is false.
    if (count * 4 > bytes.length) throw createArchiveFailure('a directory is incomplete');
    this.#ids = numbers.column(count);
    this.#runs = numbers.column(count);
    this.#lengths = numbers.column(count);
    this.#offsets = numbers.column(count);
    this.#sum();
  }

  /** Ids are stored as differences, offsets by one more or as 0: right behind the entry before. */
  #sum(): void {
    for (let i = 0; i < this.#ids.length; i++) {
      if (i > 0) {
        if (this.#ids[i] === 0) throw createArchiveFailure('a directory is not in order');
        this.#ids[i]! += this.#ids[i - 1]!;
      }
      const offset = this.#offsets[i]!;
      if (offset > 0) this.#offsets[i] = offset - 1;
      else if (i > 0) this.#offsets[i] = this.#offsets[i - 1]! + this.#lengths[i - 1]!;
      else throw createArchiveFailure('a directory has no first offset');
    }
    if (!Number.isSafeInteger(this.#ids.at(-1) ?? 0))
      throw createArchiveFailure('a directory names tiles beyond all zooms');
  }

  /** Memory that it takes. */
  get bytes(): number {
    return this.#ids.byteLength * 4;
  }

  /** Returns the entry of a tile: the tile itself, or the leaf directory that can contain it. */
  find(id: number): { leaf: boolean; offset: number; length: number } | undefined {
    let low = 0;
    let high = this.#ids.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.#ids[middle]! <= id) low = middle + 1;
      else high = middle - 1;
    }
    if (high < 0) return undefined;
    const run = this.#runs[high]!;
    if (run > 0 && id - this.#ids[high]! >= run) return undefined;
    return { leaf: run === 0, offset: this.#offsets[high]!, length: this.#lengths[high]! };
  }
}

/** Unsigned LEB128 numbers. */
class Numbers {
  #at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  next(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.bytes[this.#at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw createArchiveFailure('a directory is incomplete');
  }

  column(count: number): Float64Array {
    const column = new Float64Array(count);
    for (let i = 0; i < count; i++) column[i] = this.next();
    return column;
  }
}
