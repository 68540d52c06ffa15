/**
 * Statistics of all pixels of a window, as metadata of its bands. GDAL's own statistics include masked pixels (GDAL
 * 3.6), or try to open the dataset by a name that it does not have (GDAL 3.10).
 */

import type { RasterBand } from 'gdal-async';
import { ALL_VALID, type Dataset } from '../../gdal/gdal.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { type BandStatistics, Moments } from '../pixels/statistics.js';

/** Number of pixels in one read. */
const STRIP_PIXELS = 1 << 20;
/** Significant digits, the same as in GDAL. */
const DIGITS = 14;
const PERCENT_DIGITS = 4;

/**
 * Sets the statistics of each band of real numbers that has a valid pixel. The dataset must be one of the server's
 * own datasets, in memory.
 */
export async function setStatistics(view: Dataset, cancellation: Cancellation): Promise<void> {
  for (let number = 1; number <= view.bands.count(); number++) {
    const band = view.bands.get(number);
    if (band.dataType?.startsWith('C')) continue;
    const moments = await loadMoments(band, cancellation);
    const statistics = moments.statistics();
    if (!statistics) continue;
    const { x, y } = band.size;
    await band.setMetadataAsync({
      ...(band.getMetadata() as object),
      ...items(statistics, moments.count / (x * y)),
    });
  }
}

async function loadMoments(band: RasterBand, cancellation: Cancellation): Promise<Moments> {
  const moments = new Moments();
  const mask = (band.getMaskFlags() & ALL_VALID) === 0 ? band.getMaskBand() : null;
  const { x: width, y: height } = band.size;
  const rows = Math.max(1, Math.floor(STRIP_PIXELS / width));
  for (let top = 0; top < height; top += rows) {
    const count = Math.min(rows, height - top);
    const values = undefined as Float64Array | undefined;
    const strip = await band.pixels.readAsync(0, top, width, count, values, { data_type: 'Float64' });
    const valid = mask && (await mask.pixels.readAsync(0, top, width, count));
    for (let i = 0; i < strip.length; i++) if (valid?.[i] !== 0) moments.add(strip[i]!);
    cancellation.check();
  }
  return moments;
}

function items({ min, max, mean, stdDev }: BandStatistics, share: number): Record<string, string> {
  const digits = (value: number, places: number) => String(Number(value.toPrecision(places)));
  return {
    STATISTICS_MAXIMUM: digits(max, DIGITS),
    STATISTICS_MEAN: digits(mean, DIGITS),
    STATISTICS_MINIMUM: digits(min, DIGITS),
    STATISTICS_STDDEV: digits(stdDev, DIGITS),
    STATISTICS_VALID_PERCENT: digits(100 * share, PERCENT_DIGITS),
  };
}
