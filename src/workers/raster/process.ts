/** Body of task `raster.process`: what GDAL makes of a raster. */

import { TaskFailure } from '../../core/failure.js';
import { RESULT_TABLE } from '../../core/feature-processes.js';
import type { RasterProcess, RasterProcessResult, RasterProcessTask } from '../../core/raster-processes.js';
import { type Dataset, gdal } from './gdal.js';
import { type RasterHandle, withRaster } from './handles.js';
import { removePart } from './parts.js';
import { zonalStatistics } from './processes/zonal.js';
import { failureOf, publish, requireNewFile } from './translation.js';

type OnProgress = (fraction: number) => void;

const COG = ['-of', 'COG', '-co', 'COMPRESS=DEFLATE', '-co', 'BIGTIFF=IF_SAFER', '-co', 'NUM_THREADS=1'];

/** Writes `part`, then gives it its final name. Fails with `source-unreadable`, `invalid-input` and `storage-full`. */
export async function processRaster(
  { process, source, band, features, output }: RasterProcessTask,
  part: string,
  onProgress: OnProgress,
): Promise<RasterProcessResult> {
  await requireNewFile(output);
  gdal.config.set('GDAL_PAM_ENABLED', 'NO');
  try {
    const result = await withRaster(source, (handle) => {
      if (band > handle.dataset.bands.count())
        throw new TaskFailure('invalid-input', `The raster has no band ${band}.`);
      return process.kind === 'zonal'
        ? zonalStatistics({ dataset: handle.dataset, band, features: features! }, process, part, onProgress)
        : write(process, handle, band, part, onProgress);
    });
    await publish(part, output);
    return result;
  } catch (error) {
    throw await failureOf(part, 'The raster cannot be processed.', error);
  } finally {
    await removePart(part);
  }
}

async function write(
  process: Exclude<RasterProcess, { kind: 'zonal' }>,
  { dataset }: RasterHandle,
  band: number,
  part: string,
  onProgress: OnProgress,
): Promise<RasterProcessResult> {
  const options = { progress_cb: onProgress };
  switch (process.kind) {
    case 'terrain': {
      const args = [...COG, '-b', String(band), '-compute_edges', ...process.options];
      (await gdal.demAsync(part, dataset, process.mode, args, undefined, options)).close();
      return {};
    }
    case 'warp':
      (await gdal.warpAsync(part, null, [dataset], warpArguments(process), options)).close();
      return {};
    case 'contour':
      return withFeatures(part, dataset, gdal.wkbLineString, 'elevation', (layer) =>
        gdal.contourGenerateAsync({
          ...{ src: dataset.bands.get(band), dst: layer, interval: process.interval, offset: process.base },
          ...{ elevField: 0, progress_cb: onProgress },
          ...nodataOf(dataset, band),
        }),
      );
    case 'polygonize':
      return withFeatures(part, dataset, gdal.wkbPolygon, 'value', (layer) => {
        const src = dataset.bands.get(band);
        const mask = src.getMaskBand();
        return gdal.polygonizeAsync({
          ...{ src, dst: layer, pixValField: 0, useFloats: true },
          ...(mask ? { mask } : {}),
          ...{ connectedness: process.diagonals ? 8 : 4, progress_cb: onProgress },
        });
      });
  }
}

function warpArguments({ crs, pixelSize, resampling }: Extract<RasterProcess, { kind: 'warp' }>): string[] {
  return [
    ...COG,
    ...(crs === undefined ? [] : ['-t_srs', crs]),
    ...(pixelSize === undefined ? [] : ['-tr', String(pixelSize), String(pixelSize)]),
    ...['-r', resampling === 'nearest' ? 'near' : resampling],
  ];
}

function nodataOf(dataset: Dataset, band: number): { nodata?: number } {
  const nodata = dataset.bands.get(band).noDataValue;
  return nodata === null || Number.isNaN(nodata) ? {} : { nodata };
}

/** A table of features in the CRS of a raster, with one number as attribute. */
async function withFeatures(
  part: string,
  { srs }: Dataset,
  type: number,
  attribute: string,
  fill: (layer: ReturnType<Dataset['layers']['get']>) => Promise<void>,
): Promise<RasterProcessResult> {
  const target = await gdal.drivers.get('GPKG').createAsync(part, 0, 0, 0, gdal.GDT_Byte);
  try {
    const layer = target.layers.create(RESULT_TABLE, srs, type);
    layer.fields.add(new gdal.FieldDefn(attribute, gdal.OFTReal));
    await fill(layer);
    return { features: layer.features.count() };
  } finally {
    target.close();
  }
}
