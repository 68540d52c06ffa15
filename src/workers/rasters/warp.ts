/** Windows of a raster in any CRS, warped into memory. */

import { TaskFailure } from '../../core/errors/failure.js';
import { type Box, commonArea } from '../../core/geometry/box.js';
import { computeGridPoints, type GdalCrs, pointTransform } from '../gdal/crs.js';
import { ALL_VALID, type Dataset, gdal } from '../gdal/gdal.js';
import { type GeoTransform, getGeoreference } from './georeference.js';
import type { RasterHandle } from './handles.js';
import { findCrsPeriod, findOverlappingCopies } from './pixels/continuous.js';
import type { PixelRendering } from './pixels/palette.js';

export interface ImageWindow {
  box: Box;
  crs: GdalCrs;
  width: number;
  height: number;
}

/** Points on each side of the grid that locates a window on a raster. */
const WINDOW_DENSITY = 5;
/** The grid is coarse: the true outline of the window stays within its box grown by this fraction on each side. */
const WINDOW_MARGIN = 0.25;

/**
 * Box of a window in the raster's CRS. `outside` if no grid point has a position in this CRS. `unprojectable` if only
 * fewer than half of the points have one: then they do not determine the box.
 */
type WindowBox = Box | 'outside' | 'unprojectable';

/**
 * Box of a window in the raster's CRS, and its shrink. `outside` if the window does not touch the raster.
 * `unprojectable` if too few grid points have a position in the CRS of the raster.
 */
export type SourceWindow = { box: Box; shrink: Shrink } | 'outside' | 'unprojectable';

/** Source pixels per output pixel along both sides of the raster. */
export type Shrink = readonly [x: number, y: number];

/** Mean of both sides. Near a pole, or with pixels that are not square, a single side is not representative. */
export const computeMeanShrink = ([x, y]: Shrink): number => Math.sqrt(x * y);

/** Locates a window on a raster. */
export function locateWindow(handle: RasterHandle, window: ImageWindow): SourceWindow {
  const { crs, extent, geoTransform } = getGeoreference(handle.dataset);
  const points = projectGrid(window, crs);
  const box = boxAround(points);
  if (typeof box === 'string') return box;
  if (!commonArea(grown(box), extent)) return 'outside';
  const shrink = findShrink(points, window, geoTransform);
  return shrink ? { box, shrink } : 'unprojectable';
}

/**
 * Computes medians of the distances between neighbours of the grid, because the box around a window across the
 * antimeridian is as wide as the world.
 */
