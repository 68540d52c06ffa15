import { type Call, isCall, isProperty, isScalar, type Operand } from './ast.js';
import { computeOperandKind, type FilterSchema } from './types.js';

/** An operand that is compared with constants. */
interface Comparison {
  readonly value: Operand;
  readonly constants: readonly Operand[];
}

/** Operators of comparisons that `or` and `and` can combine to one list, and the resulting list. */
const FORMS: Readonly<Record<string, { readonly op: string; wrap(list: Call): Call }>> = {
  or: { op: '=', wrap: (list) => list },
  and: { op: '<>', wrap: (list) => ({ op: 'not', args: [list] }) },
};

/**
 * Writes `a = 1 OR a = 2` as `a IN (1, 2)`, and `a <> 1 AND a <> 2` as `NOT a IN (1, 2)`: a store looks a list up where it
 * would evaluate each comparison for each row. Both forms are NULL where the operand is. Expects a checked call.
 */
export function mergeComparisons(call: Call, schema: FilterSchema): Call {
  const form = FORMS[call.op];
  if (!form) return call;
  const parts = call.args.flatMap((arg) => nested(arg, call.op));
  const groups = new Map<string, { first: Operand; comparisons: Comparison[] }>();
  const keys = parts.map((part) => {
    const comparison = findComparison(part, call.op, form.op);
    const key = comparison && getKey(comparison, schema);
    if (!comparison || key === undefined) return undefined;
    const group = groups.get(key);
    if (group) group.comparisons.push(comparison);
    else groups.set(key, { first: part, comparisons: [comparison] });
    return key;
  });
  const merged = parts.flatMap((part, i): Operand[] => {
    const group = keys[i] === undefined ? undefined : groups.get(keys[i]);
    if (!group || group.comparisons.length === 1) return [part];
    if (group.first !== part) return [];
    const [{ value }] = group.comparisons as [Comparison];
    const constants = group.comparisons.flatMap((one) => one.constants);
    return [form.wrap({ op: 'in', args: [value, distinct(constants)] })];
  });
  if (merged.length === parts.length) return call;
  return merged.length === 1 ? (merged[0] as Call) : { op: call.op, args: merged };
}

/** The parts of an operand that is another call of the same operator. */
const nested = (arg: Operand, op: string): readonly Operand[] =>
  typeof arg === 'object' && isCall(arg) && arg.op === op ? arg.args : [arg];

function findComparison(part: Operand, op: string, comparison: string): Comparison | undefined {
  if (typeof part !== 'object' || !isCall(part)) return undefined;
  const inner = op === 'and' && part.op === 'not' ? part.args[0]! : part;
  if (typeof inner === 'object' && isCall(inner) && inner.op === 'in' && (op === 'or' || inner !== part)) {
    const [value, list] = inner.args as [Operand, readonly Operand[]];
    return list.length > 0 && list.every(isConstant) ? { value, constants: list } : undefined;
  }
  if (part.op !== comparison) return undefined;
  const [a, b] = part.args as [Operand, Operand];
  if (isConstant(b)) return { value: a, constants: [b] };
  return isConstant(a) ? { value: b, constants: [a] } : undefined;
}

/** Texts and numbers, and texts whose case or accents are folded. */
function isConstant(operand: Operand): boolean {
  if (isScalar(operand)) return typeof operand !== 'boolean';
  return (
    isCall(operand) && (operand.op === 'casei' || operand.op === 'accenti') && isConstant(operand.args[0]!)
  );
}

/**
 * Key of comparisons that can share a list: the same property, or the same folding of it, compared with constants of
 * its type.
 */
function getKey({ value, constants }: Comparison, schema: FilterSchema): string | undefined {
  const kind = computeOperandKind(value, schema);
  if (kind !== 'string' && kind !== 'number') return undefined;
  if (!isFold(value) || constants.some((constant) => computeOperandKind(constant, schema) !== kind))
    return undefined;
  const folds = constants.map((constant) => !isScalar(constant));
  return JSON.stringify([value, folds.includes(true)]);
}

function isFold(value: Operand): boolean {
  if (typeof value !== 'object') return false;
  if (isProperty(value)) return true;
  return isCall(value) && ['casei', 'accenti', 'upper', 'lower'].includes(value.op) && isFold(value.args[0]!);
}

function distinct(constants: readonly Operand[]): Operand[] {
  const seen = new Map(constants.map((constant) => [JSON.stringify(constant), constant]));
  return [...seen.values()];
}
