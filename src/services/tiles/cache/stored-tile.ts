import type { ContentCoding } from '../../../core/http/content-coding.js';
import { contentTag } from '../../../core/http/content-tag.js';

/** Prefix of all tile keys in Redis. */
export const REDIS_PREFIX = 'graticule:tile:';

/** A tile outside the memory of this process, with the facts that show whether it is still valid. */
export interface StoredTile {
  /** Start of the rendering, in milliseconds since 1970. */
  readonly began: number;
  /** By collection: cursor of the last edit that its maker knew of; 0 for collections without edits. */
  readonly cursors: readonly number[];
  readonly encoding: ContentCoding;
  /** Number of features omitted from the tile for lack of space. */
  readonly dropped: number;
  /** Number of features in the tile, if some were omitted. */
  readonly features?: number | undefined;
  /** The entity tag; empty for an empty tile. */
  readonly tag: string;
  /** Empty for a tile without content. */
  readonly body: Uint8Array;
}

/** Bytes of the tag that names all that follows it. */
const TAG_BYTES = 16;

/** Tag, length of the head, head as JSON, body. */
export function encodeTile({ began, cursors, encoding, dropped, features, tag, body }: StoredTile): Buffer {
  const head = Buffer.from(JSON.stringify([began, cursors, encoding, dropped, tag, features]));
  const tile = Buffer.allocUnsafe(TAG_BYTES + 2 + head.length + body.byteLength);
  tile.writeUInt16LE(head.length, TAG_BYTES);
  tile.set(head, TAG_BYTES + 2);
  tile.set(body, TAG_BYTES + 2 + head.length);
  tile.write(contentTag(tile.subarray(TAG_BYTES)), 'latin1');
  return tile;
}

/** Undefined for anything that `encodeTile` did not write, or that was damaged since. */
export function decodeTile(tile: Uint8Array): StoredTile | undefined {
  if (tile.byteLength < TAG_BYTES + 2) return undefined;
  const bytes = Buffer.from(tile.buffer, tile.byteOffset, tile.byteLength);
  if (bytes.toString('latin1', 0, TAG_BYTES) !== contentTag(bytes.subarray(TAG_BYTES))) return undefined;
  const from = TAG_BYTES + 2;
  const to = from + bytes.readUInt16LE(TAG_BYTES);
  const [began, cursors, encoding, dropped, tag, features] = JSON.parse(bytes.toString('utf8', from, to));
  const stored = { began, cursors, encoding, dropped, tag, body: bytes.subarray(to) };
  return features == null ? stored : { ...stored, features };
}
