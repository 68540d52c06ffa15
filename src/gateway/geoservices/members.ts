import { ApiError, badParameter } from '../../core/errors/errors.js';
import { findExactMembers } from '../../core/values/json.js';
import { type ObjectId, readObjectId } from '../../core/values/object-id.js';
import { parseLenientJson } from '../../services/geoservices/geometry.js';
import { scalarText } from '../../services/geoservices/scalar.js';

/**
 * Parameters of GeoServices requests: text of a query or a form, in which lists and objects are JSON, some of it read
 * already. Each reader throws 400 naming the parameter.
 */
export type Members = Readonly<Record<string, unknown>>;

/** Members of JSON whose numbers keep their digits: attributes, ids, and values that are set. */
export const EXACT_GEOSERVICES_MEMBERS = ['attributes', 'bin', 'deletes', 'deleteIds', 'objectIds', 'value'];

const isAbsent = (value: unknown) => value === undefined || value === null || value === '';

export function readTextMember(members: Members, name: string, maxLength: number): string | undefined {
  const value = members[name];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'string') throw badParameter(name, 'must be a string');
  if (value.length > maxLength) throw badParameter(name, `must have at most ${maxLength} characters`);
  return value;
}

export function readFlagMember(members: Members, name: string, fallback: boolean): boolean {
  const value = members[name];
  if (isAbsent(value)) return fallback;
  if (typeof value === 'boolean') return value;
  const word = scalarText(name, value).toLowerCase();
  if (word !== 'true' && word !== 'false') throw badParameter(name, 'must be true or false');
  return word === 'true';
}

/** One of several words, in any case. */
export function readChoiceMember<T extends string>(
  members: Members,
  name: string,
  { values, fallback }: { values: readonly T[]; fallback: T },
): T {
  const value = members[name];
  if (isAbsent(value)) return fallback;
  const match = values.find((one) => one.toLowerCase() === scalarText(name, value).toLowerCase());
  if (match === undefined) throw badParameter(name, `must be ${values.join(' or ')}`);
  return match;
}

/** A number of a layer or a generation. */
export function wholeNumber(name: string, value: unknown): number {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value.trim()) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0)
    throw badParameter(name, 'must be a non-negative integer, or a list of them separated by commas');
  return number;
}

export function readIntegerMember(members: Members, name: string): number | undefined {
  const value = members[name];
  return isAbsent(value) ? undefined : wholeNumber(name, value);
}

/** The id of a feature. */
export function objectId(name: string, value: unknown): ObjectId {
  const id = readObjectId(value);
  if (id === undefined) throw badParameter(name, 'must be integers of 64 bits');
  return id;
}

/** A list of numbers: `0,1`, or JSON. */
export function readIntegersMember(members: Members, name: string, max: number): number[] | undefined {
  const numbers = listed(members, name, max)?.map((one) => wholeNumber(name, one));
  return numbers && [...new Set(numbers)];
}

/** A list of ids of features: `0,1`, or JSON. */
export function readObjectIdsMember(members: Members, name: string, max: number): ObjectId[] | undefined {
  const ids = listed(members, name, max)?.map((one) => objectId(name, one));
  return ids && [...new Set(ids)];
}

function listed(members: Members, name: string, max: number): unknown[] | undefined {
  const value = jsonValue(members, name);
  if (value === undefined) return undefined;
  const list = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [value];
  if (list.length > max) throw badParameter(name, `must have at most ${max} members`);
  return list;
}

export function readListMember(members: Members, name: string, max: number): unknown[] | undefined {
  const value = jsonValue(members, name);
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw badParameter(name, 'must be a JSON array');
  if (value.length > max) throw badParameter(name, `must have at most ${max} members`);
  return value;
}

export function readObjectsMember(members: Members, name: string, max: number): Members[] | undefined {
  return readListMember(members, name, max)?.map((one) => requireObject(name, one));
}

export function readObjectMember(members: Members, name: string): Members | undefined {
  const value = jsonValue(members, name);
  return value === undefined ? undefined : requireObject(name, value);
}

export function requireObject(name: string, value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badParameter(name, 'must have JSON objects');
  return value as Members;
}

function jsonValue(members: Members, name: string): unknown {
  const value = members[name];
  if (isAbsent(value)) return undefined;
  const isJson = typeof value === 'string' && /^\s*[[{]/.test(value);
  return isJson ? parseLenientJson(name, value, findExactMembers(name, EXACT_GEOSERVICES_MEMBERS)) : value;
}

/** Reports an error in a part of a parameter as an error of the parameter. */
export function naming<T>(parameter: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw badParameter(parameter, error.errors?.[0]?.detail ?? error.message);
  }
}
