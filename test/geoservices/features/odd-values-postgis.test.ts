import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EditableStore, postgisStore } from '../../edits/support.js';
import { startTown, type Town } from '../../replicas/support.js';

/** Types and values of PostgreSQL that JSON and doubles do not have. */

let store: EditableStore;
let town: Town;
beforeAll(async () => {
  store = await postgisStore();
  await store.query(`CREATE TABLE odd (fid serial PRIMARY KEY, geom geometry(Point, 4326), plain timestamp,
      small real, exact numeric(20, 4), big bigint, "we""ird; name" text, key uuid, huge float8);
    INSERT INTO odd (plain, small, exact, big, "we""ird; name", key, huge) VALUES
      ('2020-01-02 03:04:05.678', 0.1, 1.25, 9223372036854775807, 'b', '00000000-0000-4000-8000-000000000001', 1e308),
      ('2020-01-02 03:04:05.678', 0.1, 2.25, 9223372036854775807, 'B', '00000000-0000-4000-8000-000000000002', 1e308),
      ('infinity', 'NaN', NULL, NULL, NULL, NULL, 1e308)`);
  town = await startTown(store);
});
afterAll(async () => {
  await town?.server.stop();
  await store?.release();
});

const query = (members: Record<string, unknown>) => town.post(`${town.layers['odd']}/query`, members);
const statistic = (statisticType: string, onStatisticField: string) => ({
  ...{ statisticType, onStatisticField, outStatisticFieldName: 'statisticOf' },
});
const statisticOf = async (type: string, field: string, where = '1=1') =>
  (await query({ where, outStatistics: [statistic(type, field)] })).features[0].attributes.statisticOf;
const distinct = async (outFields: string) =>
  (await query({ outFields, returnDistinctValues: true })).features.map(
    ({ attributes }: { attributes: Record<string, unknown> }) => Object.values(attributes)[0],
  );

it('instants without a zone are in UTC', async () => {
  const instant = Date.UTC(2020, 0, 2, 3, 4, 5, 678);
  expect(await statisticOf('min', 'plain')).toBe(instant);
  expect(await distinct('plain')).toEqual([instant, null]);
});

it('numbers have the digits that features show', async () => {
  expect(await distinct('small')).toEqual([0.1, null]);
  expect(await statisticOf('sum', 'exact')).toBe(3.5);
  expect(await statisticOf('sum', 'big')).toBe(2 ** 64);
  expect(await statisticOf('max', 'big')).toBe(2 ** 63);
});

it('names are quoted, and texts ordered by their code points', async () => {
  expect(await distinct('"we"ird; name"')).toEqual(['B', 'b', null]);
  expect(await statisticOf('max', 'we"ird; name')).toBe('b');
  expect(await statisticOf('max', 'key')).toBe('00000000-0000-4000-8000-000000000002');
});

it('what the database cannot compute is a failure in band', async () => {
  const { error } = await query({ outStatistics: [statistic('sum', 'huge')] });
  expect(error).toMatchObject({ code: 400 });
});
