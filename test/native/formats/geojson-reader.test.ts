import { describe, expect, it } from 'vitest';
import {
  geojsonToWkb,
  geometryToGeoJSON,
  validateGeometry,
  wkbToGeoPackage,
} from '../../../src/native/index.js';
import { openDatabase, type Position, randomSource, type Shape, wkb } from '../support.js';

const SAME = { from: 'EPSG:4326', to: 'EPSG:4326' };
const read = (geometry: object | string, options = {}) => geojsonToWkb(geometry, { ...SAME, ...options });

const SHAPES: Shape[] = [
  { type: 'Point', coordinates: [1.5, -2.25] },
  {
    type: 'LineString',
    coordinates: [
      [0, 0],
      [1, 1e-7],
      [2, 5],
    ],
  },
  {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [9, 0],
        [9, 9],
        [0, 0],
      ],
      [
        [1, 0.5],
        [2, 1],
        [2, 0.5],
        [1, 0.5],
      ],
    ],
  },
  {
    type: 'MultiPoint',
    coordinates: [
      [1, 2],
      [3, 4],
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
        [2, 2],
        [3, 3],
        [4, 5],
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
          [6, 5],
          [6, 6],
          [5, 5],
        ],
      ],
    ],
  },
  {
    type: 'GeometryCollection',
    geometries: [
      { type: 'Point', coordinates: [1, 2] },
      { type: 'GeometryCollection', geometries: [{ type: 'MultiPoint', coordinates: [[3, 4]] }] },
    ],
  },
];

