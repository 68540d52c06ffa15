import { describe, expect, it } from 'vitest';
import {
  ALL_FEATURES,
  and,
  bboxFilter,
  combineWithOr,
  equals,
  equalsAny,
  NO_FEATURES,
  parseJson,
  parseText,
  passesAll,
  passesNone,
  print,
  temporalFilter,
  toJson,
} from '../../src/core/cql2/index.js';

/** Request parameters become parts of one filter. */

const a = equals('a', 1);
const b = equals('b', 'x');

describe('and', () => {
  it('leaves out what lets everything pass', () => {
    expect(and()).toBeUndefined();
    expect(and(undefined, ALL_FEATURES)).toBeUndefined();
    expect(and(undefined, a, ALL_FEATURES)).toBe(a);
  });

  it('joins the parts of conjunctions into one list', () => {
    expect(and(and(a, b), a)).toEqual({ op: 'and', args: [a, b, a] });
  });

  it('lets nothing pass as soon as one part does', () => {
    expect(and(a, NO_FEATURES)).toBe(NO_FEATURES);
    expect(and(a, parseText('b AND FALSE'))).toBe(NO_FEATURES);
  });
});

describe('a filter that nothing passes', () => {
  it('is an object, so that no test of truth takes it for an absent filter', () => {
    expect(Boolean(NO_FEATURES)).toBe(true);
    expect(parseText('FALSE')).toBe(NO_FEATURES);
    expect(parseJson(false)).toBe(NO_FEATURES);
    expect(parseJson(true)).toBe(ALL_FEATURES);
  });

  it('is told from others also as a copy from another thread', () => {
    const copy = structuredClone(NO_FEATURES);
    expect([passesNone(copy), passesAll(copy)]).toEqual([true, false]);
    expect([passesNone(undefined), passesAll(undefined)]).toEqual([false, true]);
    expect([print(copy), toJson(copy)]).toEqual(['FALSE', false]);
    expect(toJson({ op: 'or', args: [a, copy] })).toEqual({ op: 'or', args: [a, false] });
  });

  it('has no name in the language', () => {
    for (const op of ['true', 'false'])
      expect(() => parseJson({ op, args: [] })).toThrow(/neither an operator nor the name of a function/);
  });
});

describe('anyOf', () => {
  it('leaves out what nothing passes', () => {
    expect(combineWithOr([])).toBe(NO_FEATURES);
    expect(combineWithOr([NO_FEATURES, a])).toBe(a);
    expect(combineWithOr([a, b])).toEqual({ op: 'or', args: [a, b] });
    expect(combineWithOr([a, ALL_FEATURES])).toBe(ALL_FEATURES);
  });
});

it('asks for missing values with isNull', () => {
  expect(equals('a', null)).toEqual({ op: 'isNull', args: [{ property: 'a' }] });
});

it('lets nothing pass for an empty list', () => {
  expect(equalsAny('a', [])).toBe(NO_FEATURES);
  expect(equalsAny('a', [1, 2])).toEqual({ op: 'in', args: [{ property: 'a' }, [1, 2]] });
});

it('keeps the CRS of a box', () => {
  expect(bboxFilter('geom', [1, 2, 3, 4], 'OGC:CRS84')).toEqual({
    op: 's_intersects',
    args: [{ property: 'geom' }, { bbox: [1, 2, 3, 4], crs: 'OGC:CRS84' }],
  });
});

describe('temporalFilter', () => {
  const start = Date.UTC(2020, 1, 29, 12);

  it('writes the ends as the column holds them', () => {
    expect(temporalFilter('t', 'date-time', { start })).toEqual({
      op: 't_intersects',
      args: [{ property: 't' }, { interval: ['2020-02-29T12:00:00.000Z', '..'] }],
    });
    expect(temporalFilter('t', 'date', { start, end: start })).toEqual({
      op: 't_intersects',
      args: [{ property: 't' }, { interval: ['2020-02-29', '2020-02-29'] }],
    });
  });
});
