/** Windows of a raster in any CRS, warped into memory. */

import type { Box } from '../../core/box.js';
import { TaskFailure } from '../../core/failure.js';
import { type Crs, gridOver, intersection, movedPoints, pointTransform } from './crs.js';
import { ALL_VALID, type Dataset, gdal } from './gdal.js';
import { georeferenceOf } from './georeference.js';
import type { RasterHandle } from './handles.js';
import type { Rendering } from './palette.js';

export interface PictureWindow {
  box: Box;
  crs: Crs;
  width: number;
  height: number;
}

/** Points on each side of the grid that places a window on a raster. */
const WINDOW_DENSITY = 5;
/** The grid is coarse: the true outline of the window stays within its box grown by this part on each side. */
const WINDOW_MARGIN = 0.25;

/**
 * Where a window lies in the raster's CRS, and source pixels per output pixel; `unknown` when part of it has no place
 * there.
 */
export type SourceWindow = { box: Box; shrink: number } | 'nothing' | 'unknown';

export function sourceWindow(handle: RasterHandle, window: PictureWindow): SourceWindow {
  const { crs, extent, geoTransform } = georeferenceOf(handle.dataset);
  const box = placeOf(window, crs);
  if (typeof box === 'string') return box;
  if (!intersection(grown(box), extent)) return 'nothing';
  const [dx, dy] = [box[2] - box[0], box[3] - box[1]];
  const [, a, b, , c, d] = geoTransform;
  // The mean of both sides: around a pole, or where pixels are no squares, one says little of the other.
  const shrink = Math.sqrt((dx / Math.hypot(a, c) / window.width) * (dy / Math.hypot(b, d) / window.height));
  return { box, shrink };
}

/** True when the raster has a valid pixel wherever the window has one, so that nothing must tell where it has none. */
export function isCovered(raster: Dataset, window: PictureWindow): boolean {
  if (!isValidAllOver(raster)) return false;
  const box = placeOf(window, georeferenceOf(raster).crs);
  return typeof box !== 'string' && covers(raster, box);
}

/** True when a window at this box in the raster's CRS, and what is read around it, lies within the raster. */
export function covers(raster: Dataset, box: Box): boolean {
  const { extent, northUp } = georeferenceOf(raster);
  const [minx, miny, maxx, maxy] = grown(box);
  return northUp && minx > extent[0] && miny > extent[1] && maxx < extent[2] && maxy < extent[3];
}

const validity = new WeakMap<Dataset, boolean>();

/** Of bands that an alpha band hides, GDAL says so only where there are two or four, and alpha is in bytes or UInt16. */
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
export function placeOf(window: PictureWindow, crs: Crs): Box | 'nothing' | 'unknown' {
  const points = gridOver(window.box, WINDOW_DENSITY);
  const placed = movedPoints(points, pointTransform(window.crs, crs));
  // A window beyond what the raster's projection reaches shows nothing of it.
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

/** Left alone, GDAL widens its kernel from a factor of 1.05 on, which halves the speed of most tiles. */
export function kernelOptions(shrink: number): string[] {
  return shrink <= PLAIN_KERNEL_SHRINK ? ['-wo', 'XSCALE=1', '-wo', 'YSCALE=1'] : [];
}

/**
 * The window as an in-memory dataset: bytes, with an alpha band unless the raster covers it, or Float32 where what is
 * missing is NaN.
 */
export async function warpToMemory(
  view: Dataset,
  rendering: Rendering,
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

/** Tells a window that cannot be reprojected from a file that cannot be read. */
export function warpFailure(error: unknown): unknown {
  const text = String(error);
  if (!/transform|project|PROJ|latitude|longitude/i.test(text)) return error;
  return new TaskFailure(
    'invalid-input',
    'The window cannot be reprojected to the reference system of the raster.',
    text,
  );
}
