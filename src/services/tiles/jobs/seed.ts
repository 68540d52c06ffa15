import { ApiError } from '../../../core/errors/errors.js';
import type { MakingOptions } from './make.js';
import { makeTiles } from './make.js';
import { TileProgress } from './progress.js';
import type { TileTally } from './tally.js';
import type { TileWork } from './work.js';

export interface TileSeedOptions extends MakingOptions {
  progress(tally: TileTally, tilesPerSecond: number): void;
}

/** Failure that counts a tile with missing rasters, because no cache stores such a tile. */
const INCOMPLETE_TILE = new ApiError('unavailable', 'Some of its rasters could not be read.');

/** Renders and caches the tiles of a selection. Cached tiles cost only a look-up. */
export async function seedTiles(
  work: TileWork,
  options: TileSeedOptions,
): Promise<{ tally: TileTally; failures: string[] }> {
  const most = work.selection.maxTiles ?? Number.POSITIVE_INFINITY;
  const progress = new TileProgress(work.total, undefined, options.progress);
  for await (const step of makeTiles(work, options)) {
    progress.count(
      step.isLossy ? { ...step, body: undefined, isLossy: false, failure: INCOMPLETE_TILE } : step,
    );
    if (progress.tally.tiles >= most) break;
  }
  return { tally: progress.tally, failures: progress.failures };
}
