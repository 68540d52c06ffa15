import type { OccupiedTask } from '../../core/tasks/vector-tasks.js';
import { boxesInSource } from '../providers/boxes.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';

/**
 * Says of each box whether the envelope of any feature touches it. True where that is not known: without a spatial
 * index, and where the box cannot be expressed in the CRS of the data.
 */
export async function findOccupiedBoxes(task: OccupiedTask, cancellation?: Cancellation): Promise<boolean[]> {
  const { source } = task;
  if (!source.hasIndex) return task.boxes.map(() => true);
  const windows = task.boxes.map((box) => {
    try {
      return boxesInSource(source, box, task.crs);
    } catch {
      return undefined;
    }
  });
  const stated = windows.flatMap((boxes) => boxes ?? []);
  const answers = await getFeatureStore(source).occupied(source, stated, cancellation);
  let next = 0;
  return windows.map((boxes) => {
    if (!boxes) return true;
    const part = answers.slice(next, next + boxes.length);
    next += boxes.length;
    return part.includes(true);
  });
}
