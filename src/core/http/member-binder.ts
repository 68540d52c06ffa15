import type { TSchema } from 'typebox';
import { type ApiError, badMember } from '../errors/errors.js';
import { isJsonObject } from '../values/json.js';

/** Returns the value as its schema spells it. Throws `invalid-body`. */
export type Binder = (value: unknown, at?: string) => unknown;

/** The keywords of JSON Schema that binding follows. */
interface Keywords {
  readonly type?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: boolean | TSchema;
  readonly required?: readonly string[];
  readonly items?: TSchema | readonly TSchema[];
  readonly anyOf?: readonly TSchema[];
}

/**
 * Returns the binder of a schema; undefined for a schema without named members. Members bind in any case at every depth.
 * Null for an optional member that does not take null counts as absent. Members that an object does not name are dropped;
 * they are kept where `additionalProperties` is set, and in maps, whose keys are the client's own.
 */
export function memberBinder(schema: TSchema): Binder | undefined {
  const { properties, items, anyOf } = schema as Keywords;
  if (anyOf) return unionBinder(anyOf);
  if (items) return Array.isArray(items) ? undefined : listBinder(items as TSchema);
  if (properties && Object.keys(properties).length > 0) return objectBinder(schema as Keywords);
  return mapBinder(schema as Keywords);
}

interface Member {
  readonly name: string;
  readonly dropsNull: boolean;
  readonly bind: Binder | undefined;
}

function objectBinder({ properties = {}, required = [], additionalProperties }: Keywords): Binder {
  const members = new Map(
    Object.entries(properties).map(([name, schema]): [string, Member] => [
      name.toLowerCase(),
      { name, dropsNull: !required.includes(name) && !takesNull(schema), bind: memberBinder(schema) },
    ]),
  );
  const dropsOthers = additionalProperties === undefined;
  return (value, at = '') => {
    if (!isJsonObject(value)) return value;
    const bound = new Map<string, unknown>();
    for (const [key, one] of Object.entries(value)) {
      const member = members.get(key.toLowerCase());
      if (member ? one === null && member.dropsNull : dropsOthers) continue;
      const { name, bind } = member ?? { name: key, bind: undefined };
      const pointer = `${at}/${name}`;
      if (bound.has(name)) throw repeated(pointer, name);
      bound.set(name, bind ? bind(one, pointer) : one);
    }
    return Object.fromEntries(bound);
  };
}

/** Maps keep their keys. */
function mapBinder({ patternProperties, additionalProperties }: Keywords): Binder | undefined {
  const [schema] = Object.values(patternProperties ?? {});
  const values = schema ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
  const bind = values && memberBinder(values);
  if (!bind) return undefined;
  return (value, at = '') =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, bind(one, `${at}/${key}`)]))
      : value;
}

function listBinder(items: TSchema): Binder | undefined {
  const bind = memberBinder(items);
  if (!bind) return undefined;
  return (value, at = '') =>
    Array.isArray(value) ? value.map((one, index) => bind(one, `${at}/${index}`)) : value;
}

function unionBinder(schemas: readonly TSchema[]): Binder | undefined {
  const lists = schemas.filter((schema) => (schema as Keywords).type === 'array').map(memberBinder);
  const objects = schemas
    .filter((schema) => (schema as Keywords).type === 'object')
    .map((schema) => ({
      fits: buildDiscriminator(schema as Keywords),
      isWhole: buildRequirement(schema as Keywords),
      bind: memberBinder(schema),
    }));
  if (![...lists, ...objects.map(({ bind }) => bind)].some((bind) => bind)) return undefined;
  return (value, at) => {
    if (Array.isArray(value)) return lists[0] ? lists[0](value, at) : value;
    if (!isJsonObject(value)) return value;
    const possible = objects.filter(({ fits }) => fits(value));
    const { bind } = possible.find(({ isWhole }) => isWhole(value)) ?? possible[0] ?? objects[0] ?? {};
    return bind ? bind(value, at) : value;
  };
}

/**
 * Compares the members with a single allowed value, such as `type`, to determine whether an object is meant for a
 * schema.
 */
function buildDiscriminator({ properties = {} }: Keywords): (value: Record<string, unknown>) => boolean {
  const constants = new Map(
    Object.entries(properties).flatMap(([name, schema]): [string, unknown][] =>
      'const' in schema ? [[name.toLowerCase(), (schema as Keywords).const]] : [],
    ),
  );
  return (value) =>
    Object.entries(value).every(([key, one]) => {
      const name = key.toLowerCase();
      return !constants.has(name) || constants.get(name) === one;
    });
}

/** Whether an object has all members that a schema requires. */
function buildRequirement({ required = [] }: Keywords): (value: Record<string, unknown>) => boolean {
  return (value) => {
    const names = new Set(Object.keys(value).map((name) => name.toLowerCase()));
    return required.every((name) => names.has(name.toLowerCase()));
  };
}

function takesNull(schema: TSchema): boolean {
  const { type, const: constant, enum: values, anyOf } = schema as Keywords;
  if (anyOf) return anyOf.some(takesNull);
  if (values) return values.includes(null);
  if ('const' in schema) return constant === null;
  return type === undefined || type === 'null' || (Array.isArray(type) && type.includes('null'));
}

function repeated(pointer: string, name: string): ApiError {
  const detail = `is given more than once, in different case. Send ${name} once.`;
  return badMember(pointer, detail);
}
