import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AttachedTo } from '../../stores/attachments/attachments.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/**
 * Store of a collection's attachments: the file that the collection is read from now. Tables of databases have no
 * store name.
 */
export async function findStore(
  x: TaskContext,
  pools: Pick<Pools, 'run'>,
  { id: collection, source: { path } }: Pick<VectorCollection, 'id' | 'source'>,
): Promise<AttachedTo> {
  if (path === undefined) return { collection, store: undefined };
  const store = await runTask(x, pools as Pools, 'vector.storeId', { path });
  return { collection, store: store ?? undefined };
}
