import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { isVectorFormat } from '../../../core/http/media.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { OccupancyCheck } from './walk.js';
import type { TileWork } from './work.js';

/**
 * Margins around a tile within which features can appear in it, as fractions of its side: clip buffers, map symbols.
 */
const MARGIN_MVT = 1 / 32;
const MARGIN_IMAGE = 1 / 8;

/**
 * Check of the spatial indexes for data in boxes. Undefined if a collection can be anywhere in its extent: rasters,
 * archives.
 */
export function occupancy(
  { set, format }: TileWork,
  collections: readonly Collection[],
  pools: Pools,
  signal: AbortSignal,
): OccupancyCheck | undefined {
  if (!collections.every(hasFeatures)) return undefined;
  const sources = collections.map((collection) => collection.rule?.stored ?? collection.source);
  const margin = isVectorFormat(format) ? MARGIN_MVT : MARGIN_IMAGE;
  return async (boxes) => {
    const wide = boxes.map(([minx, miny, maxx, maxy]) => {
      const by = Math.max(maxx - minx, maxy - miny) * margin;
      return [minx - by, miny - by, maxx + by, maxy + by] as const;
    });
    const answers = boxes.map(() => false);
    for (const source of sources) {
      if (!answers.includes(false)) break;
      const answer = await pools.run(
        'vector.occupied',
        { source, crs: set.crs.proj, boxes: wide },
        { signal },
      );
      answer.forEach((occupied, i) => {
        if (occupied) answers[i] = true;
      });
    }
    return answers;
  };
}
