import { exactInteger, toInt64 } from '../../../core/exact-number.js';

/** An integer of SQLite, which statements with `safeIntegers` give as `bigint`: a number where that holds all its digits. */
export function plainInteger<T>(value: T): T | number {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The key of a row that an id names; undefined for what is no integer of 64 bits. */
export const readRowId = (id: string): bigint | undefined =>
  /^-?\d{1,19}$/.test(id) ? toInt64(exactInteger(id)) : undefined;
