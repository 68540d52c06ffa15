import { LIMITS } from '../../../core/limits.js';
import { isRemote } from '../../../core/sources.js';
import type { Pools } from '../../../core/tasks.js';
import type { CachedTile, TileCache } from '../../cache/tile-cache.js';
import { makeTile } from './make.js';
import { type TileRequest, tileKey } from './request.js';

/** A tile that no client waits for: from the cache, or made and kept. */
export async function cachedTile(
  { tiles, pools }: { tiles: TileCache; pools: Pools },
  request: TileRequest,
): Promise<CachedTile> {
  const key = tileKey(request);
  const slot = tiles.find(key);
  if (slot) return slot.tile;
  return tiles.fill(
    { ...request, key },
    () => makeTile({ timing: () => {} }, pools, request),
    maxAgeOf(request),
  );
}

/** A file that changes is noticed; rows of a database and remote archives change without a word. */
export function maxAgeOf({ collections }: TileRequest): number | undefined {
  const unseen = collections.some((c) =>
    c.kind === 'vector' ? c.source.kind === 'postgis' : c.kind === 'archive' && isRemote(c.file),
  );
  return unseen ? LIMITS.databaseTileMs : undefined;
}
