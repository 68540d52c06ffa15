import Type from 'typebox';
import type { InputDefinition, OutputDefinition, ProcessDefinition } from '../definition.js';
import { makeOptional } from './parts.js';

/**
 * Process that returns its inputs as outputs with the same names. Conformance test tools require such a process. The
 * suite of OGC 18-062r2 sends the same text to all string inputs, whatever their format.
 */

const SHORT = { maxLength: 1000 };

const VALUES = {
  stringInput: ['A text.', Type.String(SHORT)],
  measureInput: [
    'A measure.',
    Type.Object({
      measurement: Type.Number(),
      uom: Type.String(SHORT),
      reference: Type.Optional(Type.String(SHORT)),
    }),
  ],
  dateInput: ['An instant, as text.', Type.String(SHORT)],
  doubleInput: ['A number from 0 to 10.', Type.Number({ minimum: 0, maximum: 10 })],
  arrayInput: ['From 2 to 10 integers.', Type.Array(Type.Integer(), { minItems: 2, maxItems: 10 })],
  complexObjectInput: [
    'An object.',
    Type.Object({
      property1: Type.String(SHORT),
      property2: Type.Optional(Type.String(SHORT)),
      property3: Type.Optional(Type.Number()),
      property5: Type.Boolean(),
    }),
  ],
  binaryInput: [
    'Bytes, as base64.',
    Type.String({
      contentEncoding: 'base64',
      contentMediaType: 'application/octet-stream',
      maxLength: 10_000,
    }),
  ],
  mixedInput: ['A number or a text.', Type.Union([Type.Number(), Type.String({ maxLength: 1000 })])],
  boundingBoxInput: [
    'A bounding box.',
    Type.Object({
      bbox: Type.Array(Type.Number(), { minItems: 4, maxItems: 6 }),
      crs: Type.Optional(Type.String(SHORT)),
    }),
  ],
} as const;

const names = Object.keys(VALUES) as (keyof typeof VALUES)[];

const inputs: Record<string, InputDefinition> = Object.fromEntries(
  names.map((name) => [
    name,
    makeOptional({ title: name, description: VALUES[name][0], schema: VALUES[name][1] }),
  ]),
);

const outputs: Record<string, OutputDefinition> = Object.fromEntries(
  names.map((name) => [
    name.replace(/Input$/, 'Output'),
    {
      title: name.replace(/Input$/, 'Output'),
      description: `The value of ${name}.`,
      schema: VALUES[name][1],
    },
  ]),
);

export const echo: ProcessDefinition = {
  id: 'echo',
  title: 'Echo',
  description: 'The outputs are the inputs.',
  keywords: ['test'],
  inputs,
  outputs,
  work: {
    kind: 'values',
    compute: (values) =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name.replace(/Input$/, 'Output'), value]),
      ),
  },
};
