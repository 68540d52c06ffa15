import type { ErrorObject } from 'ajv';
import { type FieldError, withReceived } from '../errors/field-errors.js';
import { escapePointerSegment } from '../errors/json-pointer.js';
import { adviseName } from '../errors/near-names.js';
import { describeChoice, describePattern, describeTypes, FORMAT_WORDS } from './schema-words.js';
import { explainUnion, isUnion, type UnionContext } from './union-errors.js';

/**
 * Converts the errors of the JSON Schema validator to errors for clients. The texts of the validator are never sent.
 */

type Schema = Readonly<Record<string, unknown>>;

/**
 * The errors of one value. The validator must have been compiled with `verbose`, as the sentences need the schema and the
 * value of each error.
 */
export function translateErrors(errors: readonly ErrorObject[], context: UnionContext): FieldError[] {
  return dropBranches(errors).flatMap((error) =>
    isUnion(error) ? explainUnion(error, context) : [translate(error)],
  );
}

/** Removes the errors of the alternatives of `anyOf` and `oneOf`, which come before the error of the union. */
function dropBranches(errors: readonly ErrorObject[]): ErrorObject[] {
  const kept: ErrorObject[] = [];
  for (const error of errors) {
    if (isUnion(error)) while (kept.length > 0 && isWithin(kept.at(-1)!, error)) kept.pop();
    // `if` only states which of `then` and `else` failed, and `propertyNames` that the error before it concerns a
    // name.
    if (error.keyword !== 'if') kept.push(error);
  }
  return kept;
}

function isWithin(part: ErrorObject, union: ErrorObject): boolean {
  if (part.instancePath !== union.instancePath && !part.instancePath.startsWith(`${union.instancePath}/`))
    return false;
  return (
    part.schemaPath.startsWith(`${union.schemaPath}/`) ||
    definition(part.schemaPath) !== definition(union.schemaPath)
  );
}

/** The definition that contains a path in a schema. A shared alternative has a definition of its own. */
const definition = (schemaPath: string) => /^#\/\$defs\/[^/]+/.exec(schemaPath)?.[0];

function translate(error: ErrorObject): FieldError {
  const { instancePath, keyword, params, data } = error;
  const name = instancePath || '/';
  const describe =
    KEYWORDS[keyword] ?? (() => 'has a value that the schema of this operation does not allow');
  const detail = describe(error);
  if (keyword === 'required' || keyword === 'dependentRequired' || keyword === 'dependencies')
    return {
      name,
      detail,
      code: keyword,
      path: `${instancePath}/${escapePointerSegment(String(params['missingProperty']))}`,
    };
  if (keyword === 'additionalProperties') return { name, detail, code: keyword, path: name };
  if (error.propertyName !== undefined)
    return withReceived({ name, detail, code: keyword, path: name }, error.propertyName);
  return withReceived({ name, detail, code: keyword, path: name }, data);
}

/** The requirement of each JSON Schema keyword, as a predicate of the member. */
const KEYWORDS: Readonly<Record<string, (error: ErrorObject) => string>> = {
  required: () => 'is required',
  dependentRequired: ({ params }) => `is required together with '${params['property']}'`,
  dependencies: ({ params }) => `is required together with '${params['property']}'`,
  additionalProperties: ({ params, parentSchema }) => {
    const name = String(params['additionalProperty']).slice(0, 60);
    const members = Object.keys((parentSchema as { properties?: object }).properties ?? {});
    return `'${name}' is not a member of this object.${adviseName(name, members)}`;
  },
  unevaluatedProperties: ({ params }) => `'${params['unevaluatedProperty']}' is not a member of this object`,
  type: (error) =>
    isBoundedNumber(error)
      ? describeRange(error)
      : `must be ${describeTypes(error.schema as string | string[])}`,
  nullable: () => 'must be null or have a value',
  enum: ({ schema }) => describeChoice(schema as unknown[]),
  const: ({ schema }) => describeChoice([schema]),
  minimum: describeRange,
  maximum: describeRange,
  exclusiveMinimum: describeRange,
  exclusiveMaximum: describeRange,
  multipleOf: ({ schema }) => `must be a multiple of ${schema}`,
  minLength: ({ parentSchema }) => describeBounds(parentSchema, 'Length', 'character'),
  maxLength: ({ parentSchema }) => describeBounds(parentSchema, 'Length', 'character'),
  minItems: ({ parentSchema }) => describeBounds(parentSchema, 'Items', 'item'),
  maxItems: ({ parentSchema }) => describeBounds(parentSchema, 'Items', 'item'),
  minProperties: ({ parentSchema }) => describeBounds(parentSchema, 'Properties', 'member'),
  maxProperties: ({ parentSchema }) => describeBounds(parentSchema, 'Properties', 'member'),
  uniqueItems: ({ params }) =>
    `must have different items, but items ${params['j']} and ${params['i']} are equal`,
  contains: () => 'must have an item of the kind that the operation needs',
  pattern: ({ schema }) => `must be ${describePattern(String(schema))}`,
  format: ({ schema }) => `must be ${FORMAT_WORDS[String(schema)] ?? `a value of the format '${schema}'`}`,
  propertyNames: ({ params }) =>
    `'${String(params['propertyName']).slice(0, 60)}' is not an allowed member name`,
  not: () => 'has a combination of members that is not allowed',
  'false schema': () => 'is not allowed here',
};

/** Whether a type is a number that has a range as well. */
function isBoundedNumber({ schema, parentSchema }: ErrorObject): boolean {
  if (schema !== 'integer' && schema !== 'number') return false;
  return ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].some(
    (keyword) => (parentSchema as Schema)[keyword] !== undefined,
  );
}

/** `must be an integer from 1 to 100`. */
function describeRange({ parentSchema, data }: ErrorObject): string {
  const schema = parentSchema as Schema;
  const isInteger = schema['type'] === 'integer' || [schema['type']].flat().includes('integer');
  const noun =
    isInteger || (schema['type'] === undefined && Number.isInteger(data)) ? 'an integer' : 'a number';
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  if (minimum !== undefined && maximum !== undefined) return `must be ${noun} from ${minimum} to ${maximum}`;
  const limits = [
    ...(minimum === undefined ? [] : [`of at least ${minimum}`]),
    ...(above === undefined ? [] : [`above ${above}`]),
    ...(maximum === undefined ? [] : [`of at most ${maximum}`]),
    ...(below === undefined ? [] : [`below ${below}`]),
  ];
  return `must be ${noun} ${limits.join(' and ')}`;
}

/** `must have 1 to 100 characters`. */
function describeBounds(schema: unknown, what: string, unit: string): string {
  const { [`min${what}`]: min, [`max${what}`]: max } = schema as Record<string, number | undefined>;
  const units = (n: number) => (n === 1 ? unit : `${unit}s`);
  if (min !== undefined && max !== undefined)
    return min === max ? `must have ${min} ${units(min)}` : `must have ${min} to ${max} ${units(max)}`;
  if (max !== undefined) return `must have at most ${max} ${units(max)}`;
  return min === 1 && unit === 'character' ? 'must not be empty' : `must have at least ${min} ${units(min!)}`;
}
