/** Zones over a raster, in groups that are read together. */

import { TaskFailure } from '../../../core/errors/failure.js';
import type { Box } from '../../../core/geometry/box.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { hilbertIndex } from '../../../core/values/hilbert.js';
import type Database from '../../../native/sqlite.js';
import type { Dataset } from '../../gdal/gdal.js';
import { quote } from '../../providers/geopackage/connection.js';
import { type GeoTransform, getGeoreference } from '../../rasters/georeference.js';
import { findCrsPeriod } from '../../rasters/pixels/continuous.js';
import type { PixelBox } from '../../rasters/pixels/values.js';
import { readBlobBox } from '../blob.js';

/** column = t[0] + t[1] x + t[2] y, row = t[3] + t[4] x + t[5] y. */
export type PixelTransform = readonly [number, number, number, number, number, number];

export function invertGeoTransform([x0, a, b, y0, c, d]: GeoTransform): PixelTransform {
  const area = a * d - b * c;
  return [(b * y0 - d * x0) / area, d / area, -b / area, (c * x0 - a * y0) / area, -c / area, a / area];
}

export interface RasterZone {
  id: number;
  /** Place among all zones. */
  index: number;
  /** The pixels that it may touch. */
  parts: readonly ZonePart[];
  /** The middle of its envelope; where it is, if it is a point. */
  middle: readonly [x: number, y: number];
}

/** Pixels that a zone touches, if it is moved east so far, in units of the CRS: 0, or the way around the Earth. */
interface ZonePart {
  shift: number;
  box: PixelBox;
}

/** Maximum pixels in one read, and the side of the windows in which a larger zone is read. */
const WINDOW_PIXELS = 1 << 22;
const WINDOW_SIDE = 1 << 11;
/** Maximum pixels that are read for a group in addition to the pixels of its zones. */
const SLACK = 1 << 16;
const GROUP_ZONES = 1024;
/** Maximum pixels of all zones in a group, which can overlap. Each pixel's values can be in memory. */
const GROUP_PIXELS = 1 << 24;
/** Side of the cells of the curve that zones follow each other on, in pixels; and its order. */
const CELL = 256;
const CURVE_ORDER = 24;
/** Bytes at the start of a blob that contain its envelope. */
const HEAD_BYTES = 72;

/** The pixels that a box of coordinates concerns; none where it is not on the raster. */
export type PixelsOf = (box: Box) => readonly ZonePart[];

