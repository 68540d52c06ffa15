/** The overview that a window of a raster is read from. */

import type { Dataset } from '../../gdal/gdal.js';

export interface RasterLevel {
  /** GDAL's number of the overview; absent: the raster itself. */
  overview?: number;
  /** Size of a pixel of this level in pixels of the raster: the geometric mean of both axes. */
  factor: number;
}

const byDataset = new WeakMap<Dataset, RasterLevel[]>();

/**
 * Maximum ratio by which pixels can be larger than a window's pixels and still not count as coarser. Rounding must
 * not select the next finer level.
 */
const TOLERANCE = 1.01;

/** The coarsest level for a window whose pixel covers `shrink` pixels of the raster: the pixels of the level are not larger than those of the window. */
export function chooseLevel(dataset: Dataset, shrink: number): RasterLevel {
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
