import { exactNumber, isExactNumber, isNumberText, readNumber } from './exact-number.js';

/** A string, a number, or punctuation. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\]:,]/gs;
/** Numbers that a double may not represent exactly have at least 16 digits, or an exponent. */
const LONG_NUMBER = /\d[\d.]{15}|\d[eE]/;

/** Whether a JSON text may contain numbers that a double does not represent exactly. */
export const mayHoldExactNumbers = (text: string): boolean => LONG_NUMBER.test(text);

/** Members whose numbers keep their digits, by name at any depth, with all that they contain. */
export type ExactMembers = 'all' | readonly string[];

/**
 * `JSON.parse`, but in some members a number that a double does not represent exactly becomes an `ExactNumber`.
 * Throws a SyntaxError.
 */
export function parseJsonExactly(text: string, members: ExactMembers): unknown {
  const value = JSON.parse(text) as unknown;
  if (members.length === 0 || !mayHoldExactNumbers(text)) return value;
  return parseMarked(markExactNumbers(text, members));
}

/**
 * Name of the member that marks a number in a text. It is different in each process, so no text from initialDepth contains
 * it.
 */
const MARK = `exact-${crypto.randomUUID()}`;

/** The value of a text of `markExactNumbers`. */
export const parseMarked = (text: string): unknown =>
  JSON.parse(text, text.includes(MARK) ? unmark : undefined);

function unmark(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !(MARK in value)) return value;
  return exactNumber((value as Record<string, string>)[MARK]!);
}

/** Valid JSON for `parseMarked`, in which some members mark the numbers that a double does not represent exactly. */
export function markExactNumbers(text: string, members: ExactMembers, anyCase = false): string {
  if (members === 'all') return markNumbers(text, () => false, -1);
  const names = new Set(anyCase ? members.map((name) => name.toLowerCase()) : members);
  const isExact = (name: string) => names.has(anyCase ? name.toLowerCase() : name);
  return markNumbers(text, isExact, Number.POSITIVE_INFINITY);
}

/** The exact members of a parameter: all of it where its own name is among them. */
export const findExactMembers = (name: string, members: readonly string[]): ExactMembers =>
  members.includes(name) ? 'all' : members;

/** Marks numbers nested deeper than `initialDepth` (-1: all, Infinity: none), and all numbers in exact members. */
function markNumbers(text: string, isExact: (name: string) => boolean, initialDepth: number): string {
  let depth = 0;
  /** Numbers below this depth are kept: those of the member that was found. */
  let from = initialDepth;
  let string = '';
  return text.replace(TOKENS, (token) => {
    const first = token[0]!;
    if (first === '"') string = token;
    else if (first === ':') {
      if (depth <= from && isExact(JSON.parse(string) as string)) from = depth - 0.5;
    } else if (first === '{' || first === '[') depth++;
    else if (first === '}' || first === ']' || first === ',') {
      if (first !== ',') depth--;
      // The end of a member is a comma after it, or the end of its object.
      if (first === ',' ? depth - 0.5 === from : depth < from) from = initialDepth;
    } else if (depth > from && !fitsDouble(token)) return `{"${MARK}":"${token}"}`;
    return token;
  });
}

/** Whether a double represents a number exactly. */
const fitsDouble = (token: string) => typeof readNumber(token) === 'number';

/** `JSON.stringify` of a JSON value, also of integers as `bigint` and of `ExactNumber`s, which are written digit by digit. */
export function stringifyExactly(value: unknown, indent = ''): string {
  return stringifyFast(value, indent) ?? written(value, indent, '\n');
}

/** An `ExactNumber` as `JSON.stringify` writes it. It has an exponent, or at least 16 characters. */
const QUOTED_NUMBER = /"-?(?:[\d.]{16,}|[\d.]+[eE][+-]?\d+)"/;

/** As `JSON.stringify`, but much faster. Undefined if the value may contain numbers that it cannot write. */
function stringifyFast(value: unknown, indent: string): string | undefined {
  try {
    const text = JSON.stringify(value, null, indent);
    return QUOTED_NUMBER.test(text) ? undefined : text;
  } catch (error) {
    // A bigint.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function written(value: unknown, indent: string, line: string): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (isExactNumber(value)) return String(value);
  const inner = line + indent;
  const [between, start, end] = indent === '' ? [',', '', ''] : [`,${inner}`, inner, line];
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[${start}${value.map((member) => written(member, indent, inner)).join(between)}${end}]`;
  }
  const colon = indent === '' ? ':' : ': ';
  const members = Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [`${JSON.stringify(name)}${colon}${written(member, indent, inner)}`],
  );
  return members.length === 0 ? '{}' : `{${start}${members.join(between)}${end}}`;
}

/**
 * JSON for the server's own storage, which `decodeStoredJson` parses with its `ExactNumber`s. They are written as objects
 * with the member `number`; other objects that look the same are escaped.
 */
export function encodeStoredJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text !== undefined && (QUOTED_NUMBER.test(text) || KEPT.test(text))
    ? JSON.stringify(value, escapeKept)
    : text;
}

/** The value of a text of `encodeStoredJson`. */
export const decodeStoredJson = (text: string): unknown =>
  JSON.parse(text, KEPT.test(text) ? restore : undefined);

const KEPT = /"number"\s*:/;

function escapeKept(_name: string, value: unknown): unknown {
  if (isExactNumber(value)) return { number: String(value) };
  const member = onlyMember(value, 'number');
  const isLike = typeof member === 'string' || onlyMember(member, 'plain') !== undefined;
  return isLike ? { number: { plain: member } } : value;
}

function restore(_name: string, value: unknown): unknown {
  const member = onlyMember(value, 'number');
  if (typeof member === 'string') return isNumberText(member) ? exactNumber(member) : value;
  const plain = onlyMember(member, 'plain');
  return plain === undefined ? value : { number: plain };
}

/** Whether a value is an object of JSON: no list, and no `ExactNumber`. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);

/** The member of this name of an object that has no other; undefined for all else. */
function onlyMember(value: unknown, name: string): unknown {
  if (!isJsonObject(value)) return undefined;
  const names = Object.keys(value);
  return names.length === 1 && names[0] === name ? value[name] : undefined;
}

/** Decodes UTF-8. Throws an Error for invalid bytes. */
export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('it is not valid UTF-8');
  }
}
