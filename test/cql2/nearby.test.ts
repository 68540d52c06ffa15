import { afterAll, beforeAll, expect, it } from 'vitest';
import { check, parseText } from '../../src/core/cql2/index.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import { statement } from '../../src/workers/providers/geopackage/connection.js';
import { passingRows } from '../../src/workers/providers/geopackage/queries/filter.js';
import { SqlParams } from '../../src/workers/providers/postgis/connections/params.js';
import { buildWhere } from '../../src/workers/providers/postgis/queries/filter.js';
import { wkb } from '../native/support.js';
import { pick, seeded } from './random.js';
import { type Stores, startStores } from './stores.js';

/** The spatial index finds the candidates of S_DWITHIN, all over the globe. */

const random = seeded(5);
const LONGITUDES = [-180, -179.9, 0, 10, 179.5, 180];
const LATITUDES = [-90, -89.9, 0, 50, 85, 89.5, 90];
const longitude = () => (random() < 0.4 ? pick(random, LONGITUDES) : 360 * random() - 180);
const latitude = () => (random() < 0.4 ? pick(random, LATITUDES) : 180 * random() - 90);

let stores: Stores;
beforeAll(async () => {
  const rows = Array.from({ length: 500 }, () => [
    wkb({ type: 'Point', coordinates: [longitude(), latitude()] }),
  ]);
  stores = await startStores([], rows);
  stores.geopackage.geometryType = 'Point';
  stores.postgis.geometryType = 'Point';
});
afterAll(() => stores?.stop());

const checked = (text: string) => check(parseText(text), { ...stores.geopackage, filterCrs: CRS84 });

it('finds what a look at every row finds', async () => {
  let some = 0;
  for (let i = 0; i < 150; i++) {
    const args = `geom, POINT(${longitude()} ${latitude()}), ${pick(random, [0, 1000, 50_000, 800_000, 5_000_000])}`;
    const near = await stores.find(checked(`S_DWITHIN(${args})`));
    const notFar = await stores.find(checked(`NOT S_BEYOND(${args})`));
    expect(near, args).toEqual(notFar);
    if (near.postgis.length > 0) some++;
  }
  expect(some).toBeGreaterThan(50);
});

it('asks the index', async () => {
  const filter = checked('S_DWITHIN(geom, POINT(10 50), 1000)');
  const { sql, values } = passingRows(stores.geopackage, filter);
  const plan = statement(stores.geopackage.path, `EXPLAIN QUERY PLAN ${sql}`).all(...values);
  expect(JSON.stringify(plan)).toMatch(/VIRTUAL TABLE INDEX/);
  await stores.query('SET enable_seqscan = off');
  for (const text of [
    'S_DWITHIN(geom, POINT(10 50), 1000)',
    'S_WITHIN(geom, POLYGON((0 0,1 0,1 1,0 0)))',
    'S_INTERSECTS(geom, BBOX(0,0,1,1))',
  ]) {
    const params = new SqlParams();
    const where = buildWhere(stores.postgis, checked(text), params);
    const { rows } = await stores.query(`EXPLAIN SELECT fid FROM rows t WHERE ${where}`, [...params.values]);
    expect(JSON.stringify(rows), text).toMatch(/Index Cond: \(geom/);
  }
});
