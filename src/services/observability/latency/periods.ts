import type { LatencyRow, VitalsRow } from '../../../stores/observability/health-periods.js';
import { addLatencies, type LatencySample, type ProtocolLatencies } from './latencies.js';
import { HEALTH_STATUSES, joinPeriods, type Vitals } from './vitals.js';

export const PERIOD_LENGTHS = ['1m', '5m', '1h'] as const;
export type PeriodLength = (typeof PERIOD_LENGTHS)[number];

/** Seconds of the periods of a resolution. */
export const RESOLUTION_SECONDS: Readonly<Record<PeriodLength, number>> = { '1m': 60, '5m': 300, '1h': 3600 };

export const findPeriod = (at: number, seconds: number) => at - (at % (seconds * 1000));

/** A period that requests were counted in. */
interface Period {
  readonly resolution: number;
  readonly start: number;
  readonly latency: ProtocolLatencies;
  vitals: Vitals | undefined;
  /** Number of changes, and number of stored changes. */
  changes: number;
  stored: number;
}

/** Requests of a minute. */
export interface CountedMinute {
  readonly start: number;
  readonly latency: readonly (readonly [protocol: string, sample: LatencySample])[];
}

export interface PeriodRows {
  readonly latency: LatencyRow[];
  readonly vitals: VitalsRow[];
}

/** Maximum number of periods of each resolution that wait for the state. The oldest ones are lost first. */
const MAX_WAITING = 180;

/**
 * Periods of this process that are not stored yet, or that can still grow. Each minute is added to its period of each
 * resolution, so all resolutions have equal sums, and each row has one writer.
 */
export class OwnPeriods {
  readonly #periods = new Map<string, Period>();

  constructor(private readonly replica: string) {}

  addRequests({ start, latency }: CountedMinute): void {
    for (const resolution of Object.values(RESOLUTION_SECONDS)) {
      this.#drop(resolution, start);
      const period = this.#find(resolution, findPeriod(start, resolution));
      addLatencies(period.latency, latency);
      period.changes++;
    }
  }

  addVitals(start: number, vitals: Vitals): void {
    for (const resolution of Object.values(RESOLUTION_SECONDS)) {
      const period = this.#find(resolution, findPeriod(start, resolution));
      period.vitals = period.vitals ? joinPeriods(period.vitals, vitals) : vitals;
      period.changes++;
    }
  }

  /** Rows that the state does not have yet. `done` records that it has them. */
  takeUnstored(): PeriodRows & { done(): void } {
    const unstored = [...this.#periods.values()].filter(({ changes, stored }) => changes > stored);
    const written = unstored.map((period) => ({ period, changes: period.changes }));
    return {
      ...this.#rows(unstored),
      done: () => {
        for (const { period, changes } of written) period.stored = Math.max(period.stored, changes);
      },
    };
  }

  /** Rows of a resolution, whether stored or not, including a minute that has not ended. */
  list(resolution: number, from: number, current: CountedMinute): PeriodRows {
    const periods = [...this.#periods.values()].filter((one) => one.resolution === resolution);
    const start = findPeriod(current.start, resolution);
    const growing = periods.find((one) => one.start === start);
    const copy = newPeriod(resolution, start);
    if (growing) addLatencies(copy.latency, readSamples(growing.latency));
    addLatencies(copy.latency, current.latency);
    copy.vitals = growing?.vitals;
    return this.#rows([...periods.filter((one) => one !== growing && one.start >= from), copy]);
  }

  #find(resolution: number, start: number): Period {
    const key = `${resolution} ${start}`;
    let period = this.#periods.get(key);
    if (!period) this.#periods.set(key, (period = newPeriod(resolution, start)));
    return period;
  }

  /** Drops stored periods that ended before a time, and the oldest ones if too many wait. */
  #drop(resolution: number, now: number): void {
    const ended = [...this.#periods].filter(
      ([, one]) => one.resolution === resolution && one.start + resolution * 1000 <= now,
    );
    const waiting = ended.filter(([key, { changes, stored }]) => {
      if (changes === stored) this.#periods.delete(key);
      return changes > stored;
    });
    for (const [key] of waiting.slice(0, Math.max(0, waiting.length - MAX_WAITING)))
      this.#periods.delete(key);
  }

  #rows(periods: readonly Period[]): PeriodRows {
    const { replica } = this;
    const latency = periods.flatMap(({ resolution, start, latency: sums }) =>
      readSamples(sums).map(([protocol, { requests, errors, maxMs, counts }]) => ({
        ...{ resolution, bucket_start: start, replica, protocol, requests, errors, max_ms: maxMs },
        counts_json: JSON.stringify(counts),
      })),
    );
    const vitals = periods.flatMap(({ resolution, start, vitals: one }) =>
      one ? [toVitalsRow(one, { resolution, bucket_start: start, replica })] : [],
    );
    return { latency, vitals };
  }
}

function newPeriod(resolution: number, start: number): Period {
  return { resolution, start, latency: new Map(), vitals: undefined, changes: 0, stored: 0 };
}

const readSamples = (latency: ProtocolLatencies) =>
  [...latency].map(([protocol, sums]) => [protocol, sums.sample()] as const);

export function readLatencyRow({ requests, errors, max_ms, counts_json }: LatencyRow): LatencySample {
  return { requests, errors, maxMs: max_ms, counts: JSON.parse(counts_json) };
}

function toVitalsRow(
  vitals: Vitals,
  key: Pick<VitalsRow, 'resolution' | 'bucket_start' | 'replica'>,
): VitalsRow {
  return {
    ...key,
    samples: vitals.samples,
    status: HEALTH_STATUSES.indexOf(vitals.status),
    cache_hits: vitals.cacheHits,
    cache_lookups: vitals.cacheLookups,
    requests: vitals.requests,
    errors: vitals.errors,
    db_active: vitals.dbActive,
    db_capacity: vitals.dbCapacity,
    queue_json: JSON.stringify(vitals.queue),
    alert_pending: vitals.alertPending,
    alert_dead: vitals.alertDead,
  };
}

export function readVitalsRow(row: VitalsRow): Vitals {
  return {
    samples: row.samples,
    status: HEALTH_STATUSES[row.status] ?? 'Unhealthy',
    cacheHits: row.cache_hits,
    cacheLookups: row.cache_lookups,
    requests: row.requests,
    errors: row.errors,
    dbActive: row.db_active,
    dbCapacity: row.db_capacity,
    queue: JSON.parse(row.queue_json),
    alertPending: row.alert_pending,
    alertDead: row.alert_dead,
  };
}
