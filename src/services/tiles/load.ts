import type { Pools } from '../../core/tasks/tasks.js';
import type { TaskContext } from '../kit/run-task.js';
import type { LookUpWatch } from './cache/levels.js';
import type { TileCache } from './cache/tile-cache.js';
import { isDrawn, makeTile } from './make.js';
import { computeTileBlock, drawBlock } from './metatile.js';
import { type TileRequest, tileKey } from './request.js';
import type { KeyedTileRequest, Tile, TileCoding } from './tile.js';
import { findMaxAge } from './tile.js';

/** A tile that no client waits for: from the cache, or rendered and cached. */
export async function warmTile(
  { tiles, pools }: { tiles: TileCache; pools: Pools },
  request: TileRequest,
): Promise<Tile> {
  const key = tileKey(request);
  const slot = tiles.find(key);
  if (slot) return slot.tile;
  return loadTile({ timing: () => {} }, { tiles, pools }, { ...request, key });
}

/**
 * Renders a tile that is not in the cache. An image is rendered together with its neighbours, which are usually
 * requested soon. Concurrent requests for one tile get it in the coding of the first request.
 */
export function loadTile(
  x: TaskContext,
  { tiles, pools }: { tiles: TileCache; pools: Pools },
  request: KeyedTileRequest,
  coding?: TileCoding,
): Promise<Tile> {
  const maxAge = findMaxAge(request);
  if (!isDrawn(request) || !tiles.keeps)
    return noteLookUp(
      x,
      (make, watch) => tiles.load(request, make, maxAge, watch),
      () => makeTile(x, pools, request, coding),
    );
  const block = computeTileBlock(request);
  return noteLookUp(
    x,
    (make, watch) => tiles.loadBlock(block, make, maxAge, watch),
    () => drawBlock(x, pools, block),
  );
}

/** Notes the time until a tile was found in a tier of the cache, or until it had to be made. */
async function noteLookUp<T>(
  x: TaskContext,
  load: (make: () => Promise<T>, watch: LookUpWatch) => Promise<Tile>,
  make: () => Promise<T>,
): Promise<Tile> {
  const began = performance.now();
  let isOver = false;
  const end = (place: string) => {
    if (!isOver) x.stage?.('cache', performance.now() - began, place);
    isOver = true;
  };
  const miss = () => {
    end('miss');
    return make();
  };
  const tile = await load(miss, { span: x.span, found: end });
  // Another request was already rendering the tile.
  end('shared');
  return tile;
}
