/** Boxes and rasters that continue where a CRS wraps around: across the antimeridian, or from 0..360 to -180..180. */

import { LRUCache } from 'lru-cache';
import { TaskFailure } from '../../../core/errors/failure.js';
import { around, type Box, plainBoxes } from '../../../core/geometry/box.js';
import {
  CRS84_NAME,
  computeGridPoints,
  type GdalCrs,
  getCrs,
  movedPoints,
  pointTransform,
  transformGdalBox,
} from '../../gdal/crs.js';
import { type Dataset, gdal } from '../../gdal/gdal.js';
import { getGeoreference } from '../georeference.js';

/** Distance in degrees from the antimeridian at which its two sides are compared. */
const NEAR = 1e-6;
const LATITUDES = [0, 40];

const periods = new LRUCache<string, { readonly length: number | null }>({ max: 64 });

/**
 * Returns the distance to the east after which the same location repeats, in units of the CRS. It is 360 for
 * longitudes, and the length of the equator for cylindrical projections that are cut at the antimeridian. Null for
 * all other CRSs.
 */
export function findCrsPeriod(crs: GdalCrs): number | null {
  let period = periods.get(crs.text);
  if (!period) {
    period = { length: findPeriod(crs) };
    periods.set(crs.text, period);
  }
  return period.length;
}

function findPeriod(crs: GdalCrs): number | null {
  if (crs.text === CRS84_NAME) return 360;
  const move = pointTransform(getCrs(CRS84_NAME), crs);
  const widths = LATITUDES.map((latitude) => {
    const [east, west] = [move(180 - NEAR, latitude), move(-180 + NEAR, latitude)];
    if (!east || !west || Math.abs(east[1] - west[1]) > 1e-9 * Math.abs(east[0])) return 0;
    return ((east[0] - west[0]) * 360) / (360 - 2 * NEAR);
  });
  const [first, second] = widths as [number, number];
  // The two sides of a cut are far apart, with the same distance at every latitude. In other CRSs the sides meet.
  if (first <= 300 || Math.abs(first - second) >= first * 1e-9) return null;
  return Math.abs(first - 360) < 1e-9 ? 360 : first;
}

/** A box of a request as boxes that do not cross the antimeridian: the part east of it comes second. */
export function checkedParts(box: unknown, crs: GdalCrs): Box[] {
  if (Array.isArray(box) && box.length === 4 && box.every((value) => Number.isFinite(value))) {
    const [minx, miny, maxx, maxy] = box as unknown as Box;
    if (minx < maxx && miny < maxy) return [[minx, miny, maxx, maxy]];
    if (miny < maxy && minx > maxx && crs.srs.isGeographic() && minx < 180 && maxx > -180)
      return plainBoxes([minx, miny, maxx, maxy]);
  }
  throw new TaskFailure('invalid-input', 'The bounding box must be four finite numbers that span an area.');
}

/** The smallest box in `to` around boxes in `from`, each following the one before it eastwards. Null when there is none. */
export function transformBoxes(parts: readonly Box[], from: GdalCrs, to: GdalCrs): Box | null {
  const period = findCrsPeriod(to);
  let whole: Box | null = null;
  for (const part of parts) {
    const placed = transformGdalBox(part, from, to);
    if (!placed) continue;
    if (!whole) {
      whole = placed;
      continue;
    }
    const [west, south, east, north] = placed;
    const shift: number = period !== null && west < whole[0] ? period : 0;
    whole = around(whole, [west + shift, south, east + shift, north]);
  }
  return whole;
}

const OUTLINE_DENSITY = 25;

const outlines = new LRUCache<string, { readonly box: Box | null }>({ max: 256 });

/**
 * Returns the box in `to` around a raster. Same as `transformGdalBox`, except that a raster across the antimeridian
 * does not become a box around the globe. The result is cached, because there are few rasters and each outline needs
 * many points.
 */
export function outlineIn(box: Box, from: GdalCrs, to: GdalCrs): Box | null {
  const key = `${box}\n${from.text}\n${to.text}`;
  let outline = outlines.get(key);
  if (!outline) {
    outline = { box: findOutline(box, from, to) };
    outlines.set(key, outline);
  }
  return outline.box;
}

function findOutline(box: Box, from: GdalCrs, to: GdalCrs): Box | null {
  const plain = transformGdalBox(box, from, to);
  const period = findCrsPeriod(to);
  if (!plain || period === null || plain[2] - plain[0] <= period / 2) return plain;
  const xs = movedPoints(computeGridPoints(box, OUTLINE_DENSITY), pointTransform(from, to)).map(([x]) => x);
  xs.sort((a, b) => a - b);
  const gap = xs.findIndex((x, index) => index > 0 && x - xs[index - 1]! > period / 2);
  return gap < 0 ? plain : [xs[gap]!, plain[1], xs[gap - 1]! + period, plain[3]];
}

/** Numbers of periods by which an extent must be moved to intersect a window, in ascending order. */
export function findOverlappingCopies(extent: Box, window: Box, period: number | null): number[] {
  if (extent[1] >= window[3] || extent[3] <= window[1]) return [];
  if (period === null) return extent[0] < window[2] && extent[2] > window[0] ? [0] : [];
  // An edge that touches the window, or overlaps it by a rounding error, is not in it.
  const slack = period * 1e-12;
  const first = Math.floor((window[0] - extent[2] + slack) / period) + 1;
  const last = Math.ceil((window[2] - extent[0] - slack) / period) - 1;
  // Windows are at most one period wide, extents a little more.
  return Array.from({ length: Math.max(0, Math.min(4, last - first + 1)) }, (_, index) => first + index);
}

/** A dataset that is read and then closed, with those it reads from. */
export interface DatasetView {
  dataset: Dataset;
  close(): void;
}

/** Returns a north-up raster once for each of `copies`, shifted by that number of periods. */
export async function repeated(
  raster: Dataset,
  copies: readonly number[],
  period: number,
): Promise<DatasetView> {
  const opened: Dataset[] = [];
  const close = () => {
    for (const dataset of opened.reverse()) dataset.close();
  };
  try {
    const [minx, miny, maxx, maxy] = getGeoreference(raster).extent;
    for (const copy of copies) {
      const corners = [minx + copy * period, maxy, maxx + copy * period, miny].map(String);
      opened.push(await gdal.translateAsync('', raster, ['-of', 'VRT', '-a_ullr', ...corners]));
    }
    if (copies.length > 1) opened.push(await gdal.buildVRTAsync('', [...opened]));
    return { dataset: opened.at(-1)!, close };
  } catch (error) {
    close();
    throw error;
  }
}
