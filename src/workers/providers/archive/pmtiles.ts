import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { TaskFailure } from '../../../core/errors/failure.js';
import { isRemote } from '../../../core/sources/sources.js';
import type { ArchiveInfo, ArchiveTile, ArchiveTileAddress } from '../../../core/tiles/archives.js';
import { keptOpen } from '../kept-open.js';
import {
  createArchiveFailure,
  KEEP_OPEN,
  metadataText,
  NO_TILE,
  storedTile,
  tileRangeBounds,
  validBounds,
  vectorLayers,
} from './archive-tile.js';
import type { Section } from './pmtiles-header.js';
import { type ByteSource, PMTilesReader } from './pmtiles-reader.js';
import { withRemote } from './remote.js';

/** Byte ranges of a file. */
class FileSource implements ByteSource {
  readonly #fd: number;
  readonly size: number;

  constructor(path: string) {
    this.#fd = openSync(path, 'r');
    this.size = fstatSync(this.#fd).size;
  }

  read({ offset, length }: Section): Uint8Array {
    const size = offset === 0 ? Math.min(length, this.size) : length;
    const bytes = new Uint8Array(size);
    let read = 0;
    while (read < size) {
      const got = readSync(this.#fd, bytes, read, size - read, offset + read);
      if (got === 0) throw createArchiveFailure('it became shorter while it was read');
      read += got;
    }
    return bytes;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

interface OpenFile {
  source: FileSource;
  reader: PMTilesReader | undefined;
}

const opened = keptOpen<OpenFile>(
  (path) => ({ source: new FileSource(path), reader: undefined }),
  ({ source }) => source.close(),
  KEEP_OPEN,
);

/** Header and metadata of an archive (PMTiles version 3): a file, or a URL within the allow-list. */
export async function inspectPMTiles(path: string): Promise<ArchiveInfo> {
  if (isRemote(path))
    return withRemote(path, async (reader, revision) => ({ ...(await loadInfo(path, reader)), revision }));
  return guarded(async () => loadInfo(path, await fileReader(path)));
}

/** Returns a function that reads stored tiles. The data has length 0 if there is no tile. */
export async function pmtilesTiles(
  path: string,
): Promise<(at: ArchiveTileAddress) => ArchiveTile | Promise<ArchiveTile>> {
  if (isRemote(path))
    return (at) => withRemote(path, async (reader) => stored(reader, await lookUp(reader, at)));
  const reader = await guarded(() => fileReader(path));
  return (at) => {
    try {
      const tile = lookUp(reader, at);
      return tile instanceof Promise ? guarded(async () => stored(reader, await tile)) : stored(reader, tile);
    } catch (error) {
      throw unreadable(error);
    }
  };
}

const lookUp = (reader: PMTilesReader, { zoom, row, column }: ArchiveTileAddress) =>
  reader.tile(zoom, row, column);
const stored = ({ header }: PMTilesReader, bytes: Uint8Array | undefined) =>
  bytes ? storedTile(bytes, header.tileCoding) : NO_TILE;

async function fileReader(path: string): Promise<PMTilesReader> {
  const file = opened.get(path);
  file.reader ??= await PMTilesReader.open(file.source);
  return file.reader;
}

async function loadInfo(path: string, reader: PMTilesReader): Promise<ArchiveInfo> {
  const { format, minZoom, maxZoom, bounds } = reader.header;
  const metadata = await reader.metadata();
  return {
    path,
    container: 'pmtiles',
    format,
    minZoom,
    maxZoom,
    extent84: validBounds(bounds) ?? tileRangeBounds(0, { minRow: 0, maxRow: 0, minColumn: 0, maxColumn: 0 }),
    title: metadataText(metadata['name']),
    description: metadataText(metadata['description']),
    attribution: metadataText(metadata['attribution']),
    vectorLayers: vectorLayers(metadata),
  };
}

async function guarded<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(error: unknown): TaskFailure {
  return error instanceof TaskFailure
    ? error
    : createArchiveFailure((error as Error).message, (error as Error).stack);
}
