import { brotliDecompressSync, inflateSync } from 'node:zlib';
import { TaskFailure } from '../../../core/errors/failure.js';
import { type Box, commonArea, WEB_MERCATOR_BOUNDS } from '../../../core/geometry/box.js';
import type { Compression, ContentCoding } from '../../../core/http/content-coding.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { ArchiveFormat, ArchiveTile, VectorLayerMetadata } from '../../../core/tiles/archives.js';
import { gunzip, gunzippedSize, unzstd } from '../../../native/index.js';
import type { KeptOpenOptions } from '../kept-open.js';

/** Largest tile that is served, as stored and inflated. */
export const MAX_TILE_BYTES = 33_554_432;
const MAX_INFLATED_BYTES = LIMITS.inflatedTileBytes;
/** Maximum layers of an archive and attributes of a layer, and maximum characters of an attribute description. */
const MAX_LAYERS = 1000;
const MAX_FIELDS = 1000;
const MAX_FIELD_TEXT = 200;

/** No tile at an address: length 0. */
export const NO_TILE: ArchiveTile = { data: new Uint8Array(0), encoding: 'identity' };

/**
 * Returns a stored tile with its content coding. The coding is the one that the archive states, or gzip if the bytes
 * show it. Deflated tiles are inflated. Compressed tiles are inflated here once, with a size limit, because later
 * readers rely on it. Throws `source-unreadable` for damaged bytes.
 */
export function storedTile(data: Uint8Array, coding: ContentCoding = 'identity'): ArchiveTile {
  if (data.byteLength === 0) return NO_TILE;
  const isPlain = coding === 'identity' || coding === 'gzip';
  const isGzip = data[0] === 0x1f && data[1] === 0x8b;
  if (isPlain && !isGzip) return { data: deflated(data) ?? data, encoding: 'identity' };
  const encoding = isPlain ? 'gzip' : coding;
  return inflatedSize(data, encoding, MAX_INFLATED_BYTES) === 0 ? NO_TILE : { data, encoding };
}

/**
 * Inflates a tile that a program deflated without the gzip header (RFC 1950). Returns undefined for other bytes. Two
 * bytes identify such tiles, but a MapLibre Tile can start with the same bytes, so bytes that cannot be inflated do
 * not count.
 */
function deflated(data: Uint8Array): Uint8Array | undefined {
  const [method = 0, flags = 0] = data;
  if (method !== 0x78 || ((method << 8) | flags) % 31 !== 0) return undefined;
  try {
    return inflateSync(data, { maxOutputLength: MAX_INFLATED_BYTES });
  } catch {
    return undefined;
  }
}

function inflatedSize(data: Uint8Array, coding: Compression, maxBytes: number): number {
  if (coding === 'gzip') return readable(() => gunzippedSize(data, maxBytes));
  return inflateStored(data, coding, maxBytes).byteLength;
}

const INFLATE: Readonly<Record<Compression, (data: Uint8Array, maxBytes: number) => Uint8Array>> = {
  gzip: gunzip,
  br: (data, maxOutputLength) => brotliDecompressSync(data, { maxOutputLength }),
  zstd: unzstd,
};

/** Inflates up to a number of bytes. Throws `source-unreadable`. */
export function inflateStored(data: Uint8Array, coding: Compression, maxBytes: number): Uint8Array {
  return readable(() => INFLATE[coding](data, maxBytes));
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw createArchiveFailure('compressed data cannot be inflated', error);
  }
}

export function createArchiveFailure(what: string, cause?: unknown): TaskFailure {
  return new TaskFailure(
    'source-unreadable',
    `The tile archive is damaged: ${what}.`,
    cause === undefined ? undefined : String(cause),
  );
}

export function unsupported(what: string): TaskFailure {
  return new TaskFailure('source-unreadable', `The tile archive cannot be served: ${what}.`);
}

/**
 * Returns a CRS84 bounding box clipped to the extent of the tiles. Undefined if the numbers are not a bounding box.
 */
