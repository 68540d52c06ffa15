import { describe, expect, it } from 'vitest';
import {
  canonicalDigits,
  exactInteger,
  exactNumber,
  formatDecimal,
  isExactNumber,
  isSameDouble,
  negate,
  readNumber,
  toDouble,
  toInt64,
} from '../../../src/core/values/exact-number.js';
import { readObjectId } from '../../../src/core/values/object-id.js';

describe('a number', () => {
  it.each<[string, unknown]>([
    ['0', 0],
    ['-0', 0],
    ['0.1', 0.1],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', exactNumber('9007199254740992')],
    ['1152921504606846979', exactNumber('1152921504606846979')],
    ['-1152921504606846979.0', exactNumber('-1152921504606846979')],
    ['1.152921504606846979e18', exactNumber('1152921504606846979')],
    ['0.10000000000000001', exactNumber('0.10000000000000001')],
    ['0.30000000000000004', 0.30000000000000004],
    ['0.1000000000000000000', 0.1],
    ['1e300', exactNumber('1e300')],
    ['12.5e-70', 12.5e-70],
    ['1e-400', 0],
    ['1e400', undefined],
    ['', undefined],
    ['.', undefined],
    ['x', undefined],
  ])('%s is %j', (text, number) => {
    expect(readNumber(text)).toEqual(number);
  });

  it('has one text, whichever way it is written', () => {
    for (const text of ['1e3', '1000', '1000.000', '0001000', '0.1e4'])
      expect(canonicalDigits(text)).toBe('1000');
    expect(canonicalDigits('-00.1200')).toBe('-0.12');
    expect(canonicalDigits('1.25e100')).toBe('1.25e100');
    expect(canonicalDigits('125e-102')).toBe('1.25e-100');
    expect(formatDecimal(1e21)).toBe('1000000000000000000000');
  });

  it('is an integer of 64 bits, a double, or the negative of itself', () => {
    expect(toInt64(exactNumber('9223372036854775807'))).toBe(9223372036854775807n);
    expect(toInt64(exactNumber('9223372036854775808'))).toBeUndefined();
    expect([toInt64(-7), toInt64(0.5)]).toEqual([-7n, undefined]);
    expect(toDouble(exactNumber('1e300'))).toBe(1e300);
    expect(negate(exactNumber('-1e300'))).toEqual(exactNumber('1e300'));
    expect([negate(0), negate(2)]).toEqual([0, -2]);
    expect(exactInteger(2n ** 60n)).toEqual(exactNumber(String(2n ** 60n)));
  });

  it('is told from objects that only look like one', () => {
    expect(isExactNumber(exactNumber('12'))).toBe(true);
    for (const value of [{ number: '12' }, JSON.parse('{"number":"12"}'), ['12'], '12', 12, null, {}])
      expect(isExactNumber(value), JSON.stringify(value)).toBe(false);
  });
});

it('object ids are numbers where these hold them, else bigints', () => {
  expect(['7', -7, ' 12 ', exactNumber('9007199254740993')].map(readObjectId)).toEqual([
    ...[7, -7, 12],
    9007199254740993n,
  ]);
  for (const value of [1.5, '1.5', 'x', '', null, '9223372036854775808', 2 ** 60])
    expect(readObjectId(value), String(value)).toBeUndefined();
});

it('is told from the double that clients are shown of it', () => {
  expect(isSameDouble('0.1', '0.10000000000000000001')).toBe(true);
  expect(isSameDouble('0.10000000000000001', '0.1')).toBe(true);
  expect(isSameDouble('1.0e0', '1.00000000000000000001')).toBe(true);
  expect(isSameDouble('1.1', '1.00000000000000000001')).toBe(false);
  expect(isSameDouble('1.00000000000000000002', '1.00000000000000000001')).toBe(false);
  expect(isSameDouble('null', '1')).toBe(false);
  expect(isSameDouble('1', 'null')).toBe(false);
});
