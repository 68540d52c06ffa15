import { LRUCache } from 'lru-cache';
import { pmtilesId } from '../../../core/values/hilbert.js';
import { createArchiveFailure, inflateStored, MAX_TILE_BYTES, unsupported } from './archive-tile.js';
import { Directory } from './pmtiles-directory.js';
import {
  isSectionWithin,
  PMTILES_HEAD_BYTES,
  type PMTilesHeader,
  readHeader,
  type Section,
} from './pmtiles-header.js';

/** Bytes of an archive, from wherever they come. Rejects with `TaskFailure`. */
export interface ByteSource {
  /** Size of the archive. Undefined until the first read if the responses report it. */
  readonly size: number | undefined;
  /** Exactly these bytes; fewer only where the source ends within the first read. */
  read(section: Section): Uint8Array | Promise<Uint8Array>;
}

/** Bytes of one inflated directory; a leaf of 20,000 entries takes about 200 KiB. */
const MAX_DIRECTORY_BYTES = 1_048_576;
const MAX_METADATA_BYTES = 16_777_216;
/** Memory for the leaf directories of one archive. */
const KEPT_BYTES = 16_777_216;
/** Leaves below the root: the specification advises one level, and directories may point in circles. */
const MAX_DEPTH = 3;

/** Tile as stored. Undefined if there is none. */
type Found = Uint8Array | undefined;

/** Reads tiles of one PMTiles archive, which must not change while it is open. */
export class PMTilesReader {
  /** By offset. Tiles that need the same leaf wait for one read; a read that failed is repeated. */
  readonly #leaves = new LRUCache<number, Directory, number>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
    // A leaf that is evicted while it is read is still returned to the waiting reads.
    ignoreFetchAbort: true,
    fetchMethod: (offset, _stale, { context: length }) => this.#leaf(offset, length),
  });

  private constructor(
    readonly header: PMTilesHeader,
    readonly source: ByteSource,
    readonly root: Directory,
  ) {}

  static async open(source: ByteSource): Promise<PMTilesReader> {
    const head = await source.read({ offset: 0, length: PMTILES_HEAD_BYTES });
    const header = readHeader(head, source.size);
    const { offset, length } = header.root;
    if (offset + length > head.length) throw createArchiveFailure('its size contradicts its header');
    const root = new Directory(inflated(header, head.subarray(offset, offset + length), MAX_DIRECTORY_BYTES));
    return new PMTilesReader(header, source, root);
  }

  /** Row 0 is at the top. A promise only when a directory or a remote range is waited for: tiles are read by the dozen. */
  tile(zoom: number, row: number, column: number): Found | Promise<Found> {
    if (zoom < this.header.minZoom || zoom > this.header.maxZoom) return undefined;
    return this.#find(pmtilesId(zoom, row, column), this.root, 0);
  }

  #find(id: number, directory: Directory, depth: number): Found | Promise<Found> {
    const entry = directory.find(id);
    if (!entry) return undefined;
    const { leaf, offset, length } = entry;
    if (!leaf) return this.#read({ offset: this.header.tiles.offset + offset, length });
    if (depth === MAX_DEPTH) throw createArchiveFailure('its directories refer to each other');
    const hit = this.#leaves.get(offset);
    if (hit) return this.#find(id, hit, depth + 1);
    return this.#leaves
      .forceFetch(offset, { context: length })
      .then((read) => this.#find(id, read, depth + 1));
  }

  /** The JSON document; empty when there is none. */
  async metadata(): Promise<Record<string, unknown>> {
    if (this.header.metadata.length === 0) return {};
    const bytes = inflated(this.header, await this.#read(this.header.metadata), MAX_METADATA_BYTES);
    const document: unknown = parseMetadata(bytes);
    return document && typeof document === 'object' ? (document as Record<string, unknown>) : {};
  }

  async #leaf(offset: number, length: number): Promise<Directory> {
    const stored = await this.#read({ offset: this.header.leaves.offset + offset, length });
    return new Directory(inflated(this.header, stored, MAX_DIRECTORY_BYTES));
  }

  #read(section: Section): Uint8Array | Promise<Uint8Array> {
    if (!isSectionWithin(section, this.source.size)) throw createArchiveFailure('it points beyond its end');
    if (section.length > MAX_TILE_BYTES) throw unsupported('a tile is larger than 32 MiB');
    return section.length === 0 ? new Uint8Array(0) : this.source.read(section);
  }
}

function inflated({ internalCoding }: PMTilesHeader, stored: Uint8Array, maxBytes: number): Uint8Array {
  if (internalCoding !== 'identity') return inflateStored(stored, internalCoding, maxBytes);
  if (stored.byteLength > maxBytes) throw unsupported('a directory or its metadata is too large');
  return stored;
}

function parseMetadata(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    throw createArchiveFailure('its metadata is not JSON', error);
  }
}
