/** Several rasters as one. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { MosaicOperator, RasterProcess } from '../../../core/rasters/raster-processes.js';
import type { Dataset } from '../../gdal/gdal.js';
import { chooseOverviewResampling } from '../../rasters/cog/cog-process.js';
import { getGeoreference } from '../../rasters/georeference.js';
import {
  type BandShape,
  FLOAT_BANDS,
  getRasterShape,
  type RasterShape,
  writeBlocks,
} from '../../rasters/pixels/blocks.js';
import { outlineIn } from '../../rasters/pixels/continuous.js';
import { nodataIn } from '../../rasters/pixels/nodata.js';
import { hasScaledValues, needsDoubles, readWindowValues } from '../../rasters/pixels/values.js';
import { withViews } from './views.js';

/** Merges all bands on the pixels of the first raster, whose grid is extended around all rasters. */
export async function mosaic(
  datasets: readonly Dataset[],
  { operator, resampling }: Extract<RasterProcess, { kind: 'mosaic' }>,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<void> {
  const count = datasets[0]!.bands.count();
  if (datasets.some(({ bands }) => bands.count() !== count))
    throw new TaskFailure('invalid-input', 'The rasters have different numbers of bands.');
  const shape = shapeAround(datasets);
  const combine = COMBINE[operator];
  await withViews(datasets, shape, resampling, (views) =>
    writeBlocks(
      shape,
      { count, ...bandShape(datasets, operator) },
      part,
      async (box) => {
        const bands: Float64Array[] = [];
        for (let number = 1; number <= count; number++) {
          const layers: Float64Array[] = [];
          for (const view of views) layers.push(await readWindowValues(view.bands.get(number), box));
          bands.push(combine(layers));
        }
        return bands;
      },
      onProgress,
    ),
  );
}

type Combine = (layers: readonly Float64Array[]) => Float64Array;

/** Combines the existing values of each pixel. */
const reduce =
  (merge: (all: number, one: number) => number): Combine =>
  ([first, ...others]) => {
    const out = first!;
    for (const layer of others) {
      for (let i = 0; i < out.length; i++) {
        const value = layer[i]!;
        if (Number.isNaN(value)) continue;
        out[i] = Number.isNaN(out[i]!) ? value : merge(out[i]!, value);
      }
    }
    return out;
  };

const COMBINE: Readonly<Record<MosaicOperator, Combine>> = {
  first: reduce((all) => all),
  last: reduce((_, one) => one),
  min: reduce(Math.min),
  max: reduce(Math.max),
  mean(layers) {
    const counts = new Float64Array(layers[0]!.length);
    for (const layer of layers)
      for (let i = 0; i < layer.length; i++) if (!Number.isNaN(layer[i]!)) counts[i]! += 1;
    const sums = reduce((all, one) => all + one)(layers);
    return sums.map((sum, i) => sum / counts[i]!);
  },
};

/**
 * Returns the shape of bands that can represent all values. The bands of the rasters can if all are alike and have no
 * scale. Means are not integers, and a value of one raster can be the nodata value of another.
 */
function bandShape(datasets: readonly Dataset[], operator: MosaicOperator): Omit<BandShape, 'count'> {
  const bands = datasets.flatMap((dataset) => [...dataset.bands]);
  const [type, nodata] = [bands[0]!.dataType ?? 'Float32', nodataIn(bands[0]!)];
  const overviews = chooseOverviewResampling(datasets[0]!);
  const isAlike = (band: RasterBand) =>
    band.dataType === type && Object.is(nodataIn(band), nodata) && !hasScaledValues(band);
  if (operator !== 'mean' && bands.every(isAlike))
    return { type, nodata: nodata === null || Number.isNaN(nodata) ? 'mask' : nodata, overviews };
  return bands.some(needsDoubles) ? { ...FLOAT_BANDS, type: 'Float64' } : FLOAT_BANDS;
}

/** Around all rasters, on the pixels of the first. Fails with `too-large`. */
function shapeAround(datasets: readonly Dataset[]): RasterShape {
  const lead = datasets[0]!;
  const { geoTransform, crs, northUp } = getGeoreference(lead);
  if (!northUp) throw new TaskFailure('invalid-input', 'The first raster is rotated. Reproject it first.');
  const [x0, dx, , y0, , dy] = geoTransform;
  let [left, top, right, bottom] = [0, 0, lead.rasterSize.x, lead.rasterSize.y];
  for (const dataset of datasets) {
    const { extent, crs: own } = getGeoreference(dataset);
    const box = outlineIn(extent, own, crs);
    if (!box)
      throw new TaskFailure('invalid-input', 'A raster is outside the area of the CRS of the first one.');
    left = Math.min(left, Math.floor((box[0] - x0) / dx + SLACK));
    right = Math.max(right, Math.ceil((box[2] - x0) / dx - SLACK));
    top = Math.min(top, Math.floor((box[3] - y0) / dy + SLACK));
    bottom = Math.max(bottom, Math.ceil((box[1] - y0) / dy - SLACK));
  }
  const [width, height] = [right - left, bottom - top];
  if (width * height * lead.bands.count() > LIMITS.importSamples)
    throw new TaskFailure(
      'too-large',
      `The rasters together span more than ${LIMITS.importSamples} samples.`,
    );
  const origin = [x0 + left * dx, dx, 0, y0 + top * dy, 0, dy] as RasterShape['geoTransform'];
  return { ...getRasterShape(lead), width, height, geoTransform: origin };
}

/** Part of a pixel that rounding moves edges by. */
const SLACK = 1e-3;
