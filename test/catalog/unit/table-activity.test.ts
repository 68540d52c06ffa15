import { expect, it, vi } from 'vitest';
import type { VectorCollection } from '../../../src/core/catalog/collection.js';
import { TableActivity } from '../../../src/services/catalog/table-activity.js';

function setUp() {
  const collection = (id: string, table: string): VectorCollection =>
    ({
      ...{ kind: 'vector', id, activity: [10, 0, 0, 10], featureCount: 10 },
      source: { kind: 'postgis', database: 'd', schema: 'public', table, fields: [] },
    }) as unknown as VectorCollection;
  const collections = new Map(['one', 'two'].map((id) => [id, collection(id, id)]));
  const counters: Record<string, number[]> = { 'public.one': [10, 0, 0, 10], 'public.two': [10, 0, 0, 10] };
  const run = vi.fn(async (_name: string, { tables }: { tables: string[] }) =>
    tables.map((table) => counters[table] ?? null),
  );
  const noteActivity = vi.fn((id: string, activity: readonly number[], _isDoubtful: boolean) => {
    collections.set(id, { ...collections.get(id)!, activity });
  });
  const refresh = vi.fn(async (_id: string) => {});
  const catalog = {
    get current() {
      return { collections: [...collections.values()] };
    },
    noteActivity,
  };
  const activity = new TableActivity({ catalog, pools: { run }, extents: { refresh } } as never);
  const look = () => activity.look([collections.get('one')!]);
  return { activity, collections, counters, run, noteActivity, refresh, look };
}

it('asks a database once a second at most, by one task for all tables, and only if somebody asks', async () => {
  const { run, look, counters, refresh, noteActivity } = setUp();
  expect(run).not.toHaveBeenCalled();
  const now = vi.spyOn(performance, 'now').mockReturnValue(10_000);
  await Promise.all([look(), look()]);
  expect(run.mock.calls).toEqual([
    ['vector.activity', { database: 'd', tables: ['public.one', 'public.two'] }, expect.anything()],
  ]);
  expect(refresh).not.toHaveBeenCalled();
  counters['public.two'] = [11, 0, 0, 11];
  expect(look()).toBeUndefined();
  now.mockReturnValue(11_001);
  await look();
  expect([run.mock.calls.length, noteActivity.mock.calls, refresh.mock.calls]).toEqual([
    ...[2, [['two', [11, 0, 0, 11], true]], [['two']]],
  ]);
  now.mockReturnValue(12_002);
  await look();
  expect(refresh).toHaveBeenCalledTimes(1);
  now.mockRestore();
});

it('knows the rows that edits of the server added', async () => {
  const { activity, collections, counters, noteActivity, look } = setUp();
  activity.edited(collections.get('one')!, { cursor: 1, features: 2 });
  counters['public.one'] = [12, 0, 0, 12];
  // An update by another program changes no count.
  counters['public.two'] = [10, 1, 0, 10];
  const now = vi.spyOn(performance, 'now').mockReturnValue(10_000);
  await look();
  // TRUNCATE counts in the rows alone.
  counters['public.two'] = [10, 1, 0, 0];
  now.mockReturnValue(11_001);
  await look();
  now.mockRestore();
  expect(noteActivity.mock.calls).toEqual([
    ['one', [12, 0, 0, 12], false],
    ['two', [10, 1, 0, 10], false],
    ['two', [10, 1, 0, 0], true],
  ]);
});
