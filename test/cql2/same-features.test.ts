import { afterAll, beforeAll, expect, it } from 'vitest';
import { check, parseText, print } from '../../src/core/cql2/index.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import { type Shape, wkb } from '../native/support.js';
import { DATES, NUMBERS, pick, type Random, RandomFilter, seeded, TEXTS, TIMES } from './random.js';
import { type Cell, type Column, type Stores, startStores } from './stores.js';

/** Whatever the filter, a GeoPackage and PostGIS with the same rows answer with the same features. */

const COLUMNS: Column[] = [
  { name: 'name', type: 'string' },
  { name: 'other', type: 'string' },
  { name: 'pop', type: 'integer' },
  { name: 'size', type: 'number' },
  { name: 'flag', type: 'boolean' },
  { name: 'day', type: 'date' },
  { name: 'at', type: 'date-time' },
  { name: 'until', type: 'date-time' },
  { name: 'tags', type: 'json' },
];
const ARRAYS = [
  '[]',
  '["a"]',
  '["a","b"]',
  '["b","a","a"]',
  '[1,2.5]',
  '[1.0]',
  '[true,"it\'s"]',
  '[null,1]',
  '{"a":1}',
  '"a"',
  '[["a"],{"b":1}]',
];

function shape(random: Random): Shape {
  const at = (): [number, number] => [Math.round(random() * 20), Math.round(random() * 20)];
  const [x, y] = at();
  const size = 1 + Math.round(random() * 6);
  return pick<() => Shape>(random, [
    () => ({ type: 'Point', coordinates: [x, y] }),
    () => ({
      type: 'LineString',
      coordinates: [
        [x, y],
        [x + size, y],
        [x + size, y + size],
      ],
    }),
    () => ({
      type: 'Polygon',
      coordinates: [
        [
          [x, y],
          [x + size, y],
          [x + size, y + size],
          [x, y + size],
          [x, y],
        ],
      ],
    }),
    () => ({
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: at() },
        { type: 'LineString', coordinates: [[x, y], at(), [x, y + 1]] },
      ],
    }),
    () => ({ type: 'MultiPoint', coordinates: [[x, y], at()] }),
  ])();
}

function row(random: Random): Cell[] {
  const or = (value: Cell): Cell => (random() < 0.15 ? null : value);
  return [
    or(wkb(shape(random))),
    or(pick(random, TEXTS)),
    or(pick(random, TEXTS)),
    or(pick(random, NUMBERS.filter(Number.isInteger))),
    or(pick(random, NUMBERS)),
    or(random() < 0.5),
    or(pick(random, DATES)),
    or(pick(random, TIMES)),
    or(pick(random, TIMES)),
    or(pick(random, ARRAYS)),
  ];
}

let stores: Stores;
beforeAll(async () => {
  const random = seeded(303);
  stores = await startStores(
    COLUMNS,
    Array.from({ length: 300 }, () => row(random)),
  );
});
afterAll(() => stores?.stop());

it('finds the same features for random filters', async () => {
  const filters = new RandomFilter(seeded(9393));
  const schema = { ...stores.geopackage, filterCrs: CRS84 };
  let some = 0;
  for (let i = 0; i < 1500; i++) {
    const tree = filters.boolean(3);
    const text = print(tree);
    let checked: ReturnType<typeof check>;
    try {
      checked = check(parseText(text), schema);
    } catch (error) {
      // The generator does not know which kinds compare.
      expect((error as Error).message, text).toMatch(/cannot compare|ends before/);
      continue;
    }
    const found = await stores.find(checked).catch((error) => {
      // Beyond double precision PostgreSQL fails, and the request is refused.
      if (/out of range: (over|under)flow/.test(error.message)) return undefined;
      throw new Error(`${text}: ${error.message}`);
    });
    if (!found) continue;
    expect(found.postgis, text).toEqual(found.geopackage);
    if (found.postgis.length > 0 && found.postgis.length < 300) some++;
  }
  expect(some).toBeGreaterThan(500);
});
