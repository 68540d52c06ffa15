/** Coordinate reference systems and boxes, always in x,y (easting or longitude first) order. */

import type { CoordinateTransformation, SpatialReference } from 'gdal-async';
import { TaskFailure } from '../../core/errors/failure.js';
import type { Box } from '../../core/geometry/box.js';
import { isUndefinedCrs } from '../../core/geometry/crs.js';
import { namesFile, transformPoints } from '../../native/index.js';
import gdal from './gdal-library.js';

export interface GdalCrs {
  srs: SpatialReference;
  /** Text that GDAL's utilities read as this CRS. */
  text: string;
  epsg: number | null;
  /** True when the authority defines northing or latitude first. */
  northingFirst: boolean;
}

const CACHE_SIZE = 64;
const byText = new Map<string, GdalCrs>();

/**
 * Returns the CRS for `EPSG:n`, `OGC:CRS84`, WKT or any other text that PROJ reads without a file or a network. Fails
 * with `invalid-input`.
 */
export function getCrs(text: string): GdalCrs {
  const hit = byText.get(text);
  if (hit) return hit;
  const crs = parseCrs(text);
  if (byText.size >= CACHE_SIZE) byText.delete(byText.keys().next().value as string);
  byText.set(text, crs);
  return crs;
}

function parseCrs(text: string): GdalCrs {
  const code = /^(EPSG|OGC|IAU|IGNF|ESRI):[A-Za-z0-9_:]{1,40}$/i.test(text);
  // Text other than codes, PROJ strings and WKT could be interpreted as a file name or URL.
  if (!code && !/^\s*(\+proj=|[A-Z_]+\s*\[)/i.test(text))
    throw new TaskFailure('invalid-input', 'The coordinate reference system is unknown.');
  if (namesFile(text))
    throw new TaskFailure(
      'invalid-input',
      'The coordinate reference system refers to a file, which is not supported.',
    );
  try {
    return describe(gdal.SpatialReference.fromUserInput(text), code ? text : undefined);
  } catch (error) {
    throw new TaskFailure('invalid-input', 'The coordinate reference system is unknown.', String(error));
  }
}

/** The CRS that a dataset or layer carries; null where it names none. */
export function readDatasetCrs({ srs }: { srs: SpatialReference | null }): GdalCrs | null {
  // Through WKT, because a dataset's own object may carry an axis order of its driver.
  const text = srs?.toWKT();
  return text === undefined || isUndefinedCrs(text) ? null : getCrs(text);
}

function describe(srs: SpatialReference, text?: string): GdalCrs {
  const epsg = findEpsg(srs);
  const horizontal = getHorizontalCrs(srs);
  return {
    srs,
    text: text ?? (epsg === null ? srs.toWKT() : `EPSG:${epsg}`),
    epsg,
    northingFirst: horizontal.EPSGTreatsAsLatLong() || horizontal.EPSGTreatsAsNorthingEasting(),
  };
}

/** The horizontal part of a compound CRS, of which GDAL does not report the axis order; otherwise the CRS. */
function getHorizontalCrs(srs: SpatialReference): SpatialReference {
  const wkt = srs.toWKT();
  const start = /^COMPD_CS\["(?:[^"]|"")*",/.exec(wkt)?.[0].length;
  if (start === undefined) return srs;
  let depth = 0;
  let isQuoted = false;
  for (let at = start; at < wkt.length; at++) {
    const character = wkt[at];
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === '[') depth++;
    else if (!isQuoted && character === ']' && --depth === 0)
      return gdal.SpatialReference.fromWKT(wkt.slice(start, at + 1));
  }
  return srs;
}

function findEpsg(srs: SpatialReference): number | null {
  try {
    if (srs.getAuthorityName(null) !== 'EPSG') return null;
    const code = Number(srs.getAuthorityCode(null));
    return Number.isInteger(code) && code > 0 ? code : null;
  } catch {
    return null;
  }
}

export function sameCrs(a: GdalCrs, b: GdalCrs): boolean {
  if (a === b || a.text === b.text) return true;
  return a.northingFirst === b.northingFirst && a.srs.isSame(b.srs);
}

export const CRS84_NAME = 'OGC:CRS84';

/** Moves one point; null where the transformation is not defined. */
export type PointTransform = (x: number, y: number) => [number, number] | null;

const transforms = new Map<string, PointTransform>();

