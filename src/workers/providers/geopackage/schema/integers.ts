/** An integer of SQLite, which statements with `safeIntegers` give as `bigint`: a number where that holds all its digits. */
export function plainInteger<T>(value: T): T | number {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
