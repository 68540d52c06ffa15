/** Directories of a TIFF (TIFF 6.0, section 2): little-endian, with offsets of 32 bits. */

const TYPES = { ascii: [2, 1], short: [3, 2], long: [4, 4], double: [12, 8] } as const;

export type TiffFieldType = keyof typeof TYPES;

export interface TiffField {
  tag: number;
  type: TiffFieldType;
  /** Text is written as UTF-8 and ends with a zero byte. */
  values: string | ArrayLike<number>;
  /** The values are offsets from the end of the head. */
  fromEnd?: boolean;
}

const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
const INLINE_BYTES = 4;

interface Entry extends Omit<TiffField, 'values'> {
  values: ArrayLike<number>;
  bytes: number;
}

/** Returns the header, `note` and all directories, in this order. The data to which they point follows. */
export function tiffHead(directories: readonly TiffField[][], note: string): Uint8Array {
  const sorted = directories.map((fields) => fields.map(buildEntry).sort((a, b) => a.tag - b.tag));
  const length = sorted.reduce(
    (sum, entries) => sum + directoryBytes(entries),
    even(HEADER_BYTES + note.length),
  );
  const head = Buffer.alloc(length);
  head.write('II*\0', 'latin1');
  head.write(note, HEADER_BYTES, 'latin1');
  let link = 4;
  let at = even(HEADER_BYTES + note.length);
  for (const entries of sorted) {
    head.writeUInt32LE(at, link);
    link = at + 2 + ENTRY_BYTES * entries.length;
    writeDirectory(entries, head, at);
    at += directoryBytes(entries);
  }
  return head;
}

function buildEntry(field: TiffField): Entry {
  const { type, values } = field;
  const numbers = typeof values === 'string' ? Buffer.from(`${values}\0`) : values;
  return { ...field, values: numbers, bytes: numbers.length * TYPES[type][1] };
}

/** Values start at even offsets. */
function even(bytes: number): number {
  return bytes + (bytes & 1);
}

function outsideBytes({ bytes }: Entry): number {
  return bytes > INLINE_BYTES ? even(bytes) : 0;
}

function directoryBytes(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + ENTRY_BYTES + outsideBytes(entry), 2 + 4);
}

function writeDirectory(entries: readonly Entry[], head: Buffer, begin: number): void {
  let at = head.writeUInt16LE(entries.length, begin);
  let outside = at + ENTRY_BYTES * entries.length + 4;
  for (const entry of entries) {
    const inline = entry.bytes <= INLINE_BYTES;
    head.writeUInt16LE(entry.tag, at);
    head.writeUInt16LE(TYPES[entry.type][0], at + 2);
    head.writeUInt32LE(entry.values.length, at + 4);
    if (!inline) head.writeUInt32LE(outside, at + 8);
    writeValues(entry, head, inline ? at + 8 : outside);
    if (!inline) outside += outsideBytes(entry);
    at += ENTRY_BYTES;
  }
}

function writeValues({ type, values, fromEnd }: Entry, head: Buffer, begin: number): void {
  const [, size] = TYPES[type];
  for (let index = 0; index < values.length; index++) {
    const value = values[index]! + (fromEnd ? head.length : 0);
    const at = begin + index * size;
    if (type === 'double') head.writeDoubleLE(value, at);
    else head.writeUIntLE(value, at, size);
  }
}

/**
 * Returns the fields of the first directory of a TIFF that `tiffHead` could have written. Other fields are skipped.
 */
export function readTiffFields(tiff: Uint8Array): Map<number, string | number[]> {
  const bytes = Buffer.from(tiff.buffer, tiff.byteOffset, tiff.byteLength);
  const begin = bytes.readUInt32LE(4);
  const fields = new Map<number, string | number[]>();
  for (let index = 0; index < bytes.readUInt16LE(begin); index++) {
    const at = begin + 2 + ENTRY_BYTES * index;
    const type = (Object.keys(TYPES) as TiffFieldType[]).find(
      (name) => TYPES[name][0] === bytes.readUInt16LE(at + 2),
    );
    if (type) fields.set(bytes.readUInt16LE(at), valuesAt(bytes, type, bytes.readUInt32LE(at + 4), at + 8));
  }
  return fields;
}

function valuesAt(bytes: Buffer, type: TiffFieldType, count: number, at: number): string | number[] {
  const [, size] = TYPES[type];
  const begin = count * size <= INLINE_BYTES ? at : bytes.readUInt32LE(at);
  if (type === 'ascii') return bytes.toString('utf8', begin, begin + count - 1);
  return Array.from({ length: count }, (_, index) => {
    const value = begin + index * size;
    return type === 'double' ? bytes.readDoubleLE(value) : bytes.readUIntLE(value, size);
  });
}
