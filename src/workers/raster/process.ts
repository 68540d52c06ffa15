/** Body of task `raster.process`: what GDAL makes of a raster. */

import { TaskFailure } from '../../core/failure.js';
import { RESULT_TABLE } from '../../core/feature-processes.js';
import type { RasterProcess, RasterProcessResult, RasterProcessTask } from '../../core/raster-processes.js';
import type { RasterSource } from '../../core/rasters.js';
import { type Dataset, gdal, resamplingName } from './gdal.js';
import { withRaster } from './handles.js';
import { removePart } from './parts.js';
import { calculate } from './processes/algebra.js';
import { COG } from './processes/cog.js';
import { mosaic } from './processes/mosaic.js';
import { reclassify } from './processes/reclassify.js';
import { zonalStatistics } from './processes/zonal.js';
import { failureOf, publish, requireNewFile } from './translation.js';

type OnProgress = (fraction: number) => void;

/** Writes `part`, then gives it its final name. Fails with `source-unreadable`, `invalid-input` and `storage-full`. */
export async function processRaster(
  { process, sources, band, features, output }: RasterProcessTask,
  part: string,
  onProgress: OnProgress,
): Promise<RasterProcessResult> {
  await requireNewFile(output);
  gdal.config.set('GDAL_PAM_ENABLED', 'NO');
  try {
    const result = await withRasters(sources, (datasets) => {
      if (band > datasets[0]!.bands.count())
        throw new TaskFailure('invalid-input', `The raster has no band ${band}.`);
      return write(process, { datasets, band, features, part, onProgress });
    });
    await publish(part, output);
    return result;
  } catch (error) {
    throw await failureOf(part, 'The raster cannot be processed.', error);
  } finally {
    await removePart(part);
  }
}

/** Handles of all rasters at once. */
function withRasters<T>(
  [source, ...others]: readonly RasterSource[],
  use: (datasets: Dataset[]) => Promise<T>,
): Promise<T> {
  return withRaster(source!, ({ dataset }) =>
    others.length === 0 ? use([dataset]) : withRasters(others, (rest) => use([dataset, ...rest])),
  );
}

interface Work {
  datasets: Dataset[];
  band: number;
  features: string | undefined;
  part: string;
  onProgress: OnProgress;
}

async function write(
  process: RasterProcess,
  { datasets, band, features, part, onProgress }: Work,
): Promise<RasterProcessResult> {
  const options = { progress_cb: onProgress };
  const dataset = datasets[0]!;
  switch (process.kind) {
    case 'zonal':
      return zonalStatistics({ dataset, band, features: features! }, process, part, onProgress);
    case 'algebra':
      await calculate({ datasets, band }, process, part, onProgress);
      return {};
    case 'reclassify':
      await reclassify({ dataset, band }, process, part, onProgress);
      return {};
    case 'mosaic':
      await mosaic(datasets, process, part, onProgress);
      return {};
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
    ...['-r', resamplingName(resampling)],
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
