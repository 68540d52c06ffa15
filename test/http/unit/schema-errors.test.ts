import Type, { type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { formatFieldErrors } from '../../../src/core/errors/field-errors.js';
import { compileSchema } from '../../../src/core/http/schema-check.js';
import { PATTERN_WORDS } from '../../../src/core/http/schema-words.js';

const check = (schema: TSchema | object, value: unknown) =>
  formatFieldErrors(compileSchema(schema as TSchema)(value));
const member = (schema: object, value: unknown) => check(Type.Object({ m: schema as TSchema }), { m: value });

describe('an error of the keyword', () => {
  it.each([
    ['type', { type: 'string' }, 5, 'm: must be a string; received 5.'],
    ['type', { type: ['integer', 'null'] }, 'x', "m: must be an integer or null; received 'x'."],
    [
      'type',
      { type: 'integer', minimum: 0, maximum: 9 },
      'x',
      "m: must be an integer from 0 to 9; received 'x'.",
    ],
    ['enum', { enum: ['a', 'b', null] }, 'c', "m: must be one of 'a', 'b' or null; received 'c'."],
    ['const', { const: 'a' }, 'c', "m: must be 'a'; received 'c'."],
    [
      'minimum',
      { type: 'integer', minimum: 1, maximum: 9 },
      0,
      'm: must be an integer from 1 to 9; received 0.',
    ],
    ['maximum', { type: 'number', maximum: 9 }, 10.5, 'm: must be a number of at most 9; received 10.5.'],
    [
      'exclusiveMinimum',
      { type: 'number', exclusiveMinimum: 0 },
      0,
      'm: must be a number above 0; received 0.',
    ],
    ['multipleOf', { type: 'number', multipleOf: 5 }, 7, 'm: must be a multiple of 5; received 7.'],
    ['minLength', { type: 'string', minLength: 1 }, '', "m: must not be empty; received ''."],
    [
      'maxLength',
      { type: 'string', minLength: 1, maxLength: 2 },
      'abc',
      "m: must have 1 to 2 characters; received 'abc'.",
    ],
    [
      'minItems',
      { type: 'array', minItems: 2 },
      [1],
      'm: must have at least 2 items; received an array of 1 item.',
    ],
    [
      'uniqueItems',
      { type: 'array', uniqueItems: true },
      [1, 1],
      'm: must have different items, but items 0 and 1 are equal; received an array of 2 items.',
    ],
    [
      'minProperties',
      { type: 'object', minProperties: 1 },
      {},
      'm: must have at least 1 member; received an object.',
    ],
    [
      'pattern',
      { type: 'string', pattern: '^[a-z0-9-]{1,40}$' },
      'A B',
      "m: must be 1 to 40 lower-case letters, digits and hyphens; received 'A B'.",
    ],
    [
      'format',
      { type: 'string', format: 'date-time' },
      'x',
      "m: must be a date-time with an offset, for example '2026-01-31T12:00:00Z'; received 'x'.",
    ],
  ])('%s', (_, schema, value, text) => {
    expect(member(schema, value)).toBe(text);
  });

  it('required names the member that is missing', () => {
    expect(check(Type.Object({ a: Type.Object({ b: Type.String() }) }), { a: {} })).toBe('a.b: is required.');
  });

  it('additionalProperties suggests a member, or lists them', () => {
    const schema = Type.Object({ limit: Type.Optional(Type.Integer()) }, { additionalProperties: false });
    expect(check(schema, { limt: 1 })).toBe(
      "body: 'limt' is not a member of this object. Did you mean 'limit'?",
    );
    expect(check(schema, { zoom: 1 })).toBe("body: 'zoom' is not a member of this object. Use limit.");
  });
});

describe('an error of a union', () => {
  const Circle = Type.Object({ type: Type.Literal('circle'), radius: Type.Number() });
  const Box = Type.Object({ type: Type.Literal('box'), width: Type.Number(), height: Type.Number() });
  const Shape = Type.Union([Circle, Box]);

  it('is that of the alternative which the discriminating member names', () => {
    expect(member(Shape, { type: 'circle', radius: 'x' })).toBe("m.radius: must be a number; received 'x'.");
    expect(member(Shape, { type: 'box', width: 1 })).toBe('m.height: is required.');
  });

  it('lists the values of the discriminating member', () => {
    expect(member(Shape, { type: 'line' })).toBe(
      "m.type: must be one of 'circle' or 'box'; received 'line'.",
    );
    expect(member(Shape, {})).toBe("m.type: is required. It must be one of 'circle' or 'box'.");
  });

  it('lists literals and types', () => {
    expect(member(Type.Union([Type.Literal('a'), Type.Literal('b')]), 'c')).toBe(
      "m: must be one of 'a' or 'b'; received 'c'.",
    );
    expect(member(Type.Union([Type.String(), Type.Null()]), 5)).toBe(
      'm: must be a string or null; received 5.',
    );
    expect(member(Type.Union([Type.Literal('auto'), Type.Number({ minimum: 1 })]), 0)).toBe(
      'm: must be a number of at least 1; received 0.',
    );
  });

  it('names the members of which one is required', () => {
    const schema = { type: 'object', oneOf: [{ required: ['url'] }, { required: ['uploadId'] }] };
    expect(member(schema, {})).toBe("m: must have 'url' or 'uploadId'.");
    expect(member(schema, { url: 1, uploadId: 2 })).toBe(
      "m: must have only one of 'url' and 'uploadId'; received an object.",
    );
  });

  it('is found where alternatives are shared and nested', () => {
    const Many = Type.Object({ first: Shape, list: Type.Array(Shape) });
    expect(
      check(Many, { first: { type: 'circle', radius: 1 }, list: [{ type: 'box', width: 'w', height: 2 }] }),
    ).toBe("list[0].width: must be a number; received 'w'.");
  });
});

it('every pattern of the table is a regular expression', () => {
  for (const pattern of Object.keys(PATTERN_WORDS)) expect(() => new RegExp(pattern, 'u')).not.toThrow();
});
