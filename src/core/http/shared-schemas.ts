import type { TSchema } from 'typebox';

/** A schema, or a part of one. */
type Node = Readonly<Record<string, unknown>>;

/** Keywords whose value is a schema or a list of schemas. */
const SCHEMAS = ['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', 'not'];
/** Keywords whose value is an object of schemas. */
const MAPS = ['properties', 'patternProperties'];
/** Keywords of schemas that are left unchanged: what they name or refer to would move. */
const REFERENCES = ['$ref', '$id', '$defs', '$anchor'];

/**
 * Returns a schema that accepts the same values. Schemas of objects and lists that it uses in several places are
 * definitions, which Ajv compiles once. Written out, the symbols of a drawingInfo take it six seconds.
 */
export function shareSchemas(schema: TSchema): TSchema {
  const repeated = repeatedSchemas(schema as Node);
  if (repeated.size === 0) return schema;
  const names = new Map([...repeated].map((node, i): [Node, string] => [node, `shared${i}`]));
  const convert = (node: Node): Node => {
    const name = names.get(node);
    return name === undefined ? mapParts(node, convert) : { $ref: `#/$defs/${name}` };
  };
  const definitions = [...names].map(([node, name]) => [name, mapParts(node, convert)]);
  return { ...mapParts(schema as Node, convert), $defs: Object.fromEntries(definitions) } as TSchema;
}

/** Schemas of objects and lists that are found more than once; none if the schema has references. */
function repeatedSchemas(schema: Node): ReadonlySet<Node> {
  const seen = new Set<Node>();
  const repeated = new Set<Node>();
  const withDefaults = new Set<Node>();
  let hasReferences = false;
  const visit = (node: Node): Node => {
    if (seen.has(node)) {
      if (node['properties'] ?? node['items']) repeated.add(node);
      return node;
    }
    seen.add(node);
    if (REFERENCES.some((keyword) => keyword in node)) hasReferences = true;
    let hasDefault = 'default' in node;
    mapParts(node, (part) => {
      visit(part);
      hasDefault ||= withDefaults.has(part);
      return part;
    });
    if (hasDefault) withDefaults.add(node);
    return node;
  };
  visit(schema);
  if (hasReferences) return new Set();
  // Inside of anyOf, Ajv applies defaults only behind a reference.
  return new Set([...repeated].filter((node) => !withDefaults.has(node)));
}

/** A copy of a schema with its direct parts replaced. */
function mapParts(node: Node, replace: (part: Node) => Node): Node {
  const of = (value: unknown) => (isNode(value) ? replace(value) : value);
  const copy: Record<string, unknown> = { ...node };
  for (const keyword of SCHEMAS) {
    const value = node[keyword];
    if (value !== undefined) copy[keyword] = Array.isArray(value) ? value.map(of) : of(value);
  }
  for (const keyword of MAPS) {
    const value = node[keyword];
    if (isNode(value))
      copy[keyword] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, of(one)]));
  }
  return copy;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