export function validBounds(numbers: readonly number[]): Box | undefined {
  if (numbers.length !== 4 || !numbers.every(Number.isFinite)) return undefined;
  return commonArea(numbers as unknown as Box, WEB_MERCATOR_BOUNDS);
}

/** Extent in CRS84 of a range of tiles; row 0 is at the top. */
export function tileRangeBounds(
  zoom: number,
  range: { minRow: number; maxRow: number; minColumn: number; maxColumn: number },
): Box {
  const count = 2 ** zoom;
  const longitude = (column: number) => (column / count) * 360 - 180;
  const latitude = (row: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / count))) * 180) / Math.PI;
  const box = [
    longitude(range.minColumn),
    latitude(range.maxRow + 1),
    longitude(range.maxColumn + 1),
    latitude(range.minRow),
  ];
  return validBounds(box) ?? WEB_MERCATOR_BOUNDS;
}

/** Returns the valid entries of the `vector_layers` member (MBTiles 1.3, "Vector tileset metadata"). */
export function vectorLayers(metadata: unknown): VectorLayerMetadata[] {
  const layers = (metadata as { vector_layers?: unknown } | null)?.vector_layers;
  if (!Array.isArray(layers)) return [];
  return layers.slice(0, MAX_LAYERS).flatMap((layer: unknown) => {
    const { id, description, minzoom, maxzoom, fields } = (layer ?? {}) as Record<string, unknown>;
    if (typeof id !== 'string') return [];
    const about = metadataText(description);
    return {
      id,
      ...(about ? { description: about } : {}),
      ...(isZoom(minzoom) ? { minzoom } : {}),
      ...(isZoom(maxzoom) ? { maxzoom } : {}),
      fields: readFields(fields),
    };
  });
}

function isZoom(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LIMITS.tileZoom;
}

function readFields(fields: unknown): Record<string, string> {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return {};
  const texts = Object.entries(fields).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(
    texts.slice(0, MAX_FIELDS).map(([name, type]) => [name, type.slice(0, MAX_FIELD_TEXT)]),
  );
}

/** Returns the text of a metadata member. Undefined if it is empty or not a string. */
export function metadataText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 4000) : undefined;
}

/** Returns the metadata members that are strings. */
export function metadataTexts<K extends string>(members: Record<K, unknown>): Partial<Record<K, string>> {
  const texts = Object.entries(members).map(([name, value]) => [name, metadataText(value)]);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined));
}

/** Returns the format of an image from its first 16 bytes. */
export function detectImageFormat(bytes: unknown): ArchiveFormat | undefined {
  if (!(bytes instanceof Uint8Array)) return undefined;
  const hex = Buffer.from(bytes.subarray(0, 16)).toString('hex');
  if (hex.startsWith('89504e470d0a1a0a')) return 'png';
  if (hex.startsWith('ffd8ff')) return 'jpeg';
  return /^52494646.{8}57454250/.test(hex) ? 'webp' : undefined;
}

/**
 * Returns the encoding of a complete vector tile. An MVT layer starts with field 3 (26). An MLT layer starts with its
 * size and its type number, 1. An MVT layer never has only one byte. Undefined for empty, damaged and other data.
 */
export function vectorFormat(bytes: unknown): ArchiveFormat | undefined {
  if (!(bytes instanceof Uint8Array)) return undefined;
  const tile = plainTile(bytes);
  const kind = tile[tile.findIndex((byte) => byte < 0x80) + 1];
  if (kind === 1) return 'mlt';
  return tile[0] === 0x1a ? 'mvt' : undefined;
}

/** Empty where it cannot be inflated. */
function plainTile(bytes: Uint8Array): Uint8Array {
  try {
    const { data, encoding } = storedTile(bytes);
    return encoding === 'gzip' ? inflateStored(data, encoding, MAX_INFLATED_BYTES) : data;
  } catch {
    return NO_TILE.data;
  }
}

/**
 * Limits of the archives that a thread keeps open per container. An archive that was replaced or written to is
 * reopened.
 */
export const KEEP_OPEN: KeptOpenOptions = {
  max: 16,
  stamp: ({ ino, size, mtimeMs }) => `${ino}/${size}/${mtimeMs}`,
};
