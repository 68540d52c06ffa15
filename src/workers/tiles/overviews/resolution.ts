import type { VectorTileTask } from '../../../core/tasks/vector-tasks.js';
import { transformPoints } from '../../../native/index.js';

/** Length of a step, in grid units, with which distances in the source's CRS are measured. */
const STEP = 64;
/**
 * Maximum ratio of the scales along both sides of a tile. A projection can stretch one side much more than the other;
 * a coarser shape is then used there.
 */
const MAX_STRETCH = 4;
const PLACES = [0, 0.5, 1].flatMap((x) => [0, 0.5, 1].map((y) => [x, y] as const));

/**
 * Returns the length of one grid unit of a tile in units of the source's CRS, the shortest within the tile. Undefined
 * if the CRS is not defined at the tile.
 */
export function computeTileResolution(crs: string, task: VectorTileTask): number | undefined {
  const [minx, miny, maxx, maxy] = task.bbox;
  const step = ((maxx - minx) / task.extent) * STEP;
  const positions = PLACES.flatMap(([fx, fy]) => {
    const x = minx + (maxx - minx - step) * fx;
    const y = miny + (maxy - miny - step) * fy;
    return [x, y, x + step, y, x, y + step];
  });
  const points = Float64Array.from(positions);
  transformPoints(points, task.crs, crs);
  const lengths: number[] = [];
  for (let i = 0; i < points.length; i += 6) {
    const [x, y] = [points[i]!, points[i + 1]!];
    lengths.push(Math.hypot(points[i + 2]! - x, points[i + 3]! - y));
    lengths.push(Math.hypot(points[i + 4]! - x, points[i + 5]! - y));
  }
  const finite = lengths.filter((length) => Number.isFinite(length) && length > 0);
  if (finite.length === 0) return undefined;
  return Math.max(Math.min(...finite), Math.max(...finite) / MAX_STRETCH) / STEP;
}
