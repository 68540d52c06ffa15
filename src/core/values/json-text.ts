import { canonicalDigits } from './exact-number.js';
import { stringifyExactly } from './json.js';

/** JSON as text, taken apart without reading its values: no digit, order or repetition is lost. All of it expects valid JSON. */

/** The JSON text of one value. */
export type JsonText = string;

/** Members of an object by name, as text; the last one of a name counts. Undefined for anything but an object. */
export function membersIn(json: JsonText): Map<string, JsonText> | undefined {
  const parts = listParts(json, '{');
  if (!parts) return undefined;
  const members = new Map<string, JsonText>();
  for (const part of parts) {
    const end = endOfString(part, 0);
    // As in `JSON.parse`, a repeated name keeps its first position.
    members.set(JSON.parse(part.slice(0, end)) as string, part.slice(part.indexOf(':', end) + 1).trim());
  }
  return members;
}

/** Elements of an array as text. Undefined for anything but an array. */
export const elementsIn = (json: JsonText): JsonText[] | undefined => listParts(json, '[');

/** The text of each value. Numbers may be `ExactNumber`s. Undefined values are omitted. */
export function jsonTexts(values: Readonly<Record<string, unknown>>): Record<string, JsonText> {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, stringifyExactly(value)]));
}

/** An object of members that are text. */
export function objectText(members: Iterable<readonly [name: string, value: JsonText]>): JsonText {
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

const STRINGS_AND_SPACE = /"[^"\\]*(?:\\.[^"\\]*)*"|[ \t\r\n]+/gs;

/** A text without the white space between its tokens: it is on one line. */
export const compactJson = (json: JsonText): JsonText =>
  /\s/.test(json) ? json.replace(STRINGS_AND_SPACE, (token) => (token[0] === '"' ? token : '')) : json;

/** The JSON that a text is, on one line; undefined for other texts. */
export function readJsonText(text: string): JsonText | undefined {
  try {
    JSON.parse(text);
    return compactJson(text);
  } catch {
    return undefined;
  }
}

/** Whether two texts are the same value: numbers by their digits, everything else letter by letter. */
export function sameJson(a: JsonText, b: JsonText): boolean {
  const [one, other] = [compactJson(a), compactJson(b)];
  return one === other || (isNumberText(one) && canonicalDigits(one) === canonicalDigits(other));
}

const isNumberText = (json: JsonText) => /^-?\d/.test(json);

/**
 * Applies a JSON merge patch (RFC 7396) to texts: members of objects are replaced, removed by null, or patched if
 * both are objects. All other text stays unchanged, character by character.
 */
export function mergePatchText(target: JsonText | undefined, patch: JsonText): JsonText {
  const changes = membersIn(patch);
  if (!changes) return patch;
  const merged = (target !== undefined && membersIn(target)) || new Map<string, JsonText>();
  for (const [name, value] of changes) {
    if (value === 'null') merged.delete(name);
    else merged.set(name, mergePatchText(merged.get(name), value));
  }
  return objectText(merged);
}

/** Levels of arrays and objects. */
export function jsonDepth(json: JsonText): number {
  let depth = 0;
  let most = 0;
  for (let i = 0; i < json.length; i++) {
    const character = json[i]!;
    if (character === '"') i = endOfString(json, i) - 1;
    else if (character === '{' || character === '[') most = Math.max(most, ++depth);
    else if (character === '}' || character === ']') depth--;
  }
  return most;
}

/** The parts between the commas of an object or array; undefined if the text is something else. */
function listParts(json: string, open: '{' | '['): string[] | undefined {
  const text = json.trim();
  if (text[0] !== open) return undefined;
  const parts: string[] = [];
  let depth = 0;
  let from = 1;
  for (let i = 1; i < text.length; i++) {
    const character = text[i]!;
    if (character === '"') i = endOfString(text, i) - 1;
    else if (character === '{' || character === '[') depth++;
    else if (depth > 0 && (character === '}' || character === ']')) depth--;
    else if (depth === 0 && (character === ',' || character === '}' || character === ']')) {
      parts.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  return parts.length === 1 && parts[0] === '' ? [] : parts;
}

/** Position after the closing quote of the string that starts at `from`. */
function endOfString(text: string, from: number): number {
  let i = text.indexOf('"', from + 1);
  while (i >= 0 && isEscaped(text, i)) i = text.indexOf('"', i + 1);
  return i < 0 ? text.length : i + 1;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}
