import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import {
  Compression,
  type DecompressFunc,
  type Header,
  PMTiles,
  type RangeResponse,
  ResolvedValueCache,
  type Source,
  TileType,
} from 'pmtiles';
import { LIMITS } from '../../../core/limits.js';
import {
  type ArchiveFormat,
  type ArchiveInfo,
  type ArchiveTile,
  type ArchiveTileTask,
  TaskFailure,
} from '../../../core/tasks.js';
import { keptOpen } from '../kept-open.js';
import {
  damaged,
  inflate,
  KEEP_OPEN,
  layerNames,
  MAX_TILE_BYTES,
  metadataText,
  NO_TILE,
  storedTile,
  tileRangeBounds,
  unsupported,
  validBounds,
} from './stored.js';

/** Directories kept per archive: the root and the leaves used last. */
const KEPT_DIRECTORIES = 32;
/** Bytes of one inflated directory; a leaf of 20,000 entries takes about 200 KiB. */
const MAX_DIRECTORY_BYTES = 1_048_576;
const MAX_METADATA_BYTES = 16_777_216;
/** The reader asks for this much at first, to have header and root directory at once. */
const FIRST_READ = 16_384;
const MAGIC = Buffer.from('PMTiles');
const SPEC_VERSION = 3;

const FORMATS: Partial<Record<TileType, ArchiveFormat>> = {
  [TileType.Mvt]: 'mvt',
  [TileType.Png]: 'png',
  [TileType.Jpeg]: 'jpeg',
  [TileType.Webp]: 'webp',
};

/** Byte ranges of a file, never beyond its end. */
class FileSource implements Source {
  readonly #fd: number;
  readonly size: number;

  constructor(readonly path: string) {
    this.#fd = openSync(path, 'r');
    this.size = fstatSync(this.#fd).size;
  }

  getKey(): string {
    return this.path;
  }

  async getBytes(offset: number, length: number): Promise<RangeResponse> {
    const wanted = offset === 0 ? Math.min(length, this.size) : length;
    if (!this.holds(offset, wanted)) throw damaged('it points beyond its end');
    if (wanted > MAX_TILE_BYTES) throw unsupported('a tile is larger than 32 MiB');
    const bytes = new Uint8Array(wanted);
    let read = 0;
    while (read < wanted) {
      const got = readSync(this.#fd, bytes, read, wanted - read, offset + read);
      if (got === 0) throw damaged('it became shorter while it was read');
      read += got;
    }
    return { data: bytes.buffer };
  }

  holds(offset: number, length: number): boolean {
    return (
      Number.isSafeInteger(offset + length) && offset >= 0 && length >= 0 && offset + length <= this.size
    );
  }

  close(): void {
    closeSync(this.#fd);
  }
}

interface Archive {
  source: FileSource;
  /** Reads tiles as they are stored. */
  tiles: PMTiles;
  /** Reads the metadata document. */
  documents: PMTiles;
}

const opened = keptOpen(openArchive, ({ source }) => source.close(), KEEP_OPEN);

/** Header and metadata of an archive (PMTiles version 3). */
export async function inspectPMTiles(path: string): Promise<ArchiveInfo> {
  return guarded(async () => {
    const archive = opened.get(path);
    const header = await archive.tiles.getHeader();
    const format = checked(header, archive.source);
    const metadata = await metadataOf(archive, header);
    const bounds = validBounds([header.minLon, header.minLat, header.maxLon, header.maxLat]);
    return {
      path,
      container: 'pmtiles',
      format,
      minZoom: header.minZoom,
      maxZoom: Math.min(header.maxZoom, LIMITS.tileZoom),
      extent84: bounds ?? tileRangeBounds(0, { minRow: 0, maxRow: 0, minColumn: 0, maxColumn: 0 }),
      title: metadataText(metadata['name']),
      description: metadataText(metadata['description']),
      attribution: metadataText(metadata['attribution']),
      vectorLayers: layerNames(metadata),
    };
  });
}

/** A tile as it is stored; length 0 where there is none. */
export async function pmtilesTile({ path, zoom, row, column }: ArchiveTileTask): Promise<ArchiveTile> {
  return guarded(async () => {
    const found = await opened.get(path).tiles.getZxy(zoom, column, row);
    return found ? storedTile(new Uint8Array(found.data)) : NO_TILE;
  });
}

async function guarded<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    throw damaged((error as Error).message, (error as Error).stack);
  }
}

function openArchive(path: string): Archive {
  const source = new FileSource(path);
  // No promises are shared between callers, so a failed read is tried again by the next one.
  const directories = new ResolvedValueCache(KEPT_DIRECTORIES, true, inflating(MAX_DIRECTORY_BYTES));
  return {
    source,
    tiles: new PMTiles(source, directories, async (stored) => stored),
    documents: new PMTiles(source, directories, inflating(MAX_METADATA_BYTES)),
  };
}

function inflating(maxBytes: number): DecompressFunc {
  return async (stored, compression) => {
    if (compression === Compression.Gzip)
      return new Uint8Array(inflate(new Uint8Array(stored), maxBytes)).buffer;
    if (compression !== Compression.None)
      throw unsupported(`directories compressed with ${name(Compression, compression)} are not read`);
    if (stored.byteLength > maxBytes) throw unsupported('a directory or its metadata is too large');
    return stored;
  };
}

/** Refuses what cannot be served before anything is published of it. */
function checked(header: Header, source: FileSource): ArchiveFormat {
  if (header.specVersion !== SPEC_VERSION) throw unsupported(`it is of version ${header.specVersion}, not 3`);
  if (header.tileCompression !== Compression.None && header.tileCompression !== Compression.Gzip)
    throw unsupported(`tiles compressed with ${name(Compression, header.tileCompression)} are not read`);
  const format = FORMATS[header.tileType];
  if (!format) throw unsupported(`tiles of type ${name(TileType, header.tileType)} are not known`);
  if (header.minZoom > header.maxZoom || header.minZoom > LIMITS.tileZoom)
    throw damaged('its zoom levels make no range');
  const sections = [
    [header.rootDirectoryOffset, header.rootDirectoryLength],
    [header.jsonMetadataOffset, header.jsonMetadataLength],
    [header.leafDirectoryOffset, header.leafDirectoryLength ?? 0],
    [header.tileDataOffset, header.tileDataLength ?? 0],
  ] as const;
  if (!sections.every(([offset, length]) => length === 0 || source.holds(offset, length)))
    throw damaged('it is shorter than its header says');
  if (header.rootDirectoryOffset + header.rootDirectoryLength > FIRST_READ)
    throw damaged('its root directory is not within the first 16 KiB');
  return format;
}

async function metadataOf({ source, documents }: Archive, header: Header): Promise<Record<string, unknown>> {
  const { data } = await source.getBytes(0, MAGIC.length);
  if (!MAGIC.equals(new Uint8Array(data))) throw unsupported('it does not begin with PMTiles');
  if (header.jsonMetadataLength === 0) return {};
  const metadata = await documents.getMetadata();
  return metadata && typeof metadata === 'object' ? (metadata as Record<string, unknown>) : {};
}

function name(names: Record<number, string>, value: number): string {
  return (names[value] ?? String(value)).toLowerCase();
}
