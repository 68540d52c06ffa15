import { type FieldError, withReceived } from '../errors/field-errors.js';
import { escapePointerSegment } from '../errors/json-pointer.js';
import { suggestName } from '../errors/near-names.js';
import { LIMITS } from '../kit/limits.js';
import { type Field, type FieldType, isDecimal } from '../sources/vector-source.js';
import {
  type AnyNumber,
  canonicalDigits,
  exactNumber,
  formatDecimal,
  isNumberText,
  readNumber,
  toDouble,
  toInt64,
  writeDigits,
} from '../values/exact-number.js';
import { compactJson, elementsIn, type JsonText, jsonDepth } from '../values/json-text.js';
import { compareNumbers } from '../values/sortable-digits.js';
import { findMisfit } from './column-capacity.js';

/**
 * Value of a field as stored. JSON and arrays are JSON text, dates `YYYY-MM-DD`, timestamps RFC 3339 text in UTC,
 * binary values bytes. Decimals that a double cannot represent are text with all digits.
 */
export type FieldValue = string | number | bigint | boolean | Uint8Array | null;

export interface ValueRules {
  readonly fields: readonly Field[];
  /** Fields that are visible to the caller. Default: all. */
  readonly visible?: readonly string[] | undefined;
  /** Fields that the caller can change. Default: all. */
  readonly writable?: readonly string[] | undefined;
}

export interface ReadProperties {
  /** Values by field, in request order, without generated columns. */
  readonly values: ReadonlyMap<string, FieldValue>;
  readonly errors: readonly FieldError[];
  /** All values that do not fit their fields, by field; empty if there are other errors. */
  readonly wrongValues: ReadonlyMap<string, FieldError>;
  /** Fields that were sent and may not be changed. */
  readonly forbidden: readonly string[];
}

/** Characters of a value that an error parses to show it. */
const MAX_PARSED = 1000;

/** Maximum number of errors in a response. */
const MAX_ERRORS = 20;

export function readProperties(
  properties: Readonly<Record<string, JsonText>>,
  rules: ValueRules,
): ReadProperties {
  const values = new Map<string, FieldValue>();
  const unknown: FieldError[] = [];
  const wrongValues = new Map<string, FieldError>();
  const forbidden: string[] = [];
  const fields = new Map(rules.fields.map((field) => [field.name, field]));
  for (const [name, json] of Object.entries(properties)) {
    if (unknown.length >= MAX_ERRORS) break;
    const field = fields.get(name);
    const at = `/properties/${pointer(name)}`;
    if (!field || (rules.visible && !rules.visible.includes(name))) {
      const near = suggestName(name, rules.visible ?? fields.keys());
      unknown.push({ name: at, detail: `is not a property of this collection.${near}` });
    } else if (field.generated) {
      // Generated columns are ignored, so that clients can send back a feature that they read.
    } else if (rules.writable && !rules.writable.includes(name)) {
      forbidden.push(name);
    } else {
      const read = readValue(json, field);
      if ('value' in read) values.set(name, read.value);
      else wrongValues.set(name, withReceived({ name: at, detail: read.detail }, shownValue(json)));
    }
  }
  const errors = [...unknown, ...wrongValues.values()].slice(0, MAX_ERRORS);
  return { values, errors, wrongValues: unknown.length > 0 ? new Map() : wrongValues, forbidden };
}

/** The value of a JSON text as an error shows it. Numbers keep their digits. */
function shownValue(json: JsonText): unknown {
  const text: string = json;
  const isShort = text.length < MAX_PARSED;
  if (text.startsWith('"')) return isShort ? JSON.parse(text) : text.slice(1, MAX_PARSED);
  if (text.startsWith('[') || text.startsWith('{')) return isShort ? JSON.parse(text) : {};
  return Object(text);
}

/** A JSON pointer token (RFC 6901), short enough for an error message. */
function pointer(name: string): string {
  return escapePointerSegment(name.slice(0, 100));
}

type Read = { value: FieldValue } | { detail: string };

const wrong = (detail: string): Read => ({ detail });

function readValue(json: JsonText, field: Field): Read {
  if (json === 'null') return field.nullable ? { value: null } : wrong('must not be null');
  const read = READERS[field.type](json, field);
  if ('detail' in read) return read;
  const misfit = findMisfit(read.value, field);
  return misfit === undefined ? checkDomain(read, field) : wrong(misfit);
}

/** Length, enumeration and range, where the store names them. */
function checkDomain(read: { value: FieldValue }, { type, maxLength, enumeration, range }: Field): Read {
  const { value } = read;
  const isNumber = type === 'integer' || type === 'number';
  if (!isNumber && typeof value === 'string' && maxLength !== undefined && [...value].length > maxLength)
    return wrong(`must have at most ${maxLength} characters`);
  if (enumeration && !enumeration.some((allowed) => same(allowed, value, isNumber)))
    return wrong(`must be one of ${enumeration.slice(0, 20).map(writeDigits).join(', ')}`);
  if (range && isNumber) {
    const [min, max] = range;
    const number = exactNumber(String(value));
    if (min !== null && compareNumbers(number, min) < 0) return wrong(`must be at least ${writeDigits(min)}`);
    if (max !== null && compareNumbers(number, max) > 0) return wrong(`must be at most ${writeDigits(max)}`);
  }
  return read;
}

function same(allowed: string | AnyNumber, value: FieldValue, isNumber: boolean): boolean {
  if (!isNumber) return allowed === value;
  return canonicalDigits(writeDigits(allowed)) === canonicalDigits(String(value));
}

type Reader = (json: JsonText, field: Field) => Read;

