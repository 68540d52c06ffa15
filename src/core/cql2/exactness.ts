import { isExactNumber } from '../exact-number.js';
import type { Field } from '../vector-source.js';
import { isArray, isCall, isNumber, isProperty, isScalar, type Operand } from './ast.js';
import { Cql2Error } from './error.js';
import { type FilterSchema, kindOf } from './types.js';

/**
 * How a number is worked out: `whole` out of integers of 64 bits, `decimal` digit by digit because a `numeric` column takes
 * part, `double` with the rounding of double precision.
 */
export type Exactness = 'whole' | 'decimal' | 'double';

/** Operators and functions whose result has all its digits where their operands have. */
const EXACT = new Set(['+', '-', '*', 'div', '%', 'mod', 'abs', 'floor', 'ceil', 'round']);

/** A fraction alone makes a number no decimal: beside integers it is worked out as a double, as in all stores. */
const FRACTION = 1;
const RANKS: readonly Exactness[] = ['whole', 'double', 'decimal'];

/** How a store works a number out. Its properties and functions must exist. */
export function exactnessOf(operand: Operand, schema: FilterSchema): Exactness {
  const rank = rankOf(operand, schema);
  return rank === undefined ? 'double' : RANKS[rank]!;
}

/** Undefined: a double takes part. */
function rankOf(operand: Operand, schema: FilterSchema): number | undefined {
  if (isNumber(operand)) return isWhole(operand) ? 0 : FRACTION;
  if (isScalar(operand) || isArray(operand)) return undefined;
  if (isProperty(operand)) return rankOfProperty(operand.property, schema);
  if (!isCall(operand) || !EXACT.has(operand.op)) return undefined;
  const ranks = operand.args.map((arg) => rankOf(arg, schema));
  return ranks.includes(undefined) ? undefined : Math.max(...(ranks as number[]));
}

const isWhole = (value: Operand) =>
  isExactNumber(value) ? /^-?\d+$/.test(value.number) : Number.isSafeInteger(value);

function rankOfProperty(name: string, { fields, idColumn, idType = 'integer' }: FilterSchema) {
  if (name === idColumn) return idType === 'integer' ? 0 : undefined;
  const field = fields.find((one) => one.name === name);
  if (field?.type === 'integer') return 0;
  return field && isDecimal(field) ? RANKS.indexOf('decimal') : undefined;
}

/** Whether a field keeps decimals digit by digit. */
export const isDecimal = ({ type, sqlType }: Field): boolean =>
  type === 'number' && (sqlType?.startsWith('numeric') ?? false);

/**
 * Throws `Cql2Error` where a number that was worked out as a double is compared with more digits than a double holds: all
 * numbers that round to the same double would be taken for one.
 */
export function refuseRoundedComparison(operands: readonly Operand[], schema: FilterSchema): void {
  const literal = operands.find(isExactNumber);
  if (literal === undefined) return;
  const isRounded = (one: Operand) =>
    typeof one === 'object' &&
    !isExactNumber(one) &&
    !isArray(one) &&
    isCall(one) &&
    kindOf(one, schema) === 'number' &&
    exactnessOf(one, schema) === 'double';
  if (operands.some(isRounded))
    throw new Cql2Error(
      `a calculation in double precision cannot be compared with ${literal.number}, which has more digits; compare the property itself`,
    );
}
