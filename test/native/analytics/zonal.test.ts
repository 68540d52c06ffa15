import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { geojsonToWkb } from '../../../src/native/index.js';
import { TALLY_STATISTICS, ZoneTallies } from '../../../src/native/zonal.js';
import {
  groupZones,
  invertGeoTransform,
  splitPixelBox,
} from '../../../src/workers/processes/rasters/zones.js';

const SIDE = 64;
const pixels = Float64Array.from({ length: SIDE * SIDE }, (_, i) => (i * 7919) % 101);
const IDENTITY = [0, 1, 0, 0, 0, 1] as const;

/** A triangle with a hole, over most of the pixels and beyond them. */
const RINGS = [
  [
    [-10, 3.3],
    [70.2, 1.1],
    [31.7, 60.9],
    [-10, 3.3],
  ],
  [
    [20, 10],
    [20.5, 30.25],
    [40.125, 12],
    [20, 10],
  ],
];
const wkb = (coordinates: number[][][]) =>
  geojsonToWkb({ type: 'Polygon', coordinates }, { from: 'EPSG:3857', to: 'EPSG:3857' });

/** From the first pixel on. */
const rectangle = (width: number, height: number) =>
  wkb([
    [
      [0, 0],
      [width, 0],
      [width, height],
      [0, height],
      [0, 0],
    ],
  ]);

const statisticsOf = (values: Float64Array) =>
  Object.fromEntries([...TALLY_STATISTICS, 'median'].map((name, i) => [name, values[i]!]));
const numbersOf = (tallies: ZoneTallies) => statisticsOf(tallies.read([0.5]));

it.each([true, false])(
  'a raster that comes in windows has the statistics of the whole; by centres: %j',
  (byCentre) => {
    const zone = [wkb(RINGS)];
    const whole = new ZoneTallies(1, true);
    whole.add(zone, { pixels, width: SIDE, transform: Float64Array.from(IDENTITY) }, byCentre);
    const parts = new ZoneTallies(1, true);
    for (const [column, row, width, height] of [
      [0, 0, 30, 17],
      [30, 0, 34, 17],
      [0, 17, 64, 47],
    ] as const) {
      const window = Float64Array.from({ length: width * height }, (_, i) => {
        return pixels[(row + Math.floor(i / width)) * SIDE + column + (i % width)]!;
      });
      const transform = Float64Array.of(-column, 1, 0, -row, 0, 1);
      parts.add(zone, { pixels: window, width, transform }, byCentre);
    }
    const [a, b] = [numbersOf(whole), numbersOf(parts)];
    expect(a['count']).toBeGreaterThan(1000);
    for (const [name, value] of Object.entries(a))
      expect([name, b[name]]).toEqual([name, expect.closeTo(value, 6)]);
  },
);

it('the shares of a polygon within the raster sum up to its area, however the raster is turned', () => {
  const square = [
    [
      [20, 20],
      [30, 22],
      [28, 32],
      [18, 30],
      [20, 20],
    ],
  ];
  // Pixels of 0.5 by 0.25, turned by 30 degrees.
  const [cos, sin] = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
  const transform = invertGeoTransform([10, 0.5 * cos, 0.25 * sin, 25, 0.5 * sin, -0.25 * cos]);
  const tallies = new ZoneTallies(1, false);
  const [width, height] = [400, 400];
  const values = new Float64Array(width * height).fill(3);
  const shifted = Float64Array.from(transform, (value, i) => value + (i === 0 || i === 3 ? 200 : 0));
  tallies.add([wkb(square)], { pixels: values, width, transform: shifted }, false);
  const { count, sum, mean, stddev } = numbersOf(tallies);
  expect(count! * 0.125).toBeCloseTo(104, 6);
  expect([sum! / count!, mean, stddev]).toEqual([expect.closeTo(3, 9), 3, 0]);
});

it.each([1e-310, 5e-324, 1e-9, 1e11, 1e300])('coordinates of any size are read without harm: %d', (size) => {
  const rings = [
    [
      [-size, -size],
      [1e300, size],
      [size, 3.5],
      [7, -1e300],
      [-size, -size],
    ],
    [
      [0.5, -size],
      [40, size],
      [3.5, 3.5],
      [0.5, -size],
    ],
  ];
  for (const byCentre of [true, false]) {
    const tallies = new ZoneTallies(1, true);
    tallies.add([wkb(rings)], { pixels, width: SIDE, transform: Float64Array.from(IDENTITY) }, byCentre);
    const { count } = numbersOf(tallies);
    expect(count).toBeGreaterThanOrEqual(0);
    expect(count).toBeLessThanOrEqual(SIDE * SIDE);
  }
});

