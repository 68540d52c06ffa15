import { LRUCache } from 'lru-cache';
import { hasCoverage } from '../../core/catalog/abilities.js';
import type { Box } from '../../core/geometry/box.js';
import { around } from '../../core/geometry/box.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { matrixSize, tileBox } from '../../core/tiles/tile-matrix.js';
import type { TaskContext } from '../kit/run-task.js';
import { renderImage } from '../maps/render.js';
import type { TileBlock } from './cache/tile-cache.js';
import { pyramidKey, type TileRequest, tileKey } from './request.js';
import type { KeyedTileRequest, Tile } from './tile.js';
import { newTile } from './tile.js';

/** Tiles per side of a metatile, and pixels that it may have per side. */
const MAX_SIDE = 4;
const MAX_PIXELS = 2048;
/**
 * Limits of a metatile: bytes of its features (as a vector tile) and milliseconds. If one is exceeded, later
 * metatiles there are smaller, because a client waits for one of the tiles. Bytes also work when the server is busy.
 */
const HEAVY_BYTES = 262_144;
const SLOW_MS = 2000;
const MAX_REMEMBERED = 1000;

/** Tiles per side where metatiles of `MAX_SIDE` are too much: by pyramid and zoom. */
const smaller = new LRUCache<string, number>({ max: MAX_REMEMBERED });

/**
 * The tiles that are drawn together with a tile: the square of its neighbours, aligned to its side, within the
 * matrix. The tile itself is at `index`.
 */
export function computeTileBlock(tile: TileRequest): TileBlock {
  const { at } = tile;
  const place = `${pyramidKey(tile)}/${at.zoom}`;
  const side = Math.min(computeSide(tile), smaller.get(place) ?? MAX_SIDE);
  const { columns, rows } = matrixSize(at.set, at.zoom);
  const [row, column] = [at.row - (at.row % side), at.column - (at.column % side)];
  const [height, width] = [Math.min(side, rows - row), Math.min(side, columns - column)];
  const tiles: KeyedTileRequest[] = [];
  for (let r = row; r < row + height; r++)
    for (let c = column; c < column + width; c++) tiles.push(neighbour(tile, r, c));
  const index = (at.row - row) * width + (at.column - column);
  return { key: `${place}/${side}/${row}/${column}`, tiles, width, height, index };
}

/**
 * Tiles per side of a metatile. 1 if tiles are merged, so that neighbours differ in size, and if all collections are
 * rasters.
 * Raster metatiles would save a seventh of the warp for clients that request all tiles. A client that requests one
 * tile would pay for three more (bench cog-tiles).
 */
function computeSide({ at, collections, scale = 1 }: TileRequest): number {
  const { tileWidth, tileHeight, variableWidths } = at.set.matrices[at.zoom]!;
  if (variableWidths.length > 0) return 1;
  // Warping costs the same for each pixel, and GDAL keeps the blocks that neighbours share.
  if (collections.every(hasCoverage)) return 1;
  const fitting = Math.floor(MAX_PIXELS / (Math.max(tileWidth, tileHeight) * scale));
  return Math.max(1, Math.min(MAX_SIDE, 2 ** Math.floor(Math.log2(Math.max(1, fitting)))));
}

function neighbour(tile: TileRequest, row: number, column: number): KeyedTileRequest {
  const { format, collections, at, scale, batch } = tile;
  const { set, zoom } = at;
  const request = { format, collections, at: { set, zoom, row, column }, scale, batch };
  return { ...request, key: tileKey(request) };
}

/** Draws all tiles of a block in one image, in their order. Rejects with an `ApiError`. */
export async function drawBlock(x: TaskContext, pools: Pools, block: TileBlock): Promise<Tile[]> {
  const { tiles, width, height, index } = block;
  const { at, collections, format, scale = 1, batch } = tiles[index]!;
  const { tileWidth, tileHeight, cornerOfOrigin } = at.set.matrices[at.zoom]!;
  const cut = { width: tileWidth * scale, height: tileHeight * scale };
  const started = performance.now();
  const {
    tiles: images,
    vectorBytes,
    lost,
  } = await renderImage(x, pools, {
    collections,
    bbox: boxAround(block),
    crs: at.set.crs.proj,
    width: cut.width * width,
    height: cut.height * height,
    background: 'transparent',
    format: format.name === 'webp' ? 'webp' : 'png',
    scale,
    cut,
    batch,
  });
  if (vectorBytes > HEAVY_BYTES || performance.now() - started > SLOW_MS)
    shrink(tiles[index]!, Math.max(width, height));
  return tiles.map((tile, i) => {
    const row = Math.floor(i / width);
    // The image starts at the top, but rows of some matrices are counted from the bottom.
    const fromTop = cornerOfOrigin === 'topLeft' ? row : height - 1 - row;
    const { data, empty } = images![fromTop * width + (i % width)]!;
    return newTile(tile, data, format.mediaType, undefined, empty, { lost });
  });
}

function boxAround({ tiles }: TileBlock): Box {
  const corners = [tiles[0]!, tiles[tiles.length - 1]!].map(({ at }) =>
    tileBox(at.set, at.zoom, at.row, at.column),
  );
  return around(corners[0]!, corners[1]!);
}

function shrink(tile: TileRequest, side: number): void {
  smaller.set(`${pyramidKey(tile)}/${tile.at.zoom}`, Math.max(1, side >> 1));
}
