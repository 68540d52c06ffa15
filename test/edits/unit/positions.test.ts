import { expect, it } from 'vitest';
import { geojsonToWkb } from '../../../src/native/index.js';
import { positionCount } from '../../../src/workers/edits/extremes.js';
import { square } from '../support.js';

it.each([
  [{ type: 'Point', coordinates: [1, 2] }, 1],
  [
    {
      type: 'LineString',
      coordinates: [
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
      ],
    },
    3,
  ],
  [{ type: 'MultiPolygon', coordinates: [square(0, 0), square(5, 5)] }, 10],
  [
    {
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [1, 2] },
        { type: 'Polygon', coordinates: square(0, 0) },
      ],
    },
    6,
  ],
  [{ type: 'MultiPoint', coordinates: [] }, 0],
])('%j has %d positions', (geometry, count) => {
  expect(positionCount(geojsonToWkb(geometry, { from: 'EPSG:4326', to: 'EPSG:4326' }))).toBe(count);
});
