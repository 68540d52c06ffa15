import type { ContentCoding } from '../../../core/http/content-coding.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { ArchiveFormat } from '../../../core/tiles/archives.js';
import { createArchiveFailure, unsupported } from './archive-tile.js';

/** Bytes at the start of an archive that contain the header and the root directory (PMTiles 3). */
export const PMTILES_HEAD_BYTES = 16_384;
export const HEADER_BYTES = 127;
const VERSION = 3;

/** Numbers of the compressions that the server writes. */
export const COMPRESSION = { none: 1, gzip: 2 } as const;
const CODINGS: readonly (ContentCoding | undefined)[] = [undefined, 'identity', 'gzip', 'br', 'zstd'];
/** Tile types by their number. */
export const FORMATS: readonly (ArchiveFormat | undefined)[] = [
  ...([undefined, 'mvt', 'png', 'jpeg', 'webp', undefined, 'mlt'] as const),
];
const TYPE_NAMES = ['unknown', 'mvt', 'png', 'jpeg', 'webp', 'avif', 'mlt'];

/** Bytes of the file. */
export interface Section {
  offset: number;
  length: number;
}

export interface PMTilesHeader {
  root: Section;
  metadata: Section;
  leaves: Section;
  tiles: Section;
  /** Coding of directories and metadata. */
  internalCoding: ContentCoding;
  tileCoding: ContentCoding;
  format: ArchiveFormat;
  minZoom: number;
  maxZoom: number;
  /** Degrees: west, south, east, north. */
  bounds: [number, number, number, number];
}

/** Returns the header. Throws for archives that the server cannot serve. `size` is the archive's size, if known. */
export function readHeader(head: Uint8Array, size: number | undefined): PMTilesHeader {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (Buffer.from(head.subarray(0, 7)).toString('latin1') !== 'PMTiles')
    throw unsupported('it does not begin with PMTiles');
  if (head.length < HEADER_BYTES) throw createArchiveFailure('its size contradicts its header');
  if (head[7] !== VERSION) throw unsupported(`it is of version ${head[7]}, not 3`);
  const number = (at: number) => Number(view.getBigUint64(at, true));
  const section = (at: number): Section => ({ offset: number(at), length: number(at + 8) });
  const degrees = (at: number) => view.getInt32(at, true) / 1e7;
  const header = {
    root: section(8),
    metadata: section(24),
    leaves: section(40),
    tiles: section(56),
    internalCoding: chooseCoding(head[97]!, 'directories'),
    tileCoding: chooseCoding(head[98]!, 'tiles'),
    format: buildFormat(head[99]!),
    minZoom: head[100]!,
    maxZoom: Math.min(head[101]!, LIMITS.tileZoom),
    bounds: [degrees(102), degrees(106), degrees(110), degrees(114)] satisfies PMTilesHeader['bounds'],
  } as PMTilesHeader;
  check(header, head[101]!, size);
  return header;
}

function chooseCoding(compression: number, what: string): ContentCoding {
  const coding = CODINGS[compression];
  if (!coding) throw unsupported(`the compression of ${what} is unknown (${compression})`);
  return coding;
}

function buildFormat(type: number): ArchiveFormat {
  const format = FORMATS[type];
  if (!format) throw unsupported(`tiles of type ${TYPE_NAMES[type] ?? type} are not known`);
  return format;
}

function check(header: PMTilesHeader, maxZoom: number, size: number | undefined): void {
  const { root, metadata, leaves, tiles } = header;
  if (header.minZoom > maxZoom || header.minZoom > LIMITS.tileZoom)
    throw createArchiveFailure('its zoom levels make no range');
  for (const section of [root, metadata, leaves, tiles])
    if (section.length > 0 && !isSectionWithin(section, size))
      throw createArchiveFailure('its size contradicts its header');
  if (root.offset + root.length > PMTILES_HEAD_BYTES)
    throw createArchiveFailure('its root directory is not within the first 16 KiB');
}

/** Whether a section is within the first `size` bytes. */
export function isSectionWithin({ offset, length }: Section, size: number | undefined): boolean {
  const end = offset + length;
  return Number.isSafeInteger(end) && offset >= 0 && length >= 0 && (size === undefined || end <= size);
}
