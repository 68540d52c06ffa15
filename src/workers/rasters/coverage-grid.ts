/** Grid of a coverage response: the positions of its pixels, and the parts of the raster that are read for them. */

import { TaskFailure } from '../../core/errors/failure.js';
import { type Box, commonArea } from '../../core/geometry/box.js';
import type { CoverageTask } from '../../core/rasters/rasters.js';
import { type GdalCrs, sameCrs } from '../gdal/crs.js';
import { type Dataset, gdal } from '../gdal/gdal.js';
import { type Georeference, getGeoreference } from './georeference.js';
import { checkSize } from './image.js';
import { mercatorGrid } from './mercator.js';
import { findCrsPeriod, findOverlappingCopies, outlineIn, transformBoxes } from './pixels/continuous.js';
import { warpFailure } from './warp.js';

/** Fraction of a pixel within which an edge counts as lying on the grid. */
const SNAP = 1e-6;
/** GDAL counts columns and rows in 32 bits. */
const MAX_SCALED_SIDE = 2 ** 31 - 1;

export interface AreaGrid {
  crs: GdalCrs;
  /** Bounding box in `crs`. It extends beyond 180 degrees if it crosses the antimeridian. */
  box: Box;
  width: number;
  height: number;
  /** Columns and rows of the source (column, row, columns, rows), if pixels are not reprojected. */
  window?: [number, number, number, number];
  /** Size to which the complete source is scaled before it is reprojected. */
  scaled?: [number, number];
}

/** Requested area. Default without parts: the complete raster. */
export interface Area {
  /** Boxes in `partsCrs`, from west to east. */
  parts: Box[] | null;
  partsCrs: GdalCrs;
  crs: GdalCrs;
}

/**
 * Returns the repetitions of the raster that fill the area: see `findOverlappingCopies`. `no-data` if the raster does not meet the
 * area.
 */
export function copiesFor(
  { parts, partsCrs }: Area,
  place: Georeference,
): { copies: number[]; period: number } {
  const once = { copies: [0], period: 0 };
  const period = place.northUp ? findCrsPeriod(place.crs) : null;
  const window = parts && period !== null ? transformBoxes(parts, partsCrs, place.crs) : null;
  if (!window || period === null) return once;
  const copies = findOverlappingCopies(place.extent, window, period);
  if (copies.length === 0) throw noData();
  return { copies, period };
}

type GridTask = Pick<CoverageTask, 'size' | 'pixel' | 'resolution' | 'maxSize' | 'isWhole'>;

/** The grid on a raster, which is repeated already where the area needs it. Fails with `no-data` or `too-large`. */
export async function computeCoverageGrid(task: GridTask, area: Area, raster: Dataset): Promise<AreaGrid> {
  const place = getGeoreference(raster);
  const isCrop = sameCrs(area.crs, place.crs) && place.northUp && !reachesBeyond(task, area, place);
  const grid = isCrop ? cropGrid(task, area, raster, place) : await warpGrid(task, area, raster, place);
  checkSize(grid.width, grid.height, task.maxSize);
  return grid;
}

/** Whether the response has pixels outside the raster. */
function reachesBeyond(
  { isWhole }: GridTask,
  { parts, partsCrs }: Area,
  { crs, extent }: Georeference,
): boolean {
  if (!isWhole || !parts) return false;
  const box = placedBox(transformBoxes(parts, partsCrs, crs));
  return box[0] < extent[0] || box[1] < extent[1] || box[2] > extent[2] || box[3] > extent[3];
}

function noData(): TaskFailure {
  return new TaskFailure('no-data', 'The bounding box does not intersect the coverage.');
}

/**
 * Returns a window on the raster's own grid. It has unscaled pixels unless the request states their number or size.
 */
function cropGrid(task: GridTask, area: Area, raster: Dataset, place: Georeference): AreaGrid {
  const [x0, dx, , y0, , dy] = place.geoTransform;
  const { x: columns, y: rows } = raster.rasterSize;
  const target = area.parts && placedBox(transformBoxes(area.parts, area.partsCrs, place.crs));
  const box = target ? commonArea(target, place.extent) : place.extent;
  if (!box) throw noData();
  let [left, top] = [(box[0] - x0) / dx, (box[3] - y0) / dy];
  let [right, bottom] = [(box[2] - x0) / dx, (box[1] - y0) / dy];
  const pixel =
    task.pixel ?? (task.resolution && ownWhereZero(task.resolution, [Math.abs(dx), Math.abs(dy)]));
  const size = task.size ?? (pixel && computeSize(box, pixel));
  if (!size || size.includes(0)) {
    left = Math.max(0, Math.floor(left + SNAP));
    top = Math.max(0, Math.floor(top + SNAP));
    right = Math.min(columns, Math.max(left + 1, Math.ceil(right - SNAP)));
    bottom = Math.min(rows, Math.max(top + 1, Math.ceil(bottom - SNAP)));
  }
  const [width, height] = size
    ? ownWhereZero(size, [right - left, bottom - top])
    : [right - left, bottom - top];
  return {
    crs: area.crs,
    box: [x0 + left * dx, y0 + bottom * dy, x0 + right * dx, y0 + top * dy],
    width,
    height,
    window: [left, top, right - left, bottom - top],
  };
}

