import { describe, expect, it } from 'vitest';
import { geoPackageBlob, openDatabase, type Position, randomSource, type Shape, wkb } from '../support.js';

type Box = readonly [minx: number, miny: number, maxx: number, maxy: number];

const db = openDatabase();
const ask = db.prepare('SELECT gr_intersects_box(?, ?, ?, ?, ?)').pluck();
const intersects = (blob: unknown, box: Box) => ask.get(blob, ...box);
const touches = (shape: Shape, box: Box) => intersects(wkb(shape), box);

const BOX: Box = [10, 10, 20, 20];

const square = (minx: number, miny: number, maxx: number, maxy: number): Position[] => [
  [minx, miny],
  [maxx, miny],
  [maxx, maxy],
  [minx, maxy],
  [minx, miny],
];
const line = (...coordinates: Position[]): Shape => ({ type: 'LineString', coordinates });
const polygon = (...coordinates: Position[][]): Shape => ({ type: 'Polygon', coordinates });

describe('points and lines', () => {
  it('takes the border of the box as part of it', () => {
    expect(touches({ type: 'Point', coordinates: [10, 20] }, BOX)).toBe(1);
    expect(touches({ type: 'Point', coordinates: [9.999999999, 20] }, BOX)).toBe(0);
    expect(touches(line([0, 10], [10, 0], [10, 10]), BOX)).toBe(1);
    // Through the corner 10,20 and nothing else of the box.
    expect(touches(line([0, 10], [30, 40]), BOX)).toBe(1);
  });

  it('finds a line that crosses the box without a position in it', () => {
    expect(touches(line([0, 15], [30, 15]), BOX)).toBe(1);
    expect(touches(line([15, 30], [15, 0]), BOX)).toBe(1);
    expect(touches(line([8, 14], [14, 8]), BOX)).toBe(1);
  });

  it('passes over a line whose envelope covers the box', () => {
    expect(touches(line([8, 0], [8, 30], [30, 30]), BOX)).toBe(0);
    expect(touches(line([0, 15], [15, 31], [30, 30]), BOX)).toBe(0);
    expect(touches(line([0, 19], [19, 0]), BOX)).toBe(0);
  });

  it('does not close a line', () => {
    expect(touches(line([0, 15], [0, 30], [30, 30], [30, 15]), BOX)).toBe(0);
  });

  it('asks a box without width or height', () => {
    expect(touches(line([0, 0], [30, 30]), [15, 15, 15, 15])).toBe(1);
    expect(touches(line([0, 0], [30, 30]), [15, 16, 15, 16])).toBe(0);
    expect(touches(polygon(square(0, 0, 30, 30)), [15, 16, 15, 16])).toBe(1);
  });
});

describe('polygons', () => {
  it('finds a box inside a polygon', () => {
    expect(touches(polygon(square(0, 0, 30, 30)), BOX)).toBe(1);
  });

  it('passes over a box inside a hole, and finds one that touches its border', () => {
    expect(touches(polygon(square(0, 0, 30, 30), square(5, 5, 25, 25)), BOX)).toBe(0);
    expect(touches(polygon(square(0, 0, 30, 30), square(5, 5, 25, 20)), BOX)).toBe(1);
    expect(touches(polygon(square(0, 0, 30, 30), square(10, 10, 20, 20)), BOX)).toBe(1);
  });

  it('finds an island in the hole', () => {
    const frame = [square(0, 0, 30, 30), square(5, 5, 25, 25)];
    expect(touches({ type: 'MultiPolygon', coordinates: [frame, [square(14, 14, 16, 16)]] }, BOX)).toBe(1);
    expect(touches({ type: 'MultiPolygon', coordinates: [frame, [square(6, 6, 8, 8)]] }, BOX)).toBe(0);
  });

  it('closes a ring that is not closed', () => {
    expect(touches(polygon(square(0, 0, 30, 30).slice(0, 4)), BOX)).toBe(1);
    expect(
      touches(
        polygon([
          [0, 0],
          [30, 0],
          [30, 16],
          [5, 5],
        ]),
        BOX,
      ),
    ).toBe(1);
  });

  it('passes over a polygon that bends around the box', () => {
    const ring: Position[] = [
      [0, 0],
      [30, 0],
      [30, 5],
      [5, 5],
      [5, 30],
      [0, 30],
      [0, 0],
    ];
    expect(touches(polygon(ring), BOX)).toBe(0);
  });
});

