import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { FeedEntry } from '../../core/streams/events.js';
import type { DeliveryStore, NewDelivery } from '../../stores/streams/deliveries.js';
import { Lease } from '../cluster/lease.js';
import type { Notices } from '../notices/notices.js';
import type { Feed } from '../streams/feed.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { exception } from '../telemetry/log.js';
import { deliverNext } from './delivery.js';
import { WEBHOOK_LIMITS } from './limits.js';

/** Deliveries of a receiver, selected from the feed. */
export interface WebhookMatcher {
  /** The deliveries for entries of the feed, in their order. Rejects if they cannot be determined now. */
  deliveries(entries: readonly FeedEntry[], catalog: CatalogSnapshot): Promise<NewDelivery[]>;
  /** Delivery that reports missed entries of the feed. */
  gap(reason: string, cursor: number): NewDelivery;
}

/** Target of deliveries. */
export interface DeliveryReceiver {
  /** Rejects unless the receiver has accepted it. */
  send(eventId: string, body: string, signal: AbortSignal): Promise<void>;
}

export interface SinkOptions {
  name: string;
  receiver: DeliveryReceiver;
  interest: WebhookMatcher;
  store: DeliveryStore;
  feed: Feed;
  log: Log;
  notices: Notices;
  instance: string;
  catalog(): CatalogSnapshot;
  firstBackoffMs?: number;
  /** Called after it has sent what there was, or tried to. */
  ran(): void;
}

/**
 * Milliseconds of a lease. Other processes check after a third of it, so another one has it within 15 seconds of its
 * holder's end.
 */
const LEASE_MS = 10_000;
const RETRY_MS = 2000;

/**
 * One receiver. It selects deliveries from the feed and sends them while this process has its lease. It has no lease
 * while idle.
 */
export class Sink {
  readonly #options: SinkOptions;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #position: number | undefined;
  /** The lease is also prolonged while the receiver has not responded, so no other process sends to it. */
  #lease: Lease | undefined;
  #sending = new AbortController();

  constructor(options: SinkOptions) {
    this.#options = options;
  }

  /** There may be something to take or to send. */
  wake(): void {
    this.#again = true;
    this.#go(() => this.#run());
  }

  #go(work: () => Promise<void>): void {
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#running ??= work().finally(() => {
      this.#running = undefined;
      this.#options.ran();
      if (this.#again) this.wake();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#sending.abort();
    clearTimeout(this.#timer);
    await this.#running;
    const { store, name, instance } = this.#options;
    const isHeld = this.#lease !== undefined;
    await this.#letGo();
    if (isHeld) await store.release(name, instance).catch(() => {});
  }

  async #run(): Promise<void> {
    const { log, name } = this.#options;
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      try {
        if (!(await this.#claim())) return this.#later(LEASE_MS / 3);
        const more = await this.#collect();
        const wait = await deliverNext({ ...this.#options, signal: this.#sending.signal });
        if (wait === 'lost') await this.#letGo();
        if (more || wait === 0 || wait === 'lost') this.#again = true;
        else if (wait !== undefined) this.#later(wait);
        else this.#later(LEASE_MS, () => this.#go(() => this.#rest()));
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        log.write('webhook.events.unreadable', { Webhook: name, ...exception(error) });
        return this.#later(RETRY_MS);
      }
    }
  }

  #later(ms: number, act: () => void = () => this.wake()): void {
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms).unref();
  }

  /**
   * If no delivery waits, the lease is released, because it would have to be prolonged. The process that reads the
   * next event takes it.
   */
  async #rest(): Promise<void> {
    const { store, name, instance, log } = this.#options;
    if (!this.#lease) return;
    await this.#letGo();
    // A lease that cannot be released expires automatically.
    await store
      .release(name, instance)
      .catch((error) => log.write('webhook.events.unreadable', { Webhook: name, ...exception(error) }));
  }

  /** Takes the lease, unless this process has it. Returns false while another process has it. */
  async #claim(): Promise<boolean> {
    if (this.#lease && !this.#sending.signal.aborted) return true;
    await this.#letGo();
    const { store, name, instance, feed, log } = this.#options;
    const claim = await store.claim(name, instance, feed.head, LEASE_MS);
    if (!claim) return false;
    metrics.outboxRecovered.cell().inc(claim.recovered);
    this.#position = claim.position;
    const sending = new AbortController();
    this.#sending = sending;
    this.#lease = new Lease({
      leaseMs: LEASE_MS,
      prolong: () => store.prolong(name, instance, LEASE_MS),
      lost: () => sending.abort(),
      onError: (error) => log.write('webhook.events.unreadable', { Webhook: name, ...exception(error) }),
    });
    if (this.#closing.signal.aborted) sending.abort();
    return true;
  }

  async #letGo(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    this.#position = undefined;
    await lease?.close();
  }

  /** Notes deliveries for the next entries of the feed; true when there are more of them. */
  async #collect(): Promise<boolean> {
    const { store, name, instance, feed, interest, catalog } = this.#options;
    const position = this.#position!;
    if (position === feed.head || (await store.backlog(name)) >= WEBHOOK_LIMITS.webhookBacklog) return false;
    const problem = feed.problemOf(position);
    const from = problem === undefined ? position : problem === 'expired' ? feed.oldest - 1 : feed.head;
    const entries = await feed.after(from, LIMITS.replayBatch);
    const deliveries = await interest.deliveries(entries, catalog());
    const reached = entries.at(-1)?.cursor ?? from;
    const gaps = problem === undefined ? [] : [interest.gap(problem, from)];
    const isAdded = await store.add(name, instance, [...gaps, ...deliveries], reached);
    if (isAdded) this.#position = reached;
    else await this.#letGo();
    return isAdded && reached < feed.head;
  }
}