/** The transformation between two CRS, both in x,y order. */
export function pointTransform(from: GdalCrs, to: GdalCrs): PointTransform {
  if (sameCrs(from, to)) return (x, y) => [x, y];
  const key = `${from.text}\n${to.text}`;
  const hit = transforms.get(key);
  if (hit) return hit;
  const transform = createTransform(from, to);
  if (transforms.size >= CACHE_SIZE) transforms.delete(transforms.keys().next().value as string);
  transforms.set(key, transform);
  return transform;
}

function createTransform(from: GdalCrs, to: GdalCrs): PointTransform {
  let native: CoordinateTransformation;
  try {
    native = new gdal.CoordinateTransformation(from.srs, to.srs);
  } catch (error) {
    throw noWay(error);
  }
  return (x, y) => {
    try {
      const point = from.northingFirst ? native.transformPoint(y, x) : native.transformPoint(x, y);
      if (!Number.isFinite(point.x) || !Number.isFinite(point.y)) return null;
      return to.northingFirst ? [point.y, point.x] : [point.x, point.y];
    } catch {
      return null;
    }
  };
}

function noWay(error: unknown): TaskFailure {
  return new TaskFailure(
    'invalid-input',
    'There is no transformation between the two reference systems.',
    String(error),
  );
}

/** Number of samples on each side of the grid of points that represents a box. */
const DENSITY = 21;

/**
 * Smallest box in `to` around a box in `from`, from a grid of points over it and the poles inside it.
 * Null when no point can be transformed.
 */
export function transformGdalBox(box: Box, from: GdalCrs, to: GdalCrs): Box | null {
  if (sameCrs(from, to)) return box;
  const grown: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
  const points = computeGridPoints(box, DENSITY);
  try {
    transformPoints(points, from.text, to.text);
  } catch (error) {
    throw noWay(error);
  }
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i]!, points[i + 1]!];
    if (Number.isFinite(x) && Number.isFinite(y)) include(grown, [x, y]);
  }
  if (to.srs.isGeographic()) includePoles(grown, box, from, to);
  return grown[0] <= grown[2] && grown[1] <= grown[3] ? grown : null;
}

/** x,y pairs over a box, edges included, so many along each side; rows from the bottom up. */
export function computeGridPoints([minx, miny, maxx, maxy]: Box, density: number): Float64Array {
  const points = new Float64Array(2 * density * density);
  let at = 0;
  for (let row = 0; row < density; row++) {
    for (let column = 0; column < density; column++) {
      points[at++] = minx + ((maxx - minx) * column) / (density - 1);
      points[at++] = miny + ((maxy - miny) * row) / (density - 1);
    }
  }
  return points;
}

/** Returns x,y pairs after a transformation. Points without a result are omitted. */
export function movedPoints(points: Float64Array, move: PointTransform): [number, number][] {
  const moved: [number, number][] = [];
  for (let i = 0; i < points.length; i += 2) {
    const point = move(points[i]!, points[i + 1]!);
    if (point) moved.push(point);
  }
  return moved;
}

function include(box: [number, number, number, number], point: [number, number] | null): void {
  if (!point) return;
  box[0] = Math.min(box[0], point[0]);
  box[1] = Math.min(box[1], point[1]);
  box[2] = Math.max(box[2], point[0]);
  box[3] = Math.max(box[3], point[1]);
}

/** A projected box around a pole reaches every longitude. */
function includePoles(grown: [number, number, number, number], box: Box, from: GdalCrs, to: GdalCrs): void {
  if (from.srs.isGeographic()) return;
  for (const latitude of [-90, 90]) {
    const pole = pointTransform(to, from)(0, latitude);
    if (!pole || pole[0] < box[0] || pole[0] > box[2] || pole[1] < box[1] || pole[1] > box[3]) continue;
    // Cylindrical projections map the pole to a line or to infinity: it must come back as itself.
    const back = pointTransform(from, to)(pole[0], pole[1]);
    if (!back || Math.abs(back[1] - latitude) > 1e-6) continue;
    include(grown, [-180, latitude]);
    include(grown, [180, latitude]);
  }
}

/** Checks a box from a request. Fails with `invalid-input`. */
export function checkedBox(box: unknown): Box {
  if (Array.isArray(box) && box.length === 4 && box.every((value) => Number.isFinite(value))) {
    const [minx, miny, maxx, maxy] = box as unknown as Box;
    if (minx < maxx && miny < maxy) return [minx, miny, maxx, maxy];
  }
  throw new TaskFailure(
    'invalid-input',
    'The bounding box must be four finite numbers, each minimum below its maximum.',
  );
}
