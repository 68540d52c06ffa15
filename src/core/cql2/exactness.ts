import { isDecimal } from '../sources/vector-source.js';
import { isExactNumber } from '../values/exact-number.js';
import { isArray, isCall, isNumber, isProperty, isScalar, type Operand } from './ast.js';
import { Cql2Error } from './error.js';
import { computeOperandKind, type FilterSchema } from './types.js';

/**
 * Exactness of a computed number: `whole` from 64-bit integers, `decimal` digit by digit because of a `numeric`
 * column, `double` with double precision rounding.
 */
export type Exactness = 'whole' | 'decimal' | 'double';

/** Operators and functions whose result is exact if their operands are exact. */
const EXACT = new Set(['+', '-', '*', 'div', '%', 'mod', 'abs', 'floor', 'ceil', 'round']);

/** Ranks of numbers; the highest rank of the operands applies. All stores compute integers with a fraction as doubles. */
const WHOLE = 0;
const FRACTION = 1;
const DECIMAL = 2;

/** Finds the number type in which a store computes an operand. The operand's properties and functions must exist. */
export function findExactness(operand: Operand, schema: FilterSchema): Exactness {
  const rank = findRank(operand, schema);
  if (rank === WHOLE) return 'whole';
  return rank === DECIMAL ? 'decimal' : 'double';
}

/** Returns the highest rank of the numbers in an operand. Undefined if one of them is a double. */
function findRank(operand: Operand, schema: FilterSchema): number | undefined {
  if (isNumber(operand)) return isWhole(operand) ? WHOLE : FRACTION;
  if (isScalar(operand) || isArray(operand)) return undefined;
  if (isProperty(operand)) return findRankOfProperty(operand.property, schema);
  if (!isCall(operand) || !EXACT.has(operand.op)) return undefined;
  const ranks = operand.args.map((arg) => findRank(arg, schema));
  return ranks.includes(undefined) ? undefined : Math.max(...(ranks as number[]));
}

const isWhole = (value: Operand) =>
  isExactNumber(value) ? /^-?\d+$/.test(String(value)) : Number.isSafeInteger(value);

function findRankOfProperty(name: string, { fields, idColumn, idType = 'integer' }: FilterSchema) {
  if (name === idColumn) return idType === 'integer' ? WHOLE : undefined;
  const field = fields.find((one) => one.name === name);
  if (field?.type === 'integer') return WHOLE;
  return field && isDecimal(field) ? DECIMAL : undefined;
}

/**
 * Throws `Cql2Error` if a number computed as a double is compared with a literal of more digits than a double can
 * represent. Otherwise all numbers that round to the same double would match.
 */
export function refuseRoundedComparison(operands: readonly Operand[], schema: FilterSchema): void {
  const literal = operands.find(isExactNumber);
  if (literal === undefined) return;
  const isRounded = (one: Operand) =>
    isCall(one) && computeOperandKind(one, schema) === 'number' && findExactness(one, schema) === 'double';
  if (operands.some(isRounded))
    throw new Cql2Error(
      `a calculation in double precision cannot be compared with ${literal}, which has more digits; compare the property itself`,
    );
}
