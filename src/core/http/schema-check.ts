import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import type { FieldError } from '../errors/field-errors.js';
import { translateErrors } from './schema-errors.js';
import { shareSchemas } from './shared-schemas.js';
import type { UnionContext } from './union-errors.js';

/** Errors reported for one body; a hostile body could have thousands. */
const MAX_ERRORS = 20;

/** Maximum values of a body for which all errors are listed, because each error is an object. */
const MAX_VALUES = 5000;

function compiler(allErrors: boolean): Ajv {
  const ajv = new Ajv({
    allErrors,
    strict: false,
    useDefaults: true,
    meta: false,
    validateSchema: false,
    // Optimising takes half of the compilation time. The schema that lists all errors checks only small invalid
    // bodies.
    code: { optimize: !allErrors },
    // Shared schemas are compiled once.
    inlineRefs: false,
    // Sentences about errors need the schema and the value.
    verbose: true,
  });
  // ajv-formats is CommonJS: its default export arrives wrapped under Node's ESM rules.
  (addFormats as unknown as { default: (target: Ajv) => void }).default(ajv);
  return ajv;
}

const first = once(() => compiler(false));
const all = once(() => compiler(true));

/** Lists what is wrong with a value, or nothing. */
export type SchemaCheck = (value: unknown) => FieldError[];

/**
 * Compiles a schema immediately, which takes up to 30 ms. The check that lists all errors is compiled at the first
 * invalid value.
 */
export function compileSchema(schema: TSchema): SchemaCheck {
  const shared = shareSchemas(schema);
  const validate = first().compile(shared);
  const listAll = once(() => all().compile(shared));
  const context = { root: shared, check: alternativeCheck(shared) };
  return (value) => {
    if (validate(value)) return [];
    if (!isSmall(value)) return fieldErrors(validate, context);
    listAll()(value);
    return fieldErrors(listAll(), context);
  };
}

/**
 * Compiles a schema at the first value. Operations have dozens of large schemas, of which a process uses few.
 * Compiling the schemas of the management API took a third of the start time of a gateway, and all other schemas a
 * tenth.
 */
export function compileOnUse(schema: TSchema): SchemaCheck {
  const check = once(() => compileSchema(schema));
  return (value) => check()(value);
}

export function once<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => (value ??= make());
}

function fieldErrors({ errors }: ValidateFunction, context: UnionContext): FieldError[] {
  return translateErrors(errors ?? [], context).slice(0, MAX_ERRORS);
}

/** Checks values by alternatives of a union, which are compiled when an error comes first. */
function alternativeCheck(root: object): UnionContext['check'] {
  const validators = new WeakMap<object, ValidateFunction>();
  const check: UnionContext['check'] = (schema, value) => {
    let validate = validators.get(schema);
    if (!validate) {
      const { $defs } = root as { $defs?: object };
      validate = all().compile($defs ? { ...schema, $defs } : { ...schema });
      validators.set(schema, validate);
    }
    if (validate(value)) return [];
    return fieldErrors(validate, { root, check });
  };
  return check;
}

/** Whether a body has few enough values that listing all its errors costs next to nothing. */
function isSmall(value: unknown): boolean {
  let left = MAX_VALUES;
  const walk = (part: unknown): boolean => {
    left -= 1;
    if (left < 0) return false;
    return part === null || typeof part !== 'object' || Object.values(part).every(walk);
  };
  return walk(value);
}
