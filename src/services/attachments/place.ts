import type { VectorCollection } from '../../core/catalog/collection.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AttachedTo } from '../../stores/attachments/attachments.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Where attachments of a collection belong: the file that it is read from now. Tables of databases have no such name. */
export async function findStore(
  x: TaskContext,
  pools: Pick<Pools, 'run'>,
  { id: collection, source: { path } }: Pick<VectorCollection, 'id' | 'source'>,
): Promise<AttachedTo> {
  if (path === undefined) return { collection, store: undefined };
  const store = await runTask(x, pools as Pools, 'vector.storeId', { path });
  return { collection, store: store ?? undefined };
}
