import type { Box } from '../../../core/geometry/box.js';
import { around } from '../../../core/geometry/box.js';
import { firstColumn, matrixSize, type TileMatrixSet, tileBox } from '../../../core/tiles/tile-matrix.js';
import { hilbertIndex } from '../../../core/values/hilbert.js';
import { countRangeTiles, type TileRange } from './area.js';

/** Returns for each box, in the CRS of the set, whether it can contain data. */
export type OccupancyCheck = (boxes: readonly Box[]) => Promise<readonly boolean[]>;

export interface WalkOptions {
  set: TileMatrixSet;
  zoom: number;
  ranges: readonly TileRange[];
  /** Tiles before this position of the walk are skipped. */
  from: number;
  /** Tiles from this position are skipped. Default: no end. */
  to?: number;
  /** Undefined if occupancy is unknown: then every tile is visited. */
  occupied: OccupancyCheck | undefined;
}

/** A tile to render, or a number of empty tiles. `next` is the position at which the walk resumes. */
export type WalkStep = { row: number; column: number; next: number } | { skipped: number; next: number };

/** A square of 2^level tiles a side, at a multiple of its size. */
export interface Block {
  level: number;
  /** In blocks of this size. */
  row: number;
  column: number;
}

/** Number of levels by which a block is split in one step: 64 parts, checked together. */
const SPLIT = 3;

/**
 * Visits the tiles of one zoom in the order of the Hilbert curve, which is the order of PMTiles ids. Blocks without
 * data are skipped completely, because missing data is missing at every zoom. Only the spatial index excludes blocks:
 * an empty parent tile proves no absence if features are dropped.
 */
export async function* walk(options: WalkOptions): AsyncGenerator<WalkStep> {
  const order = computeBlockLevels(options.set, options.zoom);
  // A zoom of one tile is one block, which is never divided.
  if (options.from >= 4 ** order) return;
  yield* visit({ level: order, row: 0, column: 0 }, { ...options, order });
}

/** Levels of the smallest square block, at the top left corner, that contains all tiles of a zoom. */
export function computeBlockLevels(set: TileMatrixSet, zoom: number): number {
  const { columns, rows } = matrixSize(set, zoom);
  return Math.ceil(Math.log2(Math.max(columns, rows, 1)));
}

type Walk = WalkOptions & { order: number };

async function* visit(block: Block, options: Walk): AsyncGenerator<WalkStep> {
  if (block.level === 0) {
    yield single(block, options);
    return;
  }
  const parts = split(block, options);
  const occupied = await options.occupied?.(parts.map((part) => computeBox(part, options)));
  for (const [i, part] of parts.entries()) {
    if (occupied?.[i] === false) {
      const skipped = countRangeTiles(options.ranges.flatMap((range) => clipped(part, range)));
      yield { skipped, next: blockEnd(part, options.order) };
    } else {
      yield* visit(part, options);
    }
  }
}

/** Columns that a set merges into one tile near the poles are visited once, as the first of them. */
function single(block: Block, options: Walk): WalkStep {
  const { row, column } = block;
  const first = firstColumn(options.set.matrices[options.zoom]!, row, column);
  const before = { ...block, column: column - 1 };
  const isDone = column > first && options.ranges.some((range) => clipped(before, range).length > 0);
  const next = blockEnd(block, options.order);
  return isDone ? { skipped: 1, next } : { row, column: first, next };
}

/** Place of the first tile behind a block. */
export function blockEnd(block: Block, order: number): number {
  return (hilbertIndex(order - block.level, block.column, block.row) + 1) * 4 ** block.level;
}

/** The parts of a block that intersect a range and end after the start position, in walk order. */
function split(block: Block, options: Walk): Block[] {
  const by = Math.min(SPLIT, block.level);
  const level = block.level - by;
  const parts: { part: Block; end: number }[] = [];
  for (let i = 0; i < 4 ** by; i++) {
    const row = block.row * 2 ** by + Math.floor(i / 2 ** by);
    const part = { level, row, column: block.column * 2 ** by + (i % 2 ** by) };
    if (!options.ranges.some((range) => clipped(part, range).length > 0)) continue;
    const behind = blockEnd(part, options.order);
    const isWithin = behind > options.from && behind - 4 ** level < (options.to ?? Number.POSITIVE_INFINITY);
    if (isWithin) parts.push({ part, end: behind });
  }
  return parts.sort((a, b) => a.end - b.end).map(({ part }) => part);
}

/** The tiles of a block within a range. Empty if they do not intersect. */
export function clipped({ level, row, column }: Block, range: TileRange): TileRange[] {
  const side = 2 ** level;
  const part = {
    minRow: Math.max(row * side, range.minRow),
    maxRow: Math.min((row + 1) * side - 1, range.maxRow),
    minColumn: Math.max(column * side, range.minColumn),
    maxColumn: Math.min((column + 1) * side - 1, range.maxColumn),
  };
  return part.minRow <= part.maxRow && part.minColumn <= part.maxColumn ? [part] : [];
}

/** Extent of the tiles of a block that are within the ranges. */
function computeBox(block: Block, { set, zoom, ranges }: Walk): Box {
  const parts = ranges.flatMap((range) => clipped(block, range));
  const first = tileBox(
    set,
    zoom,
    Math.min(...parts.map((p) => p.minRow)),
    Math.min(...parts.map((p) => p.minColumn)),
  );
  const last = tileBox(
    set,
    zoom,
    Math.max(...parts.map((p) => p.maxRow)),
    Math.max(...parts.map((p) => p.maxColumn)),
  );
  return around(first, last);
}
