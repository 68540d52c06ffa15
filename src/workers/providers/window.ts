import type { Box, VectorTileTask } from '../../core/tasks.js';
import { boxesInSource } from './boxes.js';

/**
 * The box in the source's CRS that holds all that a tile may show, its clip buffer included. At the antimeridian it is
 * wide: the encoder drops what was read in vain.
 */
export function tileWindow(source: { crs: string }, task: VectorTileTask): Box {
  return around(boxesInSource(source, buffered(task), task.crs));
}

function buffered(task: VectorTileTask): Box {
  const margin = ((task.bbox[2] - task.bbox[0]) / task.extent) * task.buffer;
  const [minx, miny, maxx, maxy] = task.bbox;
  return [minx - margin, miny - margin, maxx + margin, maxy + margin];
}

function around(boxes: readonly Box[]): Box {
  const side = (i: 0 | 1 | 2 | 3) => boxes.map((box) => box[i]);
  return [Math.min(...side(0)), Math.min(...side(1)), Math.max(...side(2)), Math.max(...side(3))];
}
