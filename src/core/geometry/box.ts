/** An axis-aligned box: `[minx, miny, maxx, maxy]`, always in x,y (easting/longitude first) order. */
export type Box = readonly [number, number, number, number];

/** Bounding boxes. In degrees, minx is greater than maxx if the box crosses the antimeridian. */

/** Returns the box, or its two halves if it crosses the antimeridian. */
export function plainBoxes(box: Box): Box[] {
  const [minx, miny, maxx, maxy] = box;
  if (minx <= maxx) return [box];
  return [
    [minx, miny, 180, maxy],
    [-180, miny, maxx, maxy],
  ];
}

/**
 * Returns the box, or all longitudes if it crosses the antimeridian, for functions that do not support such boxes.
 */
export function uncrossed(box: Box): Box {
  return box[0] <= box[2] ? box : [-180, box[1], 180, box[3]];
}

/** Returns the box, with its eastern side beyond 180 degrees if it crosses the antimeridian. */
export function unwrapped(box: Box): Box {
  return box[0] <= box[2] ? box : [box[0], box[1], box[2] + 360, box[3]];
}

/** The corners of a box as a closed ring, counter-clockwise from the lower left. */
export function createBoxRing([minx, miny, maxx, maxy]: Box): [number, number][] {
  return [
    [minx, miny],
    [maxx, miny],
    [maxx, maxy],
    [minx, maxy],
    [minx, miny],
  ];
}

/** A longitude as one from -180 to 180. */
export function wrapLongitude(degrees: number): number {
  return Math.abs(degrees) <= 180 ? degrees : degrees - 360 * Math.floor((degrees + 180) / 360);
}

/** A box of any longitudes as one of -180 to 180: across the antimeridian where it went beyond. */
export function wrapBox(box: Box): Box {
  const [west, south, east, north] = box;
  if (Math.abs(west) <= 180 && Math.abs(east) <= 180) return box;
  if (east - west >= 360) return [-180, south, 180, north];
  return [wrapLongitude(west), south, wrapLongitude(east), north];
}

/** Bounds of the square of Web Mercator, in degrees: west, south, east, north. */
export const WEB_MERCATOR_BOUNDS: Box = [-180, -85.0511287798066, 180, 85.0511287798066];

/** Part of a box in degrees that Web Mercator covers. GDAL and other readers reject coordinates beyond it. */
export function withinMercator([west, south, east, north]: Box): Box {
  const [, bottom, , top] = WEB_MERCATOR_BOUNDS;
  const bounded = (latitude: number) => Math.min(top, Math.max(bottom, latitude));
  return [west, bounded(south), east, bounded(north)];
}

/** Whether two boxes intersect. Either can cross the antimeridian. */
export function boxesTouch(a: Box, b: Box): boolean {
  if (a[1] > b[3] || b[1] > a[3]) return false;
  return plainBoxes(a).some(([w1, , e1]) => plainBoxes(b).some(([w2, , e2]) => w1 <= e2 && w2 <= e1));
}

/**
 * Intersection of two boxes; a line or a point if they only touch, and undefined if they are disjoint. Neither box
 * crosses the antimeridian.
 */
export function commonBox(a: Box, b: Box): Box | undefined {
  const box: Box = [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])];
  return box[0] <= box[2] && box[1] <= box[3] ? box : undefined;
}

/** Same as `commonBox`; also undefined if the boxes only touch. */
export function commonArea(a: Box, b: Box): Box | undefined {
  const box = commonBox(a, b);
  return box && box[0] < box[2] && box[1] < box[3] ? box : undefined;
}

/** Smallest box around two boxes that do not cross the antimeridian. */
export function around(a: Box, b: Box): Box {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}

/**
 * Smallest box in degrees around boxes of which some can cross the antimeridian. It then crosses it as well, unless
 * the boxes extend around the globe.
 */
