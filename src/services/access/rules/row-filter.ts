import type { VectorCollection } from '../../../core/catalog/collection.js';
import { isScalar } from '../../../core/cql2/ast.js';
import {
  type Call,
  Cql2Error,
  check,
  type Expression,
  NO_FEATURES,
  type Operand,
  parseText,
  type Scalar,
} from '../../../core/cql2/index.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import { claimValues } from '../../../core/http/operation.js';
import { type Field, hasIntegerIds, type VectorSource } from '../../../core/sources/vector-source.js';
import { boundedCache } from '../../../core/values/bounded-cache.js';

/**
 * Function in policy filters: CQL2 in which `claim('type')` represents claim values of the caller. The values are
 * inserted as literals of the syntax tree, so a claim is never parsed as a filter.
 */

const CLAIM = 'claim';

/** Filters of policies that are kept as trees; there are as many as policies. */
const MAX_TREES = 20_000;
const trees = boundedCache<string, { readonly tree: Expression }>(MAX_TREES);

/** Throws `Cql2Error`. */
function parseTree(text: string): Expression {
  const entry = trees.get(text);
  if (entry) return entry.tree;
  const tree = parseText(text);
  trees.set(text, { tree });
  return tree;
}

/** Types of the claims that a filter uses. Throws `Cql2Error`. */
export function claimsIn(text: string): string[] {
  const types: string[] = [];
  visit(parseTree(text), (operand) => {
    const type = findClaim(operand);
    if (type !== undefined) types.push(type);
  });
  return types;
}

/** Throws `Cql2Error` for a filter that cannot be of this collection, whatever is claimed. */
export function requireFilter(text: string, { source }: VectorCollection): void {
  const sample = (field: Field | undefined): Scalar[] => [SAMPLES[field?.type ?? 'string'] ?? 'x'];
  const tree = bound(parseTree(text), comparedIn(source), (_type, field) => sample(field));
  if (tree !== undefined) check(tree, { ...source, filterCrs: CRS84 });
}

const SAMPLES: Partial<Record<Field['type'], Scalar>> = {
  integer: 1,
  number: 1,
  boolean: true,
  date: '2000-01-01',
  'date-time': '2000-01-01T00:00:00Z',
};

/**
 * The filter with the values of a caller. Returns `NO_FEATURES` if a required claim is missing, has several values
 * instead of one, or has no value that the attribute could have. Throws `Cql2Error` if it no longer fits the
 * collection.
 */
export function buildRowFilter(
  text: string,
  { source }: VectorCollection,
  claims: Readonly<Record<string, readonly string[]>>,
  scalarOf: (field: Field, text: string) => Scalar | undefined,
): Expression {
  const tree = bound(parseTree(text), comparedIn(source), (type, field) => {
    const values = claimValues(claims, type);
    const scalars = values.map((value) => (field ? scalarOf(field, value) : value));
    return scalars.filter((value) => value !== undefined);
  });
  return tree === undefined ? NO_FEATURES : check(tree, { ...source, filterCrs: CRS84 });
}

/** Fields that claims can be compared with: attributes, and the id. */
function comparedIn({ fields, idColumn, ...source }: VectorSource): readonly Field[] {
  const type = hasIntegerIds({ fields, idColumn, ...source }) ? 'integer' : 'string';
  return [...fields, { name: idColumn, type, nullable: false }];
}

type Values = (type: string, field: Field | undefined) => readonly Scalar[];

/** The tree with values for claims; undefined when one of them cannot be bound. */
function bound(tree: Expression, fields: readonly Field[], valuesOf: Values): Expression | undefined {
  if (typeof tree !== 'object') return tree;
  const args: Operand[] = [];
  const field = fieldBeside(tree.args, fields);
  for (const arg of tree.args) {
    const part = boundOperand(arg, field, fields, valuesOf);
    if (part === undefined) return undefined;
    args.push(part);
  }
  return { op: tree.op, args };
}

function boundOperand(
  operand: Operand,
  field: Field | undefined,
  fields: readonly Field[],
  valuesOf: Values,
): Operand | undefined {
  if (isScalar(operand)) return operand;
  if (Array.isArray(operand)) return boundList(operand as readonly Operand[], field, fields, valuesOf);
  const type = findClaim(operand);
  if (type !== undefined) {
    const values = valuesOf(type, field);
    return values.length === 1 ? values[0] : undefined;
  }
  return 'op' in operand ? bound(operand, fields, valuesOf) : operand;
}

/** All values of a claim are members of the list. */
function boundList(
  list: readonly Operand[],
  field: Field | undefined,
  fields: readonly Field[],
  valuesOf: Values,
): Operand | undefined {
  const members: Operand[] = [];
  for (const member of list) {
    const type = findClaim(member);
    const values =
      type === undefined ? [boundOperand(member, field, fields, valuesOf)] : distinct(valuesOf(type, field));
    if (values.length === 0) return undefined;
    for (const value of values) {
      if (value === undefined) return undefined;
      members.push(value);
    }
  }
  return members;
}

/** Numbers with all digits are objects, which a set takes for different ones. */
const distinct = (values: readonly Scalar[]): Scalar[] => [
  ...new Map(values.map((value) => [JSON.stringify(value), value])).values(),
];

/** The attribute that operands are compared with. */
function fieldBeside(operands: readonly Operand[], fields: readonly Field[]): Field | undefined {
  for (const operand of operands) {
    if (typeof operand === 'object' && 'property' in operand)
      return fields.find(({ name }) => name === operand.property);
  }
  return undefined;
}

function findClaim(operand: Operand): string | undefined {
  if (typeof operand !== 'object' || !('op' in operand)) return undefined;
  const { op, args } = operand as Call;
  if (op.toLowerCase() !== CLAIM) return undefined;
  const [type] = args;
  if (args.length !== 1 || typeof type !== 'string' || type === '')
    throw new Cql2Error("claim needs the type of a claim as a string, for example claim('country')");
  return type;
}

function visit(operand: Operand, use: (operand: Operand) => void): void {
  use(operand);
  if (typeof operand !== 'object') return;
  if (Array.isArray(operand)) for (const member of operand as readonly Operand[]) visit(member, use);
  else if ('op' in operand && findClaim(operand) === undefined)
    for (const arg of operand.args) visit(arg, use);
}