describe('collections, dimensions, byte orders', () => {
  const near: Shape = { type: 'Point', coordinates: [5, 5] };
  const COLLECTIONS: [Shape, 0 | 1][] = [
    [{ type: 'MultiPoint', coordinates: [[5, 5]] }, 0],
    [
      {
        type: 'MultiPoint',
        coordinates: [
          [5, 5],
          [15, 15],
        ],
      },
      1,
    ],
    [
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [0, 0],
            [0, 30],
          ],
          [
            [30, 0],
            [30, 30],
          ],
        ],
      },
      0,
    ],
    [
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [0, 0],
            [0, 30],
          ],
          [
            [0, 12],
            [30, 14],
          ],
        ],
      },
      1,
    ],
    [{ type: 'GeometryCollection', geometries: [near, line([0, 0], [0, 30])] }, 0],
    [
      {
        type: 'GeometryCollection',
        geometries: [near, { type: 'GeometryCollection', geometries: [polygon(square(0, 0, 30, 30))] }],
      },
      1,
    ],
  ];

  it('asks every member', () => {
    for (const [shape, answer] of COLLECTIONS) {
      for (const bigEndian of [false, true]) expect(intersects(wkb(shape, { bigEndian }), BOX)).toBe(answer);
    }
  });

  it('takes no Z or M for x or y', () => {
    for (const [dimension, rest] of [
      ['XYZ', [15]],
      ['XYM', [15]],
      ['XYZM', [15, 15]],
    ] as const) {
      const shape = (x: number): Shape => line([x, 0, ...rest], [x, 30, ...rest]);
      for (const ewkb of [false, true]) {
        expect(intersects(wkb(shape(12), { dimension, ewkb }), BOX)).toBe(1);
        expect(intersects(wkb(shape(22), { dimension, ewkb }), BOX)).toBe(0);
      }
    }
  });
});

describe('answers without a hit', () => {
  it('is 0 for empty geometries, for boxes the wrong way round, and where no number is', () => {
    expect(touches({ type: 'Point', coordinates: [Number.NaN, Number.NaN] }, BOX)).toBe(0);
    expect(touches({ type: 'GeometryCollection', geometries: [] }, BOX)).toBe(0);
    expect(intersects(geoPackageBlob(wkb(line([0, 0], [30, 30])), { empty: true }), BOX)).toBe(0);
    expect(touches(polygon(square(0, 0, 30, 30)), [20, 10, 10, 20])).toBe(0);
    expect(touches(line([Number.NaN, 15], [15, Number.NaN]), BOX)).toBe(0);
    expect(touches(line([Number.NEGATIVE_INFINITY, 40], [Number.POSITIVE_INFINITY, 40]), BOX)).toBe(0);
  });

  it('is NULL for what is no geometry, even under an envelope that would decide', () => {
    const broken = geoPackageBlob(wkb(line([12, 12], [13, 13])).subarray(0, 30), {
      envelope: 1,
      bounds: [12, 13, 12, 13],
    });
    for (const value of [null, 'text', 5, Buffer.alloc(0), Buffer.from('nonsense'), broken]) {
      expect(intersects(value, BOX)).toBeNull();
    }
  });

  it('refuses a box that is not four numbers', () => {
    const sql = db.prepare('SELECT gr_intersects_box(?, 1, NULL, 2, 3)');
    expect(() => sql.get(wkb(line([0, 0], [1, 1])))).toThrow(
      'gr_intersects_box: the box must be four numbers',
    );
  });
});

