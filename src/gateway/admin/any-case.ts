import type { TObject, TSchema } from 'typebox';
import type { BodySpec } from '../../core/operation.js';

/** A JSON body whose members bind in any case; null is the same as absent. */
export function anyCaseBody<S extends TObject>(schema: S): BodySpec<S> {
  return { schema, mediaTypes: ['application/json'], required: true, parse: anyCase(schema) };
}

/** Reads a body with its members spelled as the schema has them. */
export function anyCase(schema: TSchema & { properties: object }): (json: Uint8Array) => unknown {
  const known = new Map(Object.keys(schema.properties).map((member) => [member.toLowerCase(), member]));
  return (json) => {
    const value: unknown = JSON.parse(Buffer.from(json).toString('utf8'));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const read = Object.entries(value).filter(([, member]) => member !== null);
    return Object.fromEntries(read.map(([member, one]) => [known.get(member.toLowerCase()) ?? member, one]));
  };
}
