import { describe, expect, it } from 'vitest';
import { geometryToGeoJSON } from '../../../src/native/index.js';
import { geoPackageBlob, openDatabase } from '../support.js';

const SAME = { from: 'EPSG:3857', to: 'EPSG:3857' };
const db = openDatabase();
const reason = db.prepare<[unknown], string | null>('SELECT gr_valid_geometry(?)').pluck();

type Ordinates = readonly number[];
interface Part {
  code: number;
  positions?: readonly Ordinates[];
  rings?: readonly (readonly Ordinates[])[];
  parts?: readonly Part[];
}

const [LINE, POLYGON, COLLECTION, CIRCULAR, COMPOUND, CURVE_POLYGON] = [2, 3, 7, 8, 9, 10];
const [MULTI_CURVE, MULTI_SURFACE, POLYHEDRAL, TIN, TRIANGLE] = [11, 12, 15, 16, 17];

/** WKB of types that GeoJSON does not have. `offset` is that of the dimension: 1000 for Z, 2000 for M. */
function curveWkb(part: Part, offset = 0, bigEndian = false): Buffer {
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    if (bigEndian) bytes.writeUInt32BE(value);
    else bytes.writeUInt32LE(value);
    return bytes;
  };
  const positions = (list: readonly Ordinates[]) => {
    const bytes = Buffer.alloc(8 * list.flat().length);
    list.flat().forEach((value, i) => {
      if (bigEndian) bytes.writeDoubleBE(value, 8 * i);
      else bytes.writeDoubleLE(value, 8 * i);
    });
    return Buffer.concat([u32(list.length), bytes]);
  };
  const { code, positions: own, rings, parts } = part;
  const head = Buffer.concat([Buffer.from([bigEndian ? 0 : 1]), u32(code + offset)]);
  if (own) return Buffer.concat([head, positions(own)]);
  if (rings) return Buffer.concat([head, u32(rings.length), ...rings.map(positions)]);
  return Buffer.concat([head, u32(parts!.length), ...parts!.map((one) => curveWkb(one, offset, bigEndian))]);
}

const read = (part: Part, offset = 0, bigEndian = false) =>
  JSON.parse(geometryToGeoJSON(curveWkb(part, offset, bigEndian), { ...SAME, precision: 9 }));

/** Half a circle of radius 10 around 0 0, from the east over the north. */
const HALF: readonly Ordinates[] = [
  [10, 0],
  [0, 10],
  [-10, 0],
];
const HALF_BELOW: readonly Ordinates[] = [
  [-10, 0],
  [0, -10],
  [10, 0],
];
const SQUARE = [
  [0, 0],
  [4, 0],
  [4, 4],
  [0, 0],
];

