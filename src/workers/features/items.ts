import { holdsAllMatches, type ItemsResult, type ItemsTask, keysOnly } from '../../core/features/features.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';
import { inPageForm } from './page-forms.js';

/** Task `vector.items`: returns a page in its form and, with `countAtMost`, the number of matching features. */
export async function readItems(
  { form, endsBefore, ...task }: ItemsTask,
  cancellation?: Cancellation,
): Promise<ItemsResult> {
  const start = endsBefore && (await findStart(task, endsBefore, cancellation));
  const page = await readPage(start ? { ...task, ...start, offset: 0 } : task, cancellation);
  const features = form ? inPageForm(page.features, form) : page.features;
  return { ...page, features, ...(start && { start }) };
}

/** Returns the start of the page that ends before a key. */
async function findStart(
  task: ItemsTask,
  { key, limit }: NonNullable<ItemsTask['endsBefore']>,
  cancellation?: Cancellation,
): Promise<NonNullable<ItemsResult['start']>> {
  const query = { ...keysOnly(task), offset: 0, limit: limit + 1, before: key };
  const { returned, first } = await getFeatureStore(task.source).items(query, cancellation);
  return returned > limit ? { after: first! } : {};
}

async function readPage(task: ItemsTask, cancellation?: Cancellation): Promise<ItemsResult> {
  const { source, filter, countAtMost: atMost } = task;
  const store = getFeatureStore(source);
  const page = await store.items(task, cancellation);
  const isCounted = atMost === undefined || page.matched !== undefined || holdsAllMatches(task, page);
  if (isCounted) return page;
  return { ...page, matched: await store.count({ source, filter, atMost }, cancellation) };
}
