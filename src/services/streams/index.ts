import { hasFeatures } from '../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../core/catalog/catalog-change.js';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { EditNote, Note } from '../../core/cluster/notes.js';
import type { Principal } from '../../core/http/operation.js';
import type { Retention } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { FeedStore } from '../../stores/streams/feed.js';
import type { DataVersions } from '../catalog/data-versions.js';
import type { Notices } from '../notices/notices.js';
import type { Log } from '../telemetry/log.js';
import { exception } from '../telemetry/log.js';
import { Changes } from './changes.js';
import { Feed } from './feed.js';
import { Hub } from './hub.js';
import { Listeners } from './listeners.js';
import { Outboxes } from './outboxes.js';
import { Relay } from './relay.js';
import type { SessionLimits } from './session-quotas.js';
import { StoreWatch, type WatchedStore } from './store-watch.js';

export interface EventsOptions {
  pools: Pools;
  store: FeedStore;
  /** Detects writes by other programs to a file. */
  versions: DataVersions;
  log: Log;
  notices: Notices;
  /** Name of this process among the processes that share the state database. */
  instance: string;
  sessions: SessionLimits;
  retention: Retention;
  visible(principal: Principal): CatalogSnapshot;
  /** See `Pauses.current`. */
  current?(): Promise<void> | undefined;
  catalog(): CatalogSnapshot;
  /** Sends a note to the other gateways of this server. */
  tell(note: Note): void;
  /**
   * Called with the effects of events on collections of a database, including edits of this server, which can be
   * known already.
   */
  changed(note: EditNote): void;
}

/** The way of events in one gateway: from the outboxes into the feed, and from there to who listens. */
export interface Events {
  readonly feed: Feed;
  readonly hub: Hub;
  /** Call when collections were published, changed or removed. Starts or stops reading the events of their stores. */
  follow(changed: readonly ChangedCollection[]): void;
  /** A collection was edited, here or by another gateway. */
  edited(collectionId: string): void;
  /** Other gateways appended to the feed. */
  fed(): void;
  /** Whether edits of a collection reach the feed. */
  hasEvents(collectionId: string): boolean;
  /** See `Relay.status`. */
  outboxStatus(): { name: string; failingMs: number }[];
  close(): Promise<void>;
}

/** Interval for checking files for writes by other programs, in milliseconds. */
const LOOK_MS = 1000;
/** Interval for checking databases, in milliseconds. Their notifications should already report every event. */
const DATABASE_LOOK_MS = 5000;

export async function startEvents(options: EventsOptions): Promise<Events> {
  const { pools, store, log, notices, visible, sessions, tell } = options;
  const feed = await Feed.open(store, options.retention.count);
  const { current } = options;
  const hub = new Hub({ feed, pools, visible, sessions, notices, ...(current ? { current } : {}) });
  const changes = new Changes(options.changed);
  const relay = new Relay({
    pools,
    store,
    log,
    notices,
    instance: options.instance,
    retention: options.retention,
    appended(entries) {
      feed.accept(entries);
      tell({ fed: entries[entries.length - 1]!.cursor });
    },
  });
  const outboxes = new Outboxes();
  feed.listen((entries) => {
    for (const entry of entries) {
      const collection = entry.kind === 'gap' ? entry.collections[0] : entry.event.collection;
      const outbox = collection === undefined ? undefined : outboxes.ofCollection(collection);
      // Writes by other programs to files are detected by watching the files.
      if (outbox?.source.database !== undefined) changes.take(outbox.key, entry);
    }
  });
  const listeners = new Listeners(log, (key) => relay.wake(key));
  const storeWatch = new StoreWatch(options.versions);
  let files: readonly WatchedStore[] = [];
  const behind = (error: unknown) => log.write('feed.unreadable', exception(error));
  const catchUp = () => void feed.catchUp().catch(behind);
  const unfollow = store.follow(catchUp);
  const look = () => {
    for (const key of storeWatch.findChanged(files)) relay.wake(key);
  };
  const lookAtDatabases = () => {
    for (const { key, source } of outboxes.all) if (source.database !== undefined) relay.wake(key);
  };
  const timers = [setInterval(look, LOOK_MS), setInterval(lookAtDatabases, DATABASE_LOOK_MS)];
  for (const timer of timers) timer.unref();
  return {
    feed,
    hub,
    follow(changed) {
      const { added, removed } = outboxes.apply(changed);
      if (added.length === 0 && removed.length === 0) return;
      files = outboxes.all.flatMap(({ key, source: { path } }) =>
        path === undefined ? [] : [{ key, path }],
      );
      relay.change(added, removed);
      listeners.change(added, removed);
    },
    edited(collectionId) {
      const collection = options.catalog().byId(collectionId);
      if (hasFeatures(collection)) relay.wake(collection.file);
    },
    fed: catchUp,
    hasEvents: (id) => outboxes.ofCollection(id) !== undefined,
    outboxStatus: () => relay.status(),
    async close() {
      for (const timer of timers) clearInterval(timer);
      unfollow();
      listeners.close();
      hub.close();
      await relay.close();
    },
  };
}
