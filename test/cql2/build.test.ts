import { describe, expect, it } from 'vitest';
import { and, bboxFilter, equals, oneOf, temporalFilter } from '../../src/core/cql2/build.js';

/** Request parameters become parts of one filter. */

const a = equals('a', 1);
const b = equals('b', 'x');

describe('and', () => {
  it('leaves out what lets everything pass', () => {
    expect(and()).toBeUndefined();
    expect(and(undefined, true)).toBeUndefined();
    expect(and(undefined, a, true)).toBe(a);
  });

  it('joins the parts of conjunctions into one list', () => {
    expect(and(and(a, b), a)).toEqual({ op: 'and', args: [a, b, a] });
  });

  it('is false as soon as one part is', () => {
    expect(and(a, false)).toBe(false);
  });
});

it('asks for missing values with isNull', () => {
  expect(equals('a', null)).toEqual({ op: 'isNull', args: [{ property: 'a' }] });
});

it('lets nothing pass for an empty list', () => {
  expect(oneOf('a', [])).toBe(false);
  expect(oneOf('a', [1, 2])).toEqual({ op: 'in', args: [{ property: 'a' }, [1, 2]] });
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
