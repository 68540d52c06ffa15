import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { transformPoints } from '../../src/native/index.js';
import { randomSource } from '../native/support.js';

/** What features are transformed by, against PROJ's own program on random points of each CRS's area. */

const AREAS: [crs: string, west: number, south: number, east: number, north: number][] = [
  ['EPSG:3857', -179, -80, 179, 80],
  ['EPSG:25832', 6, 40, 12, 80],
  ['EPSG:31370', 2.5, 49.5, 6.4, 51.5],
  ['EPSG:27700', -7, 50, 1.5, 60],
  ['EPSG:2056', 6, 45.9, 10.4, 47.7],
  ['EPSG:3035', -10, 35, 30, 70],
  ['EPSG:32633', 12, 1, 18, 83],
  ['EPSG:4267', -120, 26, -70, 48],
  ['EPSG:3031', -179, -89, 179, -61],
];

it.each(AREAS)('coordinates in %s are those of cs2cs', (crs, west, south, east, north) => {
  const random = randomSource(7);
  const points = Array.from({ length: 200 }, () => [
    west + (east - west) * random(),
    south + (north - south) * random(),
  ]);
  const input = points.map(([x, y]) => `${x!.toFixed(9)} ${y!.toFixed(9)}`).join('\n');
  const output = execFileSync('cs2cs', ['-f', '%.9f', 'OGC:CRS84', crs], { input })
    .toString()
    .trim()
    .split('\n');
  const ours = Float64Array.from(points.flatMap(([x, y]) => [Number(x!.toFixed(9)), Number(y!.toFixed(9))]));
  transformPoints(ours, 'OGC:CRS84', crs);
  // cs2cs writes in the order of the authority; EPSG:4267 and EPSG:3035 put latitude or northing first.
  const northFirst = crs === 'EPSG:4267' || crs === 'EPSG:3035';
  const within = crs === 'EPSG:4267' ? 1e-8 : 1e-3;
  for (const [i, line] of output.entries()) {
    const [a, b] = line.trim().split(/\s+/).map(Number);
    const [x, y] = northFirst ? [b, a] : [a, b];
    expect(Math.abs(ours[2 * i]! - x!)).toBeLessThan(within);
    expect(Math.abs(ours[2 * i + 1]! - y!)).toBeLessThan(within);
  }
});
