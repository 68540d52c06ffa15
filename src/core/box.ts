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

/** The smallest box around two that do not lie across the antimeridian. */
export function around(a: Box, b: Box): Box {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}
