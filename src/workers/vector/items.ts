import { holdsAllMatches, type ItemsResult, type ItemsTask } from '../../core/features.js';
import type { Cancellation } from '../cancellation.js';
import { storeOf } from '../providers/store.js';

/** Body of task `vector.items`: a page, and with `countAtMost` how many features match. */
export async function readItems(task: ItemsTask, cancellation?: Cancellation): Promise<ItemsResult> {
  const { source, filter, countAtMost: atMost } = task;
  const store = storeOf(source);
  const page = await store.items(task, cancellation);
  if (atMost === undefined || holdsAllMatches(task, page)) return page;
  return { ...page, matched: await store.count({ source, filter, atMost }, cancellation) };
}
