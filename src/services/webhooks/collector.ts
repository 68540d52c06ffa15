import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { FeedEntry } from '../../core/streams/events.js';
import type { DeliveryStore, NewDelivery } from '../../stores/streams/deliveries.js';
import type { Collector } from '../deliveries/lane.js';
import { DELIVERY_LIMITS } from '../deliveries/limits.js';
import type { Feed } from '../streams/feed.js';

/** Deliveries of a receiver, selected from the feed. */
export interface WebhookMatcher {
  /** The deliveries for entries of the feed, in their order. Rejects if they cannot be determined now. */
  deliveries(entries: readonly FeedEntry[], catalog: CatalogSnapshot): Promise<NewDelivery[]>;
  /** Delivery that reports missed entries of the feed. */
  gap(reason: string, cursor: number): NewDelivery;
}

export interface CollectorOptions {
  name: string;
  instance: string;
  matcher: WebhookMatcher;
  store: DeliveryStore;
  feed: Feed;
  catalog(): CatalogSnapshot;
}

/** Records the deliveries of a receiver from the feed. */
export class FeedCollector implements Collector {
  constructor(private readonly options: CollectorOptions) {}

  get start(): number {
    return this.options.feed.head;
  }

  async collect(position: number): Promise<{ position: number; hasMore: boolean } | undefined> {
    const { store, name, instance, feed, matcher, catalog } = this.options;
    if (position === feed.head || (await store.backlog(name)) >= DELIVERY_LIMITS.backlog)
      return { position, hasMore: false };
    const { entries, from, problem } = await feed.resume(position, LIMITS.replayBatch);
    const deliveries = await matcher.deliveries(entries, catalog());
    const reached = entries.at(-1)?.cursor ?? from;
    const gaps = problem === undefined ? [] : [matcher.gap(problem, from)];
    const isAdded = await store.add(name, instance, [...gaps, ...deliveries], reached);
    return isAdded ? { position: reached, hasMore: reached < feed.head } : undefined;
  }
}
