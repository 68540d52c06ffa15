import { type Box, plainBoxes } from '../../core/box.js';
import { TaskFailure } from '../../core/failure.js';
import { transformBox } from '../../native/index.js';

/**
 * A box, perhaps across the antimeridian, as plain boxes in the source's CRS: one, seldom two. Throws
 * `invalid-input` when it lies where that CRS is not defined.
 */
export function boxesInSource(source: { crs: string }, box: Box, crs: string): Box[] {
  return plainBoxes(box).flatMap((part) => plainBoxes(inSource(part, crs, source.crs)));
}

function inSource(box: Box, from: string, to: string): Box {
  try {
    return transformBox(box, from, to);
  } catch (error) {
    const message = 'The bounding box cannot be expressed in the CRS of the data.';
    throw new TaskFailure('invalid-input', message, (error as Error).message);
  }
}
