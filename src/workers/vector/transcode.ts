import type { ArchiveTile } from '../../core/archives.js';
import { compressionOf } from '../../core/content-coding.js';
import type { TranscodeTask } from '../../core/vector-tasks.js';
import { gzip } from '../../native/index.js';
import { inflate, NO_TILE } from '../providers/archive/stored.js';
import { asMlt, asMvt, GZIP_LEVEL, tooLarge } from './encodings.js';

/** Stored bytes, inflated, of a tile that is taken over into the other encoding. */
const MOST_BYTES = 8_388_608;

/** A stored tile in the other encoding of vector tiles; gzip where it was compressed. */
export function transcode({ tile: { data, encoding }, to }: TranscodeTask): ArchiveTile {
  const compression = compressionOf(encoding);
  const stored = compression ? inflate(data, compression, MOST_BYTES) : data;
  if (stored.byteLength > MOST_BYTES) throw tooLarge();
  const tile = to === 'mlt' ? asMlt(stored) : asMvt(stored);
  if (tile.byteLength === 0) return NO_TILE;
  return compression ? { data: gzip(tile, GZIP_LEVEL), encoding: 'gzip' } : { data: tile, encoding };
}