describe('geojsonToWkb', () => {
  it('writes the WKB of every type, whatever the order of the members', () => {
    for (const shape of SHAPES) {
      expect(read(shape)).toEqual(wkb(shape));
      const body = Object.entries(shape).reverse();
      expect(read(JSON.stringify({ bbox: [0, 0, 1, 1], ...Object.fromEntries(body) }))).toEqual(wkb(shape));
    }
  });

  it('keeps, drops and fills in z as asked', () => {
    const coordinates: Position[] = [
      [0, 0],
      [1, 5],
    ];
    const line: Shape = { type: 'LineString', coordinates };
    const z = { ...line, coordinates: coordinates.map((position) => [...position, 7.5]) };
    expect(read(z)).toEqual(wkb(z, { dimension: 'XYZ' }));
    expect(read(z, { dimension: 2 })).toEqual(wkb(line));
    const zero = { ...line, coordinates: coordinates.map((position) => [...position, 0]) };
    expect(read(line, { dimension: 3 })).toEqual(wkb(zero, { dimension: 'XYZ' }));
  });

  it('reprojects and swaps axes', () => {
    const point = { type: 'Point', coordinates: [48, 11, 500] };
    const there = read(point, { to: 'EPSG:25832', swap: true });
    const text = geometryToGeoJSON(there, { from: 'EPSG:25832', to: 'EPSG:4326', precision: 9 });
    expect(JSON.parse(text)).toEqual({ type: 'Point', coordinates: [11, 48, 500] });
    expect(
      JSON.parse(geometryToGeoJSON(there, { from: 'EPSG:25832', to: 'EPSG:25832' })).coordinates[0],
    ).toBeCloseTo(649187.87, 1);
  });

  it('reads empty coordinate arrays as empty geometries', () => {
    const empty = read({ type: 'Point', coordinates: [] });
    expect(empty).toEqual(wkb({ type: 'Point', coordinates: [Number.NaN, Number.NaN] }));
    expect(read({ type: 'Polygon', coordinates: [] })).toEqual(wkb({ type: 'Polygon', coordinates: [] }));
    expect(read({ type: 'LineString', coordinates: [] })).toEqual(
      wkb({ type: 'LineString', coordinates: [] }),
    );
  });

  const polygon = (...rings: unknown[]) => ({ type: 'Polygon', coordinates: rings });
  const nested = (depth: number): object =>
    depth === 0
      ? { type: 'Point', coordinates: [0, 0] }
      : { type: 'GeometryCollection', geometries: [nested(depth - 1)] };
  const refused: [unknown, RegExp][] = [
    [{ type: 'Point', coordinates: [1] }, /^coordinates is not a position of two or three numbers$/],
    [{ type: 'Point', coordinates: [1, Number.NaN] }, /^coordinates\/1 is not a finite number$/],
    ['{"type":"Point","coordinates":[1,1e999]}', /^coordinates\/1 is not a finite number$/],
    [{ type: 'Point', coordinates: [1, 2, 3, 4] }, /^coordinates\/3 is a fourth number/],
    [{ type: 'Point', coordinates: 'x' }, /^coordinates is not an array$/],
    [{ type: 'LineString', coordinates: [[0, 0]] }, /^coordinates is a line of less than 2 positions$/],
    [
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [0, 0],
            [1, 1],
          ],
          [],
        ],
      },
      /^coordinates\/1 is a line of less than 2/,
    ],
    [
      polygon([
        [0, 0],
        [1, 1],
        [0, 0],
      ]),
      /^coordinates\/0 is a ring of less than 4 positions$/,
    ],
    [
      polygon(
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 0],
        ],
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 1],
        ],
      ),
      /^coordinates\/1 is a ring that is not closed$/,
    ],
    [
      {
        type: 'MultiPolygon',
        coordinates: [
          [
            [
              [0, 0],
              [1, 0],
              ['1', 1],
              [0, 0],
            ],
          ],
        ],
      },
      /^coordinates\/0\/0\/2\/0 is not a finite number$/,
    ],
    [
      { type: 'GeometryCollection', geometries: [nested(0), { type: 'Point', coordinates: [null, 1] }] },
      /^geometries\/1\/coordinates\/0 is not/,
    ],
    [nested(17), /nested more than 16 deep$/],
    [{ type: 'Circle', coordinates: [] }, /^the geometry has a type that is not a GeoJSON geometry type$/],
    [{ coordinates: [0, 0] }, /^the geometry has no type$/],
    [{ type: 'Point' }, /^the geometry has no coordinates$/],
    [{ type: 'GeometryCollection', coordinates: [] }, /^the geometry has no geometries$/],
    ['{"type":"Point","coordinates":[0,0],"coordinates":[1,1]}', /has 'coordinates' twice$/],
    ['{"type":"Point","coordinates":[0,0]} x', /is followed by more text$/],
    ['[1,2]', /is not a GeoJSON geometry object$/],
    ['{"type":"Point","coordinates":[0,0', /not well-formed JSON$/],
    ['', /is not a GeoJSON geometry object$/],
    ['null', /is not a GeoJSON geometry object$/],
  ];
  it.each(refused)('refuses %j', (geometry, reason) => {
    expect(() => read(geometry as object)).toThrow(reason);
  });

  it('bounds positions and nesting in little time', () => {
    const many = { type: 'MultiPoint', coordinates: Array.from({ length: 101 }, (_, i) => [i, i]) };
    expect(() => read(many, { maxVertices: 100 })).toThrow('the geometry has more than 100 positions');
    expect(read(many, { maxVertices: 101 }).length).toBe(9 + 101 * 21);
    expect(() => read(`{"type":"Point","x":${'['.repeat(1e6)}`)).toThrow(/well-formed/);
    expect(() => read(`{"type":"MultiPolygon","coordinates":${'['.repeat(1e6)}`)).toThrow(/coordinates/);
    const coordinatesFirst = (depth: number): string =>
      depth === 0
        ? '{"coordinates":[0,0],"type":"Point"}'
        : `{"geometries":[${coordinatesFirst(depth - 1)}],"type":"GeometryCollection"}`;
    expect(read(coordinatesFirst(15)).length).toBe(15 * 9 + 21);
  });

  it('refuses what the target CRS does not reach, and unknown CRS', () => {
    const pole = { type: 'Point', coordinates: [0, 89] };
    expect(() => read(pole, { to: 'EPSG:3857' })).toThrow(/Web Mercator does not reach/);
    expect(() => read({ type: 'Point', coordinates: [0, 91] }, { to: 'EPSG:25832' })).toThrow(
      /without an image/,
    );
    expect(() => read(pole, { to: 'EPSG:1' })).toThrow(/unknown coordinate reference system/);
    expect(() => read(pole, { dimension: 4 })).toThrow(TypeError);
  });
});

