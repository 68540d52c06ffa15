import { describe, expect, it } from 'vitest';
import { isSameGeometry } from '../../src/workers/edits/same-geometry.js';

const text = (type: string, coordinates: unknown) => JSON.stringify({ type, coordinates });
const RING = [
  [0, 0],
  [4, 0],
  [4, 4],
  [0, 0],
];
const HOLE = [
  [2, 1],
  [3, 1],
  [3, 2],
  [2, 1],
];

describe('a geometry that comes back', () => {
  it('is the same whatever its spaces and the spelling of its numbers are', () => {
    const shown = '{"type":"Point","coordinates":[7,46.5]}';
    expect(isSameGeometry(shown, shown, false)).toBe(true);
    expect(isSameGeometry('{ "coordinates": [7.0, 465e-1], "type": "Point" }', shown, false)).toBe(true);
    const both = JSON.stringify({ type: 'GeometryCollection', geometries: [JSON.parse(shown)] });
    expect(isSameGeometry(`${both} `, both, false)).toBe(true);
  });

  it.each([
    ['another number', text('Point', [7, 46.50000001]), text('Point', [7, 46.5])],
    ['another type', text('MultiPoint', [[7, 46]]), text('LineString', [[7, 46]])],
    ['no height', text('Point', [7, 46]), text('Point', [7, 46, 1])],
    [
      'another direction',
      text('LineString', RING.slice(0, 3)),
      text('LineString', RING.slice(0, 3).reverse()),
    ],
    ['a part less', text('Polygon', [RING]), text('Polygon', [RING, HOLE])],
    ['null for a geometry', 'null', text('Point', [7, 46])],
    ['a geometry for null', text('Point', [7, 46]), 'null'],
    [
      'a collection of fewer members',
      JSON.stringify({ type: 'GeometryCollection', geometries: [] }),
      JSON.stringify({ type: 'GeometryCollection', geometries: [JSON.parse(text('Point', [7, 46]))] }),
    ],
  ])('is another one with %s', (_what, sent, shown) => {
    expect(isSameGeometry(sent, shown, false)).toBe(false);
  });
});

describe('a geometry that comes back by GeoServices', () => {
  it.each([
    [
      'the order and direction of its rings',
      text('Polygon', [RING, HOLE]),
      text('MultiPolygon', [[HOLE], [[...RING].reverse()]]),
    ],
    ['the noise of its numbers', text('Point', [0.1 + 0.2, 1]), text('Point', [0.3, 1])],
    ['the heights that it lacks', text('Point', [7, 46]), text('Point', [7, 46, 100])],
  ])('is the same but for %s', (_what, sent, shown) => {
    expect(isSameGeometry(sent, shown, true)).toBe(true);
  });

  it.each([
    ['another place', text('Point', [7, 46.001]), text('Point', [7, 46])],
    ['another height', text('Point', [7, 46, 2]), text('Point', [7, 46, 1])],
    ['heights where there are none', text('Point', [7, 46, 0]), text('Point', [7, 46])],
    [
      'a line in another direction',
      text('LineString', RING.slice(0, 3)),
      text('LineString', RING.slice(0, 3).reverse()),
    ],
    ['a ring twice', text('Polygon', [RING, RING]), text('Polygon', [RING, HOLE])],
    ['another kind of parts', text('MultiLineString', [RING]), text('Polygon', [RING])],
  ])('is another one with %s', (_what, sent, shown) => {
    expect(isSameGeometry(sent, shown, true)).toBe(false);
  });
});
