import { describe, expect, it } from 'vitest';
import { parseFeatures } from '../../../src/core/http/feature-body.js';
import { exactNumber, isExactNumber } from '../../../src/core/values/exact-number.js';
import {
  decodeStoredJson,
  encodeStoredJson,
  parseJsonExactly,
  stringifyExactly,
} from '../../../src/core/values/json.js';
import {
  compactJson,
  elementsIn,
  jsonDepth,
  membersIn,
  objectText,
  sameJson,
} from '../../../src/core/values/json-text.js';
import { findRoundedInteger } from '../../../src/core/values/rounded-integers.js';

const BIG = '9007199254740993';

describe('JSON that is parsed exactly', () => {
  it('keeps the digits that doubles lose, and writes them again', () => {
    const text = `{"a":${BIG},"b":[0.5,1e400,-0.12345678901234567890],"c":"${BIG}","d":{"e":{"f":1}}}`;
    expect(parseJsonExactly(text, 'all')).toEqual({
      a: exactNumber(BIG),
      b: [0.5, exactNumber('1e400'), exactNumber('-0.12345678901234567890')],
      c: BIG,
      d: { e: { f: 1 } },
    });
    expect(stringifyExactly(parseJsonExactly(text, 'all'))).toBe(text);
    expect(JSON.parse(stringifyExactly({ a: [1n, {}], b: [] }, '  '))).toEqual({ a: [1, {}], b: [] });
    expect(stringifyExactly({ a: 2n ** 60n, b: undefined, c: null }, '  ')).toBe(
      `{\n  "a": ${2n ** 60n},\n  "c": null\n}`,
    );
  });

  it('does so in the members that are named, and nowhere else', () => {
    const text = `{"x":${BIG},"filter":{"args":[${BIG},{"x":${BIG}}]},"y":[{"filter":${BIG},"z":${BIG}},${BIG}],"z":"filter"}`;
    const rounded = Number(BIG);
    const exact = exactNumber(BIG);
    expect(parseJsonExactly(text, ['filter'])).toEqual({
      x: rounded,
      filter: { args: [exact, { x: exact }] },
      y: [{ filter: exact, z: rounded }, rounded],
      z: 'filter',
    });
    expect(parseJsonExactly(text, [])).toEqual(JSON.parse(text));
  });

  it('takes no object of the data for a number', () => {
    const text = `{"a":{"number":"5"},"b":{"number":"${BIG}"},"c":${BIG},"d":[{"number":{"plain":"5"}}]}`;
    const value = parseJsonExactly(text, 'all') as Record<string, unknown>;
    expect(Object.values(value).map(isExactNumber)).toEqual([false, false, true, false]);
    expect(stringifyExactly(value)).toBe(text);
    // Strings that are digits stay strings.
    expect(stringifyExactly({ a: [BIG, exactNumber(BIG)], '1e5': '1e5' })).toBe(
      `{"a":["${BIG}",${BIG}],"1e5":"1e5"}`,
    );
    // As in another thread.
    expect(stringifyExactly(structuredClone(value))).toBe(text);
  });

  it('is kept with its numbers, and with objects that look like kept numbers', () => {
    const value = {
      exact: exactNumber(BIG),
      list: [exactNumber('1e400'), { number: exactNumber('0.12345678901234567') }],
      like: [
        { number: '5' },
        { number: BIG },
        { number: { plain: '5' } },
        { number: { plain: { plain: null } } },
      ],
      other: [{ number: 5 }, { number: '5', unit: 'm' }, { number: { number: '7' } }, '"number":', null],
      text: BIG,
    };
    const text = encodeStoredJson(value);
    expect(decodeStoredJson(text)).toEqual(value);
    expect(stringifyExactly(decodeStoredJson(text))).toBe(stringifyExactly(value));
    expect(isExactNumber((decodeStoredJson(text) as typeof value).exact)).toBe(true);
    // Another program reads it too.
    expect(JSON.parse(text).exact).toEqual({ number: BIG });
    expect([encodeStoredJson({ a: 1 }), decodeStoredJson('{"a":1}')]).toEqual(['{"a":1}', { a: 1 }]);
  });

  it('fails as JSON.parse does', () => {
    for (const text of [`{"a":${BIG}`, `[${BIG},]`, `${BIG}${BIG}x`])
      expect(() => parseJsonExactly(text, 'all'), text).toThrow(SyntaxError);
  });

  it('steps over strings of any length and over escapes', () => {
    const long = `{"s":"${'\\"x\\\\'.repeat(200_000)}","n":${BIG}}`;
    expect(parseJsonExactly(long, 'all')).toMatchObject({ n: exactNumber(BIG) });
  });
});

