import { LRUCache } from 'lru-cache';
import { badParameter } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import type { Crs } from '../../core/geometry/crs.js';
import { describeCrs, transformBox, transformPoints } from '../../native/index.js';
import { windowIn84 } from '../rasters/source-items.js';

const EARTH_RADIUS = 6_378_137;
const DEGREE = (Math.PI / 180) * EARTH_RADIUS;
/** The part of a box, in its middle, whose sides are measured. */
const MIDDLE = 1 / 1024;

/**
 * Metres over the ground along the sides of a box, by the scale in its middle. If the box has no georeference, the
 * sides of the box itself.
 */
export function groundSize([minx, miny, maxx, maxy]: Box, crs: string): [number, number] {
  const [x, y] = [(minx + maxx) / 2, (miny + maxy) / 2];
  const [dx, dy] = [((maxx - minx) * MIDDLE) / 2, ((maxy - miny) * MIDDLE) / 2];
  const window84 = windowIn84([x - dx, y - dy, x + dx, y + dy], crs);
  if (!window84) return [maxx - minx, maxy - miny];
  const [west, south, east, north] = window84;
  const shrink = Math.cos((((south + north) / 2) * Math.PI) / 180);
  const degrees = east < west ? east + 360 - west : east - west;
  return [(degrees * DEGREE * shrink) / MIDDLE, ((north - south) * DEGREE) / MIDDLE];
}

/** Degrees from the antimeridian at which its two sides are compared. */
const NEAR = 1e-6;
interface Period {
  readonly length: number | null;
}

const periods = new LRUCache<string, Period>({ max: 100 });

/**
 * Distance to the east after which the same location repeats, in units of the CRS. This is 360 for longitudes, and
 * the length of the equator for cylindrical projections that are cut at the antimeridian. Null for all other CRSs.
 */
function findWrapPeriod(crs: string): number | null {
  let period = periods.get(crs);
  if (period === undefined) {
    period = { length: describeCrs(crs).isGeographic ? 360 : findPeriod(crs) };
    periods.set(crs, period);
  }
  return period.length;
}

function findPeriod(crs: string): number | null {
  // A local CRS has no meridians.
  if (describeCrs(crs).wkt.startsWith('ENGCRS')) return null;
  const sides = new Float64Array([0, 40].flatMap((y) => [180 - NEAR, y, NEAR - 180, y]));
  transformPoints(sides, 'OGC:CRS84', crs);
  if (!sides.every(Number.isFinite)) return null;
  const [width, wider] = [sides[0]! - sides[2]!, sides[4]! - sides[6]!];
  // The sides of a cut are far apart, by the same distance at every latitude. In other projections they meet.
  const isCut = width > 300 && Math.abs(width - wider) < width * 1e-9 && sides[5] === sides[7];
  return isCut ? (width * 360) / (360 - 2 * NEAR) : null;
}

/**
 * A box in the CRS of a map, both x,y ordered. Across the antimeridian (west > east) the coordinates continue beyond
 * it, if the CRS wraps around the globe. Throws 400 with the name of the parameter if the CRS does not cover the box.
 */
export function boxInCrs(parameter: string, box: Box, from: Crs, to: Crs): Box {
  if (box[0] <= box[2]) return transformed(parameter, box, from, to);
  const [west, south, east, north] = box;
  const period = findWrapPeriod(to.proj);
  // A CRS that does not wrap around the globe can be continuous across the antimeridian.
  if (period === null) return transformed(parameter, [west, south, east + 360, north], from, to);
  const left = transformed(parameter, [west, south, 180, north], from, to);
  const right = transformed(parameter, [-180, south, east, north], from, to);
  return [left[0], Math.min(left[1], right[1]), right[2] + period, Math.max(left[3], right[3])];
}

function transformed(parameter: string, bbox: Box, from: Crs, to: Crs): Box {
  if (from.proj === to.proj || (to.epsg > 0 && from.epsg === to.epsg)) return bbox;
  let box: Box;
  try {
    box = transformBox(bbox, from.proj, to.proj);
  } catch {
    throw badParameter(parameter, 'cannot be expressed in the CRS of the map');
  }
  if (!box.every(Number.isFinite))
    throw badParameter(parameter, 'must be inside the area of the CRS of the map');
  return box;
}

/**
 * The windows that show the same part of the world as `bbox`: the window itself, and shifted by a period. `bbox` can
 * continue beyond the world's edges.
 */
export function listWrappedWindows(bbox: Box, crs: string): Box[] {
  const period = findWrapPeriod(crs);
  if (period === null) return [bbox];
  const [minx, miny, maxx, maxy] = bbox;
  // A window that only touches the edge, or exceeds it by a rounding error, shows no data there.
  const edge = (period / 2) * (1 - 1e-9);
  const windows = [0, -period, period].map((shift): Box => [minx + shift, miny, maxx + shift, maxy]);
  const visible = windows.filter(([west, , east]) => west < edge && east > -edge);
  return visible.length > 0 ? visible : [bbox];
}

/** Default size of a pixel in metres (OGC 20-058, 8.5). */
const PIXEL_METRES = 0.00028;

/** Pixels of a length over the ground at a scale, at least one. */
export function pixelsAtScale(metres: number, denominator: number): number {
  return Math.max(1, Math.round(metres / (PIXEL_METRES * denominator)));
}
