import { describe, expect, it } from 'vitest';
import { featureText, featureTexts } from '../../src/core/feature-text.js';
import { depthOver, mergePatch, readProperties } from '../../src/core/feature-values.js';
import { parseExact } from '../../src/core/json.js';
import type { Field, FieldType } from '../../src/core/vector-source.js';

const read = (value: unknown, type: FieldType, more: Partial<Field> = {}) => {
  const fields = [{ name: 'f', type, nullable: true, ...more }];
  const { values, errors } = readProperties({ f: value }, { fields });
  return errors.length > 0 ? errors[0]!.detail : values.get('f');
};

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

  it.each<[unknown, FieldType, RegExp, Partial<Field>]>([
    ['7', 'integer', /whole number/, {}],
    ['9223372036854775808', 'integer', /64 bits/, {}],
    [1e20, 'integer', /too large/, {}],
    [Number.POSITIVE_INFINITY, 'number', /finite/, {}],
    ['2021-02-29', 'date', /date/, {}],
    ['2021-01-01T24:30:00Z', 'date-time', /date and time/, {}],
    ['abc', 'binary', /base64/, {}],
    [null, 'string', /null/, { nullable: false }],
    ['xyz', 'string', /longer than 2/, { maxLength: 2 }],
    ['c', 'string', /one of a, b/, { enumeration: ['a', 'b'] }],
    [11, 'integer', /greater than 10/, { range: [0, 10] }],
    [['a', 1], 'array', /member 1 must be a string/, { items: 'string' }],
  ])('%j is no %s', (value, type, why, more) => {
    expect(read(value, type, more)).toMatch(why);
  });

  it('counts characters, not UTF-16 units', () => {
    expect(read('🏠🏠', 'string', { maxLength: 2 })).toBe('🏠🏠');
  });

  it('leaves out what the store fills, and names what may not be written', () => {
    const fields: Field[] = ['a', 'b', 'c'].map((name) => ({ name, type: 'integer', nullable: true }));
    fields[0]!.generated = true;
    const result = readProperties({ a: 1, b: 2, c: 3, __proto__: 4 }, { fields, writable: ['c'] });
    expect([[...result.values], result.forbidden]).toEqual([[['c', 3]], ['b']]);
    const hidden = readProperties(JSON.parse('{"__proto__": 1, "b": 2}'), { fields, visible: ['a'] });
    expect(hidden.errors.map(({ name }) => name)).toEqual(['/properties/__proto__', '/properties/b']);
  });
});

describe('JSON', () => {
  it('keeps the digits of long whole numbers, and nothing else changes', () => {
    const text =
      '{"a":12345678901234567,"b":0.12345678901234567,"c":"12345678901234567 \\"9","d":[-9223372036854775808]}';
    expect(parseExact(text)).toEqual({
      a: '12345678901234567',
      b: Number('0.12345678901234567'),
      c: '12345678901234567 "9',
      d: ['-9223372036854775808'],
    });
    expect(() => parseExact('{"a":12345678901234567')).toThrow(SyntaxError);
  });

  it('is patched as RFC 7396 says', () => {
    const target = { a: 'b', c: { d: 'e', f: 'g' } };
    expect(mergePatch(target, { a: 'z', c: { f: null } })).toEqual({ a: 'z', c: { d: 'e' } });
    expect(mergePatch([1], { a: { bb: { ccc: null } } })).toEqual({ a: { bb: {} } });
    expect(mergePatch({ a: 1 }, [2])).toEqual([2]);
    const hostile = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}'));
    expect(JSON.stringify(hostile)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
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
