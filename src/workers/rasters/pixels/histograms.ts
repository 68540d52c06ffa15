/** Task `raster.histograms`. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { BandHistogram, HistogramArea, HistogramTask } from '../../../core/rasters/rasters.js';
import { getCrs } from '../../gdal/crs.js';
import type { Dataset } from '../../gdal/gdal.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { checkedBands, windowView } from '../coverage.js';
import { type AreaGrid, computeCoverageGrid } from '../coverage-grid.js';
import { getGeoreference } from '../georeference.js';
import { type RasterHandle, withRaster } from '../handles.js';
import { checkedParts } from './continuous.js';
import { polygonMask } from './polygon-mask.js';
import { Moments, readBandSamples } from './statistics.js';

const BINS = 256;

interface Answer {
  bands: (BandHistogram | null)[];
}

export function histograms(task: HistogramTask, cancellation: Cancellation): Promise<Answer> {
  return withRaster(
    task.source,
    async (handle) => {
      const numbers = checkedBands(task.bands, handle.dataset.bands.count());
      return { bands: await listCounts(handle, numbers, task.area, cancellation) };
    },
    task.at,
  );
}

async function listCounts(
  handle: RasterHandle,
  numbers: readonly number[],
  area: HistogramArea | undefined,
  cancellation: Cancellation,
): Promise<Answer['bands']> {
  if (area) return countsWithin(await handle.bands(numbers), area, cancellation);
  const counts: Answer['bands'] = [];
  for (const number of numbers) {
    const band = handle.dataset.bands.get(number);
    const noData = band.noDataValue;
    const samples = (await readBandSamples(band)).map((sample) => sample.filter((value) => value !== noData));
    cancellation.check();
    counts.push(findHistogram(samples, band.dataType));
  }
  return counts;
}

/** Fails with `no-data` where the area does not touch the raster, and with `too-large`. */
async function countsWithin(
  dataset: Dataset,
  { bbox, crs, polygons, pixel, maxPixels }: HistogramArea,
  cancellation: Cancellation,
): Promise<Answer['bands']> {
  const { crs: own, northUp } = getGeoreference(dataset);
  if (!northUp)
    throw new TaskFailure(
      'invalid-input',
      'The values of a rotated raster cannot be counted. Reproject it first.',
    );
  const partsCrs = getCrs(crs);
  const place = { parts: checkedParts(bbox, partsCrs), partsCrs, crs: own };
  const view = await windowView(dataset, place);
  try {
    const size = { crs: own.text, ...(pixel ? { pixel } : {}), maxSize: maxPixels };
    const grid = await computeCoverageGrid(size, place, view.dataset);
    if (grid.width * grid.height > maxPixels)
      throw new TaskFailure('too-large', `The area has more than ${maxPixels} pixels.`);
    const mask = polygons && (await polygonMask(polygons, partsCrs, grid));
    const counts: Answer['bands'] = [];
    for (let number = 1; number <= dataset.bands.count(); number++) {
      const band = view.dataset.bands.get(number);
      const values = await validValues(band, grid, mask);
      cancellation.check();
      counts.push(findHistogram([values], band.dataType));
    }
    return counts;
  } finally {
    view.close();
  }
}

/** Values of the grid that are valid, and in the mask. Larger pixels have the value of one in them. */
async function validValues(
  band: RasterBand,
  { window, width, height }: AreaGrid,
  mask: Uint8Array | undefined,
): Promise<Float64Array> {
  const [column, row, columns, rows] = window!;
  const size = { buffer_width: width, buffer_height: height };
  const read = { ...size, data_type: 'Float64' };
  const none = undefined as Float64Array | undefined;
  const values = await band.pixels.readAsync(column, row, columns, rows, none, read);
  const valid = await band
    .getMaskBand()
    ?.pixels.readAsync(column, row, columns, rows, undefined as Uint8Array | undefined, size);
  return values.filter((_, i) => valid?.[i] !== 0 && mask?.[i] !== 0);
}

/**
 * Bins in GDAL's layout: one for each value of a byte, otherwise with the extremes in the middle of the outermost
 * bins.
 */
function findHistogram(samples: readonly Float64Array[], type: string | null): BandHistogram | null {
  const moments = new Moments();
  for (const sample of samples) for (const value of sample) moments.add(value);
  const statistics = moments.statistics();
  if (!statistics) return null;
  const { min, max } = statistics;
  const half = type === 'Byte' ? 0.5 : (max - min) / (2 * (BINS - 1)) || 0.5;
  const [from, to] = type === 'Byte' ? [-half, BINS - half] : [min - half, max + half];
  const counts = new Array<number>(BINS).fill(0);
  const scale = BINS / (to - from);
  for (const sample of samples)
    for (const value of sample) {
      const bin = Math.min(BINS - 1, Math.floor((value - from) * scale));
      if (Number.isFinite(value)) counts[bin]! += 1;
    }
  return { count: moments.count, ...statistics, histogram: { from, to, counts } };
}
