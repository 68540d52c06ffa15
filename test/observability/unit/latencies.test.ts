import { expect, it } from 'vitest';
import {
  addLatencies,
  findLatencyBucket,
  LATENCY_BUCKETS,
  LatencyRecorder,
  LatencySums,
  type ProtocolLatencies,
} from '../../../src/services/observability/latency/latencies.js';
import { randomNumbers } from '../../support/random.js';

/** Greatest relative error of a percentile within the range of the buckets. */
const PRECISION = 1 / 32;
const SHARES = [0.5, 0.9, 0.95, 0.99, 0.999];

/** Latencies of several orders of magnitude, as cached tiles and exports have. */
function drawLatencies(count: number, seed: number): number[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => 0.02 * Math.exp(13 * random() ** 2));
}

function findExact(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]!;
}

function sum(values: readonly number[]): LatencySums {
  const sums = new LatencySums();
  for (const ms of values) sums.record(ms, false);
  return sums;
}

it('buckets are in the order of their latencies, and each doubling has sixteen', () => {
  let last = -1;
  for (let ms = 2 ** -7; ms < 2 ** 17; ms *= 1.003) {
    const bucket = findLatencyBucket(ms);
    expect(bucket - last).toBeGreaterThanOrEqual(0);
    expect(bucket - last).toBeLessThanOrEqual(1);
    expect(findLatencyBucket(2 * ms) - bucket).toBe(2 * ms < 2 ** 17 ? 16 : LATENCY_BUCKETS - 1 - bucket);
    last = bucket;
  }
  expect(last).toBe(LATENCY_BUCKETS - 1);
  for (const ms of [0, -1, 1e-9, Number.MIN_VALUE]) expect(findLatencyBucket(ms)).toBe(0);
  for (const ms of [2 ** 17, 1e9, Number.POSITIVE_INFINITY])
    expect(findLatencyBucket(ms)).toBe(LATENCY_BUCKETS - 1);
});

it('percentiles differ from the exact ones by at most a thirty-second', () => {
  for (const count of [1, 2, 3, 10, 100, 20_000]) {
    const values = drawLatencies(count, count);
    const sums = sum(values);
    for (const share of SHARES) {
      const exact = findExact(values, share);
      expect(Math.abs(sums.percentile(share) - exact) / exact).toBeLessThanOrEqual(PRECISION + 1e-9);
    }
    expect(sums.maxMs).toBe(Math.max(...values));
    expect(sums.percentile(1)).toBe(sums.maxMs);
  }
  expect(new LatencySums().percentile(0.5)).toBe(0);
});

it('sums of parts are the sums of the whole', () => {
  const values = drawLatencies(5000, 7);
  const parts: LatencySums[] = [];
  for (const [i, ms] of values.entries()) (parts[i % 7] ??= new LatencySums()).record(ms, i % 10 === 0);
  const joined: ProtocolLatencies = new Map();
  for (const part of parts)
    addLatencies(joined, [['STAC', JSON.parse(JSON.stringify(part.sample()))] as const]);
  const whole = new LatencySums();
  for (const [i, ms] of values.entries()) whole.record(ms, i % 10 === 0);
  expect(joined.get('STAC')!.sample()).toEqual(whole.sample());
  expect(whole.errors).toBe(500);
  // The mean of percentiles of parts is another number.
  const means = parts.reduce((all, part) => all + part.percentile(0.99), 0) / parts.length;
  expect(joined.get('STAC')!.percentile(0.99)).not.toBe(means);
});

it('a recorder gives each request to one reader', () => {
  const recorder = new LatencyRecorder();
  const cell = recorder.cell('STAC');
  expect(recorder.cell('STAC')).toBe(cell);
  recorder.cell('Admin');
  expect(recorder.read()).toEqual([]);
  cell.record(3, false);
  cell.record(5, true);
  expect(recorder.read()).toEqual(recorder.read());
  expect(recorder.take().map(([protocol, { requests }]) => [protocol, requests])).toEqual([['STAC', 2]]);
  expect(recorder.take()).toEqual([]);
  cell.record(7, false);
  expect(recorder.take()).toEqual([
    ['STAC', { requests: 1, errors: 0, maxMs: 7, counts: [findLatencyBucket(7), 1] }],
  ]);
});
