import { holdsAllMatches, type ItemsResult, type ItemsTask } from '../../core/features.js';
import type { Cancellation } from '../cancellation.js';
import { storeOf } from '../providers/store.js';
import { inPageForm } from './page-forms.js';

/** Body of task `vector.items`: a page in its form, and with `countAtMost` how many features match. */
export async function readItems(
  { form, ...task }: ItemsTask,
  cancellation?: Cancellation,
): Promise<ItemsResult> {
  const page = await readPage(task, cancellation);
  return form ? { ...page, features: inPageForm(page.features, form) } : page;
}

async function readPage(task: ItemsTask, cancellation?: Cancellation): Promise<ItemsResult> {
  const { source, filter, countAtMost: atMost } = task;
  const store = storeOf(source);
  const page = await store.items(task, cancellation);
  if (atMost === undefined || holdsAllMatches(task, page)) return page;
  return { ...page, matched: await store.count({ source, filter, atMost }, cancellation) };
}
