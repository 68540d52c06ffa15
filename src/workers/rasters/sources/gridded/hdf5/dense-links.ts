/** Links of a group with many links: in a fractal heap, indexed by version 2 B-trees. */

import { Cursor, createHdf5Failure, type FileBytes, type Sizes } from './bytes.js';

const MAX_RECORDS = 1_000_000;
/** Bytes before the ID in a record, by the type of the tree: a hash, or the order of creation. */
const BEFORE_ID: Readonly<Record<number, number>> = { 5: 4, 6: 8 };
/** Bytes of a node without its records: signature, version, type, checksum. */
const NODE_BYTES = 10;
/** Maximum length of a link without a separate block. */
const MAX_LINK = 4096 + 64;

const [MANAGED, TINY] = [0, 2];

/** The link messages that a tree of a group names. Fails with `source-unreadable`. */
export async function readDenseLinks(
  bytes: FileBytes,
  sizes: Sizes,
  heapAt: number,
  treeAt: number,
): Promise<Cursor[]> {
  const heap = await readHeap(bytes, sizes, heapAt);
  const links: Cursor[] = [];
  for (const id of await readIds(bytes, sizes, treeAt, heap.idBytes))
    links.push(new Cursor(await loadObject(bytes, sizes, heap, id), sizes));
  return links;
}

interface Heap {
  idBytes: number;
  offsetBytes: number;
  width: number;
  startSize: number;
  /** Rows of direct blocks. */
  directRows: number;
  root: number;
  /** Rows of the root; 0 when it is a direct block. */
  rows: number;
}

async function readHeap(bytes: FileBytes, sizes: Sizes, at: number): Promise<Heap> {
  const size = 26 + 3 * sizes.address + 12 * sizes.length;
  const cursor = new Cursor(await bytes.read(at, size), sizes).signature('FRHP').skip(1);
  const idBytes = cursor.number(2);
  // Blocks that are compressed.
  if (cursor.number(2) > 0) throw createHdf5Failure();
  cursor.skip(5 + 2 * sizes.address + 10 * sizes.length);
  const width = cursor.number(2);
  const startSize = cursor.length();
  const maxDirect = cursor.length();
  const bits = cursor.number(2);
  cursor.skip(2);
  const root = cursor.address();
  const rows = cursor.number(2);
  const isPower = [width, startSize, maxDirect].every((one) => one > 0 && Number.isInteger(Math.log2(one)));
  if (root === undefined || !isPower || bits > 48 || maxDirect < startSize) throw createHdf5Failure();
  const directRows = Math.log2(maxDirect) - Math.log2(startSize) + 2;
  return { idBytes, offsetBytes: Math.ceil(bits / 8), width, startSize, directRows, root, rows };
}

async function loadObject(bytes: FileBytes, sizes: Sizes, heap: Heap, id: Buffer): Promise<Buffer> {
  const kind = (id[0]! >> 4) & 3;
  if (kind === TINY) return id.subarray(1);
  // A link whose name is longer than any.
  if (kind !== MANAGED) throw createHdf5Failure();
  const offset = new Cursor(id, sizes).skip(1).number(heap.offsetBytes);
  return bytes.readUpTo(await readPlace(bytes, sizes, heap, offset), MAX_LINK);
}

/** Address in the file of an offset in the heap. */
async function readPlace(bytes: FileBytes, sizes: Sizes, heap: Heap, offset: number): Promise<number> {
  const { width, startSize, directRows } = heap;
  let [block, rows, left] = [heap.root, heap.rows, offset];
  for (let depth = 0; rows > 0; depth++) {
    const first = startSize * width;
    const row = left < first ? 0 : Math.floor(Math.log2(left / first)) + 1;
    const size = startSize * 2 ** Math.max(0, row - 1);
    const before = row === 0 ? 0 : first * 2 ** (row - 1);
    const column = Math.floor((left - before) / size);
    if (row >= rows || column >= width || depth > 48) throw createHdf5Failure();
    const head = 5 + sizes.address + heap.offsetBytes;
    const entry = block + head + (row * width + column) * sizes.address;
    new Cursor(await bytes.read(block, 4), sizes).signature('FHIB');
    const next = new Cursor(await bytes.read(entry, sizes.address), sizes).address();
    if (next === undefined) throw createHdf5Failure();
    left -= before + column * size;
    block = next;
    rows = row < directRows ? 0 : Math.log2(size / first) + 1;
  }
  return block + left;
}

interface Tree {
  recordBytes: number;
  nodeBytes: number;
  before: number;
  /** Bytes of a number of records of one node, and of all below a node by its depth. */
  countBytes: number;
  totalBytes: number[];
  records: number;
}

async function readIds(bytes: FileBytes, sizes: Sizes, at: number, idBytes: number): Promise<Buffer[]> {
  const size = 16 + sizes.address + 2 + sizes.length;
  const cursor = new Cursor(await bytes.read(at, size), sizes).signature('BTHD').skip(1);
  const before = BEFORE_ID[cursor.number(1)];
  const nodeBytes = cursor.number(4);
  const recordBytes = cursor.number(2);
  const depth = cursor.number(2);
  const root = cursor.skip(2).address();
  const count = cursor.number(2);
  if (before === undefined || recordBytes !== before + idBytes || depth > 16) throw createHdf5Failure();
  if (root === undefined) return [];
  const tree = {
    recordBytes,
    nodeBytes,
    before,
    records: 0,
    ...countSizes(sizes, nodeBytes, recordBytes, depth),
  };
  return idsBelow(bytes, sizes, tree, { at: root, count, depth });
}

/** Sizes of numbers in pointers. They follow from the maximum number of records in nodes. */
function countSizes(sizes: Sizes, nodeBytes: number, recordBytes: number, depth: number) {
  const bytesFor = (limit: number) => Math.floor(Math.floor(Math.log2(limit)) / 8) + 1;
  const room = nodeBytes - NODE_BYTES;
  let total = Math.floor(room / recordBytes);
  if (total < 1) throw createHdf5Failure();
  const countBytes = bytesFor(total);
  const totalBytes = [0];
  for (let level = 1; level <= depth; level++) {
    const pointer = sizes.address + countBytes + totalBytes[level - 1]!;
    const here = Math.floor((room - pointer) / (recordBytes + pointer));
    if (here < 1) throw createHdf5Failure();
    total = (here + 1) * total + here;
    totalBytes.push(bytesFor(total));
  }
  return { countBytes, totalBytes };
}

interface Node {
  at: number;
  count: number;
  depth: number;
}

async function idsBelow(bytes: FileBytes, sizes: Sizes, tree: Tree, node: Node): Promise<Buffer[]> {
  const { at, count, depth } = node;
  tree.records += count;
  if (tree.records > MAX_RECORDS) throw createHdf5Failure();
  const cursor = new Cursor(await bytes.read(at, tree.nodeBytes), sizes);
  cursor.signature(depth === 0 ? 'BTLF' : 'BTIN').skip(2);
  const ids: Buffer[] = [];
  for (let i = 0; i < count; i++) ids.push(cursor.take(tree.recordBytes).subarray(tree.before));
  if (depth === 0) return ids;
  for (let i = 0; i <= count; i++) {
    const child = cursor.address();
    const records = cursor.number(tree.countBytes);
    cursor.skip(tree.totalBytes[depth - 1]!);
    if (child === undefined) throw createHdf5Failure();
    ids.push(...(await idsBelow(bytes, sizes, tree, { at: child, count: records, depth: depth - 1 })));
  }
  return ids;
}
