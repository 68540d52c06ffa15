import { type Box, TaskFailure } from '../../core/tasks.js';
import { transformBox } from '../../native/index.js';

/**
 * A box, perhaps across the antimeridian, as plain boxes in the source's CRS: one, seldom two. Throws
 * `invalid-input` when it lies where that CRS is not defined.
 */
export function boxesInSource(source: { crs: string }, box: Box, crs: string): Box[] {
  return plain(box).flatMap((part) => plain(inSource(part, crs, source.crs)));
}

function inSource(box: Box, from: string, to: string): Box {
  try {
    return transformBox(box, from, to);
  } catch (error) {
    const message = 'The bounding box cannot be expressed in the CRS of the data.';
    throw new TaskFailure('invalid-input', message, (error as Error).message);
  }
}

/** Cuts a box across the antimeridian (minx > maxx, degrees) in two. */
function plain(box: Box): Box[] {
  const [minx, miny, maxx, maxy] = box;
  if (minx <= maxx) return [box];
  return [
    [minx, miny, 180, maxy],
    [-180, miny, maxx, maxy],
  ];
}
