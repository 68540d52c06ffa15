import type { TObject, TSchema } from 'typebox';
import type { BodySpec } from '../../core/operation.js';

/** A JSON body whose members bind in any case; null is the same as absent. */
export function anyCaseBody<S extends TObject>(schema: S): BodySpec<S> {
  return { schema, mediaTypes: ['application/json'], required: true, fit: anyCase(schema) };
}

/** A body with its members spelled as the schema has them. */
export function anyCase(schema: TSchema & { properties: object }): (value: unknown) => unknown {
  const members = new Map(Object.keys(schema.properties).map((member) => [member.toLowerCase(), member]));
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const read = Object.entries(value).filter(([, member]) => member !== null);
    return Object.fromEntries(
      read.map(([member, one]) => [members.get(member.toLowerCase()) ?? member, one]),
    );
  };
}
