import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { geometryToGeoJSON } from '../../../src/native/index.js';
import { geoPackageBlob, openDatabase, type Shape, type WkbOptions, wkb } from '../support.js';

const SAME = { from: 'EPSG:3857', to: 'EPSG:3857' };
const db = openDatabase();
const reason = db.prepare<[unknown], string | null>('SELECT gr_valid_geometry(?)').pluck();

/** The most address space that this process ever had. */
const peakBytes = () => Number(/VmPeak:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024;

const SHAPES: Shape[] = [
  { type: 'Point', coordinates: [1.5, -2] },
  {
    type: 'LineString',
    coordinates: [
      [0, 0],
      [1, 2],
      [3, 4],
    ],
  },
  {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [9, 0],
        [9, 9],
        [0, 9],
        [0, 0],
      ],
      [
        [1, 1],
        [1, 2],
        [2, 2],
        [1, 1],
      ],
    ],
  },
  {
    type: 'MultiPoint',
    coordinates: [
      [1, 1],
      [2, 2],
    ],
  },
  {
    type: 'MultiLineString',
    coordinates: [
      [
        [0, 0],
        [1, 1],
      ],
      [
        [5, 5],
        [6, 7],
      ],
    ],
  },
  {
    type: 'MultiPolygon',
    coordinates: [
      [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 0],
        ],
      ],
      [
        [
          [5, 5],
          [7, 5],
          [7, 7],
          [5, 5],
        ],
      ],
    ],
  },
  {
    type: 'GeometryCollection',
    geometries: [
      { type: 'Point', coordinates: [4, 4] },
      {
        type: 'GeometryCollection',
        geometries: [
          {
            type: 'LineString',
            coordinates: [
              [0, 1],
              [2, 3],
            ],
          },
        ],
      },
    ],
  },
];

/** Adds ordinates to every position of a shape. */
function raise(value: unknown, ordinates: number[]): unknown {
  if (!Array.isArray(value)) return value;
  return typeof value[0] === 'number' ? [...value, ...ordinates] : value.map((v) => raise(v, ordinates));
}

function raiseShape(shape: Shape, ordinates: number[]): Shape {
  if (shape.type === 'GeometryCollection') {
    return { ...shape, geometries: shape.geometries.map((g) => raiseShape(g, ordinates)) };
  }
  return { ...shape, coordinates: raise(shape.coordinates, ordinates) } as Shape;
}

const DIMENSIONS = [
  { dimension: 'XY', ordinates: [], read: [] },
  { dimension: 'XYZ', ordinates: [7], read: [7] },
  { dimension: 'XYM', ordinates: [8], read: [] },
  { dimension: 'XYZM', ordinates: [7, 8], read: [7] },
] as const;

const ENCODINGS: WkbOptions[] = [
  {},
  { bigEndian: true },
  { ewkb: true },
  { ewkb: true, srid: 4326 },
  { ewkb: true, srid: 4326, bigEndian: true },
];

