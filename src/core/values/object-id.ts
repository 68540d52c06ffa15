import { type AnyNumber, exactInteger, isExactNumber, toInt64 } from './exact-number.js';

/**
 * The number that GeoServices know a feature by: any integer of 64 bits. It is a `bigint` where a JavaScript number would
 * be rounded, and then only, so that two ids are equal where they are the same value.
 */
export type ObjectId = number | bigint;

/**
 * Reads an object id that a client sent as a number, as digits, or as an `ExactNumber`; undefined if it is invalid.
 */
export function readObjectId(value: unknown): ObjectId | undefined {
  if (typeof value === 'bigint') return findObjectId(String(value));
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  if (isExactNumber(value)) return findObjectId(String(value));
  return typeof value === 'string' ? findObjectId(value.trim()) : undefined;
}

function findObjectId(text: string): ObjectId | undefined {
  const id = /^-?\d{1,20}$/.test(text) ? toInt64(exactInteger(text)) : undefined;
  if (id === undefined) return undefined;
  return Number.isSafeInteger(Number(id)) ? Number(id) : id;
}

/** An object id as a literal of a filter. */
export const idLiteral = (id: ObjectId): AnyNumber => exactInteger(id);
