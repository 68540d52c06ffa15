/** Task `raster.process`: runs a GDAL operation on a raster. */

import { TaskFailure } from '../../../core/errors/failure.js';
import type {
  RasterProcess,
  RasterProcessOutcome,
  RasterProcessResult,
  RasterProcessTask,
} from '../../../core/rasters/raster-processes.js';
import type { RasterSource } from '../../../core/rasters/rasters.js';
import { commitOutput, describeTranslationFailure, requireNewFile } from '../../exchange/ogr/translation.js';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import { removePart } from '../../gdal/parts.js';
import { withRaster } from '../../rasters/handles.js';
import { peakMemory, resetPeakMemory } from '../../threads/peak-memory.js';
import { computeAlgebra } from './algebra.js';
import { clip, clipExactly, fillNodata, sieve } from './edit.js';
import { cannotRound, readsBeyondDoubles } from './exact.js';
import { makeTerrain, trace, warp, warpExactly } from './gdal.js';
import { interpolateRaster } from './interpolate.js';
import { mosaic } from './mosaic.js';
import { rasterize } from './rasterize.js';
import { reclassify } from './reclassify.js';
import { samplePoints } from './sample.js';
import { computeBandStatistics, computeHistogram } from './statistics.js';
import { interpolateLinear } from './triangles.js';
import { viewshed } from './viewshed.js';
import { computeZonalStatistics } from './zonal.js';

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
    if (!result.values) await commitOutput(part, output);
    return { ...result, memoryBytes: peakMemory() };
  } catch (error) {
    throw await describeTranslationFailure(part, 'The raster cannot be processed.', error);
  } finally {
    await removePart(part);
  }
}

/** Opens handles of all rasters at the same time. */
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
      return { values: { statistics: await computeBandStatistics(dataset, onProgress) } };
    case 'histogram':
      return { values: { histogram: await computeHistogram(dataset, band, process, onProgress) } };
    case 'zonal':
      return computeZonalStatistics(work, process, part, onProgress);
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

/** Runs a process whose result is a raster. */
function makeRaster(
  process: Exclude<RasterProcess, { kind: ValueKind }>,
  datasets: Dataset[],
  work: { dataset: Dataset; band: number; features: string },
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  switch (process.kind) {
    case 'algebra':
      return computeAlgebra({ datasets, band: work.band }, process, part, onProgress);
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
      return interpolateRaster(work, process, part, onProgress);
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
