import { type AnyNumber, exactInteger, formatDecimal } from '../values/exact-number.js';
import { type Call, isArray, isNumber, isProperty, type Operand } from './ast.js';
import type { FilterSchema } from './types.js';

/** Comparisons seen from the other side. */
const TURNED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

/**
 * Rewrites a comparison of an integer with a decimal that a double cannot represent, to a comparison with the nearest
 * integers. A store with only integers and doubles would compare with a rounded decimal. Other calls are returned
 * unchanged.
 */
export function compareWhole(call: Call, schema: FilterSchema): Call {
  const { op, args } = call;
  const [a, b, c] = args as [Operand, Operand, Operand];
  if (op === 'between') {
    if (!isInteger(a, schema)) return call;
    return { op, args: [a, isFraction(b) ? computeFloor(b, 1n) : b, isFraction(c) ? computeFloor(c) : c] };
  }
  if (op === 'in') {
    if (!isInteger(a, schema) || !isArray(b) || !b.some(isFraction)) return call;
    const list = b.filter((member) => !isFraction(member));
    return list.length > 0 ? { op, args: [a, list] } : unequal(a);
  }
  if (isInteger(b, schema) && isFraction(a)) return compared(TURNED[op] ?? op, b, a);
  return isInteger(a, schema) && isFraction(b) ? compared(op, a, b) : call;
}

function compared(op: string, property: Operand, fraction: AnyNumber): Call {
  if (op === '=') return unequal(property);
  if (op === '<>') return { op: '=', args: [property, property] };
  return { op: op.startsWith('<') ? '<=' : '>', args: [property, computeFloor(fraction)] };
}

/** Compares a property with itself: false, or unknown where the property is null. */
const unequal = (property: Operand): Call => ({ op: '<>', args: [property, property] });

function isInteger(operand: Operand, { fields, idColumn, idType = 'integer' }: FilterSchema): boolean {
  if (typeof operand !== 'object' || isArray(operand) || !isProperty(operand)) return false;
  if (operand.property === idColumn) return idType === 'integer';
  return fields.find(({ name }) => name === operand.property)?.type === 'integer';
}

const FRACTION = /^(-?\d+)\.\d+$/;

const isFraction = (operand: Operand): operand is AnyNumber =>
  isNumber(operand) && typeof operand !== 'number' && FRACTION.test(formatDecimal(operand));

/** The largest integer that is not larger, and so many more. */
function computeFloor(fraction: AnyNumber, more = 0n): AnyNumber {
  const [, whole] = FRACTION.exec(formatDecimal(fraction))!;
  return exactInteger(BigInt(whole!) - (whole!.startsWith('-') ? 1n : 0n) + more);
}
