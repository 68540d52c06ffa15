import { describe, expect, it } from 'vitest';
import { ConnectionCounts, sumOfCounts } from '../../src/core/connection-counts.js';
import { Counter, Histogram, MAX_CELLS } from '../../src/gateway/telemetry/instruments.js';
import { createRegistry, exposition, instruments } from '../../src/gateway/telemetry/metrics.js';

/** Bytes of a scrape, whatever has been asked of the server. */
const SCRAPE_BUDGET = 2_500_000;

describe('instruments', () => {
  it('are named as the contract and the exposition want it', () => {
    const names = instruments().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const instrument of instruments()) {
      expect(instrument.name).toMatch(/^svc_[a-z0-9_]+$/);
      expect(instrument.name.endsWith('_total')).toBe(instrument instanceof Counter);
    }
    const contract = [
      'svc_serving_request_duration_ms svc_request_error_total svc_http_request_duration_ms svc_http_request_total',
      'svc_http_active_requests svc_database_query_duration_ms svc_database_query_total svc_db_pool_utilization_ratio',
      'svc_db_connection_acquisition_duration_ms svc_db_connection_acquisition_failures_total',
      'svc_db_connection_timeouts_total svc_db_active_connections svc_db_pool_size svc_db_connections_active',
      'svc_cache_hits_total svc_cache_misses_total svc_cache_hit_ratio svc_coordinate_transform_total',
      'svc_coordinate_transform_duration_ms svc_transaction_total svc_transaction_duration_ms svc_spatial_query_total',
      'svc_memory_allocated_bytes svc_memory_pressure_percent svc_memory_usage_bytes svc_gc_collection_total',
      'svc_execution_job_submitted_total svc_execution_job_transitions_total svc_execution_job_duration_ms',
      'svc_audit_chain_broken svc_tile_jobs_queue_depth',
    ].flatMap((line) => line.split(' '));
    expect(names).toEqual(expect.arrayContaining(contract));
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
    expect(sumOfCounts([one, two])).toEqual({
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
