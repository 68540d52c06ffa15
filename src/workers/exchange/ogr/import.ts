/** Task `raster.import`: converts a GeoTIFF, PNG or JPEG to a cloud optimized GeoTIFF. */

import { TaskFailure } from '../../../core/errors/failure.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { RasterImportResult, RasterImportTask } from '../../../core/rasters/rasters.js';
import { getCrs, readDatasetCrs } from '../../gdal/crs.js';
import { type Dataset, gdal, openRaster, plainFile, unreadable } from '../../gdal/gdal.js';
import { removePart } from '../../gdal/parts.js';
import { chooseOverviewResampling } from '../../rasters/cog/cog-process.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { requirePlainDefinitions } from './crs-definitions.js';
import { commitOutput, describeTranslationFailure, requireNewFile } from './translation.js';

const DRIVERS = new Set(['GTiff', 'COG', 'PNG', 'JPEG']);

/** Lossless options: imported values can be read back exactly. */
const CREATION = [
  ...['-of', 'COG', '-co', 'COMPRESS=DEFLATE', '-co', 'PREDICTOR=YES'],
  ...['-co', 'BIGTIFF=IF_SAFER', '-co', 'NUM_THREADS=1'],
];

/** Share of the work after which the statistics are known. */
const MEASURED = 0.3;

/**
 * Writes `part`, then renames it to its final name, so that the output exists only when it is complete. Fails with
 * `source-unreadable` for a damaged file and a file without a georeference, and with `too-large`.
 */
export async function importRaster(
  task: RasterImportTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<RasterImportResult> {
  await requireNewFile(task.output);
  await plainFile(task.path);
  await requirePlainDefinitions(task.path);
  // Statistics are written into the copy, and no file is written next to the source.
  gdal.config.set('GDAL_PAM_ENABLED', 'NO');
  const source = await openRaster(task.path);
  const view = await openView(source);
  try {
    const ignored = place(view, source, task);
    await measure(view, onProgress);
    const options = { progress_cb: (done: number) => onProgress(MEASURED + done * (1 - MEASURED)) };
    const copy = await gdal.translateAsync(
      part,
      view,
      [...CREATION, '-co', `OVERVIEW_RESAMPLING=${chooseOverviewResampling(source)}`],
      options,
    );
    copy.close();
    await commitOutput(part, task.output);
    const structure = source.getMetadata('IMAGE_STRUCTURE') as { LAYOUT?: string };
    return { optimized: structure.LAYOUT === 'COG', ignored };
  } catch (error) {
    throw await describeTranslationFailure(
      part,
      'The raster could not be read whole: the file is damaged.',
      error,
    );
  } finally {
    // The view first: it reads from the file, and GDAL crashes at exit when it outlives it.
    view.close();
    source.close();
    await removePart(part);
  }
}

/** The raster as a dataset whose place and CRS can be set. */
async function openView(source: Dataset): Promise<Dataset> {
  try {
    if (!DRIVERS.has(source.driver.description))
      throw new TaskFailure('source-unreadable', 'The file is not a GeoTIFF, PNG or JPEG.');
    const { x: width, y: height } = source.rasterSize;
    if (width * height * source.bands.count() > LIMITS.importSamples)
      throw new TaskFailure('too-large', `The raster has more than ${LIMITS.importSamples} samples.`);
    return await gdal.translateAsync('', source, ['-of', 'VRT']);
  } catch (error) {
    source.close();
    throw unreadable('The file is not a raster that can be imported.', error);
  }
}

/**
 * Georeferences the raster from its own data or otherwise from the task. Returns the settings of the task that were
 * ignored.
 */
function place(view: Dataset, source: Dataset, task: RasterImportTask): RasterImportResult['ignored'] {
  const ignored: RasterImportResult['ignored'] = [];
  if (task.geoTransform) {
    if (isPlaced(source)) ignored.push('geoTransform');
    else view.geoTransform = task.geoTransform;
  }
  if (task.crs !== undefined) {
    if (readDatasetCrs(source)) ignored.push('crs');
    else view.srs = getCrs(task.crs).srs;
  }
  if (!isPlaced(view))
    throw new TaskFailure('source-unreadable', 'The file has no georeference. Send a world file.');
  getGeoreference(view);
  return ignored;
}

/** GDAL gives files without a place one pixel per unit from 0,0 on. */
function isPlaced(dataset: Dataset): boolean {
  const place = dataset.geoTransform;
  return place !== null && place !== undefined && place.join() !== '0,1,0,0,0,1';
}

async function measure(dataset: Dataset, onProgress: (fraction: number) => void): Promise<void> {
  const count = dataset.bands.count();
  for (let number = 1; number <= count; number++) {
    await dataset.bands.get(number).computeStatisticsAsync(false).catch(withoutValues);
    onProgress((MEASURED * number) / count);
  }
}

/** A band with only nodata does not have statistics, which is not an error. */
function withoutValues(error: unknown): void {
  if (!/no valid pixels/i.test(String(error))) throw error;
}
