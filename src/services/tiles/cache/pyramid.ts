import type { Box } from '../../../core/geometry/box.js';
import { type Format, isVectorFormat } from '../../../core/http/media.js';
import {
  matrixSize,
  type TileLimits,
  type TileMatrixSet,
  tileBox,
  tileLimits,
} from '../../../core/tiles/tile-matrix.js';
import { extentInSet } from '../extent.js';
import type { TileAddress, TileRequest } from '../request.js';

/**
 * Addresses of cached tiles that differ only in their address. An edit finds the tiles that it touches by rows and
 * columns, however many tiles there are. An edit therefore keeps the version of its collection.
 */
export class Pyramid<T> {
  readonly #zooms = new Map<number, Map<number, T>>();
  entries = 0;
  /** Bytes of all tiles in responses. A body that several tiles share counts for each tile. */
  bytes = 0;

  readonly layerIds: readonly number[];
  readonly #set: TileMatrixSet;
  readonly #format: Format;

  /** `tile` is any of the tiles. It is not kept, because it can refer to a complete catalog. */
  constructor(
    readonly name: string,
    tile: TileRequest,
  ) {
    this.layerIds = tile.collections.map(({ layerId }) => layerId);
    this.#set = tile.at.set;
    this.#format = tile.format;
  }

  add(at: TileAddress, tile: T, bytes: number): void {
    let zoom = this.#zooms.get(at.zoom);
    if (!zoom) this.#zooms.set(at.zoom, (zoom = new Map()));
    zoom.set(computePlace(at), tile);
    this.entries++;
    this.bytes += bytes;
  }

  delete(at: TileAddress, bytes: number): void {
    const zoom = this.#zooms.get(at.zoom);
    if (!zoom?.delete(computePlace(at))) return;
    if (zoom.size === 0) this.#zooms.delete(at.zoom);
    this.entries--;
    this.bytes -= bytes;
  }

  /** Every tile. */
  *all(): Iterable<T> {
    for (const zoom of this.#zooms.values()) yield* zoom.values();
  }

  /** The tiles that show something of an area in CRS84, or may. */
  *touchedBy(area84: Box): Iterable<T> {
    const extent = findExtent(this.#set, area84);
    for (const [zoom, tiles] of this.#zooms) {
      const window = touchedTiles(this.#set, this.#format, zoom, extent);
      if (!window) continue;
      const { columns } = matrixSize(this.#set, zoom);
      if (tilesIn(window) > tiles.size) {
        for (const [place, tile] of tiles) {
          const column = place % columns;
          if (contains(window, (place - column) / columns, column)) yield tile;
        }
        continue;
      }
      for (let row = window.minTileRow; row <= window.maxTileRow; row++) {
        for (let column = window.minTileCol; column <= window.maxTileCol; column++) {
          const tile = tiles.get(row * columns + column);
          if (tile !== undefined) yield tile;
        }
      }
    }
  }
}

/** Whether a tile shows something of an area in CRS84, or may. */
export function touches({ at, format }: TileRequest, area84: Box): boolean {
  const { set, zoom, row, column } = at;
  const window = touchedTiles(set, format, zoom, findExtent(set, area84));
  return window !== undefined && contains(window, row, column);
}

const extents = new WeakMap<Box, Map<TileMatrixSet, Box | undefined>>();

/** The extent of an area in a set. It is cached, because an area is checked for many tiles and PROJ is slow. */
function findExtent(set: TileMatrixSet, area84: Box): Box | undefined {
  let extent = extents.get(area84);
  if (!extent) extents.set(area84, (extent = new Map()));
  if (!extent.has(set)) extent.set(set, extentInSet(set, area84));
  return extent.get(set);
}

/**
 * Tiles that show a part of the extent. Vector tiles include features within a 64th of their side around them.
 * Symbols in images reach further.
 */
function touchedTiles(
  set: TileMatrixSet,
  format: Format,
  zoom: number,
  extent: Box | undefined,
): TileLimits | undefined {
  if (!extent) return undefined;
  const [minx, miny, maxx, maxy] = tileBox(set, zoom, 0, 0);
  const reach = isVectorFormat(format) ? 1 / 32 : 1 / 4;
  const [dx, dy] = [(maxx - minx) * reach, (maxy - miny) * reach];
  const window = tileLimits(set, zoom, [extent[0] - dx, extent[1] - dy, extent[2] + dx, extent[3] + dy]);
  if (!window) return undefined;
  // The first column of a merged tile identifies it.
  const merged = Math.max(1, ...set.matrices[zoom]!.variableWidths.map(({ coalesce }) => coalesce));
  return merged === 1 ? window : { ...window, minTileCol: Math.max(0, window.minTileCol - merged + 1) };
}

function contains(window: TileLimits, row: number, column: number): boolean {
  const { minTileRow, maxTileRow, minTileCol, maxTileCol } = window;
  return row >= minTileRow && row <= maxTileRow && column >= minTileCol && column <= maxTileCol;
}

function tilesIn({ minTileRow, maxTileRow, minTileCol, maxTileCol }: TileLimits): number {
  return (maxTileRow - minTileRow + 1) * (maxTileCol - minTileCol + 1);
}

/** Rows and columns as one number: matrices of sets in use have far fewer than 2^53 tiles. */
function computePlace({ set, zoom, row, column }: TileAddress): number {
  return row * matrixSize(set, zoom).columns + column;
}

/** Whether the place of a tile is a number that no other tile has. */
export function hasPlace(set: TileMatrixSet, zoom: number): boolean {
  const { columns, rows } = matrixSize(set, zoom);
  return Number.isSafeInteger(columns * rows);
}
