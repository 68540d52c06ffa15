import type { ErrorObject } from 'ajv';
import { type FieldError, prefixField, withReceived } from '../errors/field-errors.js';
import { listNames } from '../errors/near-names.js';
import { describeChoice, describeTypes } from './schema-words.js';

/** Errors of `anyOf` and `oneOf`: those of the alternative that the value is meant for. */

type Schema = Readonly<Record<string, unknown>>;

export interface UnionContext {
  /** The complete schema, with the definitions that its parts refer to. */
  readonly root: object;
  /** The errors of a value by an alternative of a union. */
  check(schema: object, value: unknown): FieldError[];
}

export const isUnion = ({ keyword }: ErrorObject) => keyword === 'anyOf' || keyword === 'oneOf';

export function explainUnion(error: ErrorObject, context: UnionContext): FieldError[] {
  const { instancePath, keyword, params, data } = error;
  const name = instancePath || '/';
  const fail = (detail: string, value: unknown = data) => [
    withReceived({ name, detail, code: keyword, path: name }, value),
  ];
  const branches = listBranches(error.schema as Schema[], context.root);
  const passing = params['passingSchemas'] as number[] | null | undefined;
  if (passing)
    return fail(
      describeAmbiguity(
        (error.schema as Schema[]).map((one) => resolve(one, context.root)),
        passing,
      ),
    );
  const choices = branches.flatMap(listLiterals);
  if (branches.every((branch) => listLiterals(branch).length > 0)) return fail(describeChoice(choices));
  const fitting = branches.filter((branch) => fitsType(branch, data));
  if (fitting.length === 0) return fail(`must be ${describeBranches(branches)}`);
  if (fitting.length === 1) return within(instancePath, context.check(fitting[0]!, data));
  const chosen = isObject(data) ? discriminate(fitting, data) : { branches: fitting };
  if ('wrong' in chosen) {
    const { member, values } = chosen.wrong;
    const path = `${instancePath}/${member}`;
    if (!Object.hasOwn(data as object, member)) {
      const detail = `is required. It ${describeChoice(values)}`;
      return [{ name, detail, code: 'required', path }];
    }
    const detail = describeChoice(values);
    return [withReceived({ name: path, detail, code: 'enum', path }, (data as Schema)[member])];
  }
  return (
    nearest(chosen.branches, data, instancePath, context) ?? fail(`must be ${describeBranches(branches)}`)
  );
}

function within(instancePath: string, errors: readonly FieldError[]): FieldError[] {
  return errors.map((one) => {
    const { name, path } = prefixField(instancePath, one);
    return { ...one, name: name || '/', ...(path === undefined ? {} : { path: path || '/' }) };
  });
}

/** The errors of the alternative that has the fewest; a combination of members if each only lacks some. */
function nearest(
  branches: readonly Schema[],
  data: unknown,
  instancePath: string,
  { check }: UnionContext,
): FieldError[] | undefined {
  const results = branches.slice(0, 20).map((branch) => check(branch, data));
  const groups = results.map((errors) =>
    errors.every(({ code, path }) => code === 'required' && path?.split('/').length === 2)
      ? errors.map(({ path }) => path!.slice(1))
      : undefined,
  );
  if (groups.length > 1 && groups.every((group) => group !== undefined && group.length > 0)) {
    const sets = [
      ...new Set(
        groups.map((group) =>
          listNames(
            group!.map((one) => `'${one}'`),
            'and',
          ),
        ),
      ),
    ];
    return [
      {
        name: instancePath || '/',
        detail: `must have ${listNames(sets)}`,
        code: 'anyOf',
        path: instancePath || '/',
      },
    ];
  }
  const least = Math.min(...results.map(({ length }) => length));
  const best = results.filter(({ length }) => length === least);
  if (best.length > 1 && best.some(([first]) => first?.name !== best[0]![0]?.name)) return undefined;
  return best[0] && within(instancePath, best[0]);
}

/** The alternatives whose constant member, as `type`, is that of the value; or which values that member can have. */
function discriminate(
  branches: readonly Schema[],
  data: Schema,
): { branches: readonly Schema[] } | { wrong: { member: string; values: unknown[] } } {
  const members = new Map<string, unknown[]>();
  for (const { properties = {} } of branches as { properties?: Record<string, Schema> }[])
    for (const [member, schema] of Object.entries(properties)) {
      const values = listLiterals(schema);
      if (values.length > 0) members.set(member, [...(members.get(member) ?? []), ...values]);
    }
  const all = [...members].filter(([member]) =>
    branches.every(
      ({ properties }) => listLiterals((properties as Record<string, Schema>)?.[member]).length > 0,
    ),
  );
  const [discriminator] = all;
  if (!discriminator) return { branches };
  const [member, values] = discriminator;
  const fitting = branches.filter(({ properties }) =>
    listLiterals((properties as Record<string, Schema>)[member]).includes(data[member]),
  );
  return fitting.length > 0 ? { branches: fitting } : { wrong: { member, values: [...new Set(values)] } };
}

/** The alternatives, with those of unions inside of unions. */
function listBranches(schemas: readonly Schema[], root: object): Schema[] {
  return schemas.flatMap((one) => {
    const schema = resolve(one, root);
    const inner = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
    return inner && schema['properties'] === undefined ? listBranches(inner, root) : [schema];
  });
}

function resolve(schema: Schema, root: object): Schema {
  const reference = schema['$ref'];
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return schema;
  const target = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((at, name) => (at as Schema | undefined)?.[name], root);
  return isObject(target) ? resolve(target, root) : schema;
}

function listLiterals(schema: Schema | undefined): unknown[] {
  if (!schema) return [];
  if ('const' in schema) return [schema['const']];
  if (Array.isArray(schema['enum'])) return schema['enum'];
  const inner = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
  const values = inner?.map(listLiterals) ?? [];
  return values.every((list) => list.length > 0) ? values.flat() : [];
}

function fitsType(schema: Schema, data: unknown): boolean {
  const literals = listLiterals(schema);
  if (literals.length > 0)
    return literals.some((one) => typeof one === typeof data && (one === null) === (data === null));
  const type = schema['type'] ?? (schema['properties'] || schema['required'] ? 'object' : undefined);
  return type === undefined || [type].flat().some((one) => isOfType(one as string, data));
}

function isOfType(type: string, data: unknown): boolean {
  switch (type) {
    case 'null':
      return data === null;
    case 'array':
      return Array.isArray(data);
    case 'object':
      return isObject(data);
    case 'integer':
    case 'number':
      return typeof data === 'number';
    default:
      return typeof data === type;
  }
}

/** `'auto', a number or an object`. */
function describeBranches(branches: readonly Schema[]): string {
  const words = branches.flatMap((branch) => {
    const literals = listLiterals(branch);
    if (literals.length > 0)
      return literals.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
    const type = branch['type'] ?? (branch['properties'] ? 'object' : undefined);
    return type === undefined ? [] : [describeTypes(type as string | string[])];
  });
  return listNames([...new Set(words)]) || 'of another form';
}

/** Text for a value that matches several alternatives of `oneOf`. */
function describeAmbiguity(branches: readonly Schema[], passing: readonly number[]): string {
  const members = passing.map((i) => (branches[i]?.['required'] as string[] | undefined) ?? []);
  if (members.every((list) => list.length > 0)) {
    const names = [...new Set(members.flat())].map((one) => `'${one}'`);
    return `must have only one of ${listNames(names, 'and')}`;
  }
  return 'has the members of several alternatives. Send those of one';
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof String);
}
