import type { Field } from '../sources/vector-source.js';
import { canonicalDigits } from '../values/exact-number.js';
import type { FieldValue } from './feature-values.js';

/** Largest number of 32-bit floating point (IEEE 754 binary32). */
export const MAX_FLOAT32 = 3.4028234663852886e38;
/** Characters of a value in an error text. */
const MAX_QUOTED = 60;

/**
 * Why a column of a declared width, scale or precision would store another value; undefined if it stores this one.
 * Rounding to binary floating point does not count.
 */
export function findMisfit(value: FieldValue, field: Field): string | undefined {
  if (value === null) return undefined;
  const misfit = describeMisfit(value, field);
  return misfit === undefined ? undefined : `${misfit}; received ${String(value).slice(0, MAX_QUOTED)}`;
}

function describeMisfit(value: FieldValue, field: Field): string | undefined {
  if (field.type === 'integer') return outsideIntegers(value, field);
  if (field.type === 'number') return outsideFloats(value, field) ?? outsideDecimals(value, field);
  if (typeof value !== 'string') return undefined;
  if (field.type === 'string' && TIME.test(field.sqlType ?? '') && !TIME_OF_DAY.test(value))
    return 'must be a time without an offset (hh:mm:ss): its column stores none';
  return lostFraction(value, field);
}

function outsideIntegers(value: FieldValue, { bits }: Field): string | undefined {
  if (bits === undefined) return undefined;
  const max = 2 ** (bits - 1) - 1;
  const integer = Number(value);
  if (integer >= -max - 1 && integer <= max) return undefined;
  return `must be from ${-max - 1} to ${max}, the range of its column`;
}

function outsideFloats(value: FieldValue, { bits }: Field): string | undefined {
  if (bits !== 32 || Number.isFinite(Math.fround(Number(value)))) return undefined;
  return `must be from -${MAX_FLOAT32} to ${MAX_FLOAT32}, the range of its column`;
}

const NUMERIC = /^numeric\((\d+)(?:,(-?\d+))?\)/;

/** Digits and decimal places that a column of decimals declares; undefined for other columns. */
function readNumeric({ sqlType = '' }: Field): { precision: number; scale: number } | undefined {
  const [, precision, scale = '0'] = NUMERIC.exec(sqlType) ?? [];
  return precision === undefined ? undefined : { precision: Number(precision), scale: Number(scale) };
}

/** Decimal places that a column of decimals declares, negative for multiples of powers of ten; undefined for other columns. */
export const declaredScale = (field: Field): number | undefined => readNumeric(field)?.scale;

function outsideDecimals(value: FieldValue, field: Field): string | undefined {
  const numeric = readNumeric(field);
  if (!numeric) return undefined;
  const { precision, scale } = numeric;
  const { first, last } = parsePlaces(String(value));
  if (last < -scale)
    return scale < 0
      ? `must be a multiple of 1${'0'.repeat(-scale)}, the scale of its column`
      : `must have at most ${scale} decimal places, the scale of its column`;
  if (first < precision - scale) return undefined;
  const max = canonicalDigits(`${'9'.repeat(precision)}e${-scale}`);
  return `must be from -${max} to ${max}, the range of its column`;
}

/** Powers of ten of the first and the last digit of a number that are not 0. */
function parsePlaces(number: string): { first: number; last: number } {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/.exec(canonicalDigits(number)) ?? [];
  const digits = `${whole}${fraction}`;
  const lead = digits.search(/[1-9]/);
  if (lead < 0) return { first: -Infinity, last: Infinity };
  const top = whole.length - 1 + Number(exponent);
  return { first: top - lead, last: top - (digits.replace(/0+$/, '').length - 1) };
}

const TIME = /^time(?:\(\d\))? without time zone/;
const TIME_OF_DAY = /^\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/;
const SECONDS = /^time(?:stamp)?\((\d)\)/;

function lostFraction(value: string, { sqlType = '' }: Field): string | undefined {
  const places = SECONDS.exec(sqlType)?.[1];
  const fraction = /:\d{2}\.(\d*?)0*(?:Z|[+-][\d:]+)?$/.exec(value)?.[1] ?? '';
  if (places === undefined || fraction.length <= Number(places)) return undefined;
  return `must have at most ${places} decimal places of a second, the precision of its column`;
}
