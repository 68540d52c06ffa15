/** Raster processes that GDAL runs in place on a copy. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { RESULT_TABLE } from '../../../core/processes/feature-processes.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { ALL_VALID, BY_NODATA, type Dataset, gdal } from '../../gdal/gdal.js';
import { rasterCopyPath } from '../../gdal/parts.js';
import { connect } from '../../providers/geopackage/connection.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';
import {
  chooseOverviewResampling,
  cogArguments,
  type OverviewResampling,
  PLAIN_ARGUMENTS,
} from '../../rasters/cog/cog-process.js';
import { getGeoreference } from '../../rasters/georeference.js';
import { copyMask, layOut } from '../../rasters/pixels/blocks.js';
import { FLOAT_NODATA } from '../../rasters/pixels/nodata.js';
import type { PixelBox } from '../../rasters/pixels/values.js';
import { moveExactly } from './exact.js';
import { placeFeatures } from './shifted-features.js';
import { mergePixelBoxes, pixelsAround, zonesOver } from './zones.js';

type OnProgress = (fraction: number) => void;

interface Band {
  dataset: Dataset;
  band: number;
}

/** Share of the work after which the file only has to be rearranged. */
const CHANGED = 0.7;

/** Pixels without a value get one from those around them (GDALFillNodata). */
export function fillNodata(
  source: Band,
  { distance, smoothing }: Extract<RasterProcess, { kind: 'fill' }>,
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  // gdal-async reads the second of these names, and documents the first.
  const iterations = { smoothingIterations: smoothing, smoothIterations: smoothing };
  return changeCopy(
    source,
    part,
    chooseOverviewResampling(source.dataset),
    onProgress,
    async (src, mask, own) => {
      await gdal.fillNodataAsync({ src, ...mask, searchDist: distance, ...iterations });
      // Pixels of the mask are filled like the pixels of the band.
      if (own) await gdal.fillNodataAsync({ src: own, ...mask, searchDist: distance });
    },
  );
}

/** Replaces areas of few pixels by the values of their largest neighbours (GDALSieveFilter). */
export function sieve(
  source: Band,
  { threshold, diagonals }: Extract<RasterProcess, { kind: 'sieve' }>,
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  return changeCopy(source, part, 'NEAREST', onProgress, (src, mask) =>
    gdal.sieveFilterAsync({
      src,
      dst: src,
      ...mask,
      threshold,
      connectedness: diagonals ? 8 : 4,
      progress_cb: (fraction: number) => onProgress(fraction * CHANGED),
    }),
  );
}

async function changeCopy(
  { dataset, band: number }: Band,
  part: string,
  overviews: OverviewResampling,
  onProgress: OnProgress,
  /**
   * `mask` is the mask of the source, which does not change with the values. `own` is the mask of the copy, if it has
   * one.
   */
  change: (band: RasterBand, mask: { mask?: RasterBand }, own: RasterBand | undefined) => Promise<void>,
): Promise<void> {
  const path = rasterCopyPath(part);
  const args = ['-of', 'GTiff', '-b', String(number), '-mask', 'none'];
  const layout = ['-co', 'TILED=YES', '-co', 'BIGTIFF=IF_SAFER'];
  (await gdal.translateAsync(path, dataset, [...args, ...layout])).close();
  const copy = await gdal.openAsync(path, 'r+', ['GTiff']);
  try {
    const band = dataset.bands.get(number);
    const [mask, flags] = [band.getMaskBand(), band.getMaskFlags()];
    // A nodata value comes along with the band; a mask, or an alpha band, does not.
    const isMasked = (flags & ALL_VALID) === 0 && flags !== BY_NODATA;
    const own = mask && isMasked ? await copyMask(mask, copy) : undefined;
    await change(copy.bands.get(1), mask ? { mask } : {}, own);
    await copy.flushAsync();
  } finally {
    copy.close();
  }
  await layOut(path, part, overviews, (fraction) => onProgress(CHANGED + fraction * (1 - CHANGED)));
}

/**
 * Returns the pixels of a raster whose centres are in polygons, within the box of the polygons. Pixels are not moved.
 */
export async function clip(
  { dataset, features }: { dataset: Dataset; features: string },
  part: string,
  onProgress: OnProgress,
  layout: readonly string[] = cogArguments(chooseOverviewResampling(dataset)),
): Promise<void> {
  const { geoTransform, northUp } = getGeoreference(dataset);
  if (!northUp) throw new TaskFailure('invalid-input', 'The raster is rotated. Reproject it first.');
  const placed = placeFeatures(dataset, features);
  try {
    const { column, row, width, height } = boxAround(dataset, features);
    const [x, dx, , y, , dy] = geoTransform;
    const [left, top] = [x + column * dx, y + row * dy];
    const args = [
      ...layout,
      ...['-cutline', placed.path, '-cl', RESULT_TABLE, ...missingArguments(dataset)],
      ...['-te', ...[left, top + height * dy, left + width * dx, top].map(String)],
      ...['-ts', String(width), String(height)],
    ];
    (await gdal.warpAsync(part, null, [dataset], args, { progress_cb: onProgress })).close();
  } finally {
    placed.remove();
  }
}

/** The same for integers that doubles round. */
export function clipExactly(
  { dataset, features }: { dataset: Dataset; features: string },
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  return moveExactly(dataset, part, onProgress, (halves, output) =>
    clip({ dataset: halves, features }, output, () => undefined, PLAIN_ARGUMENTS),
  );
}

/**
 * Arguments for pixels outside if the raster does not have a nodata value: they become the minimum float or
 * transparent.
 */
function missingArguments({ bands }: Dataset): string[] {
  const { noDataValue, dataType } = bands.get(1);
  if (noDataValue !== null) return [];
  return dataType?.startsWith('Float') ? ['-dstnodata', String(FLOAT_NODATA)] : ['-dstalpha'];
}

function boxAround(dataset: Dataset, features: string): PixelBox {
  const source = inspectGeoPackage(features)[0]!.source as GeoPackageSource;
  const db = connect(features, true);
  try {
    const zones = zonesOver(db, source, pixelsAround(dataset)).zones;
    const [first, ...others] = zones.flatMap(({ parts }) => parts.map(({ box }) => box));
    if (!first) throw new TaskFailure('invalid-input', 'No polygon meets the raster.');
    return others.reduce(mergePixelBoxes, first);
  } finally {
    db.close();
  }
}
