import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/core/cql2/index.js';

/** CQL2 JSON from a client is checked value by value. */

const nested = (levels: number, wrap: (inner: unknown) => unknown, inner: unknown = true) => {
  let value = inner;
  for (let i = 0; i < levels; i++) value = wrap(value);
  return value;
};
const p = { property: 'a' };
const equal = (value: unknown) => ({ op: '=', args: [p, value] });

describe('errors name the place', () => {
  it.each<[json: unknown, message: string]>([
    [null, "expected an operand, found null (at '')"],
    [undefined, "expected an operand, found undefined (at '')"],
    [{}, "expected an operator, a property or a literal (at '')"],
    [{ op: 7, args: [] }, "expected a string (at '/op')"],
    [{ op: 'and' }, "expected an array of operands (at '/args')"],
    [{ op: 'and', args: {} }, "expected an array of operands (at '/args')"],
    [{ op: 'and', args: [true] }, "'and' takes at least 2 operands, found 1 (at '/args')"],
    [{ op: 'not', args: [true, true] }, "'not' takes 1 operand, found 2 (at '/args')"],
    [equal(Number.NaN), "a number is too large or not a number (at '/args/1')"],
    [equal(Number.POSITIVE_INFINITY), "a number is too large or not a number (at '/args/1')"],
    [equal('\ud800'), "invalid character in a string (at '/args/1')"],
    [equal('a\0'), "invalid character in a string (at '/args/1')"],
    [equal(null), "expected an operand, found null (at '/args/1')"],
    [equal({ property: 1 }), "expected a string (at '/args/1/property')"],
    [equal({ date: 1 }), "expected a string (at '/args/1/date')"],
    [equal({ interval: ['..'] }), "expected an array of a start and an end (at '/args/1/interval')"],
    [
      equal({ interval: ['..', 1] }),
      "expected a date, a timestamp, '..' or a property (at '/args/1/interval/1')",
    ],
    [equal({ bbox: [1, 2, 3] }), "expected four or six numbers (at '/args/1/bbox')"],
    [equal({ type: 'Circle' }), "expected the type of a GeoJSON geometry (at '/args/1/type')"],
    [equal({ type: 'toString' }), "expected the type of a GeoJSON geometry (at '/args/1/type')"],
    [equal({ type: 'Point' }), "expected a position of two or three numbers (at '/args/1/coordinates')"],
    [
      equal({ type: 'Polygon', coordinates: [[[0, 0], [1]]] }),
      "expected a position of two or three numbers (at '/args/1/coordinates/0/1')",
    ],
    [equal({ type: 'LineString', coordinates: [] }), "expected a filled array (at '/args/1/coordinates')"],
    [
      equal({ type: 'GeometryCollection', geometries: [{ type: 'GeometryCollection', geometries: [] }] }),
      "expected the type of a GeoJSON geometry (at '/args/1/geometries/0/type')",
    ],
    [
      equal({ type: 'GeometryCollection', geometries: [null] }),
      "expected a geometry (at '/args/1/geometries/0')",
    ],
    [equal([1]), "an array is not allowed here (at '/args/1')"],
    [{ op: 'in', args: [p, 1] }, "expected an array (at '/args/1')"],
    [{ op: 'in', args: [p, [[1]]] }, "an array is not allowed here (at '/args/1/0')"],
    [{ op: 'a b', args: [] }, "'a b' is neither an operator nor the name of a function (at '/op')"],
    [{ op: 'point', args: [] }, "'point' is neither an operator nor the name of a function (at '/op')"],
    ['x', 'a filter must be a predicate: something that is true or false'],
  ])('%j', (json, message) => {
    expect(() => parseJson(json)).toThrow(message);
  });
});

describe('hostile filters end in an error', () => {
  it.each<[what: string, json: unknown, message: RegExp]>([
    ['deep NOT', nested(10_000, (inner) => ({ op: 'not', args: [inner] })), /nested more than/],
    ['deep arrays', nested(10_000, (inner) => [inner]), /an array is not allowed here/],
    [
      'deep intervals',
      nested(10_000, (inner) => ({ op: 'f', args: [{ interval: [inner, inner] }] })),
      /nested more than/,
    ],
    [
      'many operands',
      { op: 'or', args: Array.from({ length: 10_001 }, () => true) },
      /more than 10000 operators/,
    ],
    [
      'many operands in many lists',
      { op: 'or', args: Array.from({ length: 200 }, () => ({ op: 'in', args: [p, Array(100).fill(1)] })) },
      /more than 10000 operators/,
    ],
    ['a megabyte of text', equal('x'.repeat(1_000_000)), /longer than/],
    [
      'a million positions',
      { op: 's_intersects', args: [p, { type: 'LineString', coordinates: Array(1_000_000).fill([0, 0]) }] },
      /more than 100000 positions/,
    ],
  ])('%s', (_, json, message) => {
    expect(() => parseJson(json)).toThrow(message);
  });
});

it('copies nothing but what it knows', () => {
  const hostile = JSON.parse(
    '{"op":"s_within","args":[{"property":"a","__proto__":{"x":1}},{"type":"Point","coordinates":[1,2],"crs":"EPSG:1","__proto__":1}],"x":1}',
  );
  expect(parseJson(hostile)).toEqual({
    op: 's_within',
    args: [{ property: 'a' }, { type: 'Point', coordinates: [1, 2] }],
  });
});

it('knows operators however their letters are cased', () => {
  expect(parseJson({ op: 'ISNULL', args: [p] })).toEqual({ op: 'isNull', args: [p] });
});
