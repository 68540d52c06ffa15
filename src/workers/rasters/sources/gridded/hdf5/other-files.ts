/**
 * Refuses truncated HDF5 files, and files that name other files, because the library opens those as soon as values are
 * read. Attributes of newer versions are also refused: HDF5 1.10 ends the process when it lists them.
 */

import { open } from 'node:fs/promises';
import { TaskFailure } from '../../../../../core/errors/failure.js';
import { createTruncationFailure } from '../../../../gdal/truncated-raster.js';
import { Cursor, createHdf5Failure, FileBytes, type Sizes } from './bytes.js';
import { readDenseLinks } from './dense-links.js';
import { type HeaderMessage, readEntry, readMessages, readSuperblock } from './header.js';

/** Groups, variables and nodes of trees of one file. */
const MAX_PARTS = 500_000;

const [LINK_INFO, LINK, EXTERNAL_FILES, LAYOUT, SYMBOL_TABLE, CACHE_IMAGE] = [
  0x02, 0x06, 0x07, 0x08, 0x11, 0x18,
];
const ATTRIBUTE = 0x0c;
const VIRTUAL = 3;
/** Newest versions of attributes, and of their types, that HDF5 1.10 reads. */
const [MAX_ATTRIBUTE_VERSION, MAX_TYPE_VERSION] = [3, 3];
const [HARD_LINK, EXTERNAL_LINK] = [0, 64];

/** Fails with `source-unreadable` for an HDF5 file whose values, or parts of whose tree, are in other files. Other files pass. */
export async function requireOneFile(path: string): Promise<void> {
  const file = await open(path);
  try {
    const bytes = new FileBytes(file);
    const start = await bytes.readUpTo(0, 8);
    if (start.toString('latin1') === '\x89HDF\r\n\x1a\n')
      await new Walk(bytes, (await file.stat()).size).run();
  } finally {
    await file.close();
  }
}

const refused = (what: string) =>
  new TaskFailure(
    'source-unreadable',
    `The HDF5 file refers to other files (${what}), which is not supported. Write all values into one file.`,
  );

function requireKnownAttribute(data: Cursor): void {
  const version = data.number(1);
  const nameBytes = data.skip(1).number(2);
  // Older ones fill the name up to eight bytes; the newest has an encoding before it.
  const name = version === 1 ? Math.ceil(nameBytes / 8) * 8 : nameBytes + (version === 3 ? 1 : 0);
  const isKnown = version > 0 && version <= MAX_ATTRIBUTE_VERSION;
  if (isKnown && data.skip(4 + name).number(1) >> 4 <= MAX_TYPE_VERSION) return;
  throw new TaskFailure(
    'source-unreadable',
    'The HDF5 file has attributes of a newer version of HDF5 than 1.10. Write it for version 1.10 (libver of h5py).',
  );
}

class Walk {
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #seen = new Set<string>();
  #sizes: Sizes = { address: 8, length: 8 };

  constructor(
    private readonly bytes: FileBytes,
    private readonly size: number,
  ) {}

  async run(): Promise<void> {
    const { sizes, headers, tree, end } = await readSuperblock(this.bytes);
    if (end !== undefined && end > this.size) throw createTruncationFailure('HDF5 file', this.size, end);
    this.#sizes = sizes;
    for (const at of headers) this.#visit('object', at);
    this.#visit('tree', tree);
    for (let next = this.#waiting.pop(); next; next = this.#waiting.pop()) await next();
  }

  #visit(kind: 'object' | 'tree' | 'symbols', at: number | undefined): void {
    const name = `${kind} ${at}`;
    if (at === undefined || this.#seen.has(name)) return;
    this.#seen.add(name);
    if (this.#seen.size > MAX_PARTS) throw createHdf5Failure();
    const read = {
      object: () => this.#object(at),
      tree: () => this.#tree(at),
      symbols: () => this.#symbols(at),
    };
    this.#waiting.push(read[kind]);
  }

  async #object(at: number): Promise<void> {
    for (const message of await readMessages(this.bytes, at, this.#sizes)) await this.#message(message);
  }

  async #message({ type, data }: HeaderMessage): Promise<void> {
    switch (type) {
      case EXTERNAL_FILES:
        throw refused('external storage');
      case LAYOUT: {
        const version = data.number(1);
        // Older ones have the number of dimensions there, and are never virtual.
        if (version >= 3 && data.number(1) === VIRTUAL) throw refused('a virtual dataset');
        return;
      }
      case ATTRIBUTE:
        return requireKnownAttribute(data);
      case CACHE_IMAGE:
        throw createHdf5Failure();
      case SYMBOL_TABLE:
        return this.#visit('tree', data.address());
      case LINK:
        return this.#link(data);
      case LINK_INFO:
        return this.#linkInfo(data);
    }
  }

  #link(data: Cursor): void {
    const flags = data.skip(1).number(1);
    const kind = flags & 8 ? data.number(1) : HARD_LINK;
    if (kind >= EXTERNAL_LINK) throw refused('an external link');
    if (kind !== HARD_LINK) return;
    data.skip((flags & 4 ? 8 : 0) + (flags & 0x10 ? 1 : 0));
    const length = data.number(1 << (flags & 3));
    const address = data.skip(length).address();
    if (address === undefined) throw createHdf5Failure();
    this.#visit('object', address);
  }

  async #linkInfo(data: Cursor): Promise<void> {
    const flags = data.skip(1).number(1);
    data.skip(flags & 1 ? 8 : 0);
    const heap = data.address();
    const trees = [data.address(), flags & 2 ? data.address() : undefined];
    if (heap === undefined) return;
    for (const tree of trees)
      if (tree !== undefined)
        for (const link of await readDenseLinks(this.bytes, this.#sizes, heap, tree)) this.#link(link);
  }

  /** A node of a B-tree of version 1, whose leaves lead to symbol tables. */
  async #tree(at: number): Promise<void> {
    const { address, length } = this.#sizes;
    const head = new Cursor(await this.bytes.read(at, 8 + 2 * address), this.#sizes).signature('TREE');
    if (head.number(1) !== 0) throw createHdf5Failure();
    const isLeaf = head.number(1) === 0;
    const count = head.number(2);
    for (const beside of [head.address(), head.address()]) this.#visit('tree', beside);
    const entries = await this.bytes.read(at + 8 + 2 * address, count * (length + address));
    const cursor = new Cursor(entries, this.#sizes);
    for (let i = 0; i < count; i++) this.#visit(isLeaf ? 'symbols' : 'tree', cursor.skip(length).address());
  }

  async #symbols(at: number): Promise<void> {
    const count = new Cursor(await this.bytes.read(at, 8), this.#sizes).signature('SNOD').skip(2).number(2);
    const cursor = new Cursor(
      await this.bytes.read(at + 8, count * (2 * this.#sizes.address + 24)),
      this.#sizes,
    );
    for (let i = 0; i < count; i++) {
      const { header, tree } = readEntry(cursor);
      this.#visit('object', header);
      this.#visit('tree', tree);
    }
  }
}
