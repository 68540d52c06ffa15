/** Superblock and object headers of an HDF5 file. */

import { Cursor, createHdf5Failure, type FileBytes, type Sizes } from './bytes.js';

export interface Superblock {
  sizes: Sizes;
  /** Addresses of the object headers of the root group and of the superblock extension. */
  headers: number[];
  /** Address of the B-tree of the root group, if the superblock repeats it. */
  tree?: number;
  /** Address of the end of the file when it was written. */
  end: number | undefined;
}

const MAX_SUPERBLOCK = 256;
/** Byte that marks the next bytes as the addresses of a B-tree and a heap. */
const CACHED_TREE = 1;
/** Blocks of one object header. */
const MAX_BLOCKS = 10_000;

export async function readSuperblock(bytes: FileBytes): Promise<Superblock> {
  const block = await bytes.readUpTo(0, MAX_SUPERBLOCK);
  const version = block[8];
  const isOld = version === 0 || version === 1;
  const [address, length] = isOld ? [block[13]!, block[14]!] : [block[9]!, block[10]!];
  if (version === undefined || version > 3 || ![4, 8].includes(address) || ![4, 8].includes(length))
    throw createHdf5Failure();
  const sizes = { address, length };
  const cursor = new Cursor(block, sizes);
  if (!isOld) {
    cursor.skip(12 + address);
    const extension = cursor.address();
    const end = cursor.address();
    const root = cursor.address();
    return { sizes, headers: [extension, root].filter((one) => one !== undefined), end };
  }
  // Base address, free space; then the end of the file, drivers and the entry of the root group.
  cursor.skip((version === 0 ? 24 : 28) + 2 * address);
  const end = cursor.address();
  cursor.skip(address);
  const { header, tree } = readEntry(cursor);
  if (header === undefined) throw createHdf5Failure();
  return { sizes, headers: [header], end, ...(tree !== undefined && { tree }) };
}

/** An entry of a symbol table: the object header, and the B-tree of a group where the entry repeats it. */
export function readEntry(cursor: Cursor): { header: number | undefined; tree: number | undefined } {
  cursor.address();
  const header = cursor.address();
  const kind = cursor.number(4);
  cursor.skip(4);
  const scratch = cursor.at;
  const tree = kind === CACHED_TREE ? cursor.address() : undefined;
  cursor.skip(scratch + 16 - cursor.at);
  return { header, tree };
}

export interface HeaderMessage {
  type: number;
  data: Cursor;
}

const CONTINUATION = 0x10;
const SHARED = 2;

/** All messages of an object header, also of its further blocks. */
export async function readMessages(bytes: FileBytes, at: number, sizes: Sizes): Promise<HeaderMessage[]> {
  const start = new Cursor(await bytes.readUpTo(at, 32), sizes);
  const isNew = start.bytes.toString('latin1', 0, 4) === 'OHDR';
  const messages: HeaderMessage[] = [];
  const blocks = [isNew ? newBlock(start, at) : oldBlock(start, at)];
  const flags = isNew ? start.bytes[5]! : 0;
  for (let done = 0; done < blocks.length; done++) {
    if (done === MAX_BLOCKS) throw createHdf5Failure();
    const { from, length } = blocks[done]!;
    const cursor = new Cursor(await bytes.read(from, length), sizes);
    const isFurther = done > 0;
    if (isNew && isFurther) cursor.signature('OCHK');
    // A checksum ends further blocks.
    const end = isNew && isFurther ? 4 : 0;
    for (const message of messagesIn(cursor, sizes, isNew, flags, end)) {
      messages.push(message);
      if (message.type !== CONTINUATION) continue;
      const next = message.data.address();
      if (next === undefined) throw createHdf5Failure();
      blocks.push({ from: next, length: message.data.length() });
    }
  }
  return messages;
}

interface Block {
  from: number;
  length: number;
}

function oldBlock(start: Cursor, at: number): Block {
  if (start.number(1) !== 1) throw createHdf5Failure();
  const length = start.skip(7).number(4);
  return { from: at + 16, length };
}

function newBlock(start: Cursor, at: number): Block {
  const version = start.skip(4).number(1);
  const flags = start.number(1);
  if (version !== 2) throw createHdf5Failure();
  start.skip((flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0));
  const length = start.number(1 << (flags & 3));
  return { from: at + start.at, length };
}

function* messagesIn(
  cursor: Cursor,
  sizes: Sizes,
  isNew: boolean,
  flags: number,
  end: number,
): Generator<HeaderMessage> {
  const ordered = isNew && (flags & 4) !== 0;
  const head = isNew ? 4 + (ordered ? 2 : 0) : 8;
  while (cursor.left - end >= head) {
    const type = cursor.number(isNew ? 1 : 2);
    const length = cursor.number(2);
    const kind = cursor.number(1);
    cursor.skip(head - (isNew ? 4 : 5));
    const data = cursor.take(length);
    // The place of a shared message is not its content.
    const isShared = (kind & SHARED) !== 0;
    if (isShared && !SHAREABLE.has(type)) throw createHdf5Failure();
    if (!isShared) yield { type, data: new Cursor(data, sizes) };
  }
}

/** Data space, type, fill values, filters and attributes: they name no file. */
const SHAREABLE: ReadonlySet<number> = new Set([0x01, 0x03, 0x04, 0x05, 0x0b, 0x0c]);
