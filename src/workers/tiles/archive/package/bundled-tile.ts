import { readSync } from 'node:fs';
import {
  createArchiveFailure,
  MAX_TILE_BYTES,
  unsupported,
} from '../../../providers/archive/archive-tile.js';
import type { BundledTile } from './compact-cache.js';

/** Bytes of a tile in the file of its bundle. Fails with `source-unreadable`. */
export function readTile(fd: number, { at, size }: Pick<BundledTile, 'at' | 'size'>): Buffer {
  if (size > MAX_TILE_BYTES) throw unsupported('a tile is larger than 32 MiB');
  const data = Buffer.allocUnsafe(size);
  for (let done = 0; done < size; ) {
    const count = readSync(fd, data, done, size - done, at + done);
    if (count === 0) throw createArchiveFailure('a tile is outside its bundle');
    done += count;
  }
  return data;
}
