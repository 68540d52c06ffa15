import type { DeliveryCounts, DeliveryStore } from '../../stores/streams/deliveries.js';
import type { Notices } from '../notices/notices.js';
import { exception, type Log } from '../telemetry/log.js';
import { FailureNotices } from './failure-notices.js';
import { type Collector, type DeliveryLaneOptions, Lane, type LaneMeter } from './lane.js';
import { DELIVERY_LIMITS } from './limits.js';
import type { Schedule } from './schedule.js';

export interface DispatcherOptions extends Schedule {
  store: DeliveryStore;
  log: Log;
  notices: Notices;
  /** Name of this process among the processes that share the state database. */
  instance: string;
  /** Lanes to which this process cannot send. Another process may be able to. */
  unattended?: readonly string[];
  /** Counts of an unattended lane. */
  meterOf?(name: string): LaneMeter;
  /** Called with the number of waiting deliveries and dead letters. */
  counted(counts: DeliveryCounts): void;
}

export interface DispatcherLane
  extends Pick<DeliveryLaneOptions, 'name' | 'sender' | 'meter' | 'cap' | 'join'> {
  readonly collector?: Collector;
}

/** The last search for waiting deliveries. */
export interface DispatcherPoll {
  /** Milliseconds since 1970. Undefined: none has succeeded. */
  readonly at: number | undefined;
  readonly isFailing: boolean;
}

/** Milliseconds between counts of waiting deliveries. */
const COUNT_MS = 500;
const EXPIRE_MS = 60_000;

/** Sends deliveries to receivers. Each receiver has a separate lane. A failing receiver does not delay other receivers. */
export class DeliveryDispatcher {
  readonly #options: DispatcherOptions;
  readonly #lanes: readonly DispatcherLane[];
  readonly #running: ReadonlyMap<string, Lane>;
  readonly #stops: (() => void)[] = [];
  #counting: NodeJS.Timeout | undefined;
  #closed = false;
  #searching: Promise<void> | undefined;
  #isAsked = false;
  /** Whether the last count found deliveries. Before the first count, there can be some. */
  #isCounted = true;
  /** The last search for waiting deliveries. */
  #poll: DispatcherPoll = { at: undefined, isFailing: false };

  constructor(options: DispatcherOptions, lanes: readonly DispatcherLane[]) {
    this.#options = options;
    this.#lanes = lanes;
    const failures = new FailureNotices(options.notices);
    const ran = () => this.#planCount();
    this.#running = new Map(
      lanes.map((lane) => {
        const failing = (message: string) => failures.report(lane.name, message);
        return [lane.name, new Lane({ ...options, ...lane, failing, ran })];
      }),
    );
  }

  start(): void {
    if (this.#names.length === 0) return;
    this.#stops.push(this.#options.store.follow(() => this.#search()));
    const expiring = setInterval(() => void this.#expire(), EXPIRE_MS).unref();
    this.#stops.push(() => clearInterval(expiring));
    this.#search();
  }

  get poll(): DispatcherPoll {
    return this.#poll;
  }

  get isRunning(): boolean {
    return this.#stops.length > 0 && !this.#closed;
  }

  /** There may be something to collect for all lanes. */
  wake(): void {
    for (const lane of this.#running.values()) lane.wake();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    clearTimeout(this.#counting);
    await this.#searching;
    await Promise.all([...this.#running.values()].map((lane) => lane.close()));
  }

  get #names(): string[] {
    return [...this.#running.keys(), ...(this.#options.unattended ?? [])];
  }

  /** Wakes the lanes in which deliveries wait. One search runs at a time. */
  #search(): void {
    this.#isAsked = true;
    if (this.#closed) return;
    this.#searching ??= this.#wakeWaiting().finally(() => {
      this.#searching = undefined;
      if (this.#isAsked) this.#search();
    });
  }

  async #wakeWaiting(): Promise<void> {
    this.#isAsked = false;
    try {
      const waiting = await this.#options.store.waiting(this.#names);
      for (const name of waiting) this.#running.get(name)?.wake();
      if (waiting.length > 0 || this.#isCounted) this.#planCount();
      this.#poll = { at: Date.now(), isFailing: false };
    } catch (error) {
      this.#poll = { ...this.#poll, isFailing: true };
      this.#options.log.write('webhook.deliveries.uncounted', exception(error));
    }
  }

  #planCount(): void {
    if (this.#closed) return;
    this.#counting ??= setTimeout(() => void this.#count(), COUNT_MS).unref();
  }

  async #count(): Promise<void> {
    try {
      const counts = await this.#options.store.counts(this.#names);
      this.#isCounted = counts.pending + counts.dead > 0;
      this.#options.counted(counts);
    } catch (error) {
      this.#options.log.write('webhook.deliveries.uncounted', exception(error));
    } finally {
      this.#counting = undefined;
    }
  }

  async #findWaiting(): Promise<string[]> {
    try {
      return await this.#options.store.waiting(this.#names, true);
    } catch (error) {
      this.#options.log.write('webhook.deliveries.uncounted', exception(error));
      return [];
    }
  }

  /** Makes dead letters of deliveries that waited too long. Any process can do so. */
  async #expire(): Promise<void> {
    const { store, log, unattended = [], meterOf } = this.#options;
    const { backlog: count, waitMs, unattendedMs } = DELIVERY_LIMITS;
    const late = { count, ageMs: waitMs, error: 'waited longer than a day, or behind too many others' };
    const absent = { count, ageMs: unattendedMs, error: 'no server has a target for it' };
    const lanes = [
      ...this.#lanes.map(({ name, meter }) => ({ name, meter, bounds: late })),
      ...unattended.map((name) => ({ name, meter: meterOf?.(name), bounds: absent })),
    ];
    const waiting = new Set(await this.#findWaiting());
    for (const { name, meter, bounds } of lanes.filter((lane) => waiting.has(lane.name))) {
      try {
        const expired = await store.expire(name, bounds);
        if (expired === 0) continue;
        meter?.dead(expired);
        log.write('delivery.expired', { Receiver: name, Count: expired, Error: bounds.error });
      } catch (failure) {
        log.write('webhook.deliveries.uncounted', exception(failure));
        return;
      }
    }
  }
}