describe('curves', () => {
  it('turns an arc into chords of the circle, as many as ST_CurveToLine', () => {
    for (const bigEndian of [false, true]) {
      const { type, coordinates } = read({ code: CIRCULAR, positions: HALF }, 0, bigEndian);
      expect(type).toBe('LineString');
      expect(coordinates).toHaveLength(65);
      expect(coordinates[0]).toEqual([10, 0]);
      expect(coordinates[32][1]).toBeCloseTo(10, 8);
      expect(coordinates[64]).toEqual([-10, 0]);
      for (const [x, y] of coordinates) expect(Math.hypot(x, y)).toBeCloseTo(10, 7);
    }
  });

  it('keeps every chord within 0.031 % of the radius', () => {
    const { coordinates } = read({ code: CIRCULAR, positions: HALF });
    for (let i = 1; i < coordinates.length; i++) {
      const [a, b] = [coordinates[i - 1], coordinates[i]];
      const sagitta = 10 - Math.hypot((a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      expect(sagitta).toBeLessThan(10 * 0.00031);
    }
  });

  it('gives an arc and its reverse the same positions', () => {
    const uneven: Ordinates[] = [
      [500500.123, 5500000.7],
      [500550.4, 5500043.21],
      [500601.99, 5500001.3],
    ];
    const forth = read({ code: CIRCULAR, positions: uneven });
    const back = read({ code: CIRCULAR, positions: uneven.toReversed() });
    expect(back.coordinates.toReversed()).toEqual(forth.coordinates);
  });

  it('closes a full circle of three positions', () => {
    const circle = [
      [10, 0],
      [-10, 0],
      [10, 0],
    ];
    const { coordinates } = read({ code: CIRCULAR, positions: circle });
    expect(coordinates).toHaveLength(129);
    expect(coordinates[0]).toEqual(coordinates[128]);
    expect(coordinates[32][1]).toBeCloseTo(10, 8);
  });

  it('keeps positions on a straight line, and those of arcs in degrees apart', () => {
    const straight = [
      [0, 0],
      [1, 1],
      [4, 4],
    ];
    expect(read({ code: CIRCULAR, positions: straight }).coordinates).toEqual(straight);
    const small = HALF.map(([x, y]) => [7 + x! * 1e-6, 47 + y! * 1e-6]);
    expect(read({ code: CIRCULAR, positions: small }).coordinates).toHaveLength(65);
  });

  it('interpolates heights by the angle, and reads M past them', () => {
    const raised = HALF.map((position, i) => [...position, [0, 8, 0][i]!]);
    const { coordinates } = read({ code: CIRCULAR, positions: raised }, 1000);
    expect(coordinates[16][2]).toBeCloseTo(4, 8);
    expect(coordinates[32][2]).toBeCloseTo(8, 8);
    const measured = raised.map((position) => [...position, 99]);
    expect(read({ code: CIRCULAR, positions: measured }, 3000).coordinates).toEqual(coordinates);
    const flat = HALF.map((position) => [...position, 99]);
    expect(read({ code: CIRCULAR, positions: flat }, 2000).coordinates[16]).toHaveLength(2);
  });

  it('joins the parts of a compound curve', () => {
    const line = [
      [-10, 0],
      [-10, -5],
    ];
    const { type, coordinates } = read({
      code: COMPOUND,
      parts: [
        { code: CIRCULAR, positions: HALF },
        { code: LINE, positions: line },
      ],
    });
    expect(type).toBe('LineString');
    expect(coordinates).toHaveLength(66);
    expect(coordinates.slice(-2)).toEqual(line);
  });

  it('reads polygons, multi curves and multi surfaces of curves and of lines', () => {
    const ring: Part = {
      code: COMPOUND,
      parts: [
        { code: CIRCULAR, positions: HALF },
        { code: CIRCULAR, positions: HALF_BELOW },
      ],
    };
    const hole: Part = { code: LINE, positions: SQUARE };
    const polygon = read({ code: CURVE_POLYGON, parts: [ring, hole] });
    expect(polygon.type).toBe('Polygon');
    expect(polygon.coordinates.map((one: unknown[]) => one.length)).toEqual([129, 4]);
    const lines = read({ code: MULTI_CURVE, parts: [hole, { code: CIRCULAR, positions: HALF }, ring] });
    expect(lines.type).toBe('MultiLineString');
    expect(lines.coordinates.map((one: unknown[]) => one.length)).toEqual([4, 65, 129]);
    const surfaces = read({
      code: MULTI_SURFACE,
      parts: [
        { code: POLYGON, rings: [SQUARE] },
        { code: CURVE_POLYGON, parts: [ring] },
      ],
    });
    expect(surfaces.type).toBe('MultiPolygon');
    expect(surfaces.coordinates.map(([one]: unknown[][]) => one!.length)).toEqual([4, 129]);
    const collection = read({
      code: COLLECTION,
      parts: [
        { code: CURVE_POLYGON, parts: [ring] },
        { code: TRIANGLE, rings: [SQUARE] },
      ],
    });
    expect(collection.geometries.map(({ type }: { type: string }) => type)).toEqual(['Polygon', 'Polygon']);
  });

  it('reads surfaces, TINs and triangles as polygons', () => {
    const face = SQUARE.map((position) => [...position, 5]);
    for (const [code, member] of [
      [POLYHEDRAL, POLYGON],
      [TIN, TRIANGLE],
    ] as const) {
      const shape = read({ code, parts: [{ code: member, rings: [face] }] }, 1000);
      expect(shape).toEqual({ type: 'MultiPolygon', coordinates: [[face]] });
    }
    expect(read({ code: TRIANGLE, rings: [face] }, 1000).type).toBe('Polygon');
  });

  it('finds arcs by the boxes and relations of their lines', () => {
    const blob = geoPackageBlob(curveWkb({ code: CIRCULAR, positions: HALF }));
    const row = db
      .prepare(
        'SELECT ST_MaxY(@b) AS top, gr_intersects_box(@b, -1, 9.9, 1, 11) AS hit, gr_intersects_box(@b, -1, 1, 1, 9) AS miss',
      )
      .get({ b: blob });
    expect(row).toEqual({ top: expect.closeTo(10, 8), hit: 1, miss: 0 });
  });

  it('says what a geometry has lost where that is asked for', () => {
    const loss = (blob: unknown) => {
      const options = JSON.stringify({ ...SAME, precision: 3, fields: [], loss: true });
      const text = db.prepare('SELECT gr_geojson(?, 1, ?)').pluck().get(options, blob);
      return (JSON.parse(String(text)) as { loss?: string }).loss;
    };
    expect(loss(curveWkb({ code: CIRCULAR, positions: HALF }))).toBe('arcs');
    expect(loss(curveWkb({ code: COMPOUND, parts: [{ code: LINE, positions: SQUARE }] }))).toBeUndefined();
    expect(loss(curveWkb({ code: TRIANGLE, rings: [SQUARE] }))).toBe('surface');
    expect(loss(curveWkb({ code: LINE, positions: SQUARE.map((one) => [...one, 1]) }, 2000))).toBe(
      'measures',
    );
    expect(loss(curveWkb({ code: LINE, positions: SQUARE.map((one) => [...one, 1]) }, 1000))).toBeUndefined();
    expect(
      loss(
        curveWkb({
          code: LINE,
          positions: [
            [0, 0],
            [Number.NaN, 1],
          ],
        }),
      ),
    ).toBe('unreadable');
    expect(loss(Buffer.from([1, 99, 0, 0, 0, 0, 0, 0, 0]))).toBe('unreadable');
    expect(loss('text')).toBe('unreadable');
    expect(loss(null)).toBeUndefined();
  });

  it('names what is wrong with a curve', () => {
    expect(reason.get(curveWkb({ code: CIRCULAR, positions: HALF.slice(0, 2) }))).toMatch(/even number/);
    expect(reason.get(curveWkb({ code: CIRCULAR, positions: HALF.slice(0, 1) }))).toMatch(/even number/);
    expect(reason.get(curveWkb({ code: TIN, parts: [{ code: LINE, positions: SQUARE }] }))).toMatch(/member/);
    expect(reason.get(curveWkb({ code: MULTI_CURVE, parts: [{ code: POLYGON, rings: [SQUARE] }] }))).toMatch(
      /member/,
    );
    const whole = curveWkb({ code: CURVE_POLYGON, parts: [{ code: CIRCULAR, positions: HALF }] });
    for (let size = 0; size < whole.length; size++)
      expect(reason.get(Buffer.from(whole.subarray(0, size)))).toMatch(/ends before/);
  });

  it('refuses arcs of more positions than one geometry may have', () => {
    const wave = Array.from({ length: 140_001 }, (_, i) => [i, i % 2]);
    expect(reason.get(curveWkb({ code: CIRCULAR, positions: wave }))).toMatch(/4 million/);
  });
});
