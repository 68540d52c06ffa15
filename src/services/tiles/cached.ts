import type { Pools } from '../../core/tasks.js';
import type { TileCache } from '../cache/tile-cache.js';
import type { TaskContext } from '../run-task.js';
import { isDrawn, makeTile } from './make.js';
import { blockOf, drawBlock } from './metatile.js';
import { type TileRequest, tileKey } from './request.js';
import type { CachedTile, WantedTile } from './tile.js';
import { maxAgeOf } from './tile.js';

/** A tile that no client waits for: from the cache, or made and kept. */
export async function cachedTile(
  { tiles, pools }: { tiles: TileCache; pools: Pools },
  request: TileRequest,
): Promise<CachedTile> {
  const key = tileKey(request);
  const slot = tiles.find(key);
  if (slot) return slot.tile;
  return fillTile({ timing: () => {} }, { tiles, pools }, { ...request, key });
}

/** Makes a tile that the cache does not have; an image together with its neighbours, which are asked for soon. */
export function fillTile(
  x: TaskContext,
  { tiles, pools }: { tiles: TileCache; pools: Pools },
  wanted: WantedTile,
): Promise<CachedTile> {
  const maxAge = maxAgeOf(wanted);
  if (!isDrawn(wanted) || !tiles.keeps) return tiles.fill(wanted, () => makeTile(x, pools, wanted), maxAge);
  const block = blockOf(wanted);
  return tiles.fillBlock(block, () => drawBlock(x, pools, block), maxAge);
}
