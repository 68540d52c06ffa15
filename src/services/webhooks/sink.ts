import type { CatalogSnapshot } from '../../core/collection.js';
import { LIMITS } from '../../core/limits.js';
import type { DeliveryStore } from '../../stores/deliveries.js';
import type { Alerts } from '../alerts.js';
import type { Feed } from '../events/feed.js';
import { jsonFrame } from '../events/frames.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { exception } from '../telemetry/log.js';
import { deliverNext } from './delivery.js';
import type { Matching } from './matching.js';
import type { Receiver } from './receiver.js';

export interface SinkOptions {
  name: string;
  receiver: Receiver;
  matching: Matching;
  store: DeliveryStore;
  feed: Feed;
  log: Log;
  alerts: Alerts;
  instance: string;
  catalog(): CatalogSnapshot;
  firstBackoffMs?: number;
}

/** Two thirds of it are longer than a batch of deliveries can take: no other process sends it meanwhile. */
const LEASE_MS = 15_000 + LIMITS.webhookMs;
const RETRY_MS = 2000;

/** One receiver: takes what it wants from the feed and sends it, while this process holds its lease. */
export class Sink {
  readonly #options: SinkOptions;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #position: number | undefined;
  #claimedAt = 0;

  constructor(options: SinkOptions) {
    this.#options = options;
  }

  /** There may be something to take or to send. */
  wake(): void {
    this.#again = true;
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#again) this.wake();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#running;
    const { store, name, instance } = this.#options;
    if (this.#position !== undefined) await store.release(name, instance).catch(() => {});
  }

  async #run(): Promise<void> {
    const { log, name } = this.#options;
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      try {
        if (!(await this.#claim())) return this.#later(LEASE_MS);
        const more = await this.#collect();
        const wait = await deliverNext({ ...this.#options, signal: this.#closing.signal });
        if (wait === 'lost') this.#position = undefined;
        if (more || wait === 0 || wait === 'lost') this.#again = true;
        else if (wait !== undefined) this.#later(wait);
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        log.write('webhook.events.unreadable', { Webhook: name, ...exception(error) });
        return this.#later(RETRY_MS);
      }
    }
  }

  #later(ms: number): void {
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), ms).unref();
  }

  /** Holds the lease, or prolongs it in time; false while another process has it. */
  async #claim(): Promise<boolean> {
    if (this.#position !== undefined && performance.now() - this.#claimedAt < LEASE_MS / 3) return true;
    const { store, name, instance, feed } = this.#options;
    const began = performance.now();
    const claim = await store.claim(name, instance, feed.head, LEASE_MS);
    this.#claimedAt = began;
    this.#position = claim?.position;
    if (claim) metrics.outboxRecovered.cell().inc(claim.recovered);
    return claim !== undefined;
  }

  /** Notes deliveries for the next entries of the feed; true when there are more of them. */
  async #collect(): Promise<boolean> {
    const { store, name, instance, feed, matching, catalog } = this.#options;
    const position = this.#position!;
    if (position === feed.head || (await store.backlog(name)) >= LIMITS.webhookBacklog) return false;
    const problem = feed.problemOf(position);
    const from = problem === undefined ? position : problem === 'expired' ? feed.oldest - 1 : feed.head;
    const entries = await feed.after(from, LIMITS.replayBatch);
    const deliveries = await matching.deliveries(entries, catalog());
    const reached = entries.at(-1)?.cursor ?? from;
    const gaps = problem === undefined ? [] : [this.#gap(problem, from)];
    const isAdded = await store.add(name, instance, [...gaps, ...deliveries], reached);
    this.#position = isAdded ? reached : undefined;
    return isAdded && reached < feed.head;
  }

  /** The feed lost what was not taken in time. */
  #gap(problem: string, cursor: number) {
    const members = { reason: `cursor-${problem}`, cursor, timestamp: new Date().toISOString() };
    return { eventId: `gap-${cursor}`, body: jsonFrame('gap', members) };
  }
}
