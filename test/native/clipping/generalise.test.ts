import { describe, expect, it } from 'vitest';
import { geometryToGeoJSON } from '../../../src/native/index.js';
import { openDatabase, type Position, randomSource, type Shape, wkb } from '../support.js';

const db = openDatabase();
const run = db.prepare<[Buffer, number], Buffer | null>('SELECT gr_generalise(?, ?)').pluck();
const options = { from: 'EPSG:3857', to: 'EPSG:3857', precision: 9 };

interface GeoJson {
  type: string;
  coordinates: never;
  geometries: GeoJson[];
}

function generalised(shape: Shape, resolution: number, dimension?: 'XYZ'): GeoJson | null {
  const blob = run.get(wkb(shape, dimension ? { dimension } : {}), resolution);
  return blob ? (JSON.parse(geometryToGeoJSON(blob, options)) as GeoJson) : null;
}

const circle = (x: number, y: number, radius: number, n: number): Position[] =>
  Array.from({ length: n + 1 }, (_, i) => {
    const angle = ((i % n) / n) * 2 * Math.PI;
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  });

/** Distance of a position from the nearest side of a line. */
function distance([px, py]: Position, line: readonly Position[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 1; i < line.length; i++) {
    const [ax, ay] = line[i - 1] as [number, number];
    const [dx, dy] = [line[i]![0]! - ax, line[i]![1]! - ay];
    const length = dx * dx + dy * dy;
    const t = length === 0 ? 0 : Math.max(0, Math.min(1, ((px! - ax) * dx + (py! - ay) * dy) / length));
    least = Math.min(least, Math.hypot(px! - ax - t * dx, py! - ay - t * dy));
  }
  return least;
}

describe('gr_generalise', () => {
  it.each([0.5, 2, 10])('keeps lines and rings within %d, with far fewer positions', (resolution) => {
    const random = randomSource(resolution * 10);
    const walk: Position[] = [[0, 0]];
    for (let i = 0; i < 3000; i++) {
      const [x, y] = walk.at(-1) as [number, number];
      walk.push([x + random() - 0.3, y + random() - 0.5]);
    }
    const line = generalised({ type: 'LineString', coordinates: walk }, resolution)!;
    const kept = line.coordinates as Position[];
    expect(kept.length).toBeLessThan(walk.length / 2);
    for (const position of walk) expect(distance(position, kept)).toBeLessThan(resolution);
    expect(kept[0]).toEqual(walk[0]);
    const ring = circle(50, 50, 400, 5000);
    const polygon = generalised(
      { type: 'Polygon', coordinates: [ring, circle(50, 50, 100, 500)] },
      resolution,
    )!;
    const [outer, hole] = polygon.coordinates as Position[][];
    expect(outer!.length).toBeLessThan(500);
    expect(outer!.at(-1)).toEqual(outer![0]);
    for (const position of ring) expect(distance(position, outer!)).toBeLessThan(resolution);
    for (const position of circle(50, 50, 100, 500))
      expect(distance(position, hole!)).toBeLessThan(resolution);
  });

  it('leaves out what shrinks to nothing, and keeps the type of the rest', () => {
    const dot = circle(0, 0, 0.1, 20);
    const disc = circle(100, 0, 50, 20);
    expect(generalised({ type: 'Polygon', coordinates: [dot] }, 1)).toBeNull();
    expect(generalised({ type: 'LineString', coordinates: dot }, 1)).toBeNull();
    expect(generalised({ type: 'MultiPolygon', coordinates: [[dot], [disc]] }, 1)!.type).toBe('Polygon');
    const two: Shape = { type: 'MultiPolygon', coordinates: [[disc, circle(100, 0, 0.1, 9)], [dot], [disc]] };
    const both = generalised(two, 1)!;
    expect(both.type).toBe('MultiPolygon');
    // The hole is gone.
    expect((both.coordinates as Position[][][]).map((rings) => rings.length)).toEqual([1, 1]);
    expect(generalised({ type: 'MultiLineString', coordinates: [disc, disc] }, 1)!.type).toBe(
      'MultiLineString',
    );
    const mixed: Shape = {
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [1.23, 4.56] },
        { type: 'GeometryCollection', geometries: [{ type: 'Polygon', coordinates: [disc] }] },
      ],
    };
    const collection = generalised(mixed, 1)!;
    expect(collection.geometries.map(({ type }) => type)).toEqual(['Point', 'Polygon']);
  });

  it('keeps points as they are, in two dimensions', () => {
    const point = generalised({ type: 'Point', coordinates: [1.23456789, -9.87654321, 7] }, 1000, 'XYZ')!;
    expect(point.coordinates).toEqual([1.23456789, -9.87654321]);
  });

  it('answers NULL for what is empty, broken or no number', () => {
    expect(generalised({ type: 'LineString', coordinates: [] }, 1)).toBeNull();
    expect(
      generalised(
        {
          type: 'LineString',
          coordinates: [
            [0, 0],
            [Number.NaN, 1],
          ],
        },
        1,
      ),
    ).toBeNull();
    expect(
      generalised(
        {
          type: 'LineString',
          coordinates: [
            [0, 0],
            [1e300, 1],
          ],
        },
        1,
      ),
    ).toBeNull();
    expect(run.get(Buffer.from('no geometry'), 1)).toBeNull();
    expect(() => run.get(wkb({ type: 'Point', coordinates: [0, 0] }), 0)).toThrow('must be positive');
  });
});

describe('gr_importance and gr_cell', () => {
  it('put area before length before points, and equals in an order of their own', () => {
    const of = db.prepare<[Buffer], number>('SELECT gr_importance(?)').pluck();
    const square = (side: number): Shape => ({
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
    const point = (x: number): Shape => ({ type: 'Point', coordinates: [x, 0] });
    const order = [
      square(10),
      square(9),
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [5, 0],
        ],
      } as Shape,
      point(1),
    ];
    const found = order.map((shape) => of.get(wkb(shape))!);
    expect(found).toEqual(found.toSorted((a, b) => b - a));
    expect(of.get(wkb(point(1)))).not.toBe(of.get(wkb(point(2))));
    expect(of.get(wkb({ type: 'LineString', coordinates: [] }))).toBeNull();
  });

  it('find the cell of the middle, at the border for what lies outside', () => {
    const of = db.prepare<[Buffer], number>('SELECT gr_cell(?, 0, 0, 16777216)').pluck();
    const at = (x: number, y: number) => {
      const cell = of.get(wkb({ type: 'Point', coordinates: [x, y] }))!;
      return [Math.floor(cell / 2 ** 24), cell % 2 ** 24];
    };
    expect(at(5.5, 7.5)).toEqual([5, 7]);
    expect(at(-5, 1e12)).toEqual([0, 2 ** 24 - 1]);
  });
});
