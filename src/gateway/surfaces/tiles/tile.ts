import {
  type ArchiveCollection,
  type CatalogSnapshot,
  type Collection,
  readable,
  type VectorCollection,
} from '../../../core/collection.js';
import { ApiError, badParameter, notFound } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { type Format, MVT_FORMAT } from '../../../core/media.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import type { Pools } from '../../../core/tasks.js';
import { matrixSize, type TileMatrixSet, tileBox, tileMatrixSet, zoomOf } from '../../../core/tile-matrix.js';
import type { CachedTile, TileCache, TileSlot } from '../../cache/tile-cache.js';
import { renderImage } from '../../services/render.js';
import { runTask, type TaskContext } from '../../services/run-task.js';
import { contentTag } from '../common.js';

/** Grid of a vector tile, and how far features reach over its edge. */
const EXTENT = 4096;
const BUFFER = 64;
/** Half a grid unit: what is dropped cannot be seen. */
const SIMPLIFY = 0.5;
const IMAGE_PIXELS = 256;
/** Below this size gzip only adds bytes and time. */
const GZIP_MIN_BYTES = 128;

export interface TileAddress {
  set: TileMatrixSet;
  zoom: number;
  row: number;
  column: number;
}

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

/** Names the content of a tile: whatever changes the bytes is in the key. */
export function tileKey(collections: readonly Collection[], at: TileAddress, format: Format): string {
  let key = `${format.name}/${at.set.id}/${at.zoom}/${at.row}/${at.column}`;
  for (const c of collections) key += `/${c.layerId}@${c.version}`;
  return key;
}

/** What a request for a tile asks for, worked out once per target and catalog. */
export interface TilePlan {
  readonly catalog: CatalogSnapshot;
  readonly format: Format;
  /** An archive is only ever the single collection of a tile. */
  readonly collections: readonly Collection[];
  readonly at: TileAddress;
  readonly key: string;
  /** Where the tile was found last. */
  slot: TileSlot | undefined;
}

/** The plan of these parameters; `make` reads and checks them when they are new, or the catalog is. */
export function tilePlan(
  x: Exchange,
  catalog: CatalogSnapshot,
  make: () => Pick<TilePlan, 'collections' | 'at' | 'format'>,
): TilePlan {
  const known = x.memo.value as TilePlan | undefined;
  if (known && known.catalog === catalog && known.format === x.format) return known;
  const { collections, at, format } = make();
  // One literal, no spread: V8 gives each object made by spreading a hidden class of its own, and then every read misses.
  const key = tileKey(collections, at, format);
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
  const make = makerOf(plan);
  const made = deps.tiles.fill(plan.key, () => make(detached(x), deps.pools, plan), maxAgeOf(plan));
  return made.then(({ reply }) => reply);
}

/** A file that changes is noticed; rows of a database change without a word. */
function maxAgeOf({ collections }: TilePlan): number | undefined {
  const unseen = collections.some((c) => c.kind === 'vector' && c.source.kind === 'postgis');
  return unseen ? LIMITS.databaseTileMs : undefined;
}

function makerOf({ collections, format }: TilePlan) {
  if (collections[0]?.kind === 'archive') return stored;
  return format === MVT_FORMAT ? encode : draw;
}

const CACHE_CONTROL = 'public, max-age=60, stale-while-revalidate=300';

function cachedTile(
  data: Uint8Array,
  mediaType: string,
  encoding: 'gzip' | undefined,
  empty: boolean,
): CachedTile {
  const constant = { block: undefined };
  const cacheControl = CACHE_CONTROL;
  if (empty) return { reply: { status: 204, cacheControl, constant }, bytes: 0 };
  // A literal without a spread, as in tilePlan.
  const etag = contentTag(data);
  const reply = { status: 200, mediaType, body: data, encoding, etag, cacheControl, constant };
  return { reply, bytes: data.byteLength };
}

async function encode(x: TaskContext, pools: Pools, { collections, at }: TilePlan): Promise<CachedTile> {
  const vectors = collections.filter((c): c is VectorCollection => c.kind === 'vector');
  if (vectors.length === 0) {
    throw new ApiError('not-acceptable', 'A raster collection has no vector tiles; ask for png.');
  }
  const result = await runTask(x, pools, 'vector.tile', {
    layers: vectors.map((c) => ({ name: c.id, ...readable(c) })),
    crs: at.set.crs.proj,
    bbox: tileBox(at.set, at.zoom, at.row, at.column),
    extent: EXTENT,
    buffer: BUFFER,
    simplify: SIMPLIFY,
    encoding: 'gzip',
    gzipMinBytes: GZIP_MIN_BYTES,
  });
  const encoding = result.encoding === 'gzip' ? 'gzip' : undefined;
  return cachedTile(result.data, MVT_FORMAT.mediaType, encoding, result.data.byteLength === 0);
}

/** The tile as the archive holds it. */
async function stored(
  x: TaskContext,
  pools: Pools,
  { collections, at, format }: TilePlan,
): Promise<CachedTile> {
  const { file, container } = collections[0] as ArchiveCollection;
  const { zoom, row, column } = at;
  const result = await runTask(x, pools, 'vector.archiveTile', { path: file, container, zoom, row, column });
  const encoding = result.encoding === 'gzip' ? 'gzip' : undefined;
  return cachedTile(result.data, format.mediaType, encoding, result.data.byteLength === 0);
}

async function draw(x: TaskContext, pools: Pools, { collections, at }: TilePlan): Promise<CachedTile> {
  const image = await renderImage(x, pools, {
    collections,
    bbox: tileBox(at.set, at.zoom, at.row, at.column),
    crs: at.set.crs.proj,
    width: IMAGE_PIXELS,
    height: IMAGE_PIXELS,
    background: 'transparent',
    format: 'png',
  });
  return cachedTile(image.data, image.mediaType, undefined, image.empty);
}

/** Several clients may wait for one rendering, so none of them may cancel it by going away. */
function detached(x: Exchange): TaskContext {
  return {
    span: x.span,
    timing: (stage, ms) => x.timing(stage, ms),
  };
}
