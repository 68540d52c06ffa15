/** Approximate band statistics. They are computed from a small sample and never written next to the data. */

import type { RasterBand } from 'gdal-async';
import type { RasterHandle } from '../handles.js';

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

/** Returns the statistics of a 1-based band. Null if the sample does not contain a valid pixel. */
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
  const moments = new Moments();
  for (const sample of await readBandSamples(band)) {
    for (const value of sample) if (value !== noData) moments.add(value);
  }
  return moments.statistics();
}

/** Count, extremes, mean and variance of values that come one by one (Welford's recurrence). */
export class Moments {
  count = 0;
  #min = Infinity;
  #max = -Infinity;
  #mean = 0;
  #squares = 0;

  /** Adds a value. Values that are not finite are ignored. */
  add(value: number): void {
    if (!Number.isFinite(value)) return;
    this.count += 1;
    const delta = value - this.#mean;
    this.#mean += delta / this.count;
    this.#squares += delta * (value - this.#mean);
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  /** Null while there is no value. */
  statistics(): BandStatistics | null {
    if (this.count === 0) return null;
    return {
      min: this.#min,
      max: this.#max,
      mean: this.#mean,
      stdDev: Math.sqrt(this.#squares / this.count),
    };
  }
}

/** Returns values from all parts of a band. The samples of the bands of one raster are from the same pixels. */
export async function readBandSamples(band: RasterBand): Promise<Float64Array[]> {
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
