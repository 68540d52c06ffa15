import { hasFeatures } from '../../core/catalog/abilities.js';
import { type CatalogSnapshot, whole } from '../../core/catalog/collection.js';
import { canHaveIntegerIds, useGeneratedCollectionIds } from '../../core/catalog/generated-ids.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AttachmentStore } from '../../stores/attachments/attachments.js';
import type { Storage } from '../storage/storage.js';
import { featuresThere } from './features.js';
import { ATTACHMENT_LIMITS } from './limits.js';
import { findStore } from './place.js';

export interface SweepDeps {
  readonly store: AttachmentStore;
  readonly storage: Storage;
  readonly folder: string;
  readonly pools: Pick<Pools, 'run'>;
  catalog(): CatalogSnapshot;
}

/** Prefix of the keys of attachment bytes. */
const KEYS = 'attachments/';
/** Milliseconds between two sweeps. */
const SWEEP_MS = 3_600_000;
/** Number of features searched together. */
const PAGE = 500;

/** Removes attachments of deleted features, and bytes without an attachment. */
export async function sweepAttachments(deps: SweepDeps): Promise<void> {
  for (const collection of await deps.store.collections()) await sweepCollection(deps, collection);
  await sweepContents(deps);
}

/** Sweeps now and every hour. Returns the function that stops it. */
export function repeatSweeps(sweep: () => Promise<void>, onError: (error: unknown) => void): () => void {
  const run = () => void sweep().catch(onError);
  run();
  const timer = setInterval(run, SWEEP_MS).unref();
  return () => clearInterval(timer);
}

/**
 * Sweeps a collection. Unpublished collections keep their attachments, because their database can be down
 * temporarily.
 */
export async function sweepCollection(
  { store, pools, catalog }: Pick<SweepDeps, 'store' | 'pools' | 'catalog'>,
  id: string,
): Promise<void> {
  const collection = catalog().byId(id);
  if (!hasFeatures(collection) || !canHaveIntegerIds(collection.source)) return;
  const x = { timing: () => {} };
  const place = await findStore(x, pools, collection);
  await store.setAside(place, Date.now() - ATTACHMENT_LIMITS.attachmentAsideMs);
  for (let after = ''; ; ) {
    const ids = await store.features(place, after, PAGE);
    if (ids.length === 0) return;
    const there = await featuresThere(x, pools, useGeneratedCollectionIds(whole(collection)), {
      ids,
      filter: undefined,
    });
    await store.forget(
      place,
      ids.filter((one) => !there.has(one)),
    );
    after = ids.at(-1)!;
  }
}

/** Removes the attachments of deleted features. If the collection is not published now, they are removed later. */
export async function forgetFeatures(
  { store, pools, catalog }: Pick<SweepDeps, 'store' | 'pools' | 'catalog'>,
  id: string,
  featureIds: readonly string[],
): Promise<void> {
  const collection = catalog().byId(id);
  if (!hasFeatures(collection)) return;
  await store.forget(await findStore({ timing: () => {} }, pools, collection), featureIds);
}

async function sweepContents({ store, storage, folder }: SweepDeps): Promise<void> {
  // Keys are listed first: bytes that are stored later have a record before that.
  const keys = await storage.keys(KEYS);
  const unused = await store.takeUnused(folder, Date.now() - ATTACHMENT_LIMITS.attachmentOrphanMs);
  for (const key of new Set([...unused, ...(await store.strays(keys))])) await storage.remove(key);
}