// The oracle: small whole numbers, so that every product is exact and positions often touch the box.

const turn = (a: Position, b: Position, c: Position) =>
  Math.sign((b[0]! - a[0]!) * (c[1]! - a[1]!) - (b[1]! - a[1]!) * (c[0]! - a[0]!));
const between = (a: number, b: number, v: number) => Math.min(a, b) <= v && v <= Math.max(a, b);
const onSegment = (a: Position, b: Position, p: Position) =>
  turn(a, b, p) === 0 && between(a[0]!, b[0]!, p[0]!) && between(a[1]!, b[1]!, p[1]!);

function segmentsMeet(a: Position, b: Position, c: Position, d: Position): boolean {
  if (turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0) return true;
  return onSegment(a, b, c) || onSegment(a, b, d) || onSegment(c, d, a) || onSegment(c, d, b);
}

const edges = (ring: readonly Position[]) => ring.slice(1).map((b, i) => [ring[i]!, b] as const);

/** Whether a point that no edge touches is inside: the edges left of it, odd or even. */
function surrounds(rings: readonly Position[][], p: Position): boolean {
  let crossings = 0;
  for (const [a, b] of rings.flatMap(edges)) {
    if (a[1]! <= p[1]! !== b[1]! <= p[1]!) {
      const x = a[0]! + ((p[1]! - a[1]!) / (b[1]! - a[1]!)) * (b[0]! - a[0]!);
      if (x < p[0]!) crossings++;
    }
  }
  return crossings % 2 === 1;
}

function oracle(rings: readonly Position[][], filled: boolean, box: Box): 0 | 1 {
  const walls = edges(square(...box));
  const inBox = (p: Position) => between(box[0], box[2], p[0]!) && between(box[1], box[3], p[1]!);
  if (rings.flat().some(inBox)) return 1;
  for (const [a, b] of rings.flatMap(edges)) {
    if (walls.some(([c, d]) => segmentsMeet(a, b, c, d))) return 1;
  }
  return filled && surrounds(rings, [box[0], box[1]]) ? 1 : 0;
}

describe('against a brute-force oracle', () => {
  const random = randomSource(77);
  const below = (n: number) => Math.floor(random() * n);
  const position = (size: number): Position => [below(size), below(size)];
  const ring = (size: number): Position[] => {
    const open = Array.from({ length: 3 + below(8) }, () => position(size));
    return [...open, open[0]!];
  };
  const box = (size: number): Box => {
    const [x, y] = position(size) as [number, number];
    return [x, y, x + below(size / 3), y + below(size / 3)];
  };

  for (const size of [6, 20, 1000]) {
    it(`agrees on random polygons with holes, numbers below ${size}`, () => {
      const hits = [0, 0];
      for (let i = 0; i < 20_000; i++) {
        const rings = Array.from({ length: 1 + below(3) }, () => ring(size));
        const window = box(size);
        const answer = oracle(rings, true, window);
        hits[answer]!++;
        if (touches(polygon(...rings), window) !== answer) {
          throw new Error(`not ${answer}: ${JSON.stringify({ rings, window })}`);
        }
      }
      expect(Math.min(...hits)).toBeGreaterThan(1000);
    });

    it(`agrees on random lines, numbers below ${size}`, () => {
      const hits = [0, 0];
      for (let i = 0; i < 20_000; i++) {
        const positions = Array.from({ length: 2 + below(3) }, () => position(size));
        const window = box(size);
        const answer = oracle([positions], false, window);
        hits[answer]!++;
        if (touches(line(...positions), window) !== answer) {
          throw new Error(`not ${answer}: ${JSON.stringify({ positions, window })}`);
        }
      }
      expect(Math.min(...hits)).toBeGreaterThan(1000);
    });
  }
});