/** A reader of values that lose nothing when they are parsed. */
const parsed =
  (read: (value: unknown) => Read): Reader =>
  (json) =>
    read(JSON.parse(json));

const READERS: Record<FieldType, Reader> = {
  integer: readInteger,
  number: readNumberValue,
  string: parsed(readString),
  boolean: parsed((value) => (typeof value === 'boolean' ? { value } : wrong('must be true or false'))),
  date: parsed(readDate),
  'date-time': parsed(readTimestamp),
  binary: parsed(readBinary),
  json: readJson,
  array: readArray,
};

/**
 * Number of a JSON value: a number, or a string with the digits of a number that a double cannot represent. Undefined
 * for other values. Numbers beyond the range of doubles remain text.
 */
function numberIn(json: JsonText): AnyNumber | undefined {
  if (json.startsWith('"')) {
    const digits = JSON.parse(json) as string;
    return isNumberText(digits) && typeof readNumber(digits) !== 'number' ? exactNumber(digits) : undefined;
  }
  return readNumber(json) ?? (isNumberText(json) ? exactNumber(json) : undefined);
}

function readInteger(json: JsonText): Read {
  const number = numberIn(json);
  const integer = number === undefined ? undefined : toInt64(readNumber(writeDigits(number)) ?? number);
  if (integer !== undefined)
    return { value: Number.isSafeInteger(Number(integer)) ? Number(integer) : integer };
  const isWhole =
    number !== undefined && Number.isInteger(toDouble(number)) && !/[.]\d*[1-9]/.test(formatDecimal(number));
  return wrong(
    isWhole ? 'must be an integer from -9223372036854775808 to 9223372036854775807' : 'must be an integer',
  );
}

/** Decimal columns receive the digits as sent, other columns the nearest double. */
function readNumberValue(json: JsonText, field: Field): Read {
  const number = numberIn(json);
  if (number === undefined) return wrong('must be a finite number');
  const double = toDouble(number);
  if (isDecimal(field))
    return { value: json.startsWith('"') ? writeDigits(number) : String(double) === json ? double : json };
  return Number.isFinite(double) ? { value: double } : wrong('must be a finite number');
}

function readString(value: unknown): Read {
  if (typeof value !== 'string') return wrong('must be a string');
  if (value.includes('\u0000')) return wrong('must not contain a NUL character');
  if (/\p{Surrogate}/u.test(value)) return wrong('must be well-formed Unicode');
  return { value };
}

/** Years outside 0 to 9999 take a sign and six digits (ISO 8601, expanded representation), as features show them. */
const DATE = /^(?:\d{4}|[+-]\d{6})-\d{2}-\d{2}$/;

function readDate(value: unknown): Read {
  if (typeof value === 'string' && DATE.test(value) && isDate(value)) return { value };
  return wrong('must be a date, for example 2026-01-31');
}

function isDate(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  // 2021-02-30 is read as 2 March: only a date that comes back unchanged is one.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

const TIMESTAMP =
  /^((?:\d{4}|[+-]\d{6})-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})?$/;

/** RFC 3339; without an offset the time is UTC, as stored times without one are. */
function readTimestamp(value: unknown): Read {
  const match = typeof value === 'string' ? TIMESTAMP.exec(value) : null;
  const [, date, time, fraction, offset = 'Z'] = match ?? [];
  const at = match && isDate(date!) ? Date.parse(`${date}T${time}${offset.toUpperCase()}`) : Number.NaN;
  if (Number.isNaN(at)) return wrong('must be a date and time, for example 2026-01-31T12:00:00Z');
  const utc = new Date(at).toISOString().slice(0, -'.000Z'.length);
  return { value: `${utc}${fraction ? `.${fraction}` : ''}Z` };
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function readBinary(value: unknown): Read {
  if (typeof value !== 'string' || value.length % 4 !== 0 || !BASE64.test(value))
    return wrong('must be a Base64 string');
  return { value: new Uint8Array(Buffer.from(value, 'base64')) };
}

/** An escape of NUL, which no backslash takes the meaning of. */
const NUL = /(?<!\\)(?:\\\\)*\\u0000/;

/** JSON stays the text that came, without the white space between its tokens. */
function readJson(json: JsonText): Read {
  if (NUL.test(json)) return wrong('must not contain a NUL character');
  if (jsonDepth(json) > LIMITS.jsonDepth)
    return wrong(`must have at most ${LIMITS.jsonDepth} levels of nesting`);
  return { value: compactJson(json) };
}

function readArray(json: JsonText, field: Field): Read {
  const elements = elementsIn(json);
  if (!elements) return wrong('must be an array');
  const { name, items: type = 'json', bits, sqlType } = field;
  const item: Field = {
    name,
    type,
    nullable: true,
    ...(bits !== undefined && { bits }),
    ...(sqlType !== undefined && { sqlType: sqlType.replace(/(?:\[\])+$/, '') }),
  };
  const members: JsonText[] = [];
  for (const [i, element] of elements.entries()) {
    // Arrays may have more dimensions than one.
    const isNested = element.startsWith('[') && item.type !== 'json';
    const read = isNested ? readArray(element, field) : readValue(element, item);
    if ('detail' in read) return wrong(`member ${i} ${read.detail}`);
    // Times with an offset are stored as UTC, as outside arrays.
    const isTime = item.type === 'date-time' && typeof read.value === 'string';
    members.push(isNested ? (read.value as JsonText) : isTime ? JSON.stringify(read.value) : element);
  }
  return readJson(`[${members.join(',')}]`);
}

/** Whether arrays and objects nest deeper than `levels`. Looks no deeper than that. */
export function depthOver(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => depthOver(member, levels - 1));
}