describe('reading geometries', () => {
  for (const { dimension, ordinates, read } of DIMENSIONS) {
    for (const encoding of ENCODINGS) {
      it(`reads every type as ${dimension} in ${JSON.stringify(encoding)}`, () => {
        for (const shape of SHAPES) {
          const blob = wkb(raiseShape(shape, [...ordinates]), { ...encoding, dimension });
          const expected = raiseShape(shape, [...read]);
          expect(JSON.parse(geometryToGeoJSON(blob, SAME))).toEqual(expected);
          expect(JSON.parse(geometryToGeoJSON(geoPackageBlob(blob), SAME))).toEqual(expected);
          expect(reason.get(blob)).toBeNull();
        }
      });
    }
  }

  it.each([0, 1, 2, 3, 4] as const)(
    'reads the header with envelope kind %d, both byte orders',
    (envelope) => {
      for (const bigEndian of [false, true]) {
        const body = wkb({
          type: 'LineString',
          coordinates: [
            [1, 10],
            [3, 20],
          ],
        });
        const blob = geoPackageBlob(body, { envelope, bigEndian, bounds: [1, 3, 10, 20, 0, 0, 0, 0] });
        const row = db
          .prepare(
            'SELECT ST_MinX(@blob) AS a, ST_MaxX(@blob) AS b, ST_MinY(@blob) AS c, ST_MaxY(@blob) AS d, ST_IsEmpty(@blob) AS e',
          )
          .get({ blob });
        expect(row).toEqual({ a: 1, b: 3, c: 10, d: 20, e: 0 });
      }
    },
  );

  it('knows empty geometries', () => {
    const empties: Shape[] = [
      { type: 'Point', coordinates: [Number.NaN, Number.NaN] },
      { type: 'LineString', coordinates: [] },
      { type: 'Polygon', coordinates: [] },
      { type: 'MultiPolygon', coordinates: [] },
      { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [Number.NaN, Number.NaN] }] },
    ];
    for (const shape of empties) {
      expect(geometryToGeoJSON(wkb(shape), SAME)).toBe('null');
      const row = db.prepare(
        'SELECT ST_IsEmpty(@blob) AS empty, ST_MinX(@blob) AS x, gr_hilbert(@blob,0,0,1,1) AS h',
      );
      expect(row.get({ blob: geoPackageBlob(wkb(shape)) })).toEqual({ empty: 1, x: null, h: null });
    }
    const flagged = geoPackageBlob(wkb({ type: 'Polygon', coordinates: [] }), { empty: true });
    expect(db.prepare('SELECT ST_IsEmpty(?)').pluck().get(flagged)).toBe(1);
    expect(db.prepare('SELECT ST_IsEmpty(NULL) IS NULL AND ST_MinX(NULL) IS NULL').pluck().get()).toBe(1);
  });

  it('names what is wrong with a blob', () => {
    const polygon = wkb(SHAPES[2]!);
    const withByte = (index: number, value: number) => {
      const copy = Buffer.from(polygon);
      copy[index] = value;
      return copy;
    };
    expect(reason.get(Buffer.alloc(0))).toMatch(/ends before/);
    expect(reason.get(withByte(0, 2))).toMatch(/neither/);
    expect(reason.get(withByte(1, 99))).toMatch(/unknown/);
    expect(reason.get(withByte(1, 13))).toMatch(/unknown/);
    expect(reason.get(withByte(2, 0x27))).toMatch(/unknown/);
    expect(reason.get('text')).toMatch(/not a blob/);
    const header = geoPackageBlob(polygon);
    header[2] = 1;
    expect(reason.get(header)).toMatch(/version/);
    header[2] = 0;
    header[3] = 0x0b;
    expect(reason.get(header)).toMatch(/envelope/);
    header[3] = 0x21;
    expect(reason.get(header)).toMatch(/extended/);
    const wrongMember = wkb(SHAPES[4]!);
    wrongMember[1] = 6;
    expect(reason.get(wrongMember)).toMatch(/member/);
  });

  it('reads nesting up to 32 and refuses more', () => {
    const nest = (depth: number): Shape =>
      depth === 0
        ? { type: 'Point', coordinates: [1, 1] }
        : { type: 'GeometryCollection', geometries: [nest(depth - 1)] };
    expect(reason.get(wkb(nest(32)))).toBeNull();
    expect(reason.get(wkb(nest(33)))).toMatch(/nested/);
    expect(reason.get(wkb(nest(2000)))).toMatch(/nested/);
  });

  it('refuses counts that the bytes can not hold, and reserves nothing for them', () => {
    const before = peakBytes();
    for (const type of [2, 3, 4, 5, 6, 7]) {
      for (const count of [0xffffffff, 0x7fffffff, 0x10000001, 5]) {
        const blob = Buffer.alloc(9);
        blob[0] = 1;
        blob.writeUInt32LE(type, 1);
        blob.writeUInt32LE(count, 5);
        expect(reason.get(blob)).toMatch(/ends before/);
      }
    }
    // The smallest of the large counts would be 4 GiB of positions.
    expect(peakBytes() - before).toBeLessThan(1 << 30);
  });

  it('refuses every proper prefix of every shape', () => {
    const encode = db.prepare('SELECT gr_mvt(?, 1, ?)').pluck();
    const options = JSON.stringify({ layer: 'a', from: 'EPSG:3857', to: 'EPSG:3857', bbox: [-9, -9, 9, 9] });
    for (const shape of SHAPES) {
      const blob = wkb(shape);
      for (let n = 0; n < blob.length; n++) {
        const prefix = Buffer.from(blob.subarray(0, n));
        expect(reason.get(prefix)).toMatch(/ends before/);
        expect(encode.get(options, prefix)).toHaveLength(0);
        expect(() => geometryToGeoJSON(prefix, SAME)).toThrow(/ends before/);
      }
    }
  });
});
