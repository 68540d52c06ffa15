import { expect, it } from 'vitest';
import { HealthMinutes } from '../../../src/services/observability/latency/health-minutes.js';
import {
  joinLatency,
  joinVitals,
  readPeriodRows,
} from '../../../src/services/observability/latency/history.js';
import { LatencyRecorder } from '../../../src/services/observability/latency/latencies.js';
import { StateClock } from '../../../src/services/observability/latency/state-clock.js';
import type { Observation } from '../../../src/services/observability/latency/vitals.js';
import type { LatencyRow, VitalsRow } from '../../../src/stores/observability/health-periods.js';

const START = Date.UTC(2026, 0, 31, 12, 3, 10);
const MINUTE = 60_000;

/** Rows by key, as the state has them. */
class Rows {
  readonly latency = new Map<string, LatencyRow>();
  readonly vitals = new Map<string, VitalsRow>();
  fails = false;
  writes = 0;

  async write(latency: readonly LatencyRow[], vitals: readonly VitalsRow[]): Promise<void> {
    if (this.fails) throw new Error('no state');
    this.writes++;
    for (const row of latency)
      this.latency.set(`${row.resolution} ${row.bucket_start} ${row.replica} ${row.protocol}`, row);
    for (const row of vitals) this.vitals.set(`${row.resolution} ${row.bucket_start} ${row.replica}`, row);
  }

  async prune(): Promise<void> {}

  /** Number of requests of each period of a resolution. */
  requests(resolution: number): [start: string, requests: number][] {
    return [...this.latency.values()]
      .filter((row) => row.resolution === resolution)
      .map((row) => [new Date(row.bucket_start).toISOString().slice(11, 16), row.requests]);
  }
}

const FINE: Observation = {
  ...{ status: 'Healthy', cacheHits: 0, cacheLookups: 0, dbActive: 0, dbCapacity: 0, queue: {} },
  ...{ alertPending: null, alertDead: null },
};

function world(rows = new Rows(), replica = 'p') {
  const time = { monotonic: 1000, state: START };
  const clock = new StateClock(
    async () => time.state,
    () => time.monotonic,
    START,
  );
  const recorder = new LatencyRecorder();
  const errors: unknown[] = [];
  const observed = { ...FINE };
  const minutes = new HealthMinutes({
    ...{ store: rows, recorder, clock, replica },
    observe: async () => observed,
    onError: (error) => errors.push(error),
  });
  const cell = recorder.cell('STAC');
  return {
    ...{ rows, clock, minutes, errors, observed, time },
    record(count: number): void {
      for (let i = 0; i < count; i++) cell.record(10 + i, i === 0);
    },
    pass(ms: number): void {
      time.monotonic += ms;
      time.state += ms;
    },
  };
}

it('stores each minute by the clock of the state, and the same requests in longer periods', async () => {
  const { minutes, rows, record, pass } = world();
  record(3);
  await minutes.endMinute();
  expect(rows.writes).toBe(0);
  pass(50_000);
  await minutes.endMinute();
  record(4);
  pass(2 * MINUTE);
  await minutes.endMinute();
  pass(MINUTE);
  await minutes.endMinute();
  record(5);
  await minutes.close();
  expect(rows.requests(60)).toEqual([
    ['12:03', 3],
    ['12:04', 4],
    ['12:07', 5],
  ]);
  expect(rows.requests(300)).toEqual([
    ['12:00', 7],
    ['12:05', 5],
  ]);
  expect(rows.requests(3600)).toEqual([['12:00', 12]]);
});

it('counts no request twice when the clock of the state goes back', async () => {
  const { minutes, rows, record, pass, time } = world();
  record(1);
  pass(MINUTE);
  await minutes.endMinute();
  time.state -= 10 * MINUTE;
  record(2);
  pass(MINUTE);
  await minutes.endMinute();
  record(4);
  pass(MINUTE);
  await minutes.endMinute();
  // It is 11:56 by the state, but the minute of the process does not move back.
  record(8);
  pass(10 * MINUTE);
  await minutes.endMinute();
  expect(rows.requests(60)).toEqual([
    ['12:03', 1],
    ['12:04', 2],
    ['12:05', 12],
  ]);
});

it('keeps what the state does not accept, and writes it once it does', async () => {
  const { minutes, rows, record, pass, errors } = world();
  rows.fails = true;
  for (let i = 0; i < 10; i++) {
    record(1);
    pass(MINUTE);
    await minutes.endMinute();
  }
  expect(errors).toHaveLength(10);
  rows.fails = false;
  pass(MINUTE);
  await minutes.endMinute();
  await minutes.endMinute();
  expect(rows.requests(60).map(([, requests]) => requests)).toEqual(Array(10).fill(1));
  expect(rows.requests(3600)).toEqual([['12:00', 10]]);
});

