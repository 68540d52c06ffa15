/** Body of task `raster.process`: what GDAL makes of a raster. */

import { TaskFailure } from '../../core/failure.js';
import type {
  RasterProcess,
  RasterProcessOutcome,
  RasterProcessResult,
  RasterProcessTask,
} from '../../core/raster-processes.js';
import type { RasterSource } from '../../core/rasters.js';
import { peakMemory, resetPeakMemory } from '../peak-memory.js';
import { type Dataset, gdal } from './gdal.js';
import { withRaster } from './handles.js';
import { removePart } from './parts.js';
import { calculate } from './processes/algebra.js';
import { clip, clipExactly, fillNodata, sieve } from './processes/edit.js';
import { cannotRound, readsBeyondDoubles } from './processes/exact.js';
import { makeTerrain, trace, warp, warpExactly } from './processes/gdal.js';
import { interpolate } from './processes/interpolate.js';
import { mosaic } from './processes/mosaic.js';
import { rasterize } from './processes/rasterize.js';
import { reclassify } from './processes/reclassify.js';
import { samplePoints } from './processes/sample.js';
import { histogramOf, statisticsOf } from './processes/statistics.js';
import { interpolateLinear } from './processes/triangles.js';
import { viewshed } from './processes/viewshed.js';
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
  resetPeakMemory();
  gdal.config.set('GDAL_PAM_ENABLED', 'NO');
  try {
    const result = await withRasters(sources, (datasets) => {
      if (band > datasets[0]!.bands.count())
        throw new TaskFailure('invalid-input', `The raster has no band ${band}.`);
      return write(process, { datasets, band, features, part, onProgress });
    });
    if (!result.values) await publish(part, output);
    return { ...result, memoryBytes: peakMemory() };
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

type ValueKind = 'statistics' | 'histogram' | 'zonal' | 'sample' | 'contour' | 'polygonize';

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
): Promise<RasterProcessOutcome> {
  const dataset = datasets[0]!;
  const work = { dataset, band, features: features! };
  if (await readsBeyondDoubles(process, { datasets, band })) {
    if (process.kind === 'sample' && !process.bilinear)
      return samplePoints(work, process, part, onProgress, true);
    if (process.kind === 'clip') await clipExactly(work, part, onProgress);
    else if (process.kind === 'warp' && process.resampling === 'nearest')
      await warpExactly(work, process, part, onProgress);
    else throw cannotRound();
    return {};
  }
  switch (process.kind) {
    case 'statistics':
      return { values: { statistics: await statisticsOf(dataset, onProgress) } };
    case 'histogram':
      return { values: { histogram: await histogramOf(dataset, band, process, onProgress) } };
    case 'zonal':
      return zonalStatistics(work, process, part, onProgress);
    case 'sample':
      return samplePoints(work, process, part, onProgress);
    case 'contour':
    case 'polygonize':
      return trace(work, process, part, onProgress);
    default:
      await makeRaster(process, datasets, work, part, onProgress);
      return {};
  }
}

/** What becomes a raster. */
function makeRaster(
  process: Exclude<RasterProcess, { kind: ValueKind }>,
  datasets: Dataset[],
  work: { dataset: Dataset; band: number; features: string },
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  switch (process.kind) {
    case 'algebra':
      return calculate({ datasets, band: work.band }, process, part, onProgress);
    case 'reclassify':
      return reclassify(work, process, part, onProgress);
    case 'mosaic':
      return mosaic(datasets, process, part, onProgress);
    case 'fill':
      return fillNodata(work, process, part, onProgress);
    case 'sieve':
      return sieve(work, process, part, onProgress);
    case 'rasterize':
      return rasterize(work, process, part, onProgress);
    case 'idw':
      return interpolate(work, process, part, onProgress);
    case 'linear':
      return interpolateLinear(work, process, part, onProgress);
    case 'clip':
      return clip(work, part, onProgress);
    case 'viewshed':
      return viewshed(work, process, part, onProgress);
    case 'terrain':
      return makeTerrain(work, process, part, onProgress);
    case 'warp':
      return warp(work, process, part, onProgress);
  }
}
