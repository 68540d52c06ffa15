import { describe, expect, it } from 'vitest';
import { computeZoneArea } from '../../../src/workers/alerts/zone-area.js';
import { matchZones } from '../../../src/workers/alerts/zone-match.js';

const point = (x: number, y: number) => JSON.stringify({ type: 'Point', coordinates: [x, y] });
const ring = (...positions: [number, number][]) =>
  [...positions, positions[0]!].map(([x, y]) => `${x} ${y}`).join(',');
const box = (w: number, s: number, e: number, n: number) =>
  `POLYGON((${ring([w, s], [e, s], [e, n], [w, n])}))`;
let count = 0;

/** Whether each position lies in the zone. */
function inside(
  wkt: string,
  srid: number,
  positions: [number, number][],
  relation: 'intersects' | 'within' = 'intersects',
  metres = 0,
) {
  const { area } = computeZoneArea({ wkt, srid });
  const geometries = positions.map(([x, y]) => point(x, y));
  const { pairs } = matchZones({ key: `t${count++}`, tests: [{ area, relation, metres }], geometries });
  const found = new Set(pairs.filter((_, i) => i % 2 === 0));
  return positions.map((_, i) => found.has(i));
}

describe('areas of zones', () => {
  it('are multipolygons of the same positions', () => {
    const { wkt, area } = computeZoneArea({ wkt: 'POLYGON Z ((0 0 5, 4 0 5, 4 4 5, 0 0 5))', srid: 4326 });
    expect(wkt).toBe('MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)))');
    expect(JSON.parse(area)).toEqual({
      type: 'MultiPolygon',
      coordinates: [
        [
          [
            [0, 0],
            [4, 0],
            [4, 4],
            [0, 0],
          ],
        ],
      ],
    });
  });

  it('are refused in a CRS without two horizontal axes, or without a place on Earth', () => {
    // EGM96 height, geocentric WGS 84, a local grid, no CRS.
    for (const srid of [5773, 4978, 5800, 999_999])
      expect(() => computeZoneArea({ wkt: box(1, 1, 2, 2), srid })).toThrow(
        /^srid must be the code of a CRS/,
      );
  });

  it('cross the antimeridian, written in each way', () => {
    const ways = [box(170, -10, 190, 10), box(170, -10, -170, 10), box(-190, -10, -170, 10)];
    for (const wkt of ways)
      expect([
        wkt,
        inside(wkt, 4326, [
          [179, 0],
          [-179, 0],
          [181, 0],
          [0, 0],
          [165, 0],
          [-165, 0],
        ]),
      ]).toEqual([wkt, [true, true, true, false, false, false]]);
  });

  it('are wide boxes where they are counterclockwise', () => {
    expect(
      inside(box(-170, -10, 170, 10), 4326, [
        [0, 0],
        [179, 0],
      ]),
    ).toEqual([true, false]);
    expect(
      inside(box(-180, -90, 180, 90), 4326, [
        [0, 0],
        [179, 89],
        [180, 0],
      ]),
    ).toEqual([true, true, true]);
  });

  it('surround a pole, with a hole round it', () => {
    const circle = (radius: number, n = 36) =>
      ring(
        ...Array.from({ length: n }, (_, i): [number, number] => [
          radius * Math.cos((i / n) * 2 * Math.PI),
          radius * Math.sin((i / n) * 2 * Math.PI),
        ]),
      );
    const cap = `POLYGON((${circle(2e6)}))`;
    expect(
      inside(cap, 3995, [
        [0, 89],
        [180, 80],
        [-90, 75],
        [10, 60],
        [0, -89],
      ]),
    ).toEqual([true, true, true, false, false]);
    expect(
      inside(`POLYGON((${circle(2e6)}),(${circle(5e5)}))`, 3031, [
        [0, -89],
        [100, -80],
        [0, -60],
        [0, 80],
      ]),
    ).toEqual([false, true, false, false]);
  });

  it('have straight edges in their own CRS', () => {
    // A box of UTM zone 32 whose northern edge bends by more than 100 m in degrees.
    const wkt = box(200_000, 6_000_000, 800_000, 6_100_000);
    expect(
      inside(wkt, 32632, [
        [9, 55.0467],
        [9, 55.0469],
      ]),
    ).toEqual([true, false]);
  });

  it('can be wider by metres, and require features to lie within', () => {
    const zone = box(0, 0, 1, 1);
    expect(
      inside(
        zone,
        4326,
        [
          [1.0008, 0.5],
          [1.001, 0.5],
          [180, 0],
        ],
        'intersects',
        100,
      ),
    ).toEqual([true, false, false]);
    expect(
      inside(
        box(179, 0, 180, 1),
        4326,
        [
          [-179.9995, 0.5],
          [-179.99, 0.5],
        ],
        'intersects',
        100,
      ),
    ).toEqual([true, false]);
    expect(
      inside(
        zone,
        4326,
        [
          [1, 0.5],
          [0.5, 0.5],
        ],
        'within',
      ),
    ).toEqual([false, true]);
    expect(
      inside(zone, 4326, [
        [1, 0.5],
        [0.5, 0.5],
      ]),
    ).toEqual([true, true]);
  });

  it.each([
    ['POINT (1 1)', 4326, /wkt must be a POLYGON or MULTIPOLYGON as well-known text, not POINT/],
    ['CURVEPOLYGON ((0 0, 1 1, 1 0, 0 0))', 4326, /not CURVEPOLYGON/],
    ['POLYGON EMPTY', 4326, /wkt must not be empty/],
    ['POLYGON ((0 0, 1 1, 1 0))', 4326, /end where they start/],
    ['POLYGON ((0 0, 1 1, 1 0, 0 0)', 4326, /character 30 must be '\)', not the end/],
    ['POLYGON ((0 0, NaN 1, 1 0, 0 0))', 4326, /must be a finite number/],
    ['POLYGON ((0 0, 1e999 1, 1 0, 0 0))', 4326, /must be a finite number/],
    ['POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))', 4326, /Self-intersection at 1 1/],
    ['SRID=3857;POLYGON ((0 0, 1 1, 1 0, 0 0))', 4326, /SRID of the member srid \(4326\), not 3857/],
    ['POLYGON ((0 0, 1 1, 1 0, 0 0))', 999_999, /srid must be the code of a CRS/],
    [box(0, 95, 1, 99), 4326, /valid|longitude/],
  ])('refuse %s', (wkt, srid, reason) => {
    expect(() => computeZoneArea({ wkt, srid })).toThrow(reason);
  });
});
