import { findCompression } from '../../core/http/content-coding.js';
import type { TranscodeTask } from '../../core/tasks/vector-tasks.js';
import type { ArchiveTile } from '../../core/tiles/archives.js';
import { TILE_LIMITS } from '../../core/tiles/limits.js';
import { gzip } from '../../native/index.js';
import { asMlt, asMvt, createTileSizeFailure, GZIP_LEVEL } from '../features/encodings.js';
import { inflateStored, NO_TILE } from '../providers/archive/archive-tile.js';

/** A stored tile in the other encoding of vector tiles; gzip where it was compressed. */
export function transcode({ tile: { data, encoding }, to }: TranscodeTask): ArchiveTile {
  const compression = findCompression(encoding);
  const stored = compression ? inflateStored(data, compression, TILE_LIMITS.transcodedTileBytes) : data;
  if (stored.byteLength > TILE_LIMITS.transcodedTileBytes) throw createTileSizeFailure();
  const tile = to === 'mlt' ? asMlt(stored) : asMvt(stored);
  if (tile.byteLength === 0) return NO_TILE;
  return compression ? { data: gzip(tile, GZIP_LEVEL), encoding: 'gzip' } : { data: tile, encoding };
}
