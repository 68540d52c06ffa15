import { expect, it } from 'vitest';
import { JoinIndex } from '../../../src/native/analytics.js';
import { geojsonToWkb } from '../../../src/native/index.js';
import { NearestIndex } from '../../../src/native/proximity.js';

const PLANE = { from: 'EPSG:3857', to: 'EPSG:3857' };
const wkb = (geometry: object) => geojsonToWkb(JSON.stringify(geometry), PLANE);

it('what lies behind the bound of pairs is not read', () => {
  const point = (x: number) => wkb({ type: 'Point', coordinates: [x, 0] });
  const rights = [point(1), point(2)];
  const search = {
    nearest: (lefts: Uint8Array[]) =>
      new NearestIndex('EPSG:3857', false).add(rights).search(lefts, { count: 2, reach: 10, maxPairs: 3 }),
    join: (lefts: Uint8Array[]) =>
      new JoinIndex('intersects', { left: 'EPSG:3857', right: 'EPSG:3857' })
        .add(new Array(2).fill(point(1)))
        .match(lefts, 3),
  };
  for (const searchPairs of Object.values(search)) {
    let reads = 0;
    const lefts = [1, 1, 1, 1].map(point);
    const last = lefts[3]!;
    Object.defineProperty(lefts, 3, {
      get() {
        reads++;
        return last;
      },
    });
    const { pairs, looks } = searchPairs(lefts);
    expect([pairs.length, looks, reads]).toEqual([8, 2, 0]);
  }
});

it('a line inside of areas is at no distance of each of them', () => {
  const area = (side: number) =>
    wkb({
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [side, 0],
          [side, side],
          [0, side],
          [0, 0],
        ],
      ],
    });
  const line = wkb({
    type: 'LineString',
    coordinates: [
      [3, 3],
      [4, 5],
    ],
  });
  // From its second meeting on the line is a prepared one.
  const index = new NearestIndex('EPSG:3857', false).add([line]);
  const query = { count: 1, reach: Number.POSITIVE_INFINITY };
  const { distances } = index.search([area(10), area(20), area(2)], query);
  expect([...distances]).toEqual([0, 0, Math.SQRT2]);
});
