import {
  ALL_FEATURES,
  type Expression,
  isCall,
  isInterval,
  isProperty,
  NO_FEATURES,
  type Operand,
} from './ast.js';
import { Cql2Error, type FilterPosition, NO_PREDICATE } from './error.js';
import { CQL2_LIMITS } from './limits.js';
import { findArity } from './operators.js';

/** Limits of a complete filter in any encoding. */

/**
 * Throws if a tree is too deep or too large for recursive functions. The check itself does not recurse, because
 * chains of operators can be arbitrarily deep.
 */
export function bound(root: Operand): void {
  const open: [operand: Operand, depth: number][] = [[root, 1]];
  for (let nodes = 0; open.length > 0; nodes++) {
    const [operand, depth] = open.pop()!;
    if (depth > CQL2_LIMITS.filterDepth)
      throw new Cql2Error(`the filter is nested more than ${CQL2_LIMITS.filterDepth} levels deep`);
    if (nodes >= CQL2_LIMITS.filterNodes)
      throw new Cql2Error(`the filter has more than ${CQL2_LIMITS.filterNodes} operators and operands`);
    for (const part of listInnerOperands(operand)) open.push([part, depth + 1]);
  }
}

/** The operands within an operand; none in a literal. */
function listInnerOperands(operand: Operand): readonly Operand[] {
  if (typeof operand !== 'object') return [];
  if (Array.isArray(operand)) return operand;
  if (isCall(operand)) return operand.args;
  return isInterval(operand) ? operand.interval : [];
}

/** Throws when an operator has too few or too many operands. Functions are checked by `check`. */
export function checkArity(op: string, count: number, place: FilterPosition, name = `'${op}'`): void {
  const arity = findArity(op);
  if (!arity || (count >= arity[0] && count <= arity[1])) return;
  const [least, most] = arity;
  const range = most === least ? `${least}` : `at least ${least}`;
  throw new Cql2Error(`${name} takes ${range} operand${least === 1 ? '' : 's'}, found ${count}`, place);
}

/** A whole filter: a predicate, or a property that `check` will find to be boolean. */
export function asExpression(operand: Operand): Expression {
  if (typeof operand === 'boolean') return operand ? ALL_FEATURES : NO_FEATURES;
  if (isCall(operand)) return operand;
  if (isProperty(operand)) return { op: '=', args: [operand, true] };
  throw new Cql2Error(NO_PREDICATE);
}
