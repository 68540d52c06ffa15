import type { Expr } from './sld/values.js';

/** Integers that doubles round, in expressions over attributes of vector tiles. */

/** Ends the name of an attribute that has the digits of another one, in maps that the server draws. */
export const DIGITS = '\u0000digits';

/** The strings that `to-string` makes of an integer: that of its digits, and that of its double, which MapLibre clients have. */
export function textsOfInteger(digits: string): string[] {
  const double = Number(digits);
  const isRounded = /^-?\d{16,19}$/.test(digits) && !Number.isSafeInteger(double);
  return isRounded && String(double) !== digits ? [digits, String(double)] : [digits];
}

/** JSON of a style in which `to-string` of an attribute takes its digits where there are some. */
export function readDigits(json: unknown): unknown {
  if (Array.isArray(json)) {
    const [operator, of] = json as unknown[];
    const isText = operator === 'to-string' && json.length === 2 && Array.isArray(of);
    const name = isText && of[0] === 'get' && of.length === 2 ? (of[1] as unknown) : undefined;
    if (typeof name === 'string') return ['to-string', ['coalesce', ['get', `${name}${DIGITS}`], of]] as Expr;
    return json.map(readDigits);
  }
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, readDigits(value)]));
}
