import { expect, it } from 'vitest';
import { geojsonToWkb } from '../../src/native/index.js';
import { NearestIndex } from '../../src/native/proximity.js';

const PLANE = { from: 'EPSG:3857', to: 'EPSG:3857' };
const wkb = (geometry: object) => geojsonToWkb(JSON.stringify(geometry), PLANE);

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
