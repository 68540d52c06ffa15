/** Pixels of a window of a raster: copied if the window is on the raster's own pixels, otherwise warped. */

import type { RasterBand } from 'gdal-async';
import { sameCrs } from '../../gdal/crs.js';
import { ALL_VALID, BY_ALPHA, BY_MASK, BY_NODATA, type Dataset } from '../../gdal/gdal.js';
import { chooseLevel } from '../cog/levels.js';
import { getGeoreference } from '../georeference.js';
import type { RasterHandle } from '../handles.js';
import {
  computeMeanShrink,
  type ImageWindow,
  isValidAllOver,
  isWindowInside,
  kernelOptions,
  locateWindow,
  warpToMemory,
} from '../warp.js';
import { nodataIn } from './nodata.js';
import type { PixelRendering } from './palette.js';

export interface WindowPixels {
  /** Bands of the rendering, in its order. */
  readonly bands: readonly RasterBand[];
  readonly left: number;
  readonly top: number;
  /** Alpha band: 0 for missing pixels. Absent if all pixels are valid, and for floats, which are NaN if missing. */
  readonly alpha?: RasterBand;
  /** Whether the alpha band is a mask, in which every value except 0 marks a valid pixel. */
  readonly isMask?: boolean;
  /** Nodata value, if it is not NaN. */
  readonly nodata?: number;
  /** Whether reading is copying. */
  readonly inMemory: boolean;
  close(): void;
}

/**
 * Number of source pixels per window pixel along a side above which a window is slow, so that other windows do not
 * wait for it.
 */
const LANE_SHRINK = 4;

/** Opens the pixels of a window. Returns `nothing` if it is outside the raster. */
export async function windowPixels(
  handle: RasterHandle,
  rendering: PixelRendering,
  window: ImageWindow,
): Promise<WindowPixels | 'outside'> {
  const source = locateWindow(handle, window);
  if (source === 'outside') return source;
  if (source === 'unprojectable') {
    handle.leaveLane();
    const view = await handle.bands(rendering.bands);
    return warped(view, rendering, window, ['-ovr', 'AUTO']);
  }
  const shrink = computeMeanShrink(source.shrink);
  const level = chooseLevel(handle.dataset, shrink);
  if (shrink / level.factor > LANE_SHRINK) handle.leaveLane();
  // GDAL would open the overview for each window, and forget its blocks with it.
  const view = await handle.bands(rendering.bands, level.overview);
  const copy = findCopy(view, rendering, window);
  if (copy) return copy;
  const isCovered = takesAll(rendering) && isWindowInside(handle.dataset, source.box) && isValidAllOver(view);
  const options = ['-ovr', 'NONE', ...kernelOptions(source.shrink, level.factor)];
  return warped(view, rendering, window, options, isCovered);
}

const sampleCount = (rendering: PixelRendering) =>
  rendering.kind === 'palette'
    ? 1
    : rendering.kind === 'drawing'
      ? rendering.drawing.bands.length
      : rendering.samples;

/** Whether only the raster determines which pixels are missing. */
const takesAll = (rendering: PixelRendering) =>
  rendering.kind === 'bytes' ||
  rendering.kind === 'stretch' ||
  (rendering.kind === 'drawing' && rendering.drawing.nodata === undefined);

const isFloat = ({ kind }: PixelRendering) => kind === 'stretch' || kind === 'drawing';

async function warped(
  view: Dataset,
  rendering: PixelRendering,
  window: ImageWindow,
  options: string[],
  isCovered = false,
): Promise<WindowPixels> {
  const dataset = await warpToMemory(view, rendering, window, options, isCovered);
  const count = sampleCount(rendering);
  const bands = Array.from({ length: count }, (_, index) => dataset.bands.get(index + 1));
  const alpha = isFloat(rendering) || isCovered ? {} : { alpha: dataset.bands.get(count + 1) };
  return { bands, left: 0, top: 0, ...alpha, inMemory: true, close: () => dataset.close() };
}

/**
 * Returns pixels of the view itself if each is a pixel of the window. All resampling methods return them unchanged.
 */
function findCopy(view: Dataset, rendering: PixelRendering, window: ImageWindow): WindowPixels | undefined {
  const place = placeOn(view, window);
  if (!place) return undefined;
  const bands = Array.from({ length: sampleCount(rendering) }, (_, index) => view.bands.get(index + 1));
  const missing = readMissing(view, bands, rendering);
  return missing && { ...missing, bands, ...place, inMemory: false, close() {} };
}

/** Maximum offset in pixels between a window and the raster's pixels. A smaller offset does not change a byte. */
const PLACE_TOLERANCE = 1e-3;

/** Returns the column and row of a window that has the raster's pixels and is completely inside the raster. */
function placeOn(view: Dataset, { box, crs, width, height }: ImageWindow) {
  const { geoTransform, northUp, crs: own } = getGeoreference(view);
  if (!northUp || !sameCrs(crs, own)) return undefined;
  const [x0, dx, , y0, , dy] = geoTransform;
  const [left, top] = [(box[0] - x0) / dx, (box[3] - y0) / dy];
  const [right, bottom] = [(box[2] - x0) / dx, (box[1] - y0) / dy];
  const [column, row] = [Math.round(left), Math.round(top)];
  const distances = [left - column, top - row, right - column - width, bottom - row - height];
  if (distances.some((distance) => Math.abs(distance) > PLACE_TOLERANCE)) return undefined;
  const { x, y } = view.rasterSize;
  const isInside = column >= 0 && row >= 0 && column + width <= x && row + height <= y;
  return isInside ? { left: column, top: row } : undefined;
}

/** Types whose values stay apart as floats of 32 bits. */
const EXACT_AS_FLOATS = new Set(['Byte', 'Int16', 'UInt16', 'Float32']);

/** Returns the bands or values that mark missing pixels. Undefined if only the warper can combine them. */
function readMissing(
  view: Dataset,
  bands: readonly RasterBand[],
  rendering: PixelRendering,
): Pick<WindowPixels, 'alpha' | 'isMask' | 'nodata'> | undefined {
  if (rendering.kind === 'drawing' && rendering.drawing.nodata !== undefined) return undefined;
  const flags = bands.map((band) => band.getMaskFlags());
  // An alpha band follows the bands to which it applies.
  if (view.bands.count() > bands.length) {
    const isAlpha = rendering.kind === 'bytes' && flags.every((flag) => flag === BY_ALPHA);
    return isAlpha ? { alpha: view.bands.get(bands.length + 1) } : undefined;
  }
  if (flags.every((flag) => flag === ALL_VALID)) return {};
  // A copy takes part of a nodata value for it that the type does not have.
  const only = bands.length === 1 && nodataIn(bands[0]!) !== null ? bands[0]! : undefined;
  if (isFloat(rendering)) {
    const nodata = only && EXACT_AS_FLOATS.has(only.dataType!) ? only.noDataValue : undefined;
    return flags[0] === BY_NODATA && typeof nodata === 'number' ? { nodata } : undefined;
  }
  const isMask = flags.every((flag) => flag === BY_MASK);
  const alpha = isMask || (only && flags[0] === BY_NODATA) ? bands[0]!.getMaskBand() : null;
  return alpha ? { alpha, isMask } : undefined;
}
