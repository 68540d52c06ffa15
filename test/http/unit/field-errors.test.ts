import { describe, expect, it } from 'vitest';
import { badParameter, fieldFailure } from '../../../src/core/errors/errors.js';
import {
  describeName,
  formatDetail,
  formatFieldError,
  formatFieldErrors,
  isSecretName,
  showValue,
  withReceived,
} from '../../../src/core/errors/field-errors.js';
import { adviseName, findNearName, listNames, suggestName } from '../../../src/core/errors/near-names.js';

describe('an error of a parameter or member', () => {
  it.each([
    [
      'limit',
      'must be an integer from 1 to 10',
      "'0'",
      "limit: must be an integer from 1 to 10; received '0'.",
    ],
    [
      '/inputs/unit',
      "must be one of 'metre' and 'foot'. Send it in lower case",
      "'miles'",
      "inputs.unit: must be one of 'metre' and 'foot'; received 'miles'. Send it in lower case.",
    ],
    [
      '/',
      'must be an object',
      'an array of 2 items',
      'body: must be an object; received an array of 2 items.',
    ],
    ['f', "'gif' is not a format. Use png", "'gif'", "f: 'gif' is not a format. Use png."],
    ['name', "must be 'St. Paul'", "'x'", "name: must be 'St. Paul'; received 'x'."],
    ['bbox', 'is required', undefined, 'bbox: is required.'],
    ['bbox', 'is required.', undefined, 'bbox: is required.'],
    ['', 'The row has no key.', undefined, 'The row has no key.'],
  ])('%s: %s', (name, detail, received, text) => {
    expect(formatFieldError({ name, detail, ...(received === undefined ? {} : { received }) })).toBe(text);
  });

  it('blames the member that is missing, not the object without it', () => {
    expect(formatFieldError({ name: '/', path: '/a/b', code: 'required', detail: 'is required' })).toBe(
      'a.b: is required.',
    );
  });

  it('is a sentence of its own among several', () => {
    const errors = [
      { name: '/a', detail: 'is required' },
      { name: '/b/0', detail: 'must be a string', received: '1' },
    ];
    expect(fieldFailure('invalid-body', errors).message).toBe(
      'a: is required. b[0]: must be a string; received 1.',
    );
    const many = Array.from({ length: 20 }, (_, i) => ({
      name: `/${'x'.repeat(90)}${i}`,
      detail: 'is required',
    }));
    expect(formatFieldErrors(many)).toMatch(/ \d+ more errors follow\.$/);
    expect(formatFieldErrors(many).length).toBeLessThan(1100);
  });

  it('has the same text as the error that is thrown', () => {
    expect(badParameter('limit', 'must be above 0').message).toBe('limit: must be above 0.');
    expect(formatDetail({ detail: 'must be above 0' })).toBe('must be above 0.');
  });
});

describe('a name', () => {
  it.each([
    ['/inputs/unit', 'inputs.unit'],
    ['/features/0/geometry', 'features[0].geometry'],
    ['/a~1b', '/a~1b'],
    ['/with space', '/with space'],
    ['scale-factor', 'scale-factor'],
    ['/', 'body'],
  ])('%s is shown as %s', (name, shown) => {
    expect(describeName(name)).toBe(shown);
  });

  it.each([
    'password',
    '/credentials/clientSecret',
    'embed_key',
    'token',
    '/apiKey',
    'Authorization',
    'code',
  ])('%s has a value that is not shown', (name) => {
    expect(isSecretName(name)).toBe(true);
    expect(withReceived({ name, detail: 'is wrong' }, 'abc')).not.toHaveProperty('received');
  });

  it.each(['limit', '/keyPattern', '/inputs/unit', 'codes'])('%s has a value that is shown', (name) => {
    expect(withReceived({ name, detail: 'is wrong' }, 'abc')).toHaveProperty('received', "'abc'");
  });
});

it.each([
  ['abc', "'abc'"],
  ['', "''"],
  ['x'.repeat(99), `'${'x'.repeat(60)}…'`],
  ['a\nb\u0007', "'a\\nb\\u0007'"],
  ['https://user:pass@host/', "'https://…@host/'"],
  ['host=a password=b', "'host=a password=…'"],
  [5, '5'],
  [null, 'null'],
  [true, 'true'],
  [[], 'an empty array'],
  [[1], 'an array of 1 item'],
  [{ a: 1 }, 'an object'],
  [undefined, undefined],
])('the value %j is shown as %s', (value, shown) => {
  expect(showValue(value)).toBe(shown);
});

describe('names near to a wrong one', () => {
  it.each([
    ['contries', 'countries'],
    ['country', 'countries'],
    ['COUNTRIES', 'countries'],
    ['raods', 'roads'],
    ['x', undefined],
    ['rivers', undefined],
  ])('%s: %s', (name, near) => {
    expect(findNearName(name, ['countries', 'roads'])).toBe(near);
  });

  it('are suggested, or all are listed', () => {
    expect(suggestName('contries', ['countries'])).toBe(" Did you mean 'countries'?");
    expect(suggestName('rivers', ['countries'])).toBe('');
    expect(adviseName('z', ['limit', 'offset', 'f'])).toBe(' Use limit, offset or f.');
    expect(listNames(['a'])).toBe('a');
    expect(listNames(Array.from({ length: 30 }, (_, i) => `n${i}`))).toMatch(/, n19, … \(30 in all\)$/);
  });

  it('are searched in few candidates and short names', () => {
    expect(findNearName('roads1', [...Array.from({ length: 300 }, () => 'x'), 'roads'])).toBeUndefined();
    expect(findNearName('r'.repeat(100), ['r'.repeat(99)])).toBeUndefined();
  });
});