describe('wkbToGeoPackage', () => {
  it('writes blobs that read back, with envelope and empty flag', () => {
    const db = openDatabase();
    const box = db
      .prepare('SELECT ST_MinX(g), ST_MaxX(g), ST_MinY(g), ST_MaxY(g), ST_IsEmpty(g) FROM (SELECT ? AS g)')
      .raw();
    const polygon = wkb(SHAPES[2]!, { bigEndian: true });
    const blob = wkbToGeoPackage(polygon, 3857);
    expect(blob.subarray(0, 8)).toEqual(Buffer.from([0x47, 0x50, 0, 3, 0x11, 0x0f, 0, 0]));
    expect(blob.subarray(40)).toEqual(wkb(SHAPES[2]!));
    expect(box.get(blob)).toEqual([0, 9, 0, 9, 0]);
    expect(wkbToGeoPackage(wkb(SHAPES[0]!), -1).length).toBe(8 + 21);
    const empty = wkbToGeoPackage(wkb({ type: 'Polygon', coordinates: [] }), 4326);
    expect(empty[3]).toBe(0x11);
    expect(box.get(empty)).toEqual([null, null, null, null, 1]);
    expect(wkbToGeoPackage(blob, 3857)).toEqual(blob);
  });

  it('writes ISO WKB with z and m from EWKB', () => {
    const line: Shape = {
      type: 'LineString',
      coordinates: [
        [0, 0, 1, 2],
        [1, 1, 3, 4],
      ],
    };
    const ewkb = wkb(line, { ewkb: true, srid: 4326, dimension: 'XYZM' });
    expect(wkbToGeoPackage(ewkb, 1).subarray(40)).toEqual(wkb(line, { dimension: 'XYZM' }));
    expect(() => wkbToGeoPackage(Buffer.from([9]), 1)).toThrow();
    expect(() => wkbToGeoPackage(ewkb, 1.5)).toThrow(TypeError);
  });
});

describe('validateGeometry', () => {
  it('says what is wrong and where', () => {
    for (const shape of SHAPES) expect(validateGeometry(wkb(shape))).toBeNull();
    const bow: Shape = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [2, 2],
          [2, 0],
          [0, 2],
          [0, 0],
        ],
      ],
    };
    expect(validateGeometry(wkb(bow))).toEqual({ reason: 'Self-intersection', x: 1, y: 1 });
    const open = wkb({
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [2, 2],
          [2, 0],
          [0, 2],
        ],
      ],
    });
    expect(validateGeometry(open)).toEqual({ reason: expect.stringMatching(/closed/) });
    expect(() => validateGeometry(Buffer.from('nothing'))).toThrow();
  });

  it('survives any damaged bytes', () => {
    const random = randomSource(7);
    for (let i = 0; i < 3000; i++) {
      const bytes = wkb(SHAPES[i % SHAPES.length]!);
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
      try {
        validateGeometry(bytes);
        wkbToGeoPackage(bytes, 1);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }
  });
});

describe('what is wrong with a geometry', () => {
  it('is told with its place', () => {
    const error = (geometry: object) => {
      try {
        return read(geometry);
      } catch (thrown) {
        return thrown;
      }
    };
    expect(
      error({
        type: 'LineString',
        coordinates: [
          [0, 0],
          ['x', 1],
        ],
      }),
    ).toMatchObject({ place: 'coordinates/1/0' });
    const point = { type: 'Point', coordinates: [1] };
    expect(error({ type: 'GeometryCollection', geometries: [point] })).toMatchObject({
      place: 'geometries/0/coordinates',
    });
    expect(error({ type: 'Circle' })).not.toHaveProperty('place');
  });
});