it('windows cover a box once, and groups of zones are never much larger than these', () => {
  const windows = [...splitPixelBox({ column: 100, row: 3000, width: 5000, height: 2500 })];
  expect(windows.length).toBeGreaterThan(4);
  expect(windows.reduce((sum, { width, height }) => sum + width * height, 0)).toBe(5000 * 2500);
  expect(new Set(windows.map(({ column, row }) => `${column},${row}`)).size).toBe(windows.length);
  const zone = (column: number, row: number, index: number) => ({
    ...{ id: index, index },
    parts: [{ shift: 0, box: { column, row, width: 10, height: 10 } }],
    middle: [column, row] as const,
  });
  const groups = [...groupZones([zone(0, 0, 0), zone(20, 5, 1), zone(100_000, 0, 2)])];
  expect(groups.map(({ zones }) => zones.map(({ index }) => index))).toEqual([[0, 1], [2]]);
  expect(groups[0]!.parts).toEqual([{ shift: 0, box: { column: 0, row: 0, width: 30, height: 15 } }]);
  const piles = Array.from({ length: 20 }, (_, i) => ({
    ...zone(0, 0, i),
    parts: [{ shift: 0, box: { column: 0, row: 0, width: 2000, height: 1000 } }],
  }));
  expect([...groupZones(piles)].map(({ zones }) => zones.length)).toEqual([8, 8, 4]);
  const moved = (index: number, ...shifts: number[]) => ({
    ...zone(0, 0, index),
    parts: shifts.map((shift) => ({ shift, box: { column: 0, row: 0, width: 10, height: 10 } })),
  });
  const beside = [
    ...groupZones([moved(0, 0), moved(1, 360), moved(2, 360), moved(3, 0, 360), moved(4, 360)]),
  ];
  expect(beside.map(({ zones }) => zones.map(({ index }) => index))).toEqual([[0], [3], [1, 2, 4]]);
  expect(beside.map(({ parts }) => parts.map(({ shift }) => shift))).toEqual([[0], [0, 360], [360]]);
});

it('median and quantiles are those of the sorted values, and the commonest value is known', () => {
  const tallies = new ZoneTallies(1, true);
  const values = Float64Array.of(5, 1, 1, Number.NaN, 9, 2);
  tallies.add([rectangle(6, 1)], { pixels: values, width: 6, transform: Float64Array.from(IDENTITY) }, false);
  const all = tallies.read([0, 0.25, 0.5, 0.75, 0.9, 1]);
  const from = TALLY_STATISTICS.length;
  // As numpy.quantile([1, 1, 2, 5, 9], ...) has them.
  for (const [i, value] of [1, 1, 2, 5, 7.4, 9].entries()) expect(all[from + i]).toBeCloseTo(value, 9);
  expect(statisticsOf(all)).toMatchObject({ count: 5, sum: 18, majority: 1, minority: 2, variety: 4 });
});

it('values of a large zone that are whole, parts, far apart and missing are told from each other', () => {
  const [width, height] = [200, 300];
  const kinds = [
    (i: number) => i % 1000,
    (i: number) => -(i % 7) / 4,
    (i: number) => 1e9 + (i % 3),
    () => Number.NaN,
  ];
  const values = Float64Array.from({ length: width * height }, (_, i) => kinds[(i * 7919) % 4]!(i));
  const tallies = new ZoneTallies(1, true);
  const window = { pixels: values, width, transform: Float64Array.from(IDENTITY) };
  tallies.add([rectangle(width, height)], window, false);
  const present = [...values].filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const counts = new Map<number, number>();
  for (const value of present) counts.set(value + 0, (counts.get(value + 0) ?? 0) + 1);
  const most = Math.max(...counts.values());
  expect(numbersOf(tallies)).toMatchObject({
    count: present.length,
    variety: counts.size,
    majority: Math.min(...[...counts].filter(([, count]) => count === most).map(([value]) => value)),
    median: (present[present.length / 2 - 1]! + present[present.length / 2]!) / 2,
  });
});

it('a zone with more different values than it may have says so, and other faults are thrown', () => {
  const tallies = new ZoneTallies(1, true, 3);
  const window = { pixels: Float64Array.of(4, 4, 5, 6, 7), width: 5, transform: Float64Array.from(IDENTITY) };
  expect(tallies.add([rectangle(4, 1)], window, false)).toBe(true);
  expect(tallies.add([rectangle(5, 1)], window, false)).toBe(false);
  expect(() => tallies.add([], window, false)).toThrow('there must be a geometry for each tally');
});

it('the memory of values is free once they are read', () => {
  const [width, height] = [2000, 1000];
  // In a process of its own: one that others share may have memory of theirs to use again.
  const script = `
    import { ZoneTallies } from '${new URL('../../../dist/native/zonal.js', import.meta.url).href}';
    const values = Float64Array.from({ length: ${width * height} }, (_, i) => i);
    const rectangle = Buffer.from('${Buffer.from(rectangle(width, height)).toString('hex')}', 'hex');
    const before = process.memoryUsage.rss();
    const tallies = new ZoneTallies(1, true);
    const transform = Float64Array.from(${JSON.stringify(IDENTITY)});
    tallies.add([rectangle], { pixels: values, width: ${width}, transform }, false);
    const growth = process.memoryUsage.rss() - before;
    const first = [...tallies.read([0.5])];
    const rest = process.memoryUsage.rss() - before;
    console.log(JSON.stringify({ growth, rest, first, second: [...tallies.read([0.5])] }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  const { growth, rest, first, second } = JSON.parse(output);
  const count = width * height;
  expect(growth).toBeGreaterThan(count * 24);
  expect(rest).toBeLessThan(growth / 2);
  expect(statisticsOf(first)).toMatchObject({ count, variety: count });
  expect(statisticsOf(second)['count']).toBe(0);
});
