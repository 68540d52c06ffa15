import type { Box } from './tasks.js';

/** Boxes, and the antimeridian: a box of degrees whose minx is greater than its maxx lies across it. */

/** The box itself, or its two halves where it lies across the antimeridian. */
export function plainBoxes(box: Box): Box[] {
  const [minx, miny, maxx, maxy] = box;
  if (minx <= maxx) return [box];
  return [
    [minx, miny, 180, maxy],
    [-180, miny, maxx, maxy],
  ];
}

/** The box itself, or all longitudes where it lies across the antimeridian: for those who know no such box. */
export function uncrossed(box: Box): Box {
  return box[0] <= box[2] ? box : [-180, box[1], 180, box[3]];
}

/** Whether two boxes share a point; either may lie across the antimeridian. */
export function boxesTouch(a: Box, b: Box): boolean {
  if (a[1] > b[3] || b[1] > a[3]) return false;
  return plainBoxes(a).some(([w1, , e1]) => plainBoxes(b).some(([w2, , e2]) => w1 <= e2 && w2 <= e1));
}

/** The smallest box around two that do not lie across the antimeridian. */
export function around(a: Box, b: Box): Box {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}

/** The box around the x and y of a GeoJSON geometry, or of nested arrays of positions; undefined when there is none. */
export function envelope(part: unknown): Box | undefined {
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
