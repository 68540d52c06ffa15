import type { CatalogSnapshot } from '../../../core/collection.js';
import { badParameter, notFound } from '../../../core/errors.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import type { Pools } from '../../../core/tasks.js';
import { matrixSize, tileMatrixSet, zoomOf } from '../../../core/tile-matrix.js';
import type { TileCache, TileSlot } from '../../cache/tile-cache.js';
import type { TaskContext } from '../../services/run-task.js';
import { maxAgeOf } from '../../services/tiles/cached.js';
import { makeTile } from '../../services/tiles/make.js';
import { type TileAddress, type TileRequest, tileKey } from '../../services/tiles/request.js';

/** Checks a tile's coordinates: 404 for an unknown set, 400 for a matrix or tile that the set does not have. */
export function tileAddress(setId: string, tileMatrix: string, row: number, column: number): TileAddress {
  const set = tileMatrixSet(setId);
  if (!set) throw notFound('tile matrix set', setId.slice(0, 100));
  const zoom = zoomOf(set, tileMatrix);
  if (zoom === undefined)
    throw badParameter('tileMatrix', `${set.id} has no matrix '${tileMatrix.slice(0, 40)}'`);
  const { columns, rows } = matrixSize(set, zoom);
  if (row >= rows) throw badParameter('tileRow', `matrix ${zoom} has rows 0 to ${rows - 1}`);
  if (column >= columns) throw badParameter('tileCol', `matrix ${zoom} has columns 0 to ${columns - 1}`);
  return { set, zoom, row, column };
}

/** What a request for a tile asks for, worked out once per target and catalog. */
export interface TilePlan extends TileRequest {
  readonly catalog: CatalogSnapshot;
  readonly key: string;
  /** Where the tile was found last. */
  slot: TileSlot | undefined;
}

/** The plan of these parameters; `make` reads and checks them when they are new, or the catalog is. */
export function tilePlan(x: Exchange, catalog: CatalogSnapshot, make: () => TileRequest): TilePlan {
  const known = x.memo.value as TilePlan | undefined;
  if (known && known.catalog === catalog && known.format === x.format) return known;
  const request = make();
  const { collections, at, format } = request;
  // One literal, no spread: V8 gives each object made by spreading a hidden class of its own, and then every read misses.
  const key = tileKey(request);
  const plan: TilePlan = { catalog, format, collections, at, key, slot: undefined };
  // A collection that lacks the format asked for answers in another one, which hangs on more than the target.
  if (plan.format === x.format) x.memo.value = plan;
  return plan;
}

/** A tile from the cache, or made now. Synchronous when it is cached. */
export function tile(
  x: Exchange,
  deps: { pools: Pools; tiles: TileCache },
  plan: TilePlan,
): Reply | Promise<Reply> {
  const slot = deps.tiles.find(plan.key, plan.slot);
  if (slot) {
    plan.slot = slot;
    return slot.tile.reply;
  }
  const made = deps.tiles.fill(plan, () => makeTile(detached(x), deps.pools, plan), maxAgeOf(plan));
  return made.then(({ reply }) => reply);
}

/** Several clients may wait for one rendering, so none of them may cancel it by going away. */
function detached(x: Exchange): TaskContext {
  return {
    span: x.span,
    timing: (stage, ms) => x.timing(stage, ms),
  };
}