it('shows the requests of the last five minutes', async () => {
  const { minutes, record, pass } = world();
  const requests = () => minutes.recent().latency.reduce((sum, [, sample]) => sum + sample.requests, 0);
  record(1);
  expect([requests(), minutes.recent().windowMs]).toEqual([1, 0]);
  pass(30_000);
  expect([requests(), minutes.recent().windowMs]).toEqual([1, 30_000]);
  for (let i = 0; i < 10; i++) {
    pass(MINUTE);
    await minutes.endMinute();
    record(1);
  }
  // It is 12:13:40, so the window starts at 12:09.
  expect([requests(), minutes.recent().windowMs]).toEqual([5, 4 * MINUTE + 40_000]);
  pass(20 * MINUTE);
  await minutes.endMinute();
  expect(requests()).toBe(0);
});

it('the history has the newest rows of each process, stored or not', async () => {
  const rows = new Rows();
  const [one, other] = [world(rows, 'one'), world(rows, 'other')];
  const read = async (resolution: number, perReplica = false) => {
    const store = {
      latency: async () => [...rows.latency.values()].filter((row) => row.resolution === resolution),
      vitals: async () => [...rows.vitals.values()].filter((row) => row.resolution === resolution),
    };
    const range = { resolution, from: START - 3_600_000, to: START + 3_600_000 };
    const own = [one, other].map(({ minutes }) => minutes.list(resolution, range.from));
    const { latency, vitals } = await readPeriodRows(store, range, own);
    const series = await joinLatency(latency, perReplica);
    return {
      latency: series.map(({ replica, points }) => [replica, points.map(({ sums }) => sums.requests)]),
      vitals: joinVitals(vitals, perReplica),
    };
  };
  one.record(3);
  other.record(4);
  expect((await read(60)).latency).toEqual([[undefined, [7]]]);
  for (const { pass, minutes } of [one, other]) {
    pass(MINUTE);
    await minutes.endMinute();
  }
  one.record(5);
  expect((await read(60)).latency).toEqual([[undefined, [7, 5]]]);
  for (const resolution of [300, 3600]) expect((await read(resolution)).latency).toEqual([[undefined, [12]]]);
  expect((await read(300, true)).latency).toEqual([
    ['one', [8]],
    ['other', [4]],
  ]);
  // A process that was killed keeps its stored requests.
  other.record(50);
  rows.fails = true;
  other.minutes.list = () => ({ latency: [], vitals: [] });
  expect((await read(300, true)).latency).toEqual([
    ['one', [8]],
    ['other', [4]],
  ]);
});

it('vitals have the worst status, sums of counts, and the highest numbers of connections and jobs', async () => {
  const rows = new Rows();
  const [one, other] = [world(rows, 'one'), world(rows, 'other')];
  const common = {
    cacheHits: 3,
    cacheLookups: 4,
    dbActive: 2,
    dbCapacity: 8,
    queue: { 'Queued|embedded': 2 },
  };
  Object.assign(one.observed, common);
  Object.assign(other.observed, { ...common, status: 'Degraded', alertPending: 1, alertDead: 0 });
  for (const { record, pass, minutes, observed } of [one, other]) {
    record(10);
    pass(MINUTE);
    await minutes.endMinute();
    Object.assign(observed, { cacheHits: 4, cacheLookups: 8, dbActive: 1, queue: { 'Running|embedded': 5 } });
    pass(MINUTE);
    await minutes.endMinute();
  }
  const stored = [...rows.vitals.values()].filter(({ resolution }) => resolution === 3600);
  const joined = joinVitals(stored, false);
  expect(joined).toEqual([
    {
      ...{ start: Date.UTC(2026, 0, 31, 12), replica: undefined },
      vitals: {
        ...{ samples: 4, status: 'Degraded', cacheHits: 8, cacheLookups: 16, requests: 20, errors: 2 },
        ...{ dbActive: 4, dbCapacity: 16, queue: { 'Queued|embedded': 2, 'Running|embedded': 5 } },
        ...{ alertPending: 1, alertDead: 0 },
      },
    },
  ]);
  expect(joinVitals(stored, true).map(({ replica, vitals }) => [replica, vitals.status])).toEqual([
    ['one', 'Healthy'],
    ['other', 'Degraded'],
  ]);
});
