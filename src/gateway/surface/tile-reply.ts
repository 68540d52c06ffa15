import { notFound } from '../../core/errors/errors.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import type { TaskContext } from '../../services/kit/run-task.js';
import { inSpan } from '../../services/telemetry/spans.js';
import { lookUpIn } from '../../services/tiles/cache/levels.js';
import type { TileCache, TileSlot } from '../../services/tiles/cache/tile-cache.js';
import { loadTile } from '../../services/tiles/load.js';
import { makeTile } from '../../services/tiles/make.js';
import type { TilePlan } from '../../services/tiles/plan.js';
import type { Tile, TileCoding, TileLifetime } from '../../services/tiles/tile.js';
import { emptyTile } from '../../services/tiles/tile.js';
import { acceptsCoding } from '../http/replies/compression.js';
import type { SurfaceDeps } from './common.js';
import { lossHeaders, sourceItemHeaders } from './source-item-headers.js';

export interface TilesDeps extends SurfaceDeps {
  tiles: TileCache;
}

type TileDeps = Pick<TilesDeps, 'pools' | 'tiles'>;

/** A tile from the cache, or made now. Synchronous when it is cached. */
export function replyWithTile(x: Exchange, deps: TileDeps, plan: TilePlan): Reply | Promise<Reply> {
  if (x.span) noteLookUp(x.span);
  // Before anything else of the plan: where the tile was found last, it is again.
  const last = plan.slot?.live ? deps.tiles.find(plan.key, plan.slot) : undefined;
  if (last) return slotReply(last);
  if (plan.outside) return outsideTile(x, deps, plan);
  if (plan.collections.length === 0) return tileReply(emptyTile(plan));
  if (plan.invented) return makeTile(x, deps.pools, plan, codingFor(x)).then(tileReply);
  const slot = deps.tiles.find(plan.key);
  if (slot) {
    plan.slot = slot;
    return slotReply(slot);
  }
  return loadTile(detached(x), deps, plan, codingFor(x)).then(tileReply);
}

/** The reply of a kept tile: one object for all requests. */
function slotReply(slot: TileSlot): Reply {
  return (slot.answer ??= tileReply(slot.tile)) as Reply;
}

/** The reply that every request for the tile gets. */
export function tileReply(tile: Tile): Reply {
  return (tile.answer ??= newReply(tile)) as Reply;
}

function newReply(tile: Tile): Reply {
  const { body, mediaType, encoding, tag: etag, lifetime = 'none', names: cacheTags, hasSecondForm } = tile;
  const cacheControl = formatCacheControl(lifetime);
  const headers = collectHeaders(tile);
  const constant = { block: undefined, secondForm: hasSecondForm ? ('gzip' as const) : undefined };
  if (!body) return { status: 204, cacheControl, cacheTags, constant, headers };
  // A single literal without spread: V8 gives each object created by spread a separate hidden class, and then property
  // reads become slow.
  return { status: 200, mediaType, body, encoding, etag, cacheControl, cacheTags, constant, headers };
}

function collectHeaders({ dropped = 0, features, shown, lost = [] }: Tile): Reply['headers'] {
  if (dropped === 0 && !shown && lost.length === 0) return undefined;
  return {
    ...(dropped > 0 ? { 'graticule-dropped-features': String(dropped) } : {}),
    ...(dropped > 0 && features !== undefined ? { 'graticule-shown-features': String(features) } : {}),
    ...(shown ? sourceItemHeaders(shown.items, shown.batch, shown.count) : {}),
    ...lossHeaders({ lost }),
  };
}

function formatCacheControl(lifetime: TileLifetime): string {
  if (lifetime === 'none') return 'no-store';
  if (lifetime === 'caller') return 'private, no-cache';
  if (lifetime === 0) return 'no-cache';
  return `public, max-age=${lifetime}, stale-while-revalidate=${5 * lifetime}`;
}

/** Memory is looked into in less time than a span takes: its span says that this was done. */
const noteLookUp = (span: unknown) => inSpan(span, lookUpIn('memory'), () => {});

/**
 * Outside the limits of a tile set there are no tiles (OGC 20-057, /req/core/tc-error), unless the tile has content:
 * a large symbol, or rows that another program wrote after the extent was read.
 */
async function outsideTile(x: Exchange, deps: TileDeps, plan: TilePlan): Promise<Reply> {
  const tile = await anyTile(x, deps, plan);
  if (!tile.empty) return tileReply(tile);
  const { set, zoom, row, column } = plan.at;
  throw notFound('tile within the limits of the tileset', `${set.matrices[zoom]!.id}/${row}/${column}`);
}

async function anyTile(x: Exchange, deps: TileDeps, plan: TilePlan): Promise<Tile> {
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
 * Several clients may wait for one rendering, so a client that disconnects must not cancel it. It stays in the queue
 * of the client that asked first.
 */
function detached(x: Exchange): TaskContext {
  return {
    span: x.span,
    caller: x.caller,
    correlationId: x.correlationId,
    timing: (stage, ms) => x.timing(stage, ms),
    stage: (stage, ms, place) => x.stage?.(stage, ms, place),
  };
}
