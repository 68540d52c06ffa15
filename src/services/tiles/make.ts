import { hasFeatures, hasStoredTiles } from '../../core/catalog/abilities.js';
import type { ArchiveCollection } from '../../core/catalog/collection.js';
import { ApiError } from '../../core/errors/errors.js';
import { findCompression } from '../../core/http/content-coding.js';
import { isVectorFormat, MLT_FORMAT } from '../../core/http/media.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { TILE_LIMITS } from '../../core/tiles/limits.js';
import { tileBox } from '../../core/tiles/tile-matrix.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { renderImage } from '../maps/render.js';
import { archiveTile } from './archive-tiles.js';
import { buildTileLayer } from './layer.js';
import { shownAt, type TileRequest } from './request.js';
import { emptyTile, newTile, sizeInPixels, type Tile, type TileCoding } from './tile.js';

/** Grid of a vector tile, and the distance by which features extend beyond its edge. */
const EXTENT = 4096;
const BUFFER = 64;
/** Half a grid unit: what is dropped cannot be seen. */
const SIMPLIFY = 0.5;
/** Below this size gzip only adds bytes and time. */
const GZIP_MIN_BYTES = 128;

/**
 * Renders a tile, or reads it from its archive. `coding` applies to vector tiles that are encoded now. A tile of an
 * archive is returned in its stored form. Rejects with an `ApiError`.
 */
export async function makeTile(
  x: TaskContext,
  pools: Pools,
  whole: TileRequest,
  coding: TileCoding = 'gzip',
): Promise<Tile> {
  const collections = shownAt(whole.at, whole.collections);
  const request = collections.length === whole.collections.length ? whole : { ...whole, collections };
  const { format } = request;
  if (collections.length === 0) return emptyTile(request);
  if (hasStoredTiles(collections[0])) return stored(x, pools, request);
  return isVectorFormat(format) ? encode(x, pools, request, coding) : draw(x, pools, request);
}

/** Whether a tile is an image that this server renders. */
export function isDrawn({ collections, format }: Pick<TileRequest, 'collections' | 'format'>): boolean {
  return !isVectorFormat(format) && !hasStoredTiles(collections[0]);
}

async function encode(x: TaskContext, pools: Pools, request: TileRequest, coding: TileCoding): Promise<Tile> {
  const { collections, at, format, aggregate, selection } = request;
  const vectors = collections.filter(hasFeatures);
  if (vectors.length === 0) {
    throw new ApiError('not-acceptable', 'A raster collection has no vector tiles. Use png.');
  }
  const result = await runTask(x, pools, 'vector.tile', {
    layers: vectors.map((collection) => buildTileLayer(collection, selection)),
    crs: at.set.crs.proj,
    bbox: tileBox(at.set, at.zoom, at.row, at.column),
    extent: EXTENT,
    buffer: BUFFER,
    simplify: SIMPLIFY,
    maxBytes: TILE_LIMITS.tileBytes,
    ...(aggregate ? { cells: TILE_LIMITS.cellsPerSide } : {}),
    format: format === MLT_FORMAT ? 'mlt' : 'mvt',
    encoding: coding,
    gzipMinBytes: GZIP_MIN_BYTES,
  });
  const { data, tag, features, dropped } = result;
  const encoding = findCompression(result.encoding);
  return newTile(request, data, format.mediaType, encoding, data.byteLength === 0, {
    tag,
    features,
    dropped,
  });
}

/** The tile in the stored form of the archive, or in the other encoding of vector tiles. */
async function stored(x: TaskContext, pools: Pools, request: TileRequest): Promise<Tile> {
  const { collections, at, format } = request;
  const archive = collections[0] as ArchiveCollection;
  const tile = await archiveTile(x, pools, archive, at);
  const isOther = format.name !== archive.format && tile.data.byteLength > 0;
  const to = format === MLT_FORMAT ? 'mlt' : 'mvt';
  const result = isOther ? await runTask(x, pools, 'vector.transcode', { tile, to }) : tile;
  const encoding = findCompression(result.encoding);
  return newTile(request, result.data, format.mediaType, encoding, result.data.byteLength === 0);
}

/** A separately rendered image, in the encoding of images that are cut from a metatile. */
async function draw(x: TaskContext, pools: Pools, request: TileRequest): Promise<Tile> {
  const { collections, at, format, scale = 1, selection, batch } = request;
  const size = sizeInPixels(request);
  const { tiles, lost } = await renderImage(x, pools, {
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
  return newTile(request, data, format.mediaType, undefined, empty, { lost });
}
