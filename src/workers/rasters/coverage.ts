/** Task `raster.coverage`. */

import { TaskFailure } from '../../core/errors/failure.js';
import { contentTag } from '../../core/http/content-tag.js';
import { type CoverageResult, type CoverageTask, RESAMPLINGS } from '../../core/rasters/rasters.js';
import { getCrs } from '../gdal/crs.js';
import type { Dataset } from '../gdal/gdal.js';
import type { Cancellation } from '../threads/cancellation.js';
import { type CoverageSource, writeGeoTiff } from './cog/coverage-tiff.js';
import { encodeImage, MEDIA_TYPES } from './cog/encode.js';
import { type Area, type AreaGrid, computeCoverageGrid, copiesFor } from './coverage-grid.js';
import { getGeoreference } from './georeference.js';
import { getRasterTraits } from './geotiff/traits.js';
import { type RasterHandle, withRaster } from './handles.js';
import { checkedParts, type DatasetView, repeated } from './pixels/continuous.js';
import { writeLerc } from './pixels/lerc.js';
import { chooseRequestedRendering } from './pixels/look.js';
import { chooseRendering } from './pixels/palette.js';
import { readPicture } from './pixels/picture.js';

const MAX_BANDS = 256;
/** Bytes per pixel of an image while it is drawn: three floats, and twice red, green, blue and alpha. */
const PICTURE_PIXEL_BYTES = 20;

/**
 * Returns the values of a window of the raster. The window is clipped to the raster's extent, unless the complete
 * window is requested. `no-data` if no pixel remains. Fails with `too-large` before data is read.
 */
export function readCoverageWindow(task: CoverageTask, cancellation: Cancellation): Promise<CoverageResult> {
  checkTask(task);
  const crs = getCrs(task.crs);
  const partsCrs = getCrs(task.bboxCrs ?? task.crs);
  const area: Area = { parts: task.bbox ? checkedParts(task.bbox, partsCrs) : null, partsCrs, crs };
  return withRaster(task.source, (handle) => buildAnswer(task, area, handle, cancellation), task.at);
}

async function buildAnswer(
  task: CoverageTask,
  area: Area,
  handle: RasterHandle,
  cancellation: Cancellation,
): Promise<CoverageResult> {
  const bands = checkedBands(task.bands, handle.dataset.bands.count());
  const picture = task.format === 'png';
  const selected = picture ? handle.dataset : await handle.bands(bands);
  const view = await windowView(selected, area);
  try {
    if (task.format === 'lerc') {
      const { bands: traits } = chosenBands(handle.dataset, bands);
      const answer = await writeLerc(task, { view: view.dataset, bands: traits, area }, cancellation);
      return { ...answer, tag: contentTag(answer.data), ...handle.loss };
    }
    const grid = await computeCoverageGrid(task, area, view.dataset);
    cancellation.check();
    const read = { view: view.dataset, repeated: view.dataset !== selected, grid };
    const answer = picture
      ? await writePng(task, handle, view.dataset, grid, cancellation)
      : await writeGeoTiff(task, { ...chosenBands(handle.dataset, bands), ...read }, cancellation);
    const tag = answer.data.length > 0 ? { tag: contentTag(answer.data) } : {};
    return { ...answer, ...tag, width: grid.width, height: grid.height, bbox: grid.box, ...handle.loss };
  } finally {
    view.close();
  }
}

function chosenBands(raster: Dataset, numbers: readonly number[]): Pick<CoverageSource, 'traits' | 'bands'> {
  const traits = getRasterTraits(raster);
  return { traits, bands: numbers.map((number) => traits.bands[number - 1]!) };
}

function checkTask({ format, pixel, resolution, resampling, isWhole, bbox, size }: CoverageTask): void {
  const fits =
    ['geotiff', 'png', 'lerc'].includes(format) &&
    (!isWhole || (bbox !== undefined && size !== undefined && !size.includes(0))) &&
    (resampling === undefined || RESAMPLINGS.includes(resampling)) &&
    (pixel === undefined || pixel.every((side) => Number.isFinite(side) && side > 0)) &&
    (resolution === undefined || resolution.every((side) => Number.isFinite(side) && side >= 0));
  if (!fits) throw new TaskFailure('invalid-input', 'Unknown format or resampling, or pixels of no size.');
}

export function checkedBands(bands: number[] | undefined, count: number): number[] {
  const numbers = bands ?? Array.from({ length: count }, (_, index) => index + 1);
  if (numbers.length === 0 || numbers.length > MAX_BANDS)
    throw new TaskFailure('invalid-input', 'Unusable number of bands.');
  for (const band of numbers) {
    if (!Number.isInteger(band) || band < 1 || band > count) {
      throw new TaskFailure('invalid-input', `There is no band ${band}. The raster has bands 1 to ${count}.`);
    }
  }
  return numbers;
}

/** Returns the unchanged raster, or repetitions of it if the area crosses its edge. */
export async function windowView(raster: Dataset, area: Area): Promise<DatasetView> {
  const { copies, period } = copiesFor(area, getGeoreference(raster));
  if (copies.every((copy) => copy === 0)) return { dataset: raster, close() {} };
  return repeated(raster, copies, period);
}

type Answer = Pick<CoverageResult, 'data' | 'mediaType'>;

async function writePng(
  task: CoverageTask,
  handle: RasterHandle,
  raster: Dataset,
  { box, crs, width, height }: AreaGrid,
  cancellation: Cancellation,
): Promise<Answer> {
  if (width * height * PICTURE_PIXEL_BYTES > task.maxBytes)
    throw new TaskFailure('too-large', 'The image would need too much memory. Request fewer pixels.');
  const rendering = await (task.look
    ? chooseRequestedRendering(handle, task.look, task.ranges)
    : chooseRendering(handle, task.bands, task.ranges));
  const view = raster === handle.dataset ? handle : handle.over(raster);
  try {
    const rgba = await readPicture(view, rendering, { box, crs, width, height }, cancellation);
    cancellation.check();
    const data = await encodeImage({ rgba, width, height }, 'png', { box, crs: crs.text });
    return { data, mediaType: MEDIA_TYPES.png };
  } finally {
    if (view !== handle) view.close();
  }
}
