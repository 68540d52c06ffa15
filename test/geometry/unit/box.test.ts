import { describe, expect, it } from 'vitest';
import {
  type Box,
  createBoxRing,
  mergeBoxesOnGlobe,
  withinMercator,
} from '../../../src/core/geometry/box.js';

describe('the smallest box around others', () => {
  it.each<[string, Box[], Box]>([
    [
      'none of which crosses the antimeridian',
      [
        [170, 0, 175, 5],
        [-175, -5, -170, 1],
      ],
      [-175, -5, 175, 5],
    ],
    [
      'one of which crosses it',
      [
        [170, 0, -175, 5],
        [-176, 0, -170, 9],
      ],
      [170, 0, -170, 9],
    ],
    [
      'that cross it, and one far away',
      [
        [170, 0, -175, 5],
        [0, 0, 10, 5],
      ],
      [0, 0, -175, 5],
    ],
    [
      'that reach around the globe',
      [
        [90, 0, -90, 5],
        [-100, 0, 100, 5],
      ],
      [-180, 0, 180, 5],
    ],
    ['of which there is one', [[170, 0, -175, 5]], [170, 0, -175, 5]],
  ])('%s', (_, boxes, expected) => expect(mergeBoxesOnGlobe(boxes)).toEqual(expected));
});

it('Web Mercator ends at 85.05 degrees', () => {
  expect(withinMercator([-180, -90, 180, 89])).toEqual([-180, -85.0511287798066, 180, 85.0511287798066]);
  expect(withinMercator([1, 2, 3, 4])).toEqual([1, 2, 3, 4]);
});

it('the ring of a box is closed and counter-clockwise', () => {
  expect(createBoxRing([1, 2, 3, 4])).toEqual([
    [1, 2],
    [3, 2],
    [3, 4],
    [1, 4],
    [1, 2],
  ]);
});
