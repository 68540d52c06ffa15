import type { DeliveryStore, RateCap } from '../../stores/streams/deliveries.js';
import { Lease } from '../cluster/lease.js';
import * as metrics from '../telemetry/event-metrics.js';
import { exception, type Log } from '../telemetry/log.js';
import type { Outcome } from './outcome.js';
import type { Schedule } from './schedule.js';
import { sendNext } from './send.js';

/** Sends messages to a receiver. */
export interface Sender {
  /** Number of deliveries claimed together. After a crash, these can be sent a second time. */
  readonly batch: number;
  /** A rejection counts as a receiver that could not be reached. */
  send(eventId: string, body: string, signal: AbortSignal): Promise<Outcome>;
}

/** Records deliveries for a lane from the change feed. */
export interface Collector {
  /** Position of a new lane in the feed. */
  readonly start: number;
  /** Records the next deliveries from a position. Undefined if the lease is lost. */
  collect(position: number): Promise<{ position: number; hasMore: boolean } | undefined>;
}

/** Counts of a lane. Ages are milliseconds since a delivery was recorded. */
export interface LaneMeter {
  sent(ageMs: number, deliveries: number): void;
  /** An attempt failed. `isRetried` is false if the receiver refused the message for good. */
  failed(ageMs: number, isRetried: boolean): void;
  dead(deliveries: number): void;
  /** One message was sent for a number of deliveries because of the rate cap. */
  joined(deliveries: number): void;
  /** The circuit opened, or remains open after a failed attempt. */
  deferred(): void;
}

export interface DeliveryLaneOptions extends Schedule {
  name: string;
  sender: Sender;
  meter: LaneMeter;
  cap?: RateCap | undefined;
  /** Body of a message for several deliveries. It has the first bodies, and the number of all. Required with a cap. */
  join?(bodies: readonly string[], count: number, eventId: string): string;
  log: Log;
  /** Reports failures of the lane to operators. */
  failing(message: string): void;
}

export interface LaneContext {
  store: DeliveryStore;
  instance: string;
  collector?: Collector | undefined;
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
 * Deliveries to one receiver. A lane collects deliveries from the feed, if it has a collector, and sends them while
 * this process has its lease. It has no lease while idle.
 */
export class Lane {
  readonly #options: DeliveryLaneOptions & LaneContext;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #position: number | undefined;
  /** The lease is also prolonged while the receiver has not responded, so no other process sends to it. */
  #lease: Lease | undefined;
  #sending = new AbortController();

  constructor(options: DeliveryLaneOptions & LaneContext) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** There may be something to collect or to send. */
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
        if (!(await this.#isNeeded())) return;
        if (!(await this.#claim())) return this.#later(LEASE_MS / 3);
        const hasMore = await this.#collect();
        const wait = await sendNext({ ...this.#options, signal: this.#sending.signal });
        if (wait === 'lost') await this.#letGo();
        if (hasMore || wait === 0 || wait === 'lost') this.#again = true;
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

  /** Only a lane that reads the feed takes the lease before deliveries wait. */
  async #isNeeded(): Promise<boolean> {
    const { store, name, collector } = this.#options;
    return this.#lease !== undefined || collector !== undefined || (await store.waiting([name])).length > 0;
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
    const { store, name, instance, collector, log } = this.#options;
    const claim = await store.claim(name, instance, collector?.start ?? 0, LEASE_MS);
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

  /** Records deliveries for the next entries of the feed. Returns whether there are more. */
  async #collect(): Promise<boolean> {
    const collected = await this.#options.collector?.collect(this.#position!);
    if (collected) this.#position = collected.position;
    else if (this.#options.collector) await this.#letGo();
    return collected?.hasMore ?? false;
  }
}
