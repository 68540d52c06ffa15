import type { ArchiveCollection, Collection, VectorCollection } from '../../../core/collection.js';
import { ApiError } from '../../../core/errors.js';
import { LIMITS } from '../../../core/limits.js';
import { MVT_FORMAT } from '../../../core/media.js';
import type { TileSize } from '../../../core/rasters.js';
import type { Pools } from '../../../core/tasks.js';
import { tileBox } from '../../../core/tile-matrix.js';
import type { CachedTile } from '../../cache/tile-cache.js';
import { contentTag } from '../../http/content-tag.js';
import { sourceItemHeaders, sourceItems, windowIn84 } from '../rasters/source-items.js';
import { renderImage } from '../render.js';
import { runTask, type TaskContext } from '../run-task.js';
import { archiveTile } from './archive-tiles.js';
import { blankImage } from './blank.js';
import { tileLayer } from './layer.js';
import { shownAt, type TileRequest } from './request.js';

/** Grid of a vector tile, and how far features reach over its edge. */
const EXTENT = 4096;
const BUFFER = 64;
/** Half a grid unit: what is dropped cannot be seen. */
const SIMPLIFY = 0.5;
/** Below this size gzip only adds bytes and time. */
const GZIP_MIN_BYTES = 128;

/** Makes a tile, or takes it from the archive that holds it. Rejects with an `ApiError`. */
export async function makeTile(x: TaskContext, pools: Pools, asked: TileRequest): Promise<CachedTile> {
  const collections = shownAt(asked.at, asked.collections);
  const request = collections.length === asked.collections.length ? asked : { ...asked, collections };
  const { format } = request;
  if (collections.length === 0) return emptyTile(request);
  if (collections[0]?.kind === 'archive') return stored(x, pools, request);
  return format === MVT_FORMAT ? encode(x, pools, request) : draw(x, pools, request);
}

/** Whether a tile is an image that is made here. */
export function isDrawn({ collections, format }: Pick<TileRequest, 'collections' | 'format'>): boolean {
  return format !== MVT_FORMAT && collections[0]?.kind !== 'archive';
}

/** Seconds that clients may keep a tile of a collection that says nothing else. */
const MAX_AGE = 60;

/** How long clients may keep a tile: as long as all of its collections allow. */
export function cacheControlOf(collections: readonly Collection[]): string {
  const ages = collections.map(({ tiles }) => tiles?.maxAge ?? MAX_AGE);
  const seconds = ages.length > 0 ? Math.min(...ages) : MAX_AGE;
  return seconds === 0 ? 'no-cache' : `public, max-age=${seconds}, stale-while-revalidate=${5 * seconds}`;
}

/** A tile as its cache keeps it. */
export function cachedTile(
  request: TileRequest,
  data: Uint8Array,
  mediaType: string,
  encoding: 'gzip' | undefined,
  empty: boolean,
  dropped = 0,
): CachedTile {
  if (empty) return emptyTile(request);
  const constant = { block: undefined };
  const cacheControl = cacheControlOf(request.collections);
  const headers = dropped > 0 ? { 'graticule-dropped-features': String(dropped) } : batchHeaders(request);
  // One literal, no spread: V8 gives each object made by spreading a hidden class of its own, and then every read misses.
  const etag = contentTag(data);
  const reply = { status: 200, mediaType, body: data, encoding, etag, cacheControl, constant, headers };
  return { reply, bytes: data.byteLength, dropped };
}

/**
 * A tile in which nothing is: an image is transparent, because Leaflet and OpenLayers take 204 for a failure; vector
 * tiles and JPEG, which has no transparency, are 204.
 */
export function emptyTile(request: TileRequest): CachedTile {
  const { format, collections } = request;
  const constant = { block: undefined };
  const cacheControl = cacheControlOf(collections);
  const { width, height } = sizeInPixels(request);
  const body = blankImage(format, width, height);
  if (!body) return { reply: { status: 204, cacheControl, constant }, bytes: 0, empty: true };
  const { mediaType } = format;
  const reply = { status: 200, mediaType, body, etag: contentTag(body), cacheControl, constant };
  return { reply, bytes: 0, empty: true };
}

/** What an image of the tile measures. */
function sizeInPixels({ at, scale = 1, selection }: TileRequest): TileSize {
  const { tileWidth, tileHeight } = at.set.matrices[at.zoom]!;
  return selection?.size ?? { width: tileWidth * scale, height: tileHeight * scale };
}

/** Names the rasters that a tile of an acquisition batch is made from. */
function batchHeaders({ collections, at, batch }: TileRequest): Record<string, string> | undefined {
  if (!batch) return undefined;
  const window84 = windowIn84(tileBox(at.set, at.zoom, at.row, at.column), at.set.crs.proj);
  return sourceItemHeaders(sourceItems(collections, batch, window84), batch);
}

async function encode(x: TaskContext, pools: Pools, request: TileRequest): Promise<CachedTile> {
  const { collections, at, selection } = request;
  const vectors = collections.filter((c): c is VectorCollection => c.kind === 'vector');
  if (vectors.length === 0) {
    throw new ApiError('not-acceptable', 'A raster collection has no vector tiles; ask for png.');
  }
  const result = await runTask(x, pools, 'vector.tile', {
    layers: vectors.map((collection) => tileLayer(collection, selection)),
    crs: at.set.crs.proj,
    bbox: tileBox(at.set, at.zoom, at.row, at.column),
    extent: EXTENT,
    buffer: BUFFER,
    simplify: SIMPLIFY,
    maxBytes: LIMITS.tileBytes,
    encoding: 'gzip',
    gzipMinBytes: GZIP_MIN_BYTES,
  });
  const { data, dropped } = result;
  const encoding = result.encoding === 'gzip' ? 'gzip' : undefined;
  return cachedTile(request, data, MVT_FORMAT.mediaType, encoding, data.byteLength === 0, dropped);
}

/** The tile as the archive holds it. */
async function stored(x: TaskContext, pools: Pools, request: TileRequest): Promise<CachedTile> {
  const { collections, at, format } = request;
  const result = await archiveTile(x, pools, collections[0] as ArchiveCollection, at);
  const encoding = result.encoding === 'gzip' ? 'gzip' : undefined;
  return cachedTile(request, result.data, format.mediaType, encoding, result.data.byteLength === 0);
}

/** An image of its own, encoded like those that are cut from a metatile. */
async function draw(x: TaskContext, pools: Pools, request: TileRequest): Promise<CachedTile> {
  const { collections, at, format, scale = 1, selection, batch } = request;
  const size = sizeInPixels(request);
  const { tiles } = await renderImage(x, pools, {
    collections,
    bbox: tileBox(at.set, at.zoom, at.row, at.column),
    crs: at.set.crs.proj,
    ...size,
    cut: size,
    scale,
    filters: selection?.filters,
    look: selection?.look,
    heights: selection?.heights,
    batch,
    background: 'transparent',
    format: format.name === 'webp' ? 'webp' : 'png',
  });
  const { data, empty } = tiles![0]!;
  return cachedTile(request, data, format.mediaType, undefined, empty);
}
