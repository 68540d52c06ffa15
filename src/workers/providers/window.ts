import type { Box } from '../../core/geometry/box.js';
import { around } from '../../core/geometry/box.js';
import type { VectorTileTask } from '../../core/tasks/vector-tasks.js';
import { boxesInSource } from './boxes.js';

/**
 * Returns the box in the source's CRS that contains everything a tile can show, including its clip buffer. At the
 * antimeridian the box is wide, and the encoder drops unneeded features.
 */
export function tileWindow(source: { crs: string }, task: VectorTileTask): Box {
  return boxesInSource(source, buffered(task), task.crs).reduce(around);
}

function buffered(task: VectorTileTask): Box {
  const [minx, miny, maxx, maxy] = task.bbox;
  // Tiles of a tile matrix set need not be square.
  const marginX = ((maxx - minx) / task.extent) * task.buffer;
  const marginY = ((maxy - miny) / task.extent) * task.buffer;
  return [minx - marginX, miny - marginY, maxx + marginX, maxy + marginY];
}
