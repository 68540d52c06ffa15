/** Several rasters on one grid. */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { Resampling } from '../../../core/rasters/rasters.js';
import { sameCrs } from '../../gdal/crs.js';
import { type Dataset, gdal, resamplingName } from '../../gdal/gdal.js';
import { Scratch } from '../../gdal/scratch.js';
import { type GeoTransform, getGeoreference } from '../../rasters/georeference.js';
import type { RasterShape } from '../../rasters/pixels/blocks.js';
import type { DatasetView } from '../../rasters/pixels/continuous.js';

/** The same corner and pixels, up to rounding: a thousandth of a pixel. */
const SAME = 1e-3;

/**
 * Returns a raster on the pixels of another raster, which run from north to south. Pixels outside it have no value.
 */
async function viewOn(
  dataset: Dataset,
  lead: Dataset,
  shape: RasterShape,
  resampling: Resampling,
): Promise<DatasetView> {
  if (isOnGrid(dataset, lead, shape)) return { dataset, close() {} };
  const { northUp, crs } = getGeoreference(lead);
  if (!northUp) throw new TaskFailure('invalid-input', 'The first raster is rotated. Reproject it first.');
  const [west, width, , north, , height] = shape.geoTransform;
  const extent = [west, north + shape.height * height, west + shape.width * width, north];
  const args = [
    ...['-of', 'VRT', '-ot', 'Float64', '-dstnodata', 'nan', '-r', resamplingName(resampling)],
    ...['-t_srs', crs.text, '-te', ...extent.map(String), '-ts', String(shape.width), String(shape.height)],
  ];
  const scratch = new Scratch(false);
  const view = await gdal.warpAsync(scratch.path('.vrt'), null, [dataset], args);
  const close = () => {
    view.close();
    void scratch.discard();
  };
  return { dataset: view, close };
}

function isOnGrid(dataset: Dataset, lead: Dataset, shape: RasterShape): boolean {
  const { x, y } = dataset.rasterSize;
  if (x !== shape.width || y !== shape.height) return false;
  if (dataset === lead && isSame(getGeoreference(lead).geoTransform, shape.geoTransform)) return true;
  const { geoTransform, crs } = getGeoreference(dataset);
  return isSame(geoTransform, shape.geoTransform) && sameCrs(crs, getGeoreference(lead).crs);
}

function isSame(a: GeoTransform, b: GeoTransform): boolean {
  const side = Math.max(Math.abs(a[1]), Math.abs(a[2]));
  const last = side * SAME;
  // Sides add up over all columns and rows.
  return a.every((value, i) => Math.abs(value - b[i]!) <= (i % 3 === 0 ? last : last * 1e-4));
}

/** Views that are closed together. */
export async function withViews<T>(
  datasets: readonly Dataset[],
  shape: RasterShape,
  resampling: Resampling,
  use: (views: Dataset[]) => Promise<T>,
): Promise<T> {
  const views: DatasetView[] = [];
  try {
    for (const dataset of datasets) views.push(await viewOn(dataset, datasets[0]!, shape, resampling));
    return await use(views.map((view) => view.dataset));
  } finally {
    for (const view of views) view.close();
  }
}
