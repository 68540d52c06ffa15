import { expect, it } from 'vitest';
import type { CatalogSnapshot } from '../../../src/core/catalog/collection.js';
import { TaskFailure } from '../../../src/core/errors/failure.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { Databases } from '../../../src/services/catalog/databases.js';
import { SourceRecoveries } from '../../../src/services/catalog/source-recoveries.js';
import { broadcast, clusterBacklog, clusterDropped } from '../../../src/services/telemetry/event-metrics.js';
import { errorRecovery } from '../../../src/services/telemetry/process-metrics.js';

/** What failed and served again, and what could not be told to others. */

const recoveries = (subject: string) => errorRecovery.cell(subject).count;

it('a source has recovered when it is published, not when it is gone', () => {
  const sources = new SourceRecoveries();
  const snapshot = (quarantined: string[], published: string[]) =>
    ({
      quarantined: quarantined.map((path) => ({ path, reason: 'broken' })),
      collections: published.map((file) => ({ file })),
    }) as unknown as CatalogSnapshot;
  const before = recoveries('source');
  sources.follow(snapshot(['a.gpkg', 'b.gpkg'], []));
  sources.follow(snapshot(['a.gpkg'], []));
  expect(recoveries('source')).toBe(before);
  sources.follow(snapshot([], ['a.gpkg']));
  sources.follow(snapshot([], ['a.gpkg', 'b.gpkg']));
  expect(recoveries('source')).toBe(before + 1);
});

it('a database has recovered when it answers again', async () => {
  let failure: Error | undefined;
  const run = async () => {
    if (failure) throw failure;
    return { layers: [], rasters: [], problems: [] };
  };
  const databases = new Databases({ run } as unknown as Pools, 3000);
  const discover = () => databases.discover('postgresql://host/base').catch(() => undefined);
  const before = recoveries('database');
  await discover();
  // A failure that says nothing of the database.
  failure = new TaskFailure('internal', 'unexpected');
  await discover();
  failure = undefined;
  await discover();
  expect(recoveries('database')).toBe(before);
  failure = new TaskFailure('store-unavailable', 'no connection');
  await discover();
  await discover();
  failure = undefined;
  await discover();
  await discover();
  expect(recoveries('database')).toBe(before + 1);
});

it('a note to others is in the backlog until it has left, and counts as dropped when it cannot', () => {
  const [backlog, dropped] = [clusterBacklog.cell(), clusterDropped.cell()];
  const before = { backlog: backlog.value, dropped: dropped.value };
  const [one, other] = [broadcast(), broadcast()];
  expect(backlog.value).toBe(before.backlog + 2);
  one(true);
  other(false);
  expect(backlog.value).toBe(before.backlog);
  expect(dropped.value).toBe(before.dropped + 1);
});

it('a database whose tables take long is published once they are listed, and delays nothing else', async () => {
  let list: (contents: object) => void = () => {};
  const run = (name: string) =>
    name === 'vector.ping' ? Promise.resolve(null) : new Promise((resolve) => (list = resolve));
  const databases = new Databases({ run } as unknown as Pools, 10);
  const discover = () => databases.discover('postgresql://host/slow');
  await expect(discover()).rejects.toMatchObject({ code: 'deadline-exceeded' });
  // A reload meanwhile neither waits nor asks again.
  await expect(discover()).rejects.toMatchObject({ code: 'deadline-exceeded' });
  expect(await databases.status()).toMatchObject([{ published: false }]);
  const returned = new Promise((resolve) => databases.watch(resolve));
  const contents = { layers: [], rasters: [], problems: [] };
  list(contents);
  expect(await returned).toBe('postgresql://host/slow');
  expect(await discover()).toBe(contents);
  expect(await databases.status()).toMatchObject([{ published: true }]);
  databases.close();
});

it('a slow view is read once more with time, keeps nothing waiting, and stays as it was read', async () => {
  const layer = (table: string) => ({ source: { schema: 'public', table, geometryColumn: 'geom' } });
  const isSlow = { layer: 'public.slow', reason: 'Reading it took too long.', isSlow: true };
  const quick = { layers: [layer('roads')], rasters: [], problems: [isSlow] };
  const whole = { layers: [layer('roads'), layer('slow')], rasters: [], problems: [] };
  let readWhole: (contents: object) => void = () => {};
  const looks: number[] = [];
  const run = (name: string, { patience }: { patience?: { tableMs: number } }) => {
    if (name === 'vector.ping') return Promise.resolve(null);
    looks.push(patience!.tableMs);
    if (looks.length !== 2) return Promise.resolve(quick);
    return new Promise((resolve) => (readWhole = resolve));
  };
  const databases = new Databases({ run } as unknown as Pools, 3000);
  const discover = async () => {
    const { layers, problems } = await databases.discover('postgresql://host/views');
    return [layers.map(({ source }) => source.table), problems.length];
  };
  expect(await discover()).toEqual([['roads'], 1]);
  expect(looks).toEqual([1000, 30_000]);
  const returned = new Promise((resolve) => databases.watch(resolve));
  readWhole(whole);
  await returned;
  databases.close();
  expect(await discover()).toEqual([['roads', 'slow'], 0]);
  expect(looks).toHaveLength(2);
  // It is too slow for a reload, which keeps what is known of it.
  expect(await discover()).toEqual([['roads', 'slow'], 0]);
  expect(looks).toEqual([1000, 30_000, 1000]);
});
