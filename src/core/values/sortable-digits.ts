import { type AnyNumber, canonicalDigits, formatDecimal, writeDigits } from './exact-number.js';

const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/;
/** Larger than any exponent of a stored number. */
const MIDDLE = 500_000;
const DIGITS = 6;
/** Greater than every digit: of two negative numbers the one with more digits is less. */
const END = '~';

/**
 * A text for a number, so that the order by code points is the order of the numbers, with any number of digits.
 * Undefined if it is not a number.
 */
export function sortableDigits(value: AnyNumber | string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    PARTS.exec(typeof value === 'string' ? canonicalDigits(value) : formatDecimal(value)) ?? [];
  if (sign === undefined) return undefined;
  const all = `${whole}${fraction}`;
  const digits = all.replace(/^0+|0+$/g, '');
  if (digits === '') return '1';
  const point = whole.length + Number(exponent) - /^0*/.exec(all)![0].length;
  const key = `${String(MIDDLE + point).padStart(DIGITS, '0')}${digits}`;
  return sign === '' ? `2${key}` : `0${complement(key)}${END}`;
}

/** Negative if the first number is smaller, positive if it is greater, and 0 for equal numbers, by all digits. */
export function compareNumbers(a: AnyNumber, b: AnyNumber): number {
  const [one, other] = [sortableDigits(writeDigits(a))!, sortableDigits(writeDigits(b))!];
  return one < other ? -1 : one > other ? 1 : 0;
}

const complement = (digits: string) => digits.replace(/\d/g, (digit) => String(9 - Number(digit)));
