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

/** Source pixels per output pixel; `unknown` when part of the window has no place in the raster's CRS. */
export type SourceWindow = { shrink: number } | 'nothing' | 'unknown';

export function sourceWindow(handle: RasterHandle, window: PictureWindow): SourceWindow {
  const { crs, extent, geoTransform } = georeferenceOf(handle.dataset);
  const box = placeOf(window, crs);
  if (typeof box === 'string') return box;
  if (!intersection(grown(box), extent)) return 'nothing';
  const [dx, dy] = [box[2] - box[0], box[3] - box[1]];
  const [, a, b, , c, d] = geoTransform;
  return { shrink: Math.max(dx / Math.hypot(a, c) / window.width, dy / Math.hypot(b, d) / window.height) };
}

/** True when the raster has a valid pixel wherever the window has one, so that nothing must tell where it has none. */
export function isCovered(raster: Dataset, window: PictureWindow): boolean {
  const { crs, extent, northUp } = georeferenceOf(raster);
  if (!northUp || !isValidAllOver(raster)) return false;
  const box = placeOf(window, crs);
  if (typeof box === 'string') return false;
  const [minx, miny, maxx, maxy] = grown(box);
  return minx > extent[0] && miny > extent[1] && maxx < extent[2] && maxy < extent[3];
}

function isValidAllOver({ bands }: Dataset): boolean {
  return Array.from({ length: bands.count() }, (_, index) => bands.get(index + 1)).every(
    (band) => band.getMaskFlags() === ALL_VALID,
  );
}

/** The box of a window in another CRS, from a coarse grid. */
function placeOf(window: PictureWindow, crs: Crs): Box | 'nothing' | 'unknown' {
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
export function kernelOptions(handle: RasterHandle, source: SourceWindow): string[] {
  if (typeof source === 'string') return [];
  const { overviews, size } = handle.dataset.bands.get(1);
  let shrink = source.shrink;
  for (let index = 0; index < overviews.count(); index++) {
    const factor = size.x / overviews.get(index).size.x;
    // GDAL reads from the smallest overview that is not coarser than the output.
    if (factor <= source.shrink * 1.01) shrink = Math.min(shrink, source.shrink / factor);
  }
  return shrink <= PLAIN_KERNEL_SHRINK ? ['-wo', 'XSCALE=1', '-wo', 'YSCALE=1'] : [];
}

/** The window as an in-memory dataset: bytes with an alpha band, or Float32 where nodata is NaN. */
export async function warpToMemory(
  view: Dataset,
  rendering: Rendering,
  window: PictureWindow,
  kernel: string[],
): Promise<Dataset> {
  const drawing = rendering.kind === 'drawing' ? rendering.drawing : undefined;
  const isFloat = rendering.kind === 'stretch' || drawing !== undefined;
  const outside = isFloat ? ['-ot', 'Float32', '-dstnodata', 'nan'] : ['-dstalpha'];
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
        ...['-r', resampling, '-ovr', 'AUTO', '-et', '0.125'],
        ...outside,
        ...inside,
        ...kernel,
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
