import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type EditableStore, postgisStore } from '../../edits/support.js';
import { startTown, type Town } from '../../replicas/support.js';

let store: EditableStore;
let town: Town;
let other: pg.Client;
beforeAll(async () => {
  store = await postgisStore();
  await store.query("INSERT INTO parcels (name, floors) VALUES ('a', 1), ('b', 1), ('c', 2)");
  town = await startTown(store);
  other = new pg.Client({ connectionString: store.sources[0]! });
  await other.connect();
});
afterAll(async () => {
  await other?.end();
  await town?.server.stop();
  await store?.release();
});

it('deleteFeatures spares what does not pass its condition any more', async () => {
  await other.query("BEGIN; UPDATE parcels SET floors = 9 WHERE name = 'b'");
  const deleted = town.post(`${town.layers['parcels']}/deleteFeatures`, {
    where: 'floors = 1',
    rollbackOnFailure: false,
  });
  await vi.waitFor(async () => {
    const [row] = await store.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    );
    expect(row).toEqual({ n: 1 });
  });
  await other.query('COMMIT');
  const { deleteResults } = await deleted;
  expect(deleteResults).toMatchObject([
    { objectId: 1, success: true },
    { objectId: 2, success: false },
  ]);
  expect(await store.query('SELECT name, floors::int AS floors FROM parcels ORDER BY fid')).toEqual([
    { name: 'b', floors: 9 },
    { name: 'c', floors: 2 },
  ]);
});
