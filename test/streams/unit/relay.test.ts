import { expect, it, vi } from 'vitest';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { type Outbox, Relay, type RelayOptions } from '../../../src/services/streams/relay.js';
import type { Log } from '../../../src/services/telemetry/log.js';

const outbox = (key: string, source: Outbox['source']): Outbox => ({
  ...{ key, source, start: 0, collections: [] },
  tables: new Map(),
  readers: new Map(),
});

function newRelay(claim: RelayOptions['store']['claim'], run: Pools['run']): Relay {
  return new Relay({
    store: { claim, release: async () => {} } as unknown as RelayOptions['store'],
    pools: { run } as unknown as Pools,
    log: { write() {} } as unknown as Log,
    notices: { notify() {} },
    instance: 'this',
    retention: { count: 1, ageMs: 1 },
    appended() {},
  });
}

it('has not failed any more when another process takes the events over', async () => {
  const claim = vi.fn().mockRejectedValueOnce(new Error('away')).mockResolvedValue(undefined);
  const relay = newRelay(claim, vi.fn());
  relay.change([outbox('a', { kind: 'postgis', database: 'a' })], []);
  await vi.waitFor(() => expect(relay.status()[0]!.failingMs).toBeGreaterThan(0));
  await vi.waitFor(() => expect(relay.status()[0]!.failingMs).toBe(0), 60_000);
  expect(claim).toHaveBeenCalledTimes(2);
  await relay.close();
});

it('reads few files at a time, and databases beside them', async () => {
  const waiting: (() => void)[] = [];
  const claimed: string[] = [];
  const read: unknown[] = [];
  const claim = async (key: string) => {
    claimed.push(key);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return { cursor: 0, eventId: null, takenOver: false };
  };
  const run = async (_: string, { source }: { source: Outbox['source'] }) => {
    read.push(source.path ?? source.database);
    return { events: [], newest: 0 };
  };
  const relay = newRelay(claim, run as unknown as Pools['run']);
  const files = Array.from({ length: 20 }, (_, i) => `/${i}.gpkg`);
  relay.change(
    files.map((path) => outbox(path, { kind: 'geopackage', path })),
    [],
  );
  relay.change([outbox('database', { kind: 'postgis', database: 'a' })], []);
  await vi.waitFor(() => expect(claimed.sort()).toEqual([...files.slice(0, 8), 'database'].sort()));
  relay.change([], [files[19]!]);
  for (let done = 0; done < 20; done++) {
    await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(0));
    waiting.shift()!();
  }
  await vi.waitFor(() => expect(read.sort()).toEqual([...files.slice(0, 19), 'a'].sort()));
  expect(waiting).toEqual([]);
  await relay.close();
});
