/** Windows of a raster in any CRS, warped into memory. */

import { TaskFailure } from '../../core/errors/failure.js';
import { type Box, commonArea } from '../../core/geometry/box.js';
import { computeGridPoints, type GdalCrs, pointTransform } from '../gdal/crs.js';
import { ALL_VALID, type Dataset, gdal } from '../gdal/gdal.js';
import { type GeoTransform, getGeoreference } from './georeference.js';
import type { RasterHandle } from './handles.js';
import { copiesIn, findCrsPeriod } from './pixels/continuous.js';
import type { PixelRendering } from './pixels/palette.js';

export interface PictureWindow {
  box: Box;
  crs: GdalCrs;
  width: number;
  height: number;
}

/** Points on each side of the grid that places a window on a raster. */
const WINDOW_DENSITY = 5;
/** The grid is coarse: the true outline of the window stays within its box grown by this part on each side. */
const WINDOW_MARGIN = 0.25;

/**
 * Position of a window in the raster's CRS, and the source pixels per output pixel along both sides of the raster.
 * `unknown` if part of the window has no position there.
 */
export type SourceWindow = { box: Box; shrink: Shrink } | 'nothing' | 'unknown';

export type Shrink = readonly [x: number, y: number];

/** Mean of both sides. Near a pole, or with pixels that are not square, a single side is not representative. */
export const computeMeanShrink = ([x, y]: Shrink): number => Math.sqrt(x * y);

export function sourceWindow(handle: RasterHandle, window: PictureWindow): SourceWindow {
  const { crs, extent, geoTransform } = getGeoreference(handle.dataset);
  const points = gridOn(window, crs);
  const box = boxAround(points);
  if (typeof box === 'string') return box;
  if (!commonArea(grown(box), extent)) return 'nothing';
  const shrink = findShrink(points, window, geoTransform);
  return shrink ? { box, shrink } : 'unknown';
}

/**
 * Computes medians of the distances between neighbours of the grid, because the box around a window across the
 * antimeridian is as wide as the world.
 */
function findShrink(
  points: readonly Place[],
  { width, height }: PictureWindow,
  [, a, b, , c, d]: GeoTransform,
): Shrink | undefined {
  const [across, down] = [width / (WINDOW_DENSITY - 1), height / (WINDOW_DENSITY - 1)];
  const [xs, ys]: [number[], number[]] = [[], []];
  for (let at = 0; at < points.length - WINDOW_DENSITY; at++) {
    if (at % WINDOW_DENSITY === WINDOW_DENSITY - 1) continue;
    const [point, right, up] = [points[at], points[at + 1], points[at + WINDOW_DENSITY]];
    if (!point || !right || !up) continue;
    xs.push(Math.hypot((right[0] - point[0]) / across, (up[0] - point[0]) / down));
    ys.push(Math.hypot((right[1] - point[1]) / across, (up[1] - point[1]) / down));
  }
  return xs.length === 0 ? undefined : [median(xs) / Math.hypot(a, c), median(ys) / Math.hypot(b, d)];
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;

/** The raster where a window meets it: it may run beyond 180 degrees, and the window may be counted from the other side. */
export async function placedIn(handle: RasterHandle, window: PictureWindow): Promise<RasterHandle> {
  const { crs, extent, northUp } = getGeoreference(handle.dataset);
  const period = northUp ? findCrsPeriod(crs) : null;
  if (period === null) return handle;
  const [west, , east] = extent;
  if (west >= -period / 2 && east <= period / 2) return handle;
  const box = computeWindowBox(window, crs);
  if (typeof box === 'string') return handle;
  const copies = copiesIn(extent, grown(box), period);
  return copies.length === 0 ? handle : handle.movedBy(copies, period);
}

/** Whether the raster has a valid pixel at every pixel of the window, so that no mask is needed. */
export function isCovered(raster: Dataset, window: PictureWindow): boolean {
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
 * Whether all pixels of all bands are valid. GDAL reports a hiding alpha band only for two or four bands with alpha
 * in bytes or UInt16.
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
export const computeWindowBox = (window: PictureWindow, crs: GdalCrs): Box | 'nothing' | 'unknown' =>
  boxAround(gridOn(window, crs));

type Place = [number, number] | null;

/** Rows from the bottom up. Null for positions that cannot be projected. */
function gridOn(window: PictureWindow, crs: GdalCrs): Place[] {
  const points = computeGridPoints(window.box, WINDOW_DENSITY);
  const move = pointTransform(window.crs, crs);
  return Array.from({ length: points.length / 2 }, (_, i) => move(points[2 * i]!, points[2 * i + 1]!));
}

function boxAround(points: readonly Place[]): Box | 'nothing' | 'unknown' {
  const placed = points.filter((point) => point !== null);
  // A window outside the domain of the raster's projection shows no part of it.
  if (placed.length === 0) return 'nothing';
  if (placed.length < points.length / 2) return 'unknown';
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
 * Returns kernel options. By default GDAL widens its kernel from a factor of 1.05, which halves the speed of most
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
  window: PictureWindow,
  options: string[],
  isCovered: boolean,
): Promise<Dataset> {
  const drawing = rendering.kind === 'drawing' ? rendering.drawing : undefined;
  const isFloat = rendering.kind === 'stretch' || drawing !== undefined;
  const type = isFloat ? ['-ot', 'Float32'] : [];
  const missing = isFloat ? ['-dstnodata', 'nan'] : ['-dstalpha'];
  const outside = isCovered ? type : [...type, ...missing];
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

/** Distinguishes a window that cannot be reprojected from a file that cannot be read. */
export function warpFailure(error: unknown): unknown {
  const text = String(error);
  if (!/transform|project|PROJ|latitude|longitude/i.test(text)) return error;
  return new TaskFailure(
    'invalid-input',
    'The window cannot be reprojected to the reference system of the raster.',
    text,
  );
}
