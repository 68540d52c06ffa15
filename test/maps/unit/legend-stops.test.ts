import { expect, it } from 'vitest';
import { formatEnd, roundStops } from '../../../src/core/maps/legend/stops.js';

it.each<[[number, number], number[], [string, string]]>([
  [
    [25.886, 149.87],
    [50, 75, 100, 125],
    ['25.9', '149.9'],
  ],
  [
    [0, 300],
    [50, 100, 150, 200, 250],
    ['0', '300'],
  ],
  [
    [-1.4532, 2.2514],
    [-1, 0, 1],
    ['-1.45', '2.25'],
  ],
  [
    [0.0000123, 0.0000487],
    [0.00002, 0.00003, 0.00004],
    ['0.0000123', '0.0000487'],
  ],
  [
    [1013.2, 1013.9],
    [1013.4, 1013.6, 1013.8],
    ['1013.2', '1013.9'],
  ],
  [[5, 5], [], ['5', '5']],
  [
    [-1e12, 1e12],
    [-500000000000, 0, 500000000000],
    ['-1000000000000', '1000000000000'],
  ],
])('the stops of %j are round', (range, stops, ends) => {
  expect(roundStops(range)).toEqual(stops);
  expect(range.map((end) => formatEnd(end, range))).toEqual(ends);
});
