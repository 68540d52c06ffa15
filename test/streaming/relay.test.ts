import { expect, it, vi } from 'vitest';
import type { Pools } from '../../src/core/tasks.js';
import { Relay, type RelayOptions } from '../../src/services/events/relay.js';
import type { Log } from '../../src/services/telemetry/log.js';

const OUTBOX = { key: 'a', source: { kind: 'postgis', database: 'a' }, start: 0 } as never;

it('has not failed any more when another process takes the events over', async () => {
  const claim = vi.fn().mockRejectedValueOnce(new Error('away')).mockResolvedValue(undefined);
  const relay = new Relay({
    store: { claim, release: async () => {} } as unknown as RelayOptions['store'],
    pools: {} as Pools,
    log: { write() {} } as unknown as Log,
    alerts: { notify() {} } as unknown as RelayOptions['alerts'],
    instance: 'this',
    retention: { count: 1, ageMs: 1 },
    appended() {},
  });
  relay.change([OUTBOX], []);
  await vi.waitFor(() => expect(relay.status()[0]!.failingMs).toBeGreaterThan(0));
  await vi.waitFor(() => expect(relay.status()[0]!.failingMs).toBe(0), 60_000);
  expect(claim).toHaveBeenCalledTimes(2);
  await relay.close();
});