describe('integers that a double rounds', () => {
  it('are found with their pointers', () => {
    const find = (json: string) => findRoundedInteger(json)?.pointer;
    expect(findRoundedInteger(`{"a":[1,{"b/c":["x",${BIG}]}]}`)).toEqual({
      pointer: '/a/1/b~1c/1',
      written: BIG,
      rounded: '9007199254740992',
    });
    expect(find(`{"a":{"b":[[1,2],[3]]},"c":-${BIG}}`)).toBe('/c');
    expect(find('[1, 9223372036854775808]')).toBe('/1');
    expect(find('1152921504606846979')).toBe('/');
    expect(find('{"a":1e30,"b":[12345678901234567890.5]}')).toBe('/b/0');
  });

  it('are not found in texts, fractions and numbers that a double holds', () => {
    const held = `{"a":"${BIG}","b":0.12345678901234567890,"c":[1e308,9007199254740991,-9007199254740992,1.0e22],"${BIG}":1}`;
    expect(findRoundedInteger(held)).toBeUndefined();
  });
});

describe('JSON as text', () => {
  it('is taken apart at its own commas only', () => {
    const text = ' { "a" : [1, {"b":"},]\\""}] , "a\\"b": "x:y" , "n": 1.0, "n": 2 } ';
    expect([...membersIn(text)!]).toEqual([
      ['a', '[1, {"b":"},]\\""}]'],
      ['a"b', '"x:y"'],
      ['n', '2'],
    ]);
    expect(elementsIn('[ 1.0 , [2,3], "],", {} ]')).toEqual(['1.0', '[2,3]', '"],"', '{}']);
    expect([membersIn('{}')!.size, elementsIn('[ ]'), membersIn('[1]'), elementsIn('"["')]).toEqual([
      ...[0, [], undefined],
      undefined,
    ]);
    expect(objectText(membersIn('{ "b" : 1.0, "a": [ ] }')!)).toBe('{"b":1.0,"a":[ ]}');
    expect(membersIn('{"__proto__":1}')!.get('__proto__')).toBe('1');
  });

  it('loses white space between tokens alone, and is compared by its digits', () => {
    expect(compactJson('{ "a b" : [ 1 ,\n2 ] }')).toBe('{"a b":[1,2]}');
    expect(sameJson('1.50', '1.5')).toBe(true);
    expect(sameJson('"1.50"', '"1.5"')).toBe(false);
    expect(sameJson(BIG, '9007199254740992')).toBe(false);
    expect(sameJson('{"a": 1}', '{"a":1}')).toBe(true);
    expect([jsonDepth('[{"a":["[["]}]'), jsonDepth('1')]).toEqual([3, 0]);
  });
});

it('features keep the text of their properties, and ids of any length', () => {
  const read = (text: string) => parseFeatures(Buffer.from(text));
  const feature = `{"type":"Feature","id":${BIG},"geometry":null,"properties":{"a":${BIG},"b":{"c":1.0}}}`;
  const texts = { a: BIG, b: '{"c":1.0}' };
  expect(read(feature)).toMatchObject({ id: BIG, properties: texts });
  expect(read(`{"operations":[1,{"feature":${feature}},{"feature":null}]}`)).toMatchObject({
    operations: [1, { feature: { id: BIG, properties: texts } }, { feature: null }],
  });
  expect(read('{"properties":[1],"operations":{}}')).toEqual({ properties: [1], operations: {} });
});
