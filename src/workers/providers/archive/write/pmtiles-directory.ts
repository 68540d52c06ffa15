import { gzipSync } from 'node:zlib';

/**
 * Entry of a PMTiles directory. Run length 0 refers to a leaf. Offsets are relative to the section that contains the
 * entry.
 */
export interface DirectoryEntry {
  id: number;
  runLength: number;
  length: number;
  offset: number;
}

/** Returns a directory as stored: its columns one after the other, compressed with gzip (PMTiles 3, 4.2). */
export function directory(entries: readonly DirectoryEntry[]): Buffer {
  const out = new Varints(entries.length * 8 + 16);
  out.write(entries.length);
  let last = 0;
  for (const { id } of entries) {
    out.write(id - last);
    last = id;
  }
  for (const { runLength } of entries) out.write(runLength);
  for (const { length } of entries) out.write(length);
  entries.forEach(({ offset }, i) => {
    const before = entries[i - 1];
    out.write(before && offset === before.offset + before.length ? 0 : offset + 1);
  });
  return gzipSync(out.bytes());
}

/** Unsigned LEB128 numbers up to 2^53 - 1. */
class Varints {
  #buffer: Buffer;
  #size = 0;

  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafe(capacity);
  }

  write(value: number): void {
    if (this.#size + 8 > this.#buffer.length)
      this.#buffer = Buffer.concat([this.#buffer], this.#buffer.length * 2 + 8);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#size++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#size++] = rest;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }
}

/** Entries of consecutive tiles with the same content become one. */
export function* runs(
  tiles: Iterable<{ id: number; offset: number; length: number }>,
): Generator<DirectoryEntry> {
  let open: DirectoryEntry | undefined;
  for (const { id, offset, length } of tiles) {
    if (open && open.offset === offset && open.id + open.runLength === id) {
      open.runLength++;
      continue;
    }
    if (open) yield open;
    open = { id, runLength: 1, length, offset };
  }
  if (open) yield open;
}
