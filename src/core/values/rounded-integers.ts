import { escapePointerSegment } from '../errors/json-pointer.js';
import { canonicalDigits } from './exact-number.js';
import { mayHoldExactNumbers } from './json.js';

/** A number in a JSON text that a double would round. */
export interface RoundedInteger {
  /** JSON pointer of the number. */
  readonly pointer: string;
  /** The number as the text writes it. */
  readonly written: string;
  /** The number that would be stored. */
  readonly rounded: string;
}

/** A string, a number, or punctuation. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\]:,]/gs;

/**
 * The first number beyond 2^53 in a valid JSON text that a double does not represent exactly. Fractions of smaller
 * numbers may be rounded.
 */
export function findRoundedInteger(json: string): RoundedInteger | undefined {
  if (!mayHoldExactNumbers(json)) return undefined;
  /** The member or the index in each object and array that is open. */
  const path: (string | number)[] = [];
  let string = '""';
  for (const [token] of json.matchAll(TOKENS)) {
    const last = path.length - 1;
    if (token[0] === '"') string = token;
    else if (token === '{') path.push('');
    else if (token === '[') path.push(0);
    else if (token === '}' || token === ']') path.pop();
    else if (token === ':') path[last] = JSON.parse(string) as string;
    else if (token === ',') {
      if (typeof path[last] === 'number') path[last] += 1;
    } else if (isRoundedInteger(token))
      return { pointer: pointerTo(path), written: token, rounded: canonicalDigits(String(Number(token))) };
  }
  return undefined;
}

/** Whether a double rounds a JSON number that is beyond 2^53. */
function isRoundedInteger(written: string): boolean {
  const value = Number(written);
  if (Math.abs(value) < Number.MAX_SAFE_INTEGER) return false;
  return canonicalDigits(written) !== canonicalDigits(String(value));
}

/** A JSON pointer (RFC 6901). */
const pointerTo = (path: readonly (string | number)[]) =>
  path.map((part) => `/${escapePointerSegment(String(part))}`).join('') || '/';
