import { randomUUID } from 'node:crypto';
import type { CatalogSnapshot } from '../../../core/collection.js';
import type { EventSource } from '../../../core/events.js';
import type { Principal } from '../../../core/operation.js';
import type { Pools, VectorSource } from '../../../core/tasks.js';
import { FileVersions } from '../../cache/file-version.js';
import type { Note } from '../../notes.js';
import type { FeedStore } from '../../stores/feed.js';
import type { Log } from '../../telemetry/log.js';
import type { Alerts } from '../alerts.js';
import { Feed } from './feed.js';
import { Hub } from './hub.js';
import { type Outbox, Relay } from './relay.js';

export interface EventsOptions {
  pools: Pools;
  store: FeedStore;
  log: Log;
  alerts: Alerts;
  maxSessions: number;
  visible(principal: Principal): CatalogSnapshot;
  catalog(): CatalogSnapshot;
  /** Tells the other gateways of this server. */
  tell(note: Note): void;
}

/** The way of events in one gateway: from the outboxes into the feed, and from there to who listens. */
export interface Events {
  readonly feed: Feed;
  readonly hub: Hub;
  /** Takes events over from the stores of this catalog, and no others. */
  follow(catalog: CatalogSnapshot): void;
  /** A collection was edited, here or by another gateway. */
  edited(collectionId: string): void;
  /** Other gateways appended to the feed. */
  fed(): void;
  close(): Promise<void>;
}

/** How often the files of others are looked at, and the feed when no gateway told of anything. */
const LOOK_MS = 1000;

export async function startEvents(options: EventsOptions): Promise<Events> {
  const { pools, store, log, alerts, visible, maxSessions, tell } = options;
  const feed = await Feed.open(store);
  const hub = new Hub({ feed, pools, visible, maxSessions, alerts });
  const relay = new Relay({
    pools,
    store,
    log,
    alerts,
    instance: randomUUID(),
    appended(entries) {
      feed.accept(entries);
      tell({ fed: entries[entries.length - 1]!.cursor });
    },
  });
  const files = new FileVersions();
  const versions = new Map<string, number | undefined>();
  let outboxes: readonly Outbox[] = [];
  const behind = (error: unknown) => log.warn('the feed could not be read', { Error: String(error) });
  const look = () => {
    feed.catchUp().catch(behind);
    for (const { key, source } of outboxes) {
      if (source.kind !== 'geopackage') continue;
      const version = files.of(source.path);
      if (version !== undefined && versions.get(key) === version) continue;
      versions.set(key, version);
      relay.wake(key);
    }
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return {
    feed,
    hub,
    follow(catalog) {
      outboxes = outboxesOf(catalog);
      relay.use(outboxes);
    },
    edited(collectionId) {
      const collection = options.catalog().byId(collectionId);
      if (collection?.kind === 'vector') relay.wake(collection.file);
    },
    fed: () => void feed.catchUp().catch(behind),
    async close() {
      clearInterval(timer);
      hub.close();
      await relay.close();
      files.close();
    },
  };
}

/** The stores of a catalog that can be edited: each has one outbox, whatever the number of its collections. */
function outboxesOf({ vectors }: CatalogSnapshot): Outbox[] {
  const outboxes = new Map<string, Outbox>();
  for (const { file, source, id, cursor } of vectors) {
    if (!source.writable) continue;
    const known = outboxes.get(file);
    outboxes.set(file, {
      key: file,
      source: known?.source ?? storeOf(source),
      start: Math.max(known?.start ?? 0, cursor),
      collections: [...(known?.collections ?? []), id],
    });
  }
  return [...outboxes.values()];
}

function storeOf(source: VectorSource): EventSource {
  return source.kind === 'geopackage'
    ? { kind: 'geopackage', path: source.path }
    : { kind: 'postgis', database: source.database };
}
