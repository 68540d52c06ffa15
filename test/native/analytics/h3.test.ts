import { cellToBoundary, cellToLatLng, getPentagons, gridDisk, latLngToCell } from 'h3-js';
import { describe, expect, it } from 'vitest';
import { h3Cells, h3Polygons } from '../../../src/native/analytics.js';
import { repetitions } from '../../support/soak.js';
import { randomSource } from '../support.js';

type LonLat = readonly [number, number];

/** Positions near pentagons by resolution. */
const AT_PENTAGONS = repetitions(import.meta.url, 200_000, 2000);

const EDGES: LonLat[] = [
  [0, 90],
  [0, -90],
  [180, 0],
  [-180, 0],
  [179.9999999, 45],
  [-179.9999999, -45],
  [0, 0],
  [360, 10],
  [-500, 20],
];

/** Whether a polygon has the corners of a cell; what is cut at the antimeridian or closed at a pole is not compared. */
function isDrawnAs(shape: string, cell: string): boolean {
  const { type, coordinates } = JSON.parse(shape) as { type: string; coordinates: LonLat[][] };
  if (type !== 'Polygon' || coordinates[0]!.some(([, y]) => Math.abs(y) === 90)) return true;
  const ring = coordinates[0]!.slice(0, -1);
  const corners = cellToBoundary(cell, true).slice(0, -1) as LonLat[];
  const turn = (degrees: number) => ((degrees + 540) % 360) - 180;
  const isNear = ([x, y]: LonLat, [a, b]: LonLat) => Math.abs(turn(a - x)) < 2e-7 && Math.abs(b - y) < 2e-7;
  return ring.length === corners.length && ring.every((one) => corners.some((other) => isNear(one, other)));
}

describe('H3', () => {
  it('finds the cells of h3-js at every resolution', () => {
    const random = randomSource(4);
    const positions = Float64Array.from({ length: 4000 }, (_, i) => (random() - 0.5) * (i % 2 ? 180 : 360));
    for (let resolution = 0; resolution <= 15; resolution++) {
      const cells = h3Cells(positions, resolution);
      for (let i = 0; i < 2000; i += 16 - resolution)
        expect(cells[i]!.toString(16)).toBe(
          latLngToCell(positions[2 * i + 1]!, positions[2 * i]!, resolution),
        );
    }
    expect([...h3Cells(Float64Array.of(Number.NaN, Number.NaN), 3)]).toEqual([0n]);
    expect(() => h3Cells(positions, 16)).toThrow(/0 to 15/);
  });

  it('finds the cells of h3-js around pentagons, at poles, at the antimeridian, and beyond 360 degrees', () => {
    const random = randomSource(5);
    const corners = getPentagons(0).map((cell) => cellToLatLng(cell));
    for (let resolution = 0; resolution <= 15; resolution++) {
      const reach = 60 / 7 ** (resolution / 2);
      const near = Array.from({ length: AT_PENTAGONS }, (): LonLat => {
        const [lat, lon] = corners[Math.floor(random() * 12)]!;
        const size = reach * 2 ** (random() * 8 - 4);
        const y = lat + (random() - 0.5) * size;
        return [
          lon + ((random() - 0.5) * size) / Math.cos((lat * Math.PI) / 180),
          Math.min(Math.max(y, -90), 90),
        ];
      });
      const positions = [...near, ...EDGES];
      const cells = h3Cells(Float64Array.from(positions.flat()), resolution);
      expect(
        positions.filter(([x, y], i) => cells[i]!.toString(16) !== latLngToCell(y, x, resolution)),
      ).toEqual([]);
    }
  });

  it('draws the boundaries of h3-js, with the points at which they cross the edges of the icosahedron', () => {
    const random = randomSource(6);
    for (let resolution = 0; resolution <= 15; resolution++) {
      const places = Array.from({ length: 200 }, () =>
        latLngToCell(random() * 180 - 90, random() * 360, resolution),
      );
      const around = getPentagons(resolution).flatMap((cell) => gridDisk(cell, 2));
      const cells = [...new Set([...places, ...around])];
      const shapes = h3Polygons(BigUint64Array.from(cells, (cell) => BigInt(`0x${cell}`)));
      expect(cells.filter((cell, i) => !isDrawnAs(shapes[i]!, cell))).toEqual([]);
    }
  });

  it('refuses what is no cell', () => {
    const cell = 0x8928308280fffffn;
    expect(h3Polygons(BigUint64Array.of(cell))).toHaveLength(1);
    const wrong = [
      0n,
      // Mode, resolution, base cell, a digit of 7, a digit below the resolution, and the digit that pentagons have not.
      cell & ~(15n << 59n),
      cell ^ (1n << 63n),
      cell ^ (1n << 56n),
      cell | (127n << 45n),
      cell | (7n << 42n),
      cell & ~(7n << 15n),
      (BigInt(`0x${getPentagons(1)[0]}`) & ~(7n << 42n)) | (1n << 42n),
    ];
    for (const one of wrong) expect(() => h3Polygons(BigUint64Array.of(one))).toThrow(/no such H3 cell/);
  });

  it('draws cells as h3-js does, cut at the antimeridian and closed at the poles', () => {
    const cells = h3Cells(Float64Array.of(11, 48, 0, 0, 179.999, 10, 0, 90, 0, -90), 2);
    const shapes = h3Polygons(cells).map((text) => JSON.parse(text));
    for (const i of [0, 1]) {
      const expected = cellToBoundary(cells[i]!.toString(16), true).slice(0, -1);
      const corners = shapes[i].coordinates[0].slice(0, -1) as LonLat[];
      expect(corners).toHaveLength(expected.length);
      for (const [x, y] of corners)
        expect(expected.some(([a, b]) => Math.abs(a! - x!) < 1e-6 && Math.abs(b! - y!) < 1e-6)).toBe(true);
    }
    expect(shapes[2].type).toBe('MultiPolygon');
    for (const shape of shapes) {
      for (const [x] of shape.coordinates.flat(shape.type === 'Polygon' ? 1 : 2))
        expect(Math.abs(x)).toBeLessThanOrEqual(180);
    }
    for (const [i, pole] of [
      [3, 90],
      [4, -90],
    ] as const)
      expect(
        shapes[i].coordinates.flat(shapes[i].type === 'Polygon' ? 1 : 2).some(([, y]: LonLat) => y === pole),
      ).toBe(true);
    expect(() => h3Polygons(BigUint64Array.of(5n))).toThrow(/no such H3 cell/);
  });
});
