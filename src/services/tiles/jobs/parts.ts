import type { PartState } from '../../jobs/kinds.js';
import { countRangeTiles } from './area.js';
import { newTally, type Position, type TileTally } from './tally.js';
import { type Block, blockEnd, clipped, computeBlockLevels } from './walk.js';
import type { TileWork } from './work.js';

/** A stretch of the walk through the tiles of a job. */
export interface TilePart {
  from: Position;
  to: Position;
}

/** Results of the tiles of a part. */
export interface PartResult {
  tally: TileTally;
  failures: string[];
}

/** Addresses of a part at least: a second's work of tiles, and some seconds' of maps. */
export const PART_TILES = 512;
/** Maximum number of parts of a job. */
const PARTS = 2000;

/** Divides the walk into parts with about the same number of addresses. Each tile is in exactly one part. */
export function cutWork(work: TileWork, tiles = Math.max(PART_TILES, work.total / PARTS)): TilePart[] {
  const parts: TilePart[] = [];
  let from: Position = { zoom: work.selection.minZoom, next: 0 };
  let count = 0;
  for (const { position, addresses } of blocks(work, tiles)) {
    count += addresses;
    if (count < tiles) continue;
    parts.push({ from, to: position });
    from = position;
    count = 0;
  }
  const { maxZoom } = work.selection;
  const end = { zoom: maxZoom, next: 4 ** computeBlockLevels(work.set, maxZoom) };
  if (count > 0) parts.push({ from, to: end });
  return parts;
}

/** Blocks of the walk with at most this number of addresses each, in walk order, with the position after each. */
function* blocks(work: TileWork, tiles: number): Generator<{ position: Position; addresses: number }> {
  for (const [zoom, ranges] of work.ranges) {
    const order = computeBlockLevels(work.set, zoom);
    const countAddresses = (block: Block) =>
      countRangeTiles(ranges.flatMap((range) => clipped(block, range)));
    const visit = function* (block: Block): Generator<{ position: Position; addresses: number }> {
      const addresses = countAddresses(block);
      if (addresses === 0) return;
      if (addresses > tiles && block.level > 0) {
        for (const quarter of quarters(block, order)) yield* visit(quarter);
      } else {
        yield { position: { zoom, next: blockEnd(block, order) }, addresses };
      }
    };
    yield* visit({ level: order, row: 0, column: 0 });
  }
}

/** In the order of the Hilbert curve. */
function quarters({ level, row, column }: Block, order: number): Block[] {
  return [0, 1, 2, 3]
    .map((i) => ({ level: level - 1, row: row * 2 + (i >> 1), column: column * 2 + (i & 1) }))
    .sort((a, b) => blockEnd(a, order) - blockEnd(b, order));
}

/** The tally of all parts together. For running parts, the last reported tally. */
export function mergePartTallies(states: readonly PartState[], total: number): TileTally {
  const sum = newTally(total);
  for (const { result, progress } of states) {
    const tally = (result as PartResult | undefined)?.tally ?? (progress as TileTally | undefined);
    if (!tally) continue;
    sum.processed += tally.processed;
    sum.tiles += tally.tiles;
    sum.bytes += tally.bytes;
    sum.failed += tally.failed;
    sum.lossy += tally.lossy ?? 0;
  }
  return sum;
}
