import type { HealthPeriodStore } from '../../../stores/observability/health-periods.js';
import { withDeadline } from '../../kit/deadline.js';
import {
  addLatencies,
  type LatencyRecorder,
  type LatencySample,
  type ProtocolLatencies,
} from './latencies.js';
import { type CountedMinute, findPeriod, OwnPeriods, type PeriodRows } from './periods.js';
import type { StateClock } from './state-clock.js';
import type { Observation, Vitals } from './vitals.js';

export interface HealthMinutesOptions {
  readonly store: Pick<HealthPeriodStore, 'write' | 'prune'>;
  readonly recorder: LatencyRecorder;
  readonly clock: StateClock;
  /** Names this process. */
  readonly replica: string;
  /** Observes this process. Resolves within some seconds, also if the state does not respond. */
  observe(): Promise<Observation>;
  onError(error: unknown): void;
}

/** Requests of the last minutes. */
export interface RecentLatency {
  readonly windowMs: number;
  readonly latency: readonly (readonly [protocol: string, sample: LatencySample])[];
}

const MINUTE_SECONDS = 60;
const MINUTE_MS = 60_000;
/** Ended minutes that `recent` includes. */
const RECENT_MINUTES = 4;
const PRUNE_MS = 3_600_000;
/** Milliseconds that the stop of the server waits for the state. */
const CLOSE_MS = 2000;
/** A timer can fire slightly too early. */
const MIN_WAIT_MS = 20;

/** Ends each minute of this process by the clock of the state, and stores it. */
export class HealthMinutes {
  readonly #options: HealthMinutesOptions;
  readonly #own: OwnPeriods;
  readonly #started: number;
  /** Start of the current minute. It never moves back, so a minute is counted once. */
  #minute: number;
  #recent: CountedMinute[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #cache = { hits: 0, lookups: 0 };
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(options: HealthMinutesOptions) {
    this.#options = options;
    this.#own = new OwnPeriods(options.replica);
    this.#started = options.clock.now();
    this.#minute = findPeriod(this.#started, MINUTE_SECONDS);
  }

  start(): void {
    const wait = this.#minute + MINUTE_MS - this.#options.clock.now();
    this.#timer = setTimeout(
      () => {
        void this.endMinute();
        this.start();
      },
      Math.min(Math.max(wait, MIN_WAIT_MS), MINUTE_MS),
    ).unref();
  }

  /** Ends the current minute, if its time has passed. Resolves when it is stored. */
  async endMinute(): Promise<void> {
    const now = findPeriod(this.#options.clock.now(), MINUTE_SECONDS);
    if (now <= this.#minute) return;
    const ended = this.#minute;
    this.#minute = now;
    await this.#end(ended);
  }

  /** Stores the requests of the current minute. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await withDeadline(this.#end(this.#minute), CLOSE_MS, 'The state did not respond in time.').catch(
      this.#options.onError,
    );
  }

  /** Requests of this process in the current minute and in the minutes before. */
  recent(): RecentLatency {
    const { clock, recorder } = this.#options;
    const first = this.#minute - RECENT_MINUTES * MINUTE_MS;
    const sums: ProtocolLatencies = new Map();
    for (const { start, latency } of this.#recent) if (start >= first) addLatencies(sums, latency);
    addLatencies(sums, recorder.read());
    return {
      windowMs: clock.now() - Math.max(first, this.#started),
      latency: [...sums].map(([protocol, sum]) => [protocol, sum.sample()]),
    };
  }

  /** Rows of this process that the state may not have, in their newest version. */
  list(resolution: number, from: number): PeriodRows {
    const current = { start: this.#minute, latency: this.#options.recorder.read() };
    return this.#own.list(resolution, from, current);
  }

  async #end(start: number): Promise<void> {
    const { recorder, observe, onError } = this.#options;
    const minute = { start, latency: recorder.take() };
    this.#own.addRequests(minute);
    this.#recent = [...this.#recent, minute].slice(-RECENT_MINUTES);
    try {
      this.#own.addVitals(start, this.#countVitals(await observe(), minute));
    } catch (error) {
      onError(error);
    }
    await this.#store();
  }

  #countVitals(observation: Observation, { latency }: CountedMinute): Vitals {
    const { cacheHits, cacheLookups } = observation;
    const before = this.#cache;
    this.#cache = { hits: cacheHits, lookups: cacheLookups };
    const sum = (read: (sample: LatencySample) => number) =>
      latency.reduce((all, [, sample]) => all + read(sample), 0);
    return {
      ...observation,
      samples: 1,
      cacheHits: cacheHits - before.hits,
      cacheLookups: cacheLookups - before.lookups,
      requests: sum(({ requests }) => requests),
      errors: sum(({ errors }) => errors),
    };
  }

  /** Stores all rows that the state does not have. One write runs at a time. */
  async #store(): Promise<void> {
    while (this.#writing) await this.#writing;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { store, clock, onError } = this.#options;
    try {
      const { latency, vitals, done } = this.#own.takeUnstored();
      if (latency.length + vitals.length === 0) return;
      await store.write(latency, vitals);
      done();
      await clock.set();
      if (performance.now() - this.#prunedAt < PRUNE_MS) return;
      await store.prune();
      this.#prunedAt = performance.now();
    } catch (error) {
      onError(error);
    }
  }
}
