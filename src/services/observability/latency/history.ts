import type {
  HealthPeriodStore,
  LatencyRow,
  PeriodRange,
  VitalsRow,
} from '../../../stores/observability/health-periods.js';
import type { PeerAnswers } from '../../cluster/peers.js';
import { LatencySums } from './latencies.js';
import { type PeriodRows, readLatencyRow, readVitalsRow } from './periods.js';
import { joinReplicas, type Vitals } from './vitals.js';

/** Latency of a protocol by period. */
export interface LatencySeries {
  readonly protocol: string;
  /** Undefined: of all processes. */
  readonly replica: string | undefined;
  readonly points: readonly { readonly start: number; readonly sums: LatencySums }[];
}

export interface VitalsPoint {
  readonly start: number;
  readonly replica: string | undefined;
  readonly vitals: Vitals;
}

/** Rows after which other work of the process gets its turn. */
const SLICE = 500;

/** Rows of the state, and those of the processes that are newer. */
export async function readPeriodRows(
  store: Pick<HealthPeriodStore, 'latency' | 'vitals'>,
  range: PeriodRange,
  own: PeerAnswers<PeriodRows>['answers'],
): Promise<PeriodRows> {
  const [latency, vitals] = await Promise.all([store.latency(range), store.vitals(range)]);
  const isInside = ({ bucket_start }: { bucket_start: number }) =>
    bucket_start >= range.from && bucket_start < range.to;
  return {
    latency: takeNewest(
      [...latency, ...own.flatMap((one) => one.latency).filter(isInside)],
      ({ bucket_start, replica, protocol }) => `${bucket_start} ${protocol} ${replica}`,
      ({ requests }) => requests,
    ),
    vitals: takeNewest(
      [...vitals, ...own.flatMap((one) => one.vitals).filter(isInside)],
      ({ bucket_start, replica }) => `${bucket_start} ${replica}`,
      ({ samples }) => samples,
    ),
  };
}

/** Sums of a process only grow, so the row with the highest number is the newest. */
function takeNewest<T>(rows: readonly T[], key: (row: T) => string, size: (row: T) => number): T[] {
  const newest = new Map<string, T>();
  for (const row of rows) {
    const name = key(row);
    const other = newest.get(name);
    if (other === undefined || size(row) > size(other)) newest.set(name, row);
  }
  return [...newest.values()];
}

/** Adds the rows of each protocol and period; for each process separately if `perReplica`. */
export async function joinLatency(
  rows: readonly LatencyRow[],
  perReplica: boolean,
): Promise<LatencySeries[]> {
  const series = new Map<string, { protocol: string; replica?: string; points: Map<number, LatencySums> }>();
  for (const [i, row] of rows.entries()) {
    if (i % SLICE === SLICE - 1) await new Promise(setImmediate);
    const { protocol, replica, bucket_start } = row;
    const key = perReplica ? `${protocol} ${replica}` : protocol;
    let one = series.get(key);
    if (!one) {
      one = { protocol, ...(perReplica ? { replica } : {}), points: new Map() };
      series.set(key, one);
    }
    let sums = one.points.get(bucket_start);
    if (!sums) one.points.set(bucket_start, (sums = new LatencySums()));
    sums.add(readLatencyRow(row));
  }
  return [...series]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { protocol, replica, points }]) => ({
      protocol,
      replica,
      points: [...points].sort(([a], [b]) => a - b).map(([start, sums]) => ({ start, sums })),
    }));
}

/** Joins the rows of each period; for each process separately if `perReplica`. */
export function joinVitals(rows: readonly VitalsRow[], perReplica: boolean): VitalsPoint[] {
  const points = new Map<string, VitalsPoint>();
  for (const row of rows) {
    const { bucket_start: start, replica } = row;
    const key = perReplica ? `${start} ${replica}` : String(start);
    const vitals = readVitalsRow(row);
    const point = points.get(key);
    points.set(key, {
      start,
      replica: perReplica ? replica : undefined,
      vitals: point ? joinReplicas(point.vitals, vitals) : vitals,
    });
  }
  return [...points.values()].sort(
    (a, b) => a.start - b.start || ((a.replica ?? '') < (b.replica ?? '') ? -1 : 1),
  );
}
