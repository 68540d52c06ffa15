import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { badParameter, notFound } from '../../core/errors/errors.js';
import type { Exchange, Params, Reply } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { firstColumn, matrixSize, type TileMatrixSet, zoomOf } from '../../core/tiles/tile-matrix.js';
import type { TaskContext } from '../../services/kit/run-task.js';
import { inSpan } from '../../services/telemetry/spans.js';
import { lookUpIn } from '../../services/tiles/cache/levels.js';
import type { TileCache, TileSlot } from '../../services/tiles/cache/tile-cache.js';
import { loadTile } from '../../services/tiles/load.js';
import { makeTile } from '../../services/tiles/make.js';
import {
  isInvented,
  shownAt,
  type TileAddress,
  type TileRequest,
  tileKey,
} from '../../services/tiles/request.js';
import type { Tile, TileCoding } from '../../services/tiles/tile.js';
import { emptyTile } from '../../services/tiles/tile.js';
import { acceptsCoding } from '../http/replies/compression.js';
import { isOutside } from '../surface/tilesets.js';

/** Checks a tile's coordinates: 400 for a matrix or tile that the set does not have. */
export function tileAddress(
  set: TileMatrixSet,
  tileMatrix: string,
  row: number,
  column: number,
): TileAddress {
  const zoom = zoomOf(set, tileMatrix);
  if (zoom === undefined)
    throw badParameter('tileMatrix', `${set.id} has no matrix '${tileMatrix.slice(0, 40)}'`);
  const { columns, rows } = matrixSize(set, zoom);
  if (row >= rows) throw badParameter('tileRow', `matrix ${tileMatrix} has rows 0 to ${rows - 1}`);
  if (column >= columns)
    throw badParameter('tileCol', `matrix ${tileMatrix} has columns 0 to ${columns - 1}`);
  return { set, zoom, row, column: firstColumn(set.matrices[zoom]!, row, column) };
}

/** A request whose operation remembers the plan of its target. */
type TileExchange = Exchange<Params, unknown, TilePlan>;

/** What a request for a tile asks for, worked out once per target and catalog. */
export interface TilePlan extends TileRequest {
  readonly catalog: CatalogSnapshot;
  /** Where the tile was found last. */
  slot: TileSlot | undefined;
  readonly key: string;
  /** By its client, so that it is not kept. */
  readonly invented: boolean;
  /** Outside of the limits that the tileset tells of. */
  readonly outside: boolean;
}

/**
 * The plan of these parameters; `make` reads and checks them when they are new, or the catalog is. `negotiated` says
 * that the format hangs on the Accept header too, not only on the target; `limited`, that the limits of tilesets hold.
 */
export function planTile(
  x: Pick<TileExchange, 'memo' | 'format'>,
  catalog: CatalogSnapshot,
  make: () => TileRequest,
  { negotiated, limited }: { negotiated: boolean; limited: boolean } = { negotiated: true, limited: true },
): TilePlan {
  const before = x.memo.value;
  if (before && before.catalog === catalog && (!negotiated || before.format === x.format)) return before;
  const request = make();
  const { at, format, scale, selection, batch } = request;
  const collections = shownAt(at, request.collections);
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
    invented: isInvented(request),
    outside: limited && isOutside(at, request.collections),
  };
  // A collection that lacks the format asked for answers in another one, which hangs on more than the target. Filters
  // are not remembered: as trees they are large.
  if ((!negotiated || plan.format === x.format) && !selection) x.memo.value = plan;
  return plan;
}

interface answerTile {
  readonly pools: Pools;
  readonly tiles: TileCache;
}

/** A tile from the cache, or made now. Synchronous when it is cached. */
export function replyWithTile(x: Exchange, deps: answerTile, plan: TilePlan): Reply | Promise<Reply> {
  if (x.span) noteLookUp(x.span);
  // Before anything else of the plan: where the tile was found last, it is again.
  const last = plan.slot?.live ? deps.tiles.find(plan.key, plan.slot) : undefined;
  if (last) return last.reply;
  if (plan.outside) return outsideTile(x, deps, plan);
  if (plan.collections.length === 0) return emptyTile(plan).reply;
  if (plan.invented) return makeTile(x, deps.pools, plan, codingFor(x)).then(({ reply }) => reply);
  const slot = deps.tiles.find(plan.key);
  if (slot) {
    plan.slot = slot;
    return slot.reply;
  }
  return loadTile(detached(x), deps, plan, codingFor(x)).then(({ reply }) => reply);
}

/** Memory is looked into in less time than a span takes: its span says that this was done. */
const noteLookUp = (span: unknown) => inSpan(span, lookUpIn('memory'), () => {});

/**
 * Outside of its tileset's limits there is no tile (OGC 20-057, /req/core/tc-error), unless something lies there: a large
 * symbol, or rows that another program wrote after the extent was read.
 */
async function outsideTile(x: Exchange, deps: answerTile, plan: TilePlan): Promise<Reply> {
  const { reply, empty } = await anyTile(x, deps, plan);
  if (!empty) return reply;
  const { set, zoom, row, column } = plan.at;
  throw notFound('tile within the limits of the tileset', `${set.matrices[zoom]!.id}/${row}/${column}`);
}

async function anyTile(x: Exchange, deps: answerTile, plan: TilePlan): Promise<Tile> {
  if (plan.collections.length === 0) return emptyTile(plan);
  const coding = codingFor(x);
  if (plan.invented) return makeTile(x, deps.pools, plan, coding);
  return deps.tiles.find(plan.key)?.tile ?? loadTile(detached(x), deps, plan, coding);
}

/** To compress a tile takes half as long as to make it: not for a client that does not take it. */
function codingFor(x: Exchange): TileCoding {
  return acceptsCoding(x.header('accept-encoding'), 'gzip') ? 'gzip' : 'identity';
}

/**
 * Several clients may wait for one rendering, so none of them may cancel it by going away. It waits in the queue of the client
 * that asked first.
 */
function detached(x: Exchange): TaskContext {
  return {
    span: x.span,
    caller: x.caller,
    timing: (stage, ms) => x.timing(stage, ms),
  };
}
