import { describe, expect, it } from 'vitest';
import { openDatabase, wkb } from '../support.js';

const SAME = { from: 'EPSG:3857', to: 'EPSG:3857' };
const db = openDatabase();

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
type Json = any;

/** One feature with a value of a type. */
function feature(options: Record<string, unknown>, value: unknown, geometry: Uint8Array | null = null): Json {
  const text = db
    .prepare<unknown[], Buffer>('SELECT gr_esri_json(?, 7, ?, ?)')
    .pluck()
    .get(JSON.stringify({ ...SAME, id: 'fid', fields: [{ name: 'a' }], ...options }), geometry, value)!;
  return JSON.parse(text.toString());
}

const attribute = (type: string, value: unknown) =>
  feature({ fields: [{ name: 'a', type }] }, value).attributes.a;
const geometryOf = (geometry: Parameters<typeof wkb>[0], options: Record<string, unknown> = {}) =>
  feature(options, null, wkb(geometry)).geometry;

describe('attributes', () => {
  it.each([
    ['integer', 5n, 5],
    ['number', 0.1, 0.1],
    ['boolean', 1n, 1],
    ['boolean', 0n, 0],
    ['string', 'a "quote"', 'a "quote"'],
    ['date', '2020-02-29', Date.UTC(2020, 1, 29)],
    ['date', 'yesterday', 'yesterday'],
    ['date-time', '2020-02-29T12:00:00Z', Date.UTC(2020, 1, 29, 12)],
    ['date-time', '1969-12-31T23:59:59.25Z', -750],
    ['date-time', '0001-01-01T00:00:00Z', Date.parse('0001-01-01T00:00:00Z')],
    ['date-time', '2020-01-01 00:00:00+05:30', Date.UTC(2019, 11, 31, 18, 30)],
    ['date-time', '2020-01-01T00:00:00-0100', Date.UTC(2020, 0, 1, 1)],
    ['date-time', 'yesterday', 'yesterday'],
    ['date-time', '2020-13-01T00:00:00Z', '2020-13-01T00:00:00Z'],
    ['json', '{"b":1}', '{"b":1}'],
    ['string', null, null],
  ])('of type %s: %s', (type, value, shown) => expect(attribute(type, value)).toEqual(shown));

  it('begin with the id', () => expect(Object.keys(feature({}, 1n).attributes)).toEqual(['fid', 'a']));
});

/** ISO WKB of a line with heights. */
function lineZ(positions: number[][]): Uint8Array {
  const bytes = Buffer.alloc(9 + positions.length * 24);
  bytes.writeUInt8(1, 0);
  bytes.writeUInt32LE(1002, 1);
  bytes.writeUInt32LE(positions.length, 5);
  for (const [i, number] of positions.flat().entries()) bytes.writeDoubleLE(number, 9 + i * 8);
  return bytes;
}

describe('geometries', () => {
  const square = [
    [0, 0],
    [4, 0],
    [4, 4],
    [0, 4],
    [0, 0],
  ];
  const hole = [
    [1, 1],
    [1, 2],
    [2, 2],
    [2, 1],
    [1, 1],
  ];
  it('of each type', () => {
    expect(geometryOf({ type: 'Point', coordinates: [1, 2] })).toEqual({ x: 1, y: 2 });
    expect(geometryOf({ type: 'MultiPoint', coordinates: [[1, 2]] })).toEqual({ points: [[1, 2]] });
    expect(geometryOf({ type: 'LineString', coordinates: square })).toEqual({ paths: [square] });
    expect(geometryOf({ type: 'MultiLineString', coordinates: [square, hole] })).toEqual({
      paths: [square, hole],
    });
  });

  it('of areas have clockwise exterior rings whatever they had, and are closed', () => {
    const turned = [...square].reverse();
    const expected = { rings: [turned, [...hole].reverse()] };
    expect(geometryOf({ type: 'Polygon', coordinates: [square, hole] })).toEqual(expected);
    expect(geometryOf({ type: 'Polygon', coordinates: [turned, [...hole].reverse()] })).toEqual(expected);
    expect(geometryOf({ type: 'MultiPolygon', coordinates: [[square], [hole]] })).toEqual({
      rings: [turned, hole],
    });
  });

  it('keep heights where these are asked for', () => {
    const heights = [
      [0, 0, 5],
      [1, 1, 6],
    ];
    const flat = heights.map(([x, y]) => [x, y]);
    expect(feature({}, null, lineZ(heights)).geometry).toEqual({ paths: [flat] });
    expect(feature({ z: true }, null, lineZ(heights)).geometry).toEqual({ hasZ: true, paths: [heights] });
  });

  it('that cannot be said are null, and none where none are asked for', () => {
    expect(geometryOf({ type: 'Point', coordinates: [Number.NaN, 2] })).toBeNull();
    expect(feature({}, 1n, Buffer.from('no geometry')).geometry).toBeNull();
    expect('geometry' in feature({ skipGeometry: true }, 1n)).toBe(false);
  });
});
