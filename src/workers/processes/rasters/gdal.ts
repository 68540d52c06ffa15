/** Raster processes that GDAL's utilities run. */

import { RESULT_TABLE } from '../../../core/processes/feature-processes.js';
import type { RasterProcess, RasterProcessOutcome } from '../../../core/rasters/raster-processes.js';
import type { Resampling } from '../../../core/rasters/rasters.js';
import { getCrs } from '../../gdal/crs.js';
import { type Dataset, gdal, resamplingName } from '../../gdal/gdal.js';
import { chooseOverviewResampling, cogArguments, PLAIN_ARGUMENTS } from '../../rasters/cog/cog-process.js';
import { gridArguments, mercatorGrid } from '../../rasters/mercator.js';
import { moveExactly } from './exact.js';

/** Resampling methods that do not create new values. */
const CLASS_RESAMPLINGS: ReadonlySet<Resampling> = new Set(['nearest', 'mode']);

type OnProgress = (fraction: number) => void;

interface Band {
  dataset: Dataset;
  band: number;
}

/** Shades, slopes and the like. */
export async function makeTerrain(
  { dataset, band }: Band,
  { mode, options }: Extract<RasterProcess, { kind: 'terrain' }>,
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  // The mean of the directions north by west and north by east must not be south.
  const args = [
    ...cogArguments(mode === 'aspect' ? 'NEAREST' : 'AVERAGE'),
    '-b',
    String(band),
    '-compute_edges',
    ...options,
  ];
  (await gdal.demAsync(part, dataset, mode, args, undefined, { progress_cb: onProgress })).close();
}

/** All bands in another CRS, or with other pixels. */
export async function warp(
  { dataset }: Band,
  process: Extract<RasterProcess, { kind: 'warp' }>,
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  const classes = CLASS_RESAMPLINGS.has(process.resampling);
  const overviews = classes ? 'NEAREST' : chooseOverviewResampling(dataset);
  const args = [...cogArguments(overviews), ...(await warpArguments(dataset, process))];
  (await gdal.warpAsync(part, null, [dataset], args, { progress_cb: onProgress })).close();
}

/** The same for integers that doubles round, where no value is computed. */
export async function warpExactly(
  { dataset }: Band,
  process: Extract<RasterProcess, { kind: 'warp' }>,
  part: string,
  onProgress: OnProgress,
): Promise<void> {
  await moveExactly(dataset, part, onProgress, async (halves, output) => {
    const args = [...PLAIN_ARGUMENTS, ...(await warpArguments(dataset, process))];
    (await gdal.warpAsync(output, null, [halves], args)).close();
  });
}

/** Lines or areas of equal value. */
export function trace(
  { dataset, band }: Band,
  process: Extract<RasterProcess, { kind: 'contour' | 'polygonize' }>,
  part: string,
  onProgress: OnProgress,
): Promise<RasterProcessOutcome> {
  const src = dataset.bands.get(band);
  if (process.kind === 'contour')
    return withFeatures(part, dataset, gdal.wkbLineString, 'elevation', (layer) =>
      gdal.contourGenerateAsync({
        src,
        dst: layer,
        interval: process.interval,
        offset: process.base,
        elevField: 0,
        progress_cb: onProgress,
        ...buildNodata(dataset, band),
      }),
    );
  const mask = src.getMaskBand();
  return withFeatures(part, dataset, gdal.wkbPolygon, 'value', (layer) =>
    gdal.polygonizeAsync({
      src,
      dst: layer,
      pixValField: 0,
      useFloats: true,
      ...(mask ? { mask } : {}),
      connectedness: process.diagonals ? 8 : 4,
      progress_cb: onProgress,
    }),
  );
}

async function warpArguments(
  dataset: Dataset,
  { crs, pixelSize, resampling }: Extract<RasterProcess, { kind: 'warp' }>,
): Promise<string[]> {
  const grid = crs === undefined ? undefined : await mercatorGrid(dataset, getCrs(crs));
  return [
    ...(crs === undefined ? [] : ['-t_srs', crs]),
    ...(grid ? gridArguments(grid, pixelSize) : []),
    ...(pixelSize === undefined ? [] : ['-tr', String(pixelSize), String(pixelSize)]),
    ...['-r', resamplingName(resampling)],
  ];
}

function buildNodata(dataset: Dataset, band: number): { nodata?: number } {
  const nodata = dataset.bands.get(band).noDataValue;
  return nodata === null || Number.isNaN(nodata) ? {} : { nodata };
}

/** Runs a statement. gdal-async fails without a message if a statement does not have a result. */
function execute(dataset: Dataset, sql: string): void {
  try {
    dataset.executeSQL(sql);
  } catch (error) {
    if ((error as Error).message) throw error;
  }
}

/** A table of features in the CRS of a raster, with one number as attribute. */
async function withFeatures(
  part: string,
  { srs }: Dataset,
  type: number,
  attribute: string,
  fill: (layer: ReturnType<Dataset['layers']['get']>) => Promise<void>,
): Promise<RasterProcessOutcome> {
  const target = await gdal.drivers.get('GPKG').createAsync(part, 0, 0, 0, gdal.GDT_Byte);
  try {
    const layer = target.layers.create(RESULT_TABLE, srs, type, ['SPATIAL_INDEX=NO']);
    layer.fields.add(new gdal.FieldDefn(attribute, gdal.OFTReal));
    // Without it, each feature would be a separate transaction.
    execute(target, 'BEGIN');
    await fill(layer);
    execute(target, 'COMMIT');
    return { features: layer.features.count() };
  } finally {
    target.close();
  }
}