/** Features that concern pixels, neighbours after each other; and how many there are in all. Fails with `too-large`. */
export function zonesOver(
  db: Database.Database,
  { table, idColumn, geometryColumn }: GeoPackageSource,
  pixelsOf: PixelsOf,
): { zones: RasterZone[]; count: number } {
  const [id, geometry] = [quote(idColumn), quote(geometryColumn)];
  const rows = db
    .prepare(`SELECT ${id}, substr(${geometry}, 1, ${HEAD_BYTES}) FROM ${quote(table)} ORDER BY ${id}`)
    .raw()
    .iterate() as IterableIterator<[number, Uint8Array | null]>;
  const zones: { zone: RasterZone; place: number }[] = [];
  let count = 0;
  for (const [number, head] of rows) {
    const index = count++;
    if (count > PROCESS_LIMITS.processZones)
      throw new TaskFailure('too-large', `There are more than ${PROCESS_LIMITS.processZones} features.`);
    const bounds = readBlobBox(head);
    const parts = bounds ? pixelsOf(bounds) : [];
    const [first] = parts;
    if (!bounds || !first) continue;
    const middle = [(bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2] as const;
    zones.push({ zone: { id: number, index, parts, middle }, place: computePlace(first.box) });
  }
  zones.sort((a, b) => a.place - b.place);
  return { zones: zones.map(({ zone }) => zone), count };
}

/** Column and row of a position. */
export function computePixelPosition(
  [u, ux, uy, v, vx, vy]: PixelTransform,
  x: number,
  y: number,
): [number, number] {
  return [u + ux * x + uy * y, v + vx * x + vy * y];
}

/**
 * Returns the shifts by which coordinates can meet a raster, because a raster and features can write the same
 * longitude in two ways.
 */
export function listLongitudeShifts(dataset: Dataset): readonly number[] {
  const period = findCrsPeriod(getGeoreference(dataset).crs);
  return period === null ? [0] : [0, period, -period];
}

/** Part of a pixel that a box which was moved must reach into it: less is a rounding error. */
const SLIVER = 1e-6;

/** All pixels of a raster that a box meets. */
export function pixelsAround(dataset: Dataset): PixelsOf {
  const transform = invertGeoTransform(getGeoreference(dataset).geoTransform);
  const { x: width, y: height } = dataset.rasterSize;
  const shifts = listLongitudeShifts(dataset);
  const findPixels = ([west, south, east, north]: Box, least: number): PixelBox | undefined => {
    const corners = [
      computePixelPosition(transform, west, south),
      computePixelPosition(transform, east, south),
      computePixelPosition(transform, west, north),
      computePixelPosition(transform, east, north),
    ];
    const columns = corners.map(([column]) => column);
    const rows = corners.map(([, row]) => row);
    const left = Math.max(0, Math.floor(Math.min(...columns) + least));
    const right = Math.min(width, Math.ceil(Math.max(...columns) - least));
    const top = Math.max(0, Math.floor(Math.min(...rows)));
    const bottom = Math.min(height, Math.ceil(Math.max(...rows)));
    // Also false for NaN.
    if (!(left < right && top < bottom)) return undefined;
    return { column: left, row: top, width: right - left, height: bottom - top };
  };
  return ([west, south, east, north]) =>
    shifts.flatMap((shift) => {
      const box = findPixels([west + shift, south, east + shift, north], shift === 0 ? 0 : SLIVER);
      return box ? [{ shift, box }] : [];
    });
}

function computePlace({ column, row, width, height }: PixelBox): number {
  const cell = (at: number) => Math.min(2 ** CURVE_ORDER - 1, Math.floor(at / CELL));
  return hilbertIndex(CURVE_ORDER, cell(column + width / 2), cell(row + height / 2));
}

/** Zones that are read together. */
export interface ZoneGroup {
  zones: RasterZone[];
  parts: readonly ZonePart[];
}

/**
 * Yields groups of zones and the boxes around them. The box of a group is not much larger than its zones. Zones with
 * several parts form their own groups.
 */
export function* groupZones(zones: readonly RasterZone[]): Generator<ZoneGroup> {
  let group: RasterZone[] = [];
  let whole: ZonePart | undefined;
  let own = 0;
  for (const zone of zones) {
    const [part, ...others] = zone.parts as readonly [ZonePart, ...ZonePart[]];
    if (others.length > 0) {
      yield { zones: [zone], parts: zone.parts };
      continue;
    }
    const wider: PixelBox = whole ? mergePixelBoxes(whole.box, part.box) : part.box;
    const pixels = countPixels(wider);
    const all = own + countPixels(part.box);
    const fits = pixels <= WINDOW_PIXELS && pixels <= 2 * all + SLACK && all <= GROUP_PIXELS;
    const isBeside = whole?.shift === part.shift;
    if (whole && (!fits || !isBeside || group.length === GROUP_ZONES)) {
      yield { zones: group, parts: [whole] };
      [group, whole, own] = [[], undefined, 0];
    }
    whole = whole ? { ...part, box: wider } : part;
    own += countPixels(part.box);
    group.push(zone);
  }
  if (whole) yield { zones: group, parts: [whole] };
}

/** Splits a box into parts that can be read at one time. */
export function* splitPixelBox(box: PixelBox): Generator<PixelBox> {
  if (countPixels(box) <= WINDOW_PIXELS) {
    yield box;
    return;
  }
  const [right, bottom] = [box.column + box.width, box.row + box.height];
  // On the raster's own lines, so that blocks of files are read once.
  const next = (at: number) => (Math.floor(at / WINDOW_SIDE) + 1) * WINDOW_SIDE;
  for (let row = box.row; row < bottom; row = next(row)) {
    for (let column = box.column; column < right; column = next(column))
      yield {
        column,
        row,
        width: Math.min(right, next(column)) - column,
        height: Math.min(bottom, next(row)) - row,
      };
  }
}

/** Pixels of a box. */
export const countPixels = ({ width, height }: PixelBox) => width * height;

export function mergePixelBoxes(a: PixelBox, b: PixelBox): PixelBox {
  const [column, row] = [Math.min(a.column, b.column), Math.min(a.row, b.row)];
  return {
    column,
    row,
    width: Math.max(a.column + a.width, b.column + b.width) - column,
    height: Math.max(a.row + a.height, b.row + b.height) - row,
  };
}
