import { LIMITS } from '../../../core/limits.js';
import { isDistant } from '../../../core/rasters.js';
import { isRemote } from '../../../core/sources.js';
import type { Pools } from '../../../core/tasks.js';
import type { CachedTile, TileCache, WantedTile } from '../../cache/tile-cache.js';
import type { TaskContext } from '../run-task.js';
import { isDrawn, makeTile } from './make.js';
import { blockOf, drawBlock } from './metatile.js';
import { type TileRequest, tileKey } from './request.js';

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

/** A file that changes is noticed; rows of a database and what is remote change without a word. */
export function maxAgeOf({ collections }: TileRequest): number | undefined {
  const unseen = collections.some((c) =>
    c.kind === 'vector'
      ? c.source.kind === 'postgis'
      : c.kind === 'raster'
        ? isDistant(c.raster.source)
        : isRemote(c.file),
  );
  return unseen ? LIMITS.databaseTileMs : undefined;
}