function findShrink(
  points: readonly GridPoint[],
  { width, height }: ImageWindow,
  [, a, b, , c, d]: GeoTransform,
): Shrink | undefined {
  const [across, down] = [width / (WINDOW_DENSITY - 1), height / (WINDOW_DENSITY - 1)];
  const [xs, ys]: [number[], number[]] = [[], []];
  // Points of the last column and of the last row have no neighbour to the right, or above.
  for (let i = 0; i < points.length - WINDOW_DENSITY; i++) {
    if (i % WINDOW_DENSITY === WINDOW_DENSITY - 1) continue;
    const [point, right, up] = [points[i], points[i + 1], points[i + WINDOW_DENSITY]];
    if (!point || !right || !up) continue;
    xs.push(Math.hypot((right[0] - point[0]) / across, (up[0] - point[0]) / down));
    ys.push(Math.hypot((right[1] - point[1]) / across, (up[1] - point[1]) / down));
  }
  return xs.length === 0 ? undefined : [median(xs) / Math.hypot(a, c), median(ys) / Math.hypot(b, d)];
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;

/**
 * Returns the raster shifted by whole periods of its CRS so that it overlaps the window, for rasters that cross the
 * antimeridian. Unchanged for all other rasters.
 */
export async function shiftToWindow(handle: RasterHandle, window: ImageWindow): Promise<RasterHandle> {
  const { crs, extent, northUp } = getGeoreference(handle.dataset);
  const period = northUp ? findCrsPeriod(crs) : null;
  if (period === null) return handle;
  const [west, , east] = extent;
  if (west >= -period / 2 && east <= period / 2) return handle;
  const box = computeWindowBox(window, crs);
  if (typeof box === 'string') return handle;
  const copies = findOverlappingCopies(extent, grown(box), period);
  return copies.length === 0 ? handle : handle.shiftToCopies(copies, period);
}

/** Whether the raster has a valid pixel at every pixel of the window, so that no mask is needed. */
export function isCovered(raster: Dataset, window: ImageWindow): boolean {
  if (!isValidAllOver(raster)) return false;
  const box = computeWindowBox(window, getGeoreference(raster).crs);
  return typeof box !== 'string' && isWindowInside(raster, box);
}

/**
 * Whether a window at this box in the raster's CRS, including its surroundings that are read, is inside the raster.
 */
export function isWindowInside(raster: Dataset, box: Box): boolean {
  const { extent, northUp } = getGeoreference(raster);
  const [minx, miny, maxx, maxy] = grown(box);
  return northUp && minx > extent[0] && miny > extent[1] && maxx < extent[2] && maxy < extent[3];
}

const validity = new WeakMap<Dataset, boolean>();

/**
 * Whether all pixels of all bands are valid. GDAL's mask flags report an alpha band only as the last of two or four
 * bands of bytes or UInt16, so the function also checks the colour interpretation.
 */
export function isValidAllOver(dataset: Dataset): boolean {
  let isValid = validity.get(dataset);
  if (isValid === undefined) {
    const { bands } = dataset;
    const all = Array.from({ length: bands.count() }, (_, index) => bands.get(index + 1));
    isValid = all.every((band) => band.getMaskFlags() === ALL_VALID && band.colorInterpretation !== 'Alpha');
    validity.set(dataset, isValid);
  }
  return isValid;
}

/** The box of a window in another CRS, from a coarse grid. */
export const computeWindowBox = (window: ImageWindow, crs: GdalCrs): WindowBox =>
  boxAround(projectGrid(window, crs));

/** Position of a grid point in another CRS. Null if it cannot be projected. */
type GridPoint = [number, number] | null;

/** Grid of a window in another CRS, in rows from the bottom up. */
function projectGrid(window: ImageWindow, crs: GdalCrs): GridPoint[] {
  const points = computeGridPoints(window.box, WINDOW_DENSITY);
  const move = pointTransform(window.crs, crs);
  return Array.from({ length: points.length / 2 }, (_, i) => move(points[2 * i]!, points[2 * i + 1]!));
}

function boxAround(points: readonly GridPoint[]): WindowBox {
  const placed = points.filter((point) => point !== null);
  // A window outside the domain of the raster's projection cannot touch the raster.
  if (placed.length === 0) return 'outside';
  if (placed.length < points.length / 2) return 'unprojectable';
  const [xs, ys] = [placed.map(([x]) => x), placed.map(([, y]) => y)];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

function grown([minx, miny, maxx, maxy]: Box): Box {
  const [mx, my] = [(maxx - minx) * WINDOW_MARGIN, (maxy - miny) * WINDOW_MARGIN];
  return [minx - mx, miny - my, maxx + mx, maxy + my];
}

/** Up to this many source pixels per output pixel, plain bilinear interpolation shows no aliasing worth a wider kernel. */
const PLAIN_KERNEL_SHRINK = 1.6;

/**
 * Returns options for the resampling kernel. `factor` is the factor of the overview that is read. By default GDAL widens its kernel from a factor of 1.05, which halves the speed of most
 * tiles.
 */
export function kernelOptions([x, y]: Shrink, factor: number): string[] {
  return [
    ...(x / factor <= PLAIN_KERNEL_SHRINK ? ['-wo', 'XSCALE=1'] : []),
    ...(y / factor <= PLAIN_KERNEL_SHRINK ? ['-wo', 'YSCALE=1'] : []),
  ];
}

/**
 * Returns the window as an in-memory dataset: bytes, with an alpha band unless the raster covers it, or Float32 with
 * NaN for missing values.
 */
export async function warpToMemory(
  view: Dataset,
  rendering: PixelRendering,
  window: ImageWindow,
  options: string[],
  coversWindow: boolean,
): Promise<Dataset> {
  const drawing = rendering.kind === 'drawing' ? rendering.drawing : undefined;
  const isFloat = rendering.kind === 'stretch' || drawing !== undefined;
  const type = isFloat ? ['-ot', 'Float32'] : [];
  const missing = isFloat ? ['-dstnodata', 'nan'] : ['-dstalpha'];
  const outside = coversWindow ? type : [...type, ...missing];
  const inside = drawing?.nodata === undefined ? [] : ['-srcnodata', String(drawing.nodata)];
  const resampling = rendering.kind === 'palette' || drawing?.nearest ? 'near' : 'bilinear';
  try {
    return await gdal.warpAsync(
      'picture',
      null,
      [view],
      [
        ...['-of', 'MEM', '-t_srs', window.crs.text],
        ...['-te', ...window.box.map(String)],
        ...['-ts', String(window.width), String(window.height)],
        ...['-r', resampling, '-et', '0.125'],
        ...outside,
        ...inside,
        ...options,
      ],
    );
  } catch (error) {
    throw warpFailure(error);
  }
}

/** The failure of a warp. GDAL has no error code for a window that cannot be reprojected, so its text decides. */
export function warpFailure(error: unknown): unknown {
  const text = String(error);
  if (!/transform|project|PROJ|latitude|longitude/i.test(text)) return error;
  return new TaskFailure(
    'invalid-input',
    'The window cannot be reprojected to the reference system of the raster.',
    text,
  );
}
