import { afterEach, beforeEach, expect, it } from 'vitest';
import { KEPT_MS, type LatencyRow, type VitalsRow } from '../../src/stores/observability/health-periods.js';
import { describeStates, type TemporaryState } from '../support/state.js';

const AT = Date.UTC(2026, 0, 31, 12);

function latencyRow(more: Partial<LatencyRow> = {}): LatencyRow {
  return {
    ...{ resolution: 60, bucket_start: AT, replica: 'p', protocol: 'STAC', requests: 3, errors: 1 },
    ...{ max_ms: 12.5, counts_json: '[10,3]', ...more },
  };
}

function vitalsRow(more: Partial<VitalsRow> = {}): VitalsRow {
  return {
    ...{ resolution: 60, bucket_start: AT, replica: 'p', samples: 1, status: 0, cache_hits: 1 },
    ...{ cache_lookups: 2, requests: 3, errors: 1, db_active: 1, db_capacity: 8, queue_json: '{}' },
    ...{ alert_pending: null, alert_dead: 0, ...more },
  };
}

describeStates('periods of latency and health', (temporary) => {
  let t: TemporaryState;
  beforeEach(async () => {
    t = await temporary();
  });
  afterEach(() => t.close());
  const range = { resolution: 60, from: AT, to: AT + 60_000 };

  it('a repeated or late write changes nothing, and a later one replaces it', async () => {
    const { healthPeriods } = t.state;
    const later = latencyRow({ requests: 5, errors: 2, max_ms: 20, counts_json: '[10,3,11,2]' });
    await healthPeriods.write([latencyRow()], [vitalsRow()]);
    await healthPeriods.write([latencyRow()], [vitalsRow()]);
    await healthPeriods.write([later], [vitalsRow({ samples: 2, status: 2 })]);
    await healthPeriods.write([latencyRow()], [vitalsRow()]);
    expect(await healthPeriods.latency(range)).toEqual([later]);
    expect(await healthPeriods.vitals(range)).toEqual([vitalsRow({ samples: 2, status: 2 })]);
  });

  it('periods of processes, protocols and resolutions are separate', async () => {
    const { healthPeriods } = t.state;
    const rows = ['p', 'q'].flatMap((replica) =>
      ['STAC', 'Admin'].flatMap((protocol) =>
        [60, 300].map((resolution) => latencyRow({ replica, protocol, resolution })),
      ),
    );
    const next = latencyRow({ bucket_start: AT + 60_000 });
    await healthPeriods.write([...rows, next], []);
    expect(await healthPeriods.latency(range)).toHaveLength(4);
    expect(await healthPeriods.latency({ ...range, to: AT + 120_000 })).toHaveLength(5);
    expect(await healthPeriods.latency({ ...range, resolution: 300 })).toHaveLength(4);
    expect(await healthPeriods.latency({ ...range, resolution: 3600 })).toEqual([]);
  });

  it('more rows than a statement takes are written', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => latencyRow({ bucket_start: AT + i * 60_000 }));
    await t.state.healthPeriods.write(rows, []);
    const all = await t.state.healthPeriods.latency({ ...range, to: AT + 3000 * 60_000 });
    expect(all.map(({ bucket_start }) => bucket_start)).toEqual(rows.map(({ bucket_start }) => bucket_start));
  });

  it('each resolution is kept for its time', async () => {
    const { healthPeriods } = t.state;
    const now = await t.state.instances.readTime();
    const starts = (resolution: number) =>
      [-1, 1].map((sign) => now - KEPT_MS.get(resolution)! + sign * 60_000);
    const keys = [...KEPT_MS.keys()].flatMap((resolution) =>
      starts(resolution).map((bucket_start) => ({ resolution, bucket_start })),
    );
    await healthPeriods.write(keys.map(latencyRow), keys.map(vitalsRow));
    await healthPeriods.prune();
    for (const resolution of KEPT_MS.keys()) {
      const all = { resolution, from: 0, to: now };
      const [, kept] = starts(resolution);
      expect((await healthPeriods.latency(all)).map((row) => row.bucket_start)).toEqual([kept]);
      expect((await healthPeriods.vitals(all)).map((row) => row.bucket_start)).toEqual([kept]);
    }
    expect([...KEPT_MS.values()].map((ms) => ms / 3_600_000)).toEqual([48, 14 * 24, 400 * 24]);
  });
});
