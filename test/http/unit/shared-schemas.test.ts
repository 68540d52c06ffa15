import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../../src/core/http/schema-check.js';
import { shareSchemas } from '../../../src/core/http/shared-schemas.js';
import { DrawingInfo } from '../../../src/gateway/admin/esri-documents.js';

const Point = Type.Object({ x: Type.Number(), y: Type.Number() }, { additionalProperties: false });

describe('schemas that are used in several places', () => {
  it('are definitions', () => {
    const Line = Type.Object({ from: Point, to: Point });
    const schema = Type.Object({ a: Line, b: Line, c: Type.Array(Point), d: Type.Number() });
    const { $defs, ...shared } = JSON.parse(JSON.stringify(shareSchemas(schema)));
    expect(Object.keys($defs)).toHaveLength(2);
    expect(shared).toMatchObject({
      type: 'object',
      required: ['a', 'b', 'c', 'd'],
      properties: { a: { $ref: expect.any(String) }, c: { type: 'array' }, d: { type: 'number' } },
    });
    expect(shared.properties.a).toEqual(shared.properties.b);
  });

  it('accept the same values, with the same errors', () => {
    const schema = Type.Object({ a: Point, b: Type.Optional(Point), c: Type.Array(Point) });
    const copy = JSON.parse(JSON.stringify(schema));
    expect(JSON.stringify(shareSchemas(schema))).toContain('$ref');
    expect(shareSchemas(copy)).toBe(copy);
    const [one, other] = [compileSchema(schema), compileSchema(copy)];
    const point = { x: 1, y: 2 };
    for (const [value, errors] of [
      [{ a: point, c: [] }, 0],
      [{ a: point, b: point, c: [point, point] }, 0],
      [{ a: point, b: { x: 1 }, c: [point, { ...point, z: 1 }, { x: 'x', y: 'y' }] }, 4],
      [{ c: null }, 2],
    ] as const) {
      expect(one(value)).toHaveLength(errors);
      expect(one(value)).toEqual(other(value));
    }
  });

  it('keep their defaults', () => {
    const Size = Type.Object({ width: Type.Number({ default: 7 }) });
    const Pair = Type.Object({ left: Size, right: Size });
    const schema = Type.Object({
      ...{ a: Pair, b: Pair, c: Point, d: Point },
      e: Type.Optional(Type.Union([Size, Type.Null()])),
    });
    const point = { x: 1, y: 2 };
    const value = { a: { left: {}, right: {} }, b: { left: {}, right: {} }, c: point, d: point, e: null };
    expect(compileSchema(schema)(value)).toEqual([]);
    expect(value).toMatchObject({ a: { left: { width: 7 } }, b: { right: { width: 7 } } });
    const { $defs } = shareSchemas(schema) as { $defs?: object };
    expect(Object.values($defs!)).toEqual([expect.objectContaining({ required: ['x', 'y'] })]);
  });

  it('make drawings small enough to be compiled while others wait', () => {
    // Written out, its symbols blocked the event loop for seconds.
    expect(JSON.stringify(DrawingInfo).length).toBeGreaterThan(500_000);
    expect(JSON.stringify(shareSchemas(DrawingInfo)).length).toBeLessThan(25_000);
  });
});
