/** The overview that a window of a raster is read from. */

import type { Dataset } from '../../gdal/gdal.js';

export interface RasterLevel {
  /** GDAL's number of the overview; absent: the raster itself. */
  overview?: number;
  /** Pixels of the raster along one of this level, by the mean of both sides. */
  factor: number;
}

const byDataset = new WeakMap<Dataset, RasterLevel[]>();

/**
 * Maximum ratio by which pixels can be larger than a window's pixels and still not count as coarser. Rounding must
 * not select the next finer level.
 */
const TOLERANCE = 1.01;

/** The coarsest level that is not coarser than so many pixels of the raster to one of the window. */
export function levelFor(dataset: Dataset, shrink: number): RasterLevel {
  let best: RasterLevel = { factor: 1 };
  for (const level of listLevels(dataset))
    if (level.factor <= shrink * TOLERANCE && level.factor > best.factor) best = level;
  return best;
}

/** Overviews that all bands have. GDAL opens only those as datasets. */
function listLevels(dataset: Dataset): RasterLevel[] {
  let levels = byDataset.get(dataset);
  if (!levels) byDataset.set(dataset, (levels = readLevels(dataset)));
  return levels;
}

function readLevels({ bands }: Dataset): RasterLevel[] {
  const [first, ...others] = Array.from({ length: bands.count() }, (_, index) => bands.get(index + 1));
  const sizes = (band: typeof first) =>
    Array.from({ length: band!.overviews.count() }, (_, index) => band!.overviews.get(index).size);
  const all = others.map(sizes);
  return sizes(first).flatMap(({ x, y }, overview) =>
    all.every((list) => list[overview]?.x === x && list[overview].y === y)
      ? [{ overview, factor: Math.sqrt((first!.size.x / x) * (first!.size.y / y)) }]
      : [],
  );
}
