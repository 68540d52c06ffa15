import type { CatalogSnapshot } from '../../../core/collection.js';
import { badParameter, notFound } from '../../../core/errors.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import type { Pools } from '../../../core/tasks.js';
import { firstColumn, matrixSize, tileMatrixSet, zoomOf } from '../../../core/tile-matrix.js';
import type { TileCache, TileSlot } from '../../cache/tile-cache.js';
import type { TaskContext } from '../../services/run-task.js';
import { fillTile } from '../../services/tiles/cached.js';
import { cacheControlOf, makeTile } from '../../services/tiles/make.js';
import { shownAt, type TileAddress, type TileRequest, tileKey } from '../../services/tiles/request.js';

/** Checks a tile's coordinates: 404 for an unknown set, 400 for a matrix or tile that the set does not have. */
export function tileAddress(setId: string, tileMatrix: string, row: number, column: number): TileAddress {
  const set = tileMatrixSet(setId);
  if (!set) throw notFound('tile matrix set', setId.slice(0, 100));
  const zoom = zoomOf(set, tileMatrix);
  if (zoom === undefined)
    throw badParameter('tileMatrix', `${set.id} has no matrix '${tileMatrix.slice(0, 40)}'`);
  const { columns, rows } = matrixSize(set, zoom);
  if (row >= rows) throw badParameter('tileRow', `matrix ${tileMatrix} has rows 0 to ${rows - 1}`);
  if (column >= columns)
    throw badParameter('tileCol', `matrix ${tileMatrix} has columns 0 to ${columns - 1}`);
  return { set, zoom, row, column: firstColumn(set.matrices[zoom]!, row, column) };
}

/** What a request for a tile asks for, worked out once per target and catalog. */
export interface TilePlan extends TileRequest {
  readonly catalog: CatalogSnapshot;
  /** Where the tile was found last. */
  slot: TileSlot | undefined;
  readonly key: string;
}

/**
 * The plan of these parameters; `make` reads and checks them when they are new, or the catalog is. `negotiated` says
 * that the format hangs on the Accept header too, not only on the target.
 */
export function tilePlan(
  x: Exchange,
  catalog: CatalogSnapshot,
  make: () => TileRequest,
  negotiated = true,
): TilePlan {
  const known = x.memo.value as TilePlan | undefined;
  if (known && known.catalog === catalog && (!negotiated || known.format === x.format)) return known;
  const asked = make();
  const { at, format, scale, selection, batch } = asked;
  const collections = shownAt(at, asked.collections);
  // One literal, no spread: V8 gives each object made by spreading a hidden class of its own, and then every read misses.
  const key = tileKey({ format, collections, at, scale, selection, batch });
  const plan: TilePlan = {
    catalog,
    format,
    slot: undefined,
    key,
    collections,
    at,
    scale,
    selection,
    batch,
  };
  // A collection that lacks the format asked for answers in another one, which hangs on more than the target. Filters
  // are not remembered: as trees they are large.
  if ((!negotiated || plan.format === x.format) && !selection) x.memo.value = plan;
  return plan;
}

/** The answer where no collection has tiles. */
const OUTSIDE: Reply = { status: 204, cacheControl: cacheControlOf([]), constant: { block: undefined } };

interface TileDeps {
  readonly pools: Pools;
  readonly tiles: TileCache;
}

/** A tile from the cache, or made now. Synchronous when it is cached. */
export function tile(x: Exchange, deps: TileDeps, plan: TilePlan): Reply | Promise<Reply> {
  // Before anything else of the plan: where the tile was found last, it is again.
  const last = plan.slot?.live ? deps.tiles.find(plan.key, plan.slot) : undefined;
  if (last) return last.reply;
  if (plan.collections.length === 0) return OUTSIDE;
  // What clients select is theirs to invent: kept, it would fill the cache with what nobody asks for again.
  if (plan.selection) return makeTile(x, deps.pools, plan).then(({ reply }) => reply);
  const slot = deps.tiles.find(plan.key);
  if (slot) {
    plan.slot = slot;
    return slot.reply;
  }
  return fillTile(detached(x), deps, plan).then(({ reply }) => reply);
}

/** Several clients may wait for one rendering, so none of them may cancel it by going away. */
function detached(x: Exchange): TaskContext {
  return {
    span: x.span,
    timing: (stage, ms) => x.timing(stage, ms),
  };
}