function placedBox(box: Box | null): Box {
  if (!box)
    throw new TaskFailure(
      'invalid-input',
      'The bounding box is outside the area of the CRS of the response.',
    );
  return box;
}

function computeSize(box: Box, [x, y]: readonly [number, number]): [number, number] {
  return [pixels(box[2] - box[0], x), pixels(box[3] - box[1], y)];
}

function ownWhereZero([x, y]: readonly [number, number], own: readonly [number, number]): [number, number] {
  return [x || own[0], y || own[1]];
}

function pixels(length: number, step: number): number {
  return Math.max(1, Math.round(length / step));
}

/** A window in another CRS, or of a raster that is turned. */
async function warpGrid(task: GridTask, area: Area, raster: Dataset, place: Georeference): Promise<AreaGrid> {
  const { crs } = area;
  const box = warpedBox(area, place, task.isWhole);
  const scaled = task.pixel && scaledSize(place, task.pixel);
  if (task.size && !task.size.includes(0)) return { crs, box, width: task.size[0], height: task.size[1] };
  const own = await pixelSize(raster, place, crs, scaled);
  const step = task.resolution ? ownWhereZero(task.resolution, own) : own;
  const [width, height] = task.size
    ? ownWhereZero(task.size, computeSize(box, step))
    : computeSize(box, step);
  return { crs, box, width, height, ...(scaled ? { scaled } : {}) };
}

function warpedBox({ parts, partsCrs, crs }: Area, place: Georeference, isWhole = false): Box {
  const outline = placedBox(outlineIn(place.extent, place.crs, crs));
  if (!parts) return outline;
  const box = placedBox(transformBoxes(parts, partsCrs, crs));
  const period = findCrsPeriod(crs);
  const copies = findOverlappingCopies(outline, box, period);
  if (copies.length === 0) throw noData();
  if (isWhole) return box;
  const shift = (copy: number) => copy * (period ?? 0);
  const reach: Box = [
    outline[0] + shift(copies[0]!),
    outline[1],
    outline[2] + shift(copies.at(-1)!),
    outline[3],
  ];
  return commonArea(box, reach)!;
}

function scaledSize({ extent }: Georeference, pixel: [number, number]): [number, number] {
  const size = computeSize(extent, pixel);
  if (size.some((side) => side > MAX_SCALED_SIDE))
    throw new TaskFailure('too-large', 'The pixels are too small for the extent of the coverage.');
  return size;
}

/**
 * Returns the pixel size that GDAL suggests for the complete raster. `scaled` pixels of the raster result in larger
 * or smaller ones.
 */
async function pixelSize(
  raster: Dataset,
  place: Georeference,
  crs: GdalCrs,
  scaled: [number, number] | undefined,
): Promise<[number, number]> {
  const [, dx, turnedX, , turnedY, dy] = place.geoTransform;
  const size: [number, number] = [raster.rasterSize.x, raster.rasterSize.y];
  const onGrid = sameCrs(crs, place.crs) && turnedX === 0 && turnedY === 0;
  if (onGrid && !scaled) return [Math.abs(dx), Math.abs(dy)];
  try {
    const own = (await mercatorGrid(raster, crs))?.step ?? (await suggestedStep(raster, place, crs));
    // The suggestion keeps the diagonal's number of pixels.
    const factor = scaled ? Math.hypot(...size) / Math.hypot(...scaled) : 1;
    const step = own * factor;
    return [step, step];
  } catch (error) {
    throw warpFailure(error);
  }
}

async function suggestedStep(raster: Dataset, { crs: own }: Georeference, crs: GdalCrs): Promise<number> {
  const options = { src: raster, s_srs: own.srs, t_srs: crs.srs };
  const { geoTransform } = await gdal.suggestedWarpOutputAsync(options);
  return Math.abs(geoTransform[1]!);
}