export function mergeBoxesOnGlobe(boxes: readonly Box[]): Box {
  const whole = boxes.map(uncrossed).reduce(around);
  if (boxes.every(([west, , east]) => west <= east)) return whole;
  const spans = boxes.flatMap(plainBoxes).sort(([a], [b]) => a - b);
  // Starts and ends at the antimeridian, where some box is.
  let east = -180;
  let gap: [from: number, to: number] = [0, 0];
  for (const [start, , end] of spans) {
    if (start - east > gap[1] - gap[0]) gap = [east, start];
    east = Math.max(east, end);
  }
  return gap[1] > gap[0] ? [gap[1], whole[1], gap[0], whole[3]] : whole;
}

/** Decimal places that degrees are written with. */
const PLACES = 1e7;
/** Maximum rounding error, as a part of the last decimal place. */
const SLACK = 1e-6;

/**
 * Extent in degrees for clients: rounded outwards, so that it contains all returned coordinates, and limited to valid
 * latitudes and longitudes. Undefined if no part is on the globe.
 */
export function globeExtent([west, south, east, north]: Box): Box | undefined {
  if (!(south <= 90 && north >= -90)) return undefined;
  // Longitudes up to 360 have an equivalent below 180; values beyond are invalid.
  const turns = Math.abs(west) <= 360 && Math.abs(east) <= 360;
  return [
    roundedDown(turns ? west : Math.max(-180, west)),
    Math.max(-90, roundedDown(south)),
    roundedUp(turns ? east : Math.min(180, east)),
    Math.min(90, roundedUp(north)),
  ];
}

/** Whether all of a box has latitudes and longitudes. */
export function liesOnGlobe([west, south, east, north]: Box): boolean {
  return south >= -90.000001 && north <= 90.000001 && Math.abs(west) <= 360 && Math.abs(east) <= 360;
}

function roundedDown(degrees: number): number {
  return Math.floor(degrees * PLACES + SLACK) / PLACES;
}

function roundedUp(degrees: number): number {
  return Math.ceil(degrees * PLACES - SLACK) / PLACES;
}

/**
 * Image of a box under a transformation of some points of its edges. It is enlarged by the difference that twice as
 * many points make, because edges can extend further between them.
 */
export function imageWithin(box: Box, transform: (box: Box) => Box): Box {
  const whole = transform(box);
  const [minx, miny, maxx, maxy] = box;
  const [x, y] = [(minx + maxx) / 2, (miny + maxy) / 2];
  const quarters: Box[] = [
    [minx, miny, x, y],
    [x, miny, maxx, y],
    [minx, y, x, maxy],
    [x, y, maxx, maxy],
  ];
  const images = quarters.map(transform);
  // The images of the quarters cannot be compared across the antimeridian.
  if ([whole, ...images].some(([left, , right]) => left > right)) return whole;
  const near = images.reduce(around);
  const beyond = (i: 0 | 1 | 2 | 3) => near[i] + (near[i] - whole[i]);
  return around(whole, [beyond(0), beyond(1), beyond(2), beyond(3)]);
}

/** The box around the x and y of a GeoJSON geometry, or of nested arrays of positions; undefined when there is none. */
export function computeEnvelope(part: unknown): Box | undefined {
  const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
  widen(part, box);
  return box[0] <= box[2] ? box : undefined;
}

function widen(part: unknown, box: [number, number, number, number]): void {
  if (Array.isArray(part)) {
    const [x, y] = part;
    if (typeof x !== 'number') {
      for (const member of part) widen(member, box);
      return;
    }
    box[0] = Math.min(box[0], x);
    box[1] = Math.min(box[1], y);
    box[2] = Math.max(box[2], x);
    box[3] = Math.max(box[3], y);
  } else if (typeof part === 'object' && part !== null) {
    const { coordinates, geometries } = part as { coordinates?: unknown; geometries?: unknown };
    widen(coordinates ?? geometries, box);
  }
}
