import type { FieldError } from './errors.js';
import type { Field, FieldType } from './vector-source.js';

/**
 * Checks the properties of a feature against the fields of its source, and turns them into what stores keep.
 * JSON and arrays become JSON text, dates `YYYY-MM-DD`, timestamps RFC 3339 text in UTC, binary values bytes.
 */
export type FieldValue = string | number | bigint | boolean | Uint8Array | null;

export interface ValueRules {
  readonly fields: readonly Field[];
  /** Fields that exist for who asks; all when absent. */
  readonly visible?: readonly string[] | undefined;
  /** Fields that may be changed; all when absent. */
  readonly writable?: readonly string[] | undefined;
}

export interface ReadProperties {
  /** By field, in the order they were sent. Columns that the store fills itself are left out. */
  readonly values: ReadonlyMap<string, FieldValue>;
  readonly errors: readonly FieldError[];
  /** Fields that were sent and may not be changed. */
  readonly forbidden: readonly string[];
}

/** Errors that one answer lists. */
const MAX_ERRORS = 20;

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

export function readProperties(properties: Record<string, unknown>, rules: ValueRules): ReadProperties {
  const values = new Map<string, FieldValue>();
  const errors: FieldError[] = [];
  const forbidden: string[] = [];
  const fields = new Map(rules.fields.map((field) => [field.name, field]));
  for (const [name, value] of Object.entries(properties)) {
    if (errors.length >= MAX_ERRORS) break;
    const field = fields.get(name);
    const at = `/properties/${pointer(name)}`;
    if (!field || (rules.visible && !rules.visible.includes(name))) {
      errors.push({ name: at, detail: 'is no property of this collection' });
    } else if (field.generated) {
      // What was read may be sent back: the store fills this column whatever comes.
    } else if (rules.writable && !rules.writable.includes(name)) {
      forbidden.push(name);
    } else {
      const read = readValue(value, field);
      if ('detail' in read) errors.push({ name: at, detail: read.detail });
      else values.set(name, read.value);
    }
  }
  return { values, errors, forbidden };
}

/** A JSON pointer token (RFC 6901), short enough for an error message. */
function pointer(name: string): string {
  return name.slice(0, 100).replace(/~/g, '~0').replace(/\//g, '~1');
}

type Read = { value: FieldValue } | { detail: string };

const wrong = (detail: string): Read => ({ detail });

function readValue(value: unknown, field: Field): Read {
  if (value === null) return field.nullable ? { value } : wrong('must not be null');
  const read = READERS[field.type](value, field);
  if ('detail' in read) return read;
  return checkDomain(read, field);
}

/** Length, enumeration and range, where the store names them. */
function checkDomain(read: { value: FieldValue }, { maxLength, enumeration, range }: Field): Read {
  const { value } = read;
  if (typeof value === 'string' && maxLength !== undefined && [...value].length > maxLength)
    return wrong(`must not be longer than ${maxLength} characters`);
  if (enumeration && !enumeration.some((allowed) => same(allowed, value)))
    return wrong(`must be one of ${enumeration.slice(0, 20).join(', ')}`);
  if (range && (typeof value === 'number' || typeof value === 'bigint')) {
    const [min, max] = range;
    if (min !== null && value < min) return wrong(`must not be less than ${min}`);
    if (max !== null && value > max) return wrong(`must not be greater than ${max}`);
  }
  return read;
}

function same(allowed: string | number, value: FieldValue): boolean {
  return allowed === value || (typeof value === 'bigint' && BigInt(allowed) === value);
}

type Reader = (value: unknown, field: Field) => Read;

const READERS: Record<FieldType, Reader> = {
  integer: readInteger,
  number: (value) =>
    typeof value === 'number' && Number.isFinite(value) ? { value } : wrong('must be a finite number'),
  string: readString,
  boolean: (value) => (typeof value === 'boolean' ? { value } : wrong('must be true or false')),
  date: readDate,
  'date-time': readTimestamp,
  binary: readBinary,
  json: (value) => readJson(value),
  array: readArray,
};

/** Numbers beyond 2^53 come as text of all their digits: JSON numbers would have lost some. */
function readInteger(value: unknown): Read {
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return wrong('must be a whole number');
    return Number.isSafeInteger(value)
      ? { value }
      : wrong('is too large for a number; send its digits as text');
  }
  if (typeof value !== 'string' || !/^-?\d{1,20}$/.test(value)) return wrong('must be a whole number');
  const integer = BigInt(value);
  if (integer < INT64_MIN || integer > INT64_MAX) return wrong('must fit into 64 bits');
  const beyond = integer > BigInt(Number.MAX_SAFE_INTEGER) || integer < BigInt(Number.MIN_SAFE_INTEGER);
  return beyond ? { value: integer } : wrong('must be a whole number');
}

function readString(value: unknown): Read {
  if (typeof value !== 'string') return wrong('must be a string');
  if (value.includes('\u0000')) return wrong('must not hold a NUL character');
  if (/\p{Surrogate}/u.test(value)) return wrong('is not well-formed Unicode');
  return { value };
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

function readDate(value: unknown): Read {
  if (typeof value === 'string' && DATE.test(value) && isDate(value)) return { value };
  return wrong('must be a date: YYYY-MM-DD');
}

function isDate(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  // 2021-02-30 is read as 2 March: only a date that comes back unchanged is one.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})?$/;

/** RFC 3339; without an offset the time is UTC, as stored times without one are. */
function readTimestamp(value: unknown): Read {
  const match = typeof value === 'string' ? TIMESTAMP.exec(value) : null;
  const [, date, time, fraction, offset = 'Z'] = match ?? [];
  const at = match && isDate(date!) ? Date.parse(`${date}T${time}${offset.toUpperCase()}`) : Number.NaN;
  if (Number.isNaN(at)) return wrong('must be a date and time: YYYY-MM-DDThh:mm:ssZ');
  const utc = new Date(at).toISOString().slice(0, 19);
  return { value: `${utc}${fraction ? `.${fraction}` : ''}Z` };
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function readBinary(value: unknown): Read {
  if (typeof value !== 'string' || value.length % 4 !== 0 || !BASE64.test(value))
    return wrong('must be base64 text');
  return { value: new Uint8Array(Buffer.from(value, 'base64')) };
}

function readJson(value: unknown): Read {
  const text = JSON.stringify(value);
  return text.includes('\\u0000') ? wrong('must not hold a NUL character') : { value: text };
}

function readArray(value: unknown, field: Field): Read {
  if (!Array.isArray(value)) return wrong('must be an array');
  const item: Field = { name: field.name, type: field.items ?? 'json', nullable: true };
  for (const [i, member] of value.entries()) {
    // Arrays may have more dimensions than one.
    const read =
      Array.isArray(member) && item.type !== 'json' ? readArray(member, field) : readValue(member, item);
    if ('detail' in read) return wrong(`member ${i} ${read.detail}`);
  }
  return readJson(value);
}

/** Whether arrays and objects nest deeper than `levels`. Looks no deeper than that. */
export function depthOver(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => depthOver(member, levels - 1));
}

/** JSON merge patch (RFC 7396): members of objects are replaced, removed by null, and patched where both are objects. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  // Without a prototype `__proto__` is a name like any other.
  const merged: Record<string, unknown> = Object.assign(Object.create(null), isObject(target) ? target : {});
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(own(merged, name), value);
  }
  return merged;
}

function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
