import type { RasterCollection } from '../../core/catalog/collection.js';
import { findDefaultLook, listDrawnRanges } from '../../core/catalog/default-look.js';
import type { Box } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { LIMITS } from '../../core/kit/limits.js';
import { RASTER_LIMITS } from '../../core/rasters/limits.js';
import type { RasterLook } from '../../core/rasters/raster-look.js';
import type { CoverageResult, CoverageTask } from '../../core/rasters/rasters.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { readOnceAndDelete } from '../kit/passing-file.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { type CoverageSubset, computeWindow84, type ReadSource, sourceAt } from './instant.js';
import { estimatePixels } from './pixel-estimate.js';
import type { Scaling } from './scaling.js';
import { withItsScenes } from './stac-imagery/windows.js';

/** Values of a coverage, for all protocols. */

type TaskMembers = Pick<CoverageTask, 'bands' | 'resampling' | 'isWhole' | 'tolerance' | 'lercVersion'>;

export interface CoverageRequest
  extends CoverageSubset,
    Readonly<{ [K in keyof TaskMembers]: TaskMembers[K] | undefined }> {
  /** Default: the whole coverage. */
  readonly place: { readonly bbox: Box; readonly bboxCrs: Crs } | undefined;
  /** CRS of the response. */
  readonly crs: Crs;
  readonly scaling: Scaling;
  readonly format: CoverageTask['format'];
}

export interface TimedCoverage {
  readonly result: CoverageResult;
  /** Instant of the data; undefined for data without a time. */
  readonly time: string | undefined;
}

/** Reads a window of a coverage. Rejects with `TaskFailure`: `no-data` for a window outside, `too-large`. */
export async function readCoverage(
  x: TaskContext,
  pools: Pools,
  collection: RasterCollection,
  { datetime, heights, place, crs, scaling, ...request }: CoverageRequest,
): Promise<TimedCoverage> {
  const { time, ...source } = await findSource(x, pools, collection, { datetime, heights, place });
  const task: CoverageTask = {
    ...withoutAbsent(request),
    ...source,
    ...scaling,
    ...(place ? { bbox: place.bbox, bboxCrs: crsText(collection, place.bboxCrs) } : {}),
    ...(request.format === 'png' && findImageSettings(collection, request.bands, source.at)),
    crs: crsText(collection, crs),
    pixels: estimatePixels(collection, { place, crs, scaling }),
    maxSize: LIMITS.coverageSide,
    maxBytes: request.format === 'lerc' ? RASTER_LIMITS.lercBytes : RASTER_LIMITS.coverageBytes,
  };
  const result = await runTask(x, pools, 'raster.coverage', task, { layerId: collection.layerId });
  return { result, time };
}

/**
 * Rendering of a PNG: like maps in the default style. A single selected band has the colour ramp of the style, if that
 * shows a single band.
 */
function findImageSettings(
  collection: RasterCollection,
  bands: readonly number[] | undefined,
  at: CoverageTask['at'],
): Pick<CoverageTask, 'look' | 'ranges'> {
  const look = findDefaultLook(collection);
  // Other levels have other values.
  const ranges = at?.level ? undefined : listDrawnRanges(collection);
  const shown = bands === undefined ? look : bands.length === 1 ? coloredBand(look, bands) : undefined;
  return { ...(shown && { look: shown }), ...(ranges && { ranges }) };
}

function coloredBand(look: RasterLook | undefined, bands: readonly number[]): RasterLook | undefined {
  if (look?.colormap?.kind !== 'ramp' || look.expressions) return undefined;
  if (look.bands?.[0] === bands[0]) return look;
  return { bands, colormap: look.colormap };
}

/** The rasters of a window, after a search for scenes where the coverage is one of a STAC API. */
export async function findSource(
  { signal }: Pick<TaskContext, 'signal'>,
  pools: Pools,
  collection: RasterCollection,
  { place, ...narrowing }: CoverageSubset & Pick<CoverageRequest, 'place'>,
): Promise<ReadSource> {
  const window84 = computeWindow84(place);
  const { datetime } = narrowing;
  return sourceAt(await withItsScenes(pools, collection, { window84, datetime, signal }), narrowing, place);
}

/** Opens the bytes of a coverage, which can be read once. */
export async function openCoverage({
  file,
  data,
}: CoverageResult): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  return file === undefined ? data : readOnceAndDelete(file);
}

/** Whether a request sets the number or the size of pixels. */
export function hasScaling({ scaling }: CoverageRequest): boolean {
  return Object.keys(scaling).length > 0;
}

/**
 * The definition of a CRS for GDAL. For the raster's CRS, this is the raster's definition, which can contain more
 * than the code.
 */
function crsText({ storageCrs, raster }: RasterCollection, crs: Crs): string {
  return crs.uri === storageCrs.uri ? raster.crs : crs.proj;
}

function withoutAbsent<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]: Exclude<T[K], undefined> };
}
