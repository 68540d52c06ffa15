import { describe, expect, it } from 'vitest';
import { featureText, featureTexts } from '../../../src/core/edits/feature-text.js';
import { depthOver, readProperties } from '../../../src/core/features/feature-values.js';
import type { Field, FieldType } from '../../../src/core/sources/vector-source.js';
import { mergePatchText } from '../../../src/core/values/json-text.js';

const readText = (f: string, type: FieldType, more: Partial<Field> = {}) => {
  const fields = [{ name: 'f', type, nullable: true, ...more }];
  const { values, errors } = readProperties({ f }, { fields });
  return errors.length > 0 ? errors[0]!.detail : values.get('f');
};
const read = (value: unknown, type: FieldType, more: Partial<Field> = {}) =>
  readText(JSON.stringify(value), type, more);

describe('values of properties', () => {
  it.each<[unknown, FieldType, unknown]>([
    [7, 'integer', 7],
    ['9007199254740993', 'integer', 9007199254740993n],
    ['-9223372036854775808', 'integer', -9223372036854775808n],
    [-0.5, 'number', -0.5],
    ['2020-02-29', 'date', '2020-02-29'],
    ['2020-02-29T23:59:59.123456-01:00', 'date-time', '2020-03-01T00:59:59.123456Z'],
    ['2020-02-29 10:00:00', 'date-time', '2020-02-29T10:00:00Z'],
    [{ a: 1 }, 'json', '{"a":1}'],
    [['a'], 'array', '["a"]'],
    [null, 'string', null],
  ])('%j as %s', (value, type, kept) => {
    expect(read(value, type, { items: 'string' })).toEqual(kept);
  });

  it('keeps bytes of base64', () => {
    expect(read('AAEC', 'binary')).toEqual(new Uint8Array([0, 1, 2]));
  });

  it.each<[unknown, FieldType, RegExp | string, Partial<Field>]>([
    ['7', 'integer', 'must be an integer', {}],
    [
      '9223372036854775808',
      'integer',
      'must be an integer from -9223372036854775808 to 9223372036854775807',
      {},
    ],
    [1e20, 'integer', 'must be an integer from -9223372036854775808 to 9223372036854775807', {}],
    [0.5, 'integer', 'must be an integer', {}],
    ['7.5', 'number', /finite/, {}],
    ['2021-02-29', 'date', /date/, {}],
    ['2021-01-01T24:30:00Z', 'date-time', /date and time/, {}],
    ['abc', 'binary', 'must be a Base64 string', {}],
    [null, 'string', /null/, { nullable: false }],
    ['xyz', 'string', 'must have at most 2 characters', { maxLength: 2 }],
    ['c', 'string', /one of a, b/, { enumeration: ['a', 'b'] }],
    [11, 'integer', 'must be at most 10', { range: [0, 10] }],
    [['a', 1], 'array', /member 1 must be a string/, { items: 'string' }],
    [128, 'integer', /from -128 to 127.*received 128/, { bits: 8 }],
    [3.5e38, 'number', /range of its column/, { bits: 32 }],
    [1.005, 'number', /at most 2 decimal places/, { sqlType: 'numeric(4,2)' }],
    [-100, 'number', /from -99.99 to 99.99/, { sqlType: 'numeric(4,2)' }],
    [0.01, 'number', /from -0.0099 to 0.0099/, { sqlType: 'numeric(2,4)' }],
    [[1.5], 'array', /member 0 must have at most 0/, { items: 'number', sqlType: 'numeric(3)[]' }],
    ['12:00Z', 'string', /without an offset/, { sqlType: 'time(3) without time zone' }],
    ['12:00:00.1239', 'string', /at most 3 decimal places/, { sqlType: 'time(3) without time zone' }],
  ])('%j is no %s', (value, type, why, more) => {
    expect(read(value, type, more)).toMatch(why);
  });

  it.each<[string, FieldType, unknown, Partial<Field>]>([
    ['9007199254740993', 'integer', 9007199254740993n, {}],
    ['-9.223372036854775808e18', 'integer', -9223372036854775808n, {}],
    [
      '9223372036854775808',
      'integer',
      'must be an integer from -9223372036854775808 to 9223372036854775807',
      {},
    ],
    ['1.50', 'number', '1.50', { sqlType: 'numeric' }],
    ['99.990', 'number', '99.990', { sqlType: 'numeric(4,2)' }],
    ['0.0000', 'number', '0.0000', { sqlType: 'numeric(4,2)' }],
    ['0.0099', 'number', 0.0099, { sqlType: 'numeric(2,4)' }],
    ['"12:00:00.1230"', 'string', '12:00:00.1230', { sqlType: 'time(3) without time zone' }],
    [
      '12345678901234567890.12345678901234567890',
      'number',
      '12345678901234567890.12345678901234567890',
      { sqlType: 'numeric(50,20)' },
    ],
    ['1e400', 'number', '1e400', { sqlType: 'numeric' }],
    ['1e400', 'number', 'must be a finite number', { sqlType: 'double precision' }],
    ['0.10000000000000000001', 'number', 0.1, { sqlType: 'real' }],
    ['0.10000000000000000001', 'number', 0.1, {}],
    ['{"b": 9007199254740993, "a": [1.0, 1e400]}', 'json', '{"b":9007199254740993,"a":[1.0,1e400]}', {}],
    ['[9007199254740993, 1.10]', 'array', '[9007199254740993,1.10]', { items: 'number' }],
    ['"\\\\u0000"', 'json', '"\\\\u0000"', {}],
    ['"\\u0000"', 'json', 'must not contain a NUL character', {}],
  ])('the JSON %s as %s', (json, type, kept, more) => {
    expect(readText(json, type, more)).toEqual(kept);
  });

  it('refuses JSON in a string that is nested too deep', () => {
    expect(readText(`${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'json')).toBe(
      'must have at most 64 levels of nesting',
    );
  });

  it('counts characters, not UTF-16 units', () => {
    expect(read('🏠🏠', 'string', { maxLength: 2 })).toBe('🏠🏠');
  });

  it('leaves out what the store fills, and names what may not be written', () => {
    const fields: Field[] = ['a', 'b', 'c'].map((name) => ({ name, type: 'integer', nullable: true }));
    fields[0]!.generated = true;
    const result = readProperties({ a: '1', b: '2', c: '3' }, { fields, writable: ['c'] });
    expect([[...result.values], result.forbidden]).toEqual([[['c', 3]], ['b']]);
    const hidden = readProperties(JSON.parse('{"__proto__": "1", "b": "2"}'), { fields, visible: ['a'] });
    expect(hidden.errors.map(({ name }) => name)).toEqual(['/properties/__proto__', '/properties/b']);
  });
});

describe('JSON', () => {
  it('is patched as RFC 7396 says', () => {
    const patched = (target: unknown, patch: unknown) =>
      JSON.parse(mergePatchText(JSON.stringify(target), JSON.stringify(patch))) as unknown;
    const target = { a: 'b', c: { d: 'e', f: 'g' } };
    expect(patched(target, { a: 'z', c: { f: null } })).toEqual({ a: 'z', c: { d: 'e' } });
    expect(patched([1], { a: { bb: { ccc: null } } })).toEqual({ a: { bb: {} } });
    expect(patched({ a: 1 }, [2])).toEqual([2]);
    expect(mergePatchText('{}', '{"__proto__": {"polluted": true}}')).toBe('{"__proto__":{"polluted":true}}');
  });

  it('keeps what a patch does not name letter by letter', () => {
    const stored = '{"big":9007199254740993,"dec":0.12345678901234567890,"huge":1e400,"s":"a,\\"}:","k":1}';
    expect(mergePatchText(stored, '{"k":2}')).toBe(stored.replace('"k":1', '"k":2'));
  });

  it('is measured no deeper than asked', () => {
    expect([depthOver([[1]], 2), depthOver([[1]], 1), depthOver(1, 0)]).toEqual([false, true, false]);
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    expect(depthOver(deep, 64)).toBe(true);
  });
});

it('takes a feature apart whatever its id and values hold', () => {
  const text =
    '{"type":"Feature","id":"a\\",\\"geometry\\":","geometry":null,"properties":{"x":",\\"properties\\":{"}}';
  expect(featureText(Buffer.from(text))).toEqual({
    id: 'a","geometry":',
    idText: expect.stringMatching(/^"a/),
    geometry: 'null',
    properties: '{"x":",\\"properties\\":{"}',
  });
});

it('takes a page of features apart at its commas only', () => {
  const feature = (id: number | string, name: string) => ({
    type: 'Feature',
    id,
    geometry: { type: 'Point', coordinates: [1, 2] },
    properties: { name, more: { list: [{}, '}'] } },
  });
  const features = [feature(1, 'plain'), feature('b', '"},{"'), feature(3, 'back\\'), feature(4, 'Zürich')];
  const page = features.map((one) => JSON.stringify(one)).join(',');
  const parts = featureTexts(Buffer.from(page));
  expect(parts.map(({ id, idText }) => [id, JSON.parse(idText)])).toEqual([
    ['1', 1],
    ['b', 'b'],
    ['3', 3],
    ['4', 4],
  ]);
  expect(parts.map(({ geometry, properties }) => [JSON.parse(geometry), JSON.parse(properties)])).toEqual(
    features.map(({ geometry, properties }) => [geometry, properties]),
  );
  expect(featureTexts(Buffer.alloc(0))).toEqual([]);
});
