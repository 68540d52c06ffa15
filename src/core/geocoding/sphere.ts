import type { PlaceWindow } from './geocoding.js';

/** Mean radius of the earth, in metres (IUGG). */
const RADIUS = 6_371_008.8;
const DEGREE = Math.PI / 180;

type Point = readonly [x: number, y: number];

/** Distance in metres on a sphere, at most half a percent from the ellipsoid. */
export function metresBetween([x1, y1]: Point, [x2, y2]: Point): number {
  const half = (degrees: number) => Math.sin((degrees * DEGREE) / 2) ** 2;
  const h = half(y2 - y1) + Math.cos(y1 * DEGREE) * Math.cos(y2 * DEGREE) * half(x2 - x1);
  return 2 * RADIUS * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Window that contains all points within a distance. It can cross the antimeridian, and is a cap around a pole. */
export function windowAround([x, y]: Point, metres: number): PlaceWindow {
  const angle = metres / RADIUS;
  const [south, north] = [y - angle / DEGREE, y + angle / DEGREE];
  if (south <= -90 || north >= 90)
    return { west: -180, east: 180, south: Math.max(-90, south), north: Math.min(90, north) };
  const reach = Math.asin(Math.min(1, Math.sin(angle) / Math.cos(y * DEGREE))) / DEGREE;
  if (reach >= 180) return { west: -180, east: 180, south, north };
  const turned = (lon: number) => (lon < -180 ? lon + 360 : lon > 180 ? lon - 360 : lon);
  return { west: turned(x - reach), east: turned(x + reach), south, north };
}
