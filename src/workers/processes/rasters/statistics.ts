/** Numbers over all pixels of a raster. */

import type { RasterBand } from 'gdal-async';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import type { Dataset } from '../../gdal/gdal.js';
import { splitIntoBlocks } from '../../rasters/pixels/blocks.js';
import { Moments } from '../../rasters/pixels/statistics.js';
import { readWindowValues } from '../../rasters/pixels/values.js';

type OnProgress = (fraction: number) => void;

/** Returns statistics of each band. Pixels without a value count as missing. */
export async function computeBandStatistics({ bands, rasterSize }: Dataset, onProgress: OnProgress) {
  const pixels = rasterSize.x * rasterSize.y;
  const all = [];
  for (let band = 1; band <= bands.count(); band++) {
    const moments = await loadMoments(bands.get(band), (part) =>
      onProgress((band - 1 + part) / bands.count()),
    );
    const { min, max, mean, stdDev } = moments.statistics() ?? NOTHING;
    all.push({
      band,
      count: moments.count,
      missing: pixels - moments.count,
      min,
      max,
      mean,
      stddev: stdDev,
      sum: mean === null ? null : mean * moments.count,
    });
  }
  return all;
}

const NOTHING = { min: null, max: null, mean: null, stdDev: null };

async function loadMoments(band: RasterBand, onProgress: OnProgress): Promise<Moments> {
  const moments = new Moments();
  await eachBlock(band, onProgress, (value) => moments.add(value));
  return moments;
}

/** Returns counts of values in ranges of equal width. The last range includes its upper limit. */
export async function computeHistogram(
  { bands }: Dataset,
  number: number,
  { bins, min, max }: Extract<RasterProcess, { kind: 'histogram' }>,
  onProgress: OnProgress,
) {
  const band = bands.get(number);
  const isBounded = min !== undefined && max !== undefined;
  const range = isBounded ? null : (await loadMoments(band, (part) => onProgress(part / 2))).statistics();
  const [low, high] = [min ?? range?.min ?? 0, max ?? range?.max ?? 0];
  const counts = new Array<number>(bins).fill(0);
  let [below, above] = [0, 0];
  await eachBlock(
    band,
    (part) => onProgress(isBounded ? part : (1 + part) / 2),
    (value) => {
      if (value < low) below++;
      else if (value > high) above++;
      else counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low || 1)) * bins))]! += 1;
    },
  );
  return { band: number, min: low, max: high, counts, below, above };
}

async function eachBlock(
  band: RasterBand,
  onProgress: OnProgress,
  visit: (value: number) => void,
): Promise<void> {
  const { x: width, y: height } = band.size;
  let done = 0;
  for (const box of splitIntoBlocks({ width, height })) {
    for (const value of await readWindowValues(band, box)) if (!Number.isNaN(value)) visit(value);
    done += box.width * box.height;
    onProgress(done / (width * height));
  }
}
