/** Schemas of the interface document, as the audit reads them to write bodies in other ways. */
export interface Schema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The alternative of a schema that a value is of: the one that names most of its members. */
function schemaOf(value: unknown, schema: Schema): Schema {
  if (!schema.anyOf) return schema;
  const score = (one: Schema) => {
    if (Array.isArray(value)) return one.type === 'array' ? 1 : -1;
    if (!isObject(value)) return one.properties || one.items ? -1 : 0;
    const properties = one.properties ?? {};
    const contradicts = Object.entries(properties).some(
      ([name, { enum: values }]) => values && name in value && !values.includes(value[name]),
    );
    return contradicts || one.type === 'array'
      ? -1
      : Object.keys(value).filter((name) => name in properties).length;
  };
  return [...schema.anyOf].sort((a, b) => score(b) - score(a))[0]!;
}

function rewrite(
  value: unknown,
  schema: Schema,
  change: (members: [string, unknown][], schema: Schema) => [string, unknown][],
): unknown {
  const own = schemaOf(value, schema);
  if (Array.isArray(value)) return own.items ? value.map((one) => rewrite(one, own.items!, change)) : value;
  const { properties } = own;
  if (!isObject(value) || !properties) return value;
  const members = Object.entries(value).map(([name, one]): [string, unknown] => [
    name,
    properties[name] ? rewrite(one, properties[name], change) : one,
  ]);
  return Object.fromEntries(change(members, own));
}

/** The value with every member that the schema names in another case. */
export function inOtherCase(value: unknown, schema: Schema): unknown {
  const other = (name: string) => (name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase());
  return rewrite(value, schema, (members, { properties = {} }) =>
    members.map(([name, one]) => [name in properties ? other(name) : name, one]),
  );
}

/** The value with null for every optional member that it lacks and that has no null of its own. */
export function withNulls(value: unknown, schema: Schema): unknown {
  return rewrite(value, schema, (members, { properties = {}, required = [] }) => {
    const given = new Set(members.map(([name]) => name));
    const absent = Object.entries(properties).filter(
      ([name, one]) => !given.has(name) && !required.includes(name) && !takesNull(one),
    );
    return [...members, ...absent.map(([name]): [string, unknown] => [name, null])];
  });
}

const takesNull = ({ type, nullable, anyOf, enum: values }: Schema): boolean =>
  nullable === true ||
  values?.includes(null) === true ||
  anyOf?.some(takesNull) === true ||
  (!type && !values && !anyOf);
