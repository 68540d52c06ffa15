import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../../src/workers/providers/geopackage/connection.js';
import { geoPackageStore } from '../../edits/support.js';
import { startTown, type Town } from '../../replicas/support.js';

/** Columns of SQLite hold values of any type, and producers write instants in several ways. */

const store = geoPackageStore();
let town: Town;
beforeAll(async () => {
  const db = connect(store.file, false);
  db.exec(`INSERT INTO parcels (name, area, floors, seen, built) VALUES
    ('a', 1.5, 9223372036854775807, '2020-01-02T03:04:05Z', '2020-01-02'),
    ('a', 'wide', 9223372036854775807, '2020-01-02 03:04:05', '2020-01-02T00:00:00Z'),
    ('a', 2.5, NULL, '2020-01-02T04:04:05+01:00', 'never'),
    (7, 9e999, 'many', 'never', NULL)`);
  db.close();
  town = await startTown(store);
});
afterAll(async () => {
  await town?.server.stop();
  await store.release();
});

const query = (members: Record<string, unknown>) => town.post(`${town.layers['parcels']}/query`, members);
const statisticOf = async (statisticType: string, onStatisticField: string) =>
  (
    await query({
      outStatistics: [{ statisticType, onStatisticField, outStatisticFieldName: 'statisticOf' }],
    })
  ).features[0].attributes.statisticOf;
const distinct = async (outFields: string) =>
  (await query({ outFields, returnDistinctValues: true })).features.map(
    ({ attributes }: { attributes: Record<string, unknown> }) => attributes[outFields],
  );

it('instants are one however they are written', async () => {
  expect(await distinct('seen')).toEqual([Date.UTC(2020, 0, 2, 3, 4, 5), null]);
  expect(await distinct('built')).toEqual([Date.UTC(2020, 0, 2), null]);
  expect(await statisticOf('max', 'built')).toBe(Date.UTC(2020, 0, 2));
});

it('numbers are what is one', async () => {
  expect(await statisticOf('count', 'area')).toBe(3);
  expect(await statisticOf('min', 'area')).toBe(1.5);
  expect(await statisticOf('sum', 'area')).toBeNull();
  expect(await statisticOf('var', 'area')).toBe(0.5);
  expect(await statisticOf('sum', 'floors')).toBe(2 ** 64);
  expect(await distinct('floors')).toEqual([2 ** 63, null]);
});

it('texts are texts', async () => {
  expect(await distinct('name')).toEqual(['7', 'a']);
  expect(await statisticOf('min', 'name')).toBe('7');
});
