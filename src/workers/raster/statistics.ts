/** Approximate band statistics, computed from a small sample and never written beside the data. */

import type { RasterBand } from 'gdal-async';
import type { RasterHandle } from './handles.js';

export interface BandStatistics {
  min: number;
  max: number;
  mean: number;
  stdDev: number;
}

/** Largest side of the decimated read. */
const SAMPLE_SIDE = 256;
/** Rasters of more pixels than this and without overviews are sampled in spots: a decimated read would touch all of it. */
const WHOLE_READ_PIXELS = 16 << 20;
const SPOTS_PER_SIDE = 5;
const SPOT_SIDE = 64;

const CACHE_SIZE = 256;
const cache = new Map<string, { stamp: string; statistics: BandStatistics | null }>();

/** Statistics of a 1-based band; null when it holds no valid pixel in the sample. */
export async function bandStatistics(handle: RasterHandle, number: number): Promise<BandStatistics | null> {
  const key = `${handle.key}#${number}`;
  const hit = cache.get(key);
  if (hit?.stamp === handle.stamp) return hit.statistics;
  const statistics = await computeStatistics(handle.dataset.bands.get(number));
  if (cache.size >= CACHE_SIZE) cache.delete(cache.keys().next().value as string);
  cache.set(key, { stamp: handle.stamp, statistics });
  return statistics;
}

async function computeStatistics(band: RasterBand): Promise<BandStatistics | null> {
  const noData = band.noDataValue;
  const sum = { count: 0, min: Infinity, max: -Infinity, mean: 0, m2: 0 };
  for (const sample of await samplesOf(band)) {
    for (const value of sample) {
      if (!Number.isFinite(value) || value === noData) continue;
      sum.count += 1;
      const delta = value - sum.mean;
      sum.mean += delta / sum.count;
      sum.m2 += delta * (value - sum.mean);
      if (value < sum.min) sum.min = value;
      if (value > sum.max) sum.max = value;
    }
  }
  if (sum.count === 0) return null;
  return { min: sum.min, max: sum.max, mean: sum.mean, stdDev: Math.sqrt(sum.m2 / sum.count) };
}

/** Values of a band, from all over it; those of the bands of one raster are of the same pixels. */
export async function samplesOf(band: RasterBand): Promise<Float64Array[]> {
  const { x: width, y: height } = band.size;
  if (width * height <= WHOLE_READ_PIXELS || band.overviews.count() > 0) {
    const shrink = Math.max(1, Math.max(width, height) / SAMPLE_SIDE);
    return [
      await band.pixels.readAsync(0, 0, width, height, undefined as Float64Array | undefined, {
        buffer_width: Math.max(1, Math.round(width / shrink)),
        buffer_height: Math.max(1, Math.round(height / shrink)),
        data_type: 'Float64',
      }),
    ];
  }
  const samples: Float64Array[] = [];
  for (let row = 0; row < SPOTS_PER_SIDE; row++) {
    for (let column = 0; column < SPOTS_PER_SIDE; column++) {
      const x = Math.floor(((width - SPOT_SIDE) * column) / (SPOTS_PER_SIDE - 1));
      const y = Math.floor(((height - SPOT_SIDE) * row) / (SPOTS_PER_SIDE - 1));
      const spot = undefined as Float64Array | undefined;
      samples.push(await band.pixels.readAsync(x, y, SPOT_SIDE, SPOT_SIDE, spot, { data_type: 'Float64' }));
    }
  }
  return samples;
}
