import { setTimeout as sleep } from 'node:timers/promises';
import type { VectorCollection } from '../../core/catalog/collection.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { REPLICA_LIMITS } from '../../stores/replicas/limits.js';
import type { FeedStore } from '../../stores/streams/feed.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import type { Feed } from '../streams/feed.js';

export interface FeedEndDeps {
  readonly pools: Pools;
  readonly store: FeedStore;
  readonly feed: Feed;
  /** Requests that the events of a collection are soon moved into the feed. */
  edited(collectionId: string): void;
}

const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 500;

/**
 * The end of the feed: a cursor up to which it contains every edit that was committed before the call. Events enter
 * the feed after the responses to their edits, through the process with the lease of their outbox.
 */
export class FeedEnd {
  constructor(private readonly deps: FeedEndDeps) {}

  /** Throws 503 when the feed does not come that far in time. */
  async reach(x: TaskContext, collections: readonly VectorCollection[]): Promise<number> {
    const { feed } = this.deps;
    const outboxes = new Map(collections.map((collection) => [collection.file, collection]));
    const late = performance.now() + REPLICA_LIMITS.replicaSettleMs;
    for (const collection of outboxes.values()) await this.#follow(x, collection, late);
    await feed.catchUp();
    return feed.head;
  }

  async #follow(x: TaskContext, collection: VectorCollection, late: number): Promise<void> {
    const { pools, store, edited } = this.deps;
    const { source, file, id } = collection;
    if (!source.writable) return;
    const { kind, path, database } = source;
    const { newest } = await runTask(x, pools, 'vector.events', {
      source: path === undefined ? { kind, database } : { kind, path },
      from: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    if (newest === 0) return;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const position = await store.positionOf(file);
      if (position !== undefined && position >= newest) return;
      if (performance.now() > late)
        throw new ApiError(
          'unavailable',
          'The changes of the data are not known yet. Retry in a few seconds.',
          {
            headers: { 'retry-after': '5' },
          },
        );
      edited(id);
      await sleep(wait);
    }
  }
}
