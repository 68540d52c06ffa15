import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConnectionCounts, sumConnectionCounts } from '../../../src/core/sources/connection-counts.js';
import { ABSENT_INSTRUMENTS, expandNames } from '../../../src/gateway/telemetry/absent-instruments.js';
import {
  cacheHitRatioDetailed,
  cacheHits,
  cacheMisses,
  sampleHitRatios,
} from '../../../src/services/telemetry/cache-metrics.js';
import {
  Counter,
  Gauge,
  getInstrumentUnit,
  Histogram,
  type Instrument,
  LABEL_SHARES,
  MAX_CELLS,
  OWN_CELLS,
} from '../../../src/services/telemetry/instruments.js';
import { createRegistry, exposition, instruments } from '../../../src/services/telemetry/metrics.js';
import { memoryPressureAlerts, sampleMemory } from '../../../src/services/telemetry/process-metrics.js';
import { CONTRACT_INSTRUMENTS } from '../contract-instruments.js';

/** Bytes of a scrape, whatever has been asked of the server. */
const SCRAPE_BUDGET = 2_500_000;

describe('instruments', () => {
  it('are named as the contract and the exposition want it', () => {
    const names = instruments().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const instrument of instruments()) {
      expect(instrument.name).toMatch(/^(svc|execution)_[a-z0-9_]+$/);
      expect(instrument.name.endsWith('_total')).toBe(instrument instanceof Counter);
    }
  });

  it('are those of the interface whose subject exists here, and the others are named with the reason', () => {
    const present = new Map<string, Instrument>(instruments().map((one) => [one.dottedName, one]));
    const absent = ABSENT_INSTRUMENTS.flatMap(([, names]) => names.flatMap(expandNames));
    const contract = CONTRACT_INSTRUMENTS.map(({ name }) => name);
    expect(new Set(contract).size).toBe(contract.length);
    expect(absent.filter((name) => !contract.includes(name))).toEqual([]);
    expect(absent.filter((name) => present.has(name))).toEqual([]);
    expect(contract.filter((name) => !present.has(name) && !absent.includes(name))).toEqual([]);
    for (const { name, type, labels } of CONTRACT_INSTRUMENTS) {
      const instrument = present.get(name);
      if (!instrument) continue;
      expect([name, instrument.type]).toEqual([name, type]);
      if (labels) expect([name, instrument.labelNames]).toEqual([name, labels]);
    }
  });

  it('have a unit', () => {
    const units = instruments().map(({ dottedName }) => [dottedName, getInstrumentUnit(dottedName)]);
    expect(Object.fromEntries(units)).toMatchObject({
      svc_http_request_duration_ms: 'ms',
      svc_memory_usage_bytes: 'By',
      'svc.tile.cache.bytes_released': 'By',
      svc_memory_allocated_mb: 'MiBy',
      svc_memory_pressure_percent: '%',
      svc_memory_pressure_detailed: '%',
      'svc.outbox.oldest_pending_age_seconds': 's',
      svc_database_query_records: '1',
    });
  });

  it('without labels are shown before anything is counted, but for gauges that nothing has set', () => {
    const spec = (name: string) => ({ name, help: 'Test' });
    expect(new Counter(spec('svc_a')).samples()).toEqual([{ labels: {}, value: 0 }]);
    expect(new Histogram({ ...spec('svc_b'), bounds: [1] }).samples()).toMatchObject([{ sum: 0, count: 0 }]);
    expect(new Gauge(spec('svc_c')).samples()).toEqual([]);
    expect(new Counter({ ...spec('svc_d'), labels: ['a'] }).samples()).toEqual([]);
  });

  it('tell that the memory pressure rose, once for each time', () => {
    const alerts = memoryPressureAlerts.cell();
    const before = alerts.value;
    for (const percent of [50, 95, 96, 60, 91]) sampleMemory(percent);
    expect(alerts.value).toBe(before + 2);
    sampleMemory(10);
  });

  it('tell the hit ratio of each period, and nothing of one without look-ups', () => {
    const samples = () =>
      cacheHitRatioDetailed.samples().find(({ labels }) => labels['cache_name'] === 'ratio-test');
    for (const [hits, misses] of [
      [3, 1],
      [0, 0],
      [0, 2],
    ] as const) {
      cacheHits.cell('ratio-test').inc(hits);
      cacheMisses.cell('ratio-test').inc(misses);
      sampleHitRatios();
    }
    expect(samples()).toMatchObject({ count: 2, sum: 0.75 });
  });

  it('are listed in docs/reference/server/metrics.md', () => {
    const printed = execFileSync(process.execPath, ['dist/gateway/telemetry/documents.js', 'metrics'], {
      encoding: 'utf8',
    });
    expect(readFileSync('docs/reference/server/metrics.md', 'utf8')).toBe(printed);
  });

  it('count what exceeds their label sets together', async () => {
    const counter = new Counter({ name: 'svc_test_total', help: 'Test', labels: ['a', 'b'] });
    for (let n = 0; n < 5000; n++) counter.cell(`a${n}`, `b${n}`).inc();
    const samples = counter.samples();
    expect(samples).toHaveLength(MAX_CELLS.other + 1);
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(5000);
    expect(samples.at(-1)).toEqual({ labels: { a: 'other', b: 'other' }, value: 5000 - MAX_CELLS.other });
    const histogram = new Histogram({ name: 'svc_test_ms', help: 'Test', labels: ['a'], bounds: [1] });
    for (let n = 0; n < 5000; n++) histogram.cell(`a${n}`).observe(n);
    expect(histogram.samples()).toHaveLength(MAX_CELLS.histogram + 1);
    counter.reset();
    histogram.reset();
  });

  it('keep room for what is served, however many requests were refused', () => {
    const counter = new Counter({ name: 'svc_shares', help: 'Test', labels: ['a'] });
    for (const share of ['refused', 'admin', 'wrong'] as const)
      for (let n = 0; n < 2000; n++) counter.cellIn(share, `${share} ${n}`).inc();
    for (let n = 0; n < MAX_CELLS.other / 2 - 1; n++) counter.cell(`served ${n}`).inc();
    const samples = counter.samples();
    const named = (word: string) =>
      samples.filter(({ labels }) => labels['a']!.startsWith(`${word} `)).length;
    expect(['refused', 'admin', 'wrong', 'served'].map(named)).toEqual([
      ...[LABEL_SHARES.refused, LABEL_SHARES.admin, LABEL_SHARES.wrong].map((part) => MAX_CELLS.other * part),
      MAX_CELLS.other / 2 - 1,
    ]);
    counter.reset();
    expect(counter.cellIn('refused', 'again')).not.toBe(counter.cellIn('refused', 'other'));
    counter.reset();
  });

  it('keep the first label sets of an instrument, whatever the others have used', () => {
    const greedy = instruments().filter(({ labelNames, type }) => labelNames.length > 0 && type !== 'gauge');
    for (const family of greedy)
      for (let n = 0; n < 1000; n++) family.cell(...family.labelNames.map(() => `greedy ${n}`));
    const late = new Counter({ name: 'svc_late', help: 'Test', labels: ['a'] });
    const histogram = new Histogram({ name: 'svc_late_ms', help: 'Test', labels: ['a'], bounds: [1, 2] });
    for (let n = 0; n < 100; n++) {
      late.cell(`late ${n}`).inc();
      histogram.cell(`late ${n}`).observe(n);
    }
    const counts = [late, histogram].map((family) => family.samples().length);
    for (const family of [...greedy, late, histogram]) family.reset();
    // One more of each is for the others.
    expect(counts).toEqual([OWN_CELLS.other + 1, OWN_CELLS.histogram + 1]);
  });

  it('keep the scrape within its budget after every operation was answered in every way', async () => {
    for (const family of instruments()) {
      for (let n = 0; n < 2000; n++)
        family.cell(...family.labelNames.map((name) => `${name} /api/v1/admin/some/long/endpoint/{id}/${n}`));
    }
    const text = await exposition(createRegistry());
    for (const family of instruments()) family.reset();
    expect(text.length).toBeGreaterThan(500_000);
    expect(text.length).toBeLessThan(SCRAPE_BUDGET);
  });

  it('read what threads count of their connections', () => {
    const [one, two] = [new ConnectionCounts(), new ConnectionCounts()];
    one.add('capacity', 4);
    one.add('active', 1);
    one.acquired(3);
    new ConnectionCounts(two.shared).acquired(20_000);
    expect(sumConnectionCounts([one, two])).toEqual({
      capacity: 4,
      open: 0,
      active: 1,
      acquisitions: 2,
      waitMs: 20_003,
      failures: 0,
      timeouts: 0,
      buckets: [0, 1, 0, 0, 0, 0, 1],
    });
  });
});
