import type { ArchiveTile } from '../../core/archives.js';
import { TaskFailure } from '../../core/failure.js';
import { gzip, mvtToMlt } from '../../native/index.js';
import { inflate, MAX_INFLATED_BYTES } from '../providers/archive/stored.js';
import { GZIP_LEVEL } from './tile.js';

/** A stored vector tile as a MapLibre Tile, compressed as it was. */
export function transcode({ data, encoding }: ArchiveTile): ArchiveTile {
  const tile = toMlt(encoding === 'gzip' ? inflate(data, MAX_INFLATED_BYTES) : data);
  return { data: encoding === 'gzip' ? gzip(tile, GZIP_LEVEL) : tile, encoding };
}

function toMlt(tile: Uint8Array): Uint8Array {
  try {
    return mvtToMlt(tile);
  } catch (error) {
    throw new TaskFailure('source-unreadable', 'The stored tile is damaged.', (error as Error).message);
  }
}
