/** Task `raster.position`: the pixel at a place, of one slice after the other. */

import type { RasterBand } from 'gdal-async';
import { TaskFailure, type TaskFailureCode } from '../../core/errors/failure.js';
import type { PositionResult, PositionTask } from '../../core/rasters/rasters.js';
import { type AnyNumber, exactInteger } from '../../core/values/exact-number.js';
import { CRS84_NAME, getCrs, pointTransform } from '../gdal/crs.js';
import type { Dataset } from '../gdal/gdal.js';
import type { Cancellation } from '../threads/cancellation.js';
import { getGeoreference } from './georeference.js';
import { withRaster } from './handles.js';
import { findCrsPeriod } from './pixels/continuous.js';
import { hasScaledValues } from './pixels/values.js';
import { isLarge, roundedByMosaic } from './pixels/wide-integers.js';

/** Returns the values at a position. Fails if no slice could be read. */
export async function position(
  { place, slices }: PositionTask,
  cancellation: Cancellation,
): Promise<PositionResult> {
  const results: SliceResult[] = [];
  for (const slice of slices) {
    cancellation.check();
    results.push(await loadResult(slice, place));
  }
  const values = results.map((result) => result.values);
  const failure = results.find((result) => result.failure)?.failure;
  if (failure && values.every((value) => value === null)) throw failure;
  const lost = results.flatMap((result) => result.lost);
  return { values, ...(lost.length > 0 && { lost }) };
}

interface SliceResult {
  values: (AnyNumber | null)[] | null;
  lost: readonly string[];
  failure?: TaskFailure;
}

/** A mosaic that may miss members may miss all of them. */
async function loadResult(
  { source, at }: PositionTask['slices'][number],
  place: readonly [number, number],
): Promise<SliceResult> {
  try {
    return await withRaster(
      source,
      async ({ dataset, lost }) => ({
        values: await valuesIn(dataset, place, source.kind === 'mosaic'),
        lost,
      }),
      at,
    );
  } catch (error) {
    const mayMiss = source.kind === 'mosaic' && source.grid && source.bandTypes;
    if (!mayMiss || !(error instanceof TaskFailure) || !OF_MEMBERS.has(error.code)) throw error;
    return { values: null, lost: source.members.map(({ id }) => id), failure: error };
  }
}

/** Why none of the members can be read. */
const OF_MEMBERS: ReadonlySet<TaskFailureCode> = new Set<TaskFailureCode>([
  ...(['store-unavailable', 'source-unreadable', 'access-denied'] as const),
]);

async function valuesIn(
  dataset: Dataset,
  place: readonly [number, number],
  isMosaic: boolean,
): Promise<(AnyNumber | null)[] | null> {
  const pixel = pixelAt(dataset, place);
  if (!pixel) return null;
  const values: (AnyNumber | null)[] = [];
  for (let band = 1; band <= dataset.bands.count(); band++)
    values.push(await valueAt(dataset.bands.get(band), pixel, isMosaic));
  return values;
}

/** Returns the column and row of the pixel that contains a position. Undefined outside the raster. */
function pixelAt(
  dataset: Dataset,
  [longitude, latitude]: readonly [number, number],
): [number, number] | undefined {
  const { crs, geoTransform } = getGeoreference(dataset);
  const { x: width, y: height } = dataset.rasterSize;
  const [x0, a, b, y0, c, d] = geoTransform;
  const point = pointTransform(getCrs(CRS84_NAME), crs)(longitude, latitude);
  if (!point) return undefined;
  const period = findCrsPeriod(crs);
  // A grid may run beyond 180 degrees.
  for (const shift of period === null ? [0] : [0, period, -period]) {
    const [dx, dy] = [point[0] + shift - x0, point[1] - y0];
    const column = Math.floor((dx * d - dy * b) / (a * d - b * c));
    const row = Math.floor((dy * a - dx * c) / (a * d - b * c));
    if (column >= 0 && column < width && row >= 0 && row < height) return [column, row];
  }
  return undefined;
}

async function valueAt(
  band: RasterBand,
  [column, row]: [number, number],
  isMosaic: boolean,
): Promise<AnyNumber | null> {
  const mask = band.getMaskBand();
  if (mask && (await mask.pixels.readAsync(column, row, 1, 1))[0] === 0) return null;
  const [stored] = (await band.pixels.readAsync(column, row, 1, 1)) as ArrayLike<number | bigint> &
    Iterable<number | bigint>;
  // GDAL reads members with nodata values or masks through doubles.
  if (typeof stored === 'bigint' && isMosaic && isLarge(stored)) throw roundedByMosaic();
  if (typeof stored === 'bigint' && !hasScaledValues(band)) return exactInteger(stored);
  const value = Number(stored) * (band.scale ?? 1) + (band.offset ?? 0);
  return Number.isFinite(value) ? value : null;
}
