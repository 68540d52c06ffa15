/**
 * Converts an SQLite integer, which statements with `safeIntegers` return as `bigint`, to a number if a number can
 * represent all its digits.
 */
export function plainInteger<T>(value: T): T | number {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
